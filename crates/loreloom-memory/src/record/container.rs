//! The two containers of Smart Memory's data: one for a character, one for a chat.

use loreloom_core::ids::{MessageId, PrefixHash};
use serde::{Deserialize, Serialize};

use super::{
    ArcSummary, Contradiction, Entity, Insight, Ledger, Memory, Ordered, Profile, Relationships,
    Scene, StoryArc, lenient,
};

/// A character's history as prose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Canon {
    /// The prose.
    pub text: String,
    /// When it was written.
    pub ts: Option<i64>,
}

/// What a character remembers in every chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CharacterMemory {
    /// Long-term memories, active and retired.
    #[serde(deserialize_with = "lenient::or_default")]
    pub memories: Vec<Memory>,
    /// The entities they name.
    #[serde(deserialize_with = "lenient::or_default")]
    pub entities: Vec<Entity>,
    /// Feelings.
    #[serde(deserialize_with = "lenient::or_default")]
    pub relationship_history: Relationships,
    /// Who knows what.
    #[serde(deserialize_with = "lenient::or_default")]
    pub epistemic_knowledge: Vec<Insight>,
    /// Pinned arcs.
    #[serde(deserialize_with = "lenient::or_default")]
    pub persistent_arcs: Vec<StoryArc>,
    /// History as prose.
    pub canon: Option<Canon>,
}

/// A read-only session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOnly {
    /// The node where it started.
    pub from: PrefixHash,
}

/// What a chat remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ChatMemory {
    /// The story so far.
    pub summary: Option<String>,
    /// How many messages the summary covers.
    #[serde(deserialize_with = "lenient::or_default")]
    pub summary_end: usize,
    /// The last message the summary covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_receipt: Option<MessageId>,
    /// When it was written.
    pub summary_updated: Option<i64>,
    /// When the chat was last used.
    pub last_active: Option<i64>,
    /// Session memories, active and retired.
    #[serde(deserialize_with = "lenient::or_default")]
    pub session_memories: Vec<Memory>,
    /// The entities they name.
    #[serde(deserialize_with = "lenient::or_default")]
    pub session_entities: Vec<Entity>,
    /// Past scenes, oldest first.
    #[serde(deserialize_with = "lenient::or_default")]
    pub scene_history: Vec<Scene>,
    /// Older scenes, without their summaries. Who was not there must never hear of them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::or_default")]
    pub older_scenes: Vec<Scene>,
    /// Arcs, oldest first.
    #[serde(deserialize_with = "lenient::or_default")]
    pub story_arcs: Vec<StoryArc>,
    /// How closed arcs ended.
    #[serde(deserialize_with = "lenient::or_default")]
    pub arc_summaries: Vec<ArcSummary>,
    /// Contradictions that were found, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::or_default")]
    pub contradictions: Vec<Contradiction>,
    /// Profiles by character.
    #[serde(deserialize_with = "lenient::or_default")]
    pub profiles: Ordered<Profile>,
    /// State cards.
    #[serde(rename = "state_ledger", deserialize_with = "lenient::or_default")]
    pub ledger: Ledger,
    /// A repair note for the next reply.
    pub pending_repair: Option<String>,
    /// Where the last extraction stopped reading.
    pub last_extract_cutoff: Option<usize>,
    /// The last message that an extraction read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extract_receipt: Option<MessageId>,
    /// This chat's own limit for the epistemic slot.
    pub epistemic_budget_override: Option<u32>,
    /// The open read-only session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<ReadOnly>,
}

impl ChatMemory {
    /// The messages of each past scene.
    pub fn scenes(&self) -> impl Iterator<Item = &[MessageId]> {
        self.all_scenes().map(|scene| scene.receipts.as_slice())
    }

    /// All past scenes, also those whose summaries are gone.
    pub fn all_scenes(&self) -> impl Iterator<Item = &Scene> {
        self.older_scenes.iter().chain(&self.scene_history)
    }
}
