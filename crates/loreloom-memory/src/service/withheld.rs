//! What the wall keeps from a character of what is remembered, for an author who looks at it.
//!
//! The same ears as at a turn leave it out; this only says what they left.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, TenantId},
};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::{MemoryService, Who, turn::with_world};
use crate::record::{ChatMemory, Memory};
use loreloom_ports::MemoryError;

/// What kind of thing is kept from a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WithheldTier {
    /// A memory.
    Memory,
    /// A scene.
    Scene,
    /// A thread of the story.
    Arc,
}

/// Something that is kept from a character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Withheld {
    /// What it is.
    pub tier: WithheldTier,
    /// What it says.
    pub content: String,
}

impl MemoryService {
    /// The memories, scenes and threads that hold on a path and are kept from a character: told
    /// behind its back, or not to be known by it. What a summary, a profile or a card of the
    /// ledger says is shortened for it, too, and not listed.
    pub async fn withheld(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        speaker: &Who,
    ) -> Result<Vec<Withheld>, MemoryError> {
        let speaker = self.known_as(speaker.clone());
        let view = self.view(tenant, chat, path, &speaker).await?;
        let ears = self.ears(tenant, chat, path, &speaker, &view).await?;
        let all = with_world(&view);
        let (own, shared) =
            (ears.character(&all, &FxHashSet::default(), false), ears.chat(&view.chat));
        let mut withheld = Vec::new();
        let mut note = |tier, before: Vec<&str>, after: Vec<&str>| {
            let gone = before.into_iter().filter(|text| !after.contains(text));
            withheld.extend(gone.map(|text| Withheld { tier, content: text.to_owned() }));
        };
        let (before, after) = (&view.chat, shared.as_ref());
        note(WithheldTier::Memory, said(&all.memories), said(&own.memories));
        note(WithheldTier::Memory, said(&before.session_memories), said(&after.session_memories));
        note(WithheldTier::Scene, scenes(before), scenes(after));
        note(WithheldTier::Arc, arcs(before), arcs(after));
        Ok(withheld)
    }
}

fn scenes(memory: &ChatMemory) -> Vec<&str> {
    memory.scene_history.iter().map(|scene| scene.summary.as_str()).collect()
}

fn arcs(memory: &ChatMemory) -> Vec<&str> {
    memory.story_arcs.iter().map(|arc| arc.content.as_str()).collect()
}

/// What memories that still hold say.
fn said(memories: &[Memory]) -> Vec<&str> {
    let holding = memories.iter().filter(|memory| memory.superseded_by.is_none());
    holding.map(|memory| memory.content.as_str()).collect()
}
