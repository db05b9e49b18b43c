//! Open arcs, and how closed ones ended.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use super::lenient;
use loreloom_ports::MemoryId;

/// A arc.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoryArc {
    /// Its text.
    pub content: String,
    /// When it was found.
    pub ts: Option<i64>,
    /// Whether it is pinned: other chats have it too.
    pub persistent: bool,
    /// Whether it ended.
    pub resolved: bool,
    /// The messages it comes from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<MessageId>,
    /// Names, numbers and quotes that no message supports. If there are any, it waits for a review.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ungrounded: Vec<String>,
}

impl StoryArc {
    /// Whether it is open and used.
    pub fn is_open(&self) -> bool {
        !self.resolved && self.ungrounded.is_empty()
    }
}

/// How an arc ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArcSummary {
    /// Its text.
    pub arc: String,
    /// What happened.
    pub summary: String,
    /// The scenes it was written from, by their time.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source_scene_ids: Vec<i64>,
    /// The memories it was written from.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source_memory_ids: Vec<MemoryId>,
    /// When it was written.
    pub ts: Option<i64>,
}
