//! A past scene.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use super::lenient;
use loreloom_ports::MemoryId;

/// A past scene.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scene {
    /// What happened in it.
    pub summary: String,
    /// When it ended.
    pub ts: Option<i64>,
    /// Session memories created during it.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source_memory_ids: Vec<MemoryId>,
    /// Its messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<MessageId>,
}

impl Scene {
    /// What is kept of a scene when newer ones take its place: which messages it had.
    #[must_use]
    pub fn without_summary(self) -> Self {
        Self { summary: String::new(), source_memory_ids: Vec::new(), ..self }
    }

    /// Whether only its messages are known.
    pub fn has_no_summary(&self) -> bool {
        self.summary.is_empty() && !self.receipts.is_empty()
    }
}
