//! A character's standing in the current chat, drawn from its memories.

use serde::{Deserialize, Serialize};

/// Three short texts about a character, its world and its relations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Goals, mood, fears, loyalties.
    pub character_state: String,
    /// Place, threats, open matters, time.
    pub world_state: String,
    /// How it stands to others.
    pub relationship_matrix: String,
    /// When it was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
}
