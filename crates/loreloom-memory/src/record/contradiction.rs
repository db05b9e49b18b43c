//! A reply that contradicts what is known.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use loreloom_ports::MemoryId;

/// A reply that contradicts what is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Contradiction {
    /// Its id.
    pub id: String,
    /// What the reply claims and what is known.
    pub text: String,
    /// The memory it contradicts, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    /// The messages of both sides: the reply first, then those the memory rests on.
    pub receipts: Vec<MessageId>,
    /// When it was found.
    pub ts: Option<i64>,
}
