//! Open threads of the story, and what became of closed ones.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use super::lenient;
use loreloom_ports::MemoryId;

/// A thread of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoryArc {
    /// The thread.
    pub content: String,
    /// When it was noticed.
    pub ts: Option<i64>,
    /// Pinned: it outlives its chat.
    pub persistent: bool,
    /// It came to its end.
    pub resolved: bool,
    /// The messages it was drawn from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<MessageId>,
    /// Names, numbers and quoted things in it that no message bears out: it waits for a person
    /// to look at it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ungrounded: Vec<String>,
}

impl StoryArc {
    /// Whether it is open and used.
    pub fn is_open(&self) -> bool {
        !self.resolved && self.ungrounded.is_empty()
    }
}

/// How a thread ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArcSummary {
    /// The thread.
    pub arc: String,
    /// What happened.
    pub summary: String,
    /// The scenes it was told from, by their time.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source_scene_ids: Vec<i64>,
    /// The memories it was told from.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source_memory_ids: Vec<MemoryId>,
    /// When it was written.
    pub ts: Option<i64>,
}
