//! A character's current state in a chat, from its memories.

use loreloom_core::ids::MessageId;
use loreloom_ports::MemoryId;
use serde::{Deserialize, Serialize};

use super::lenient;

/// Three short texts about a character, its world and its relations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Goals, mood, fears, loyalties.
    pub character_state: String,
    /// Place, threats, open matters, time.
    pub world_state: String,
    /// Its relations to others.
    pub relationship_matrix: String,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
    /// The last message before it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<MessageId>,
    /// The memories it was drawn from.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::or_default")]
    pub notes: Vec<MemoryId>,
}
