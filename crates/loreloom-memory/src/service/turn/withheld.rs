//! The memories that the knowledge filter keeps from a character, shown to an author.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, TenantId},
};
use loreloom_ports::MemoryError;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::{TurnRecall, knowledge_filter::Reader, with_world};
use crate::{
    record::{ChatMemory, Memory},
    service::{Who, views::ChatPath},
};

/// What kind of memory is kept from a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WithheldTier {
    /// A memory.
    Memory,
    /// A scene.
    Scene,
    /// An arc.
    Arc,
}

/// A memory that is kept from a character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Withheld {
    /// What it is.
    pub tier: WithheldTier,
    /// Its text.
    pub content: String,
}

impl TurnRecall {
    /// The memories, scenes and arcs of a path that are kept from a character. Summaries,
    /// profiles and state cards lose sentences too; those are not listed.
    pub async fn withheld(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        speaker: &Who,
    ) -> Result<Vec<Withheld>, MemoryError> {
        let speaker = self.views.with_policy(speaker.clone());
        let view = self.views.view(tenant, chat, path, &speaker).await?;
        let reader = Reader { who: &speaker, group: &[] };
        let filter = self.filter(ChatPath { tenant, chat, path }, reader, &view).await?;
        let all = with_world(&view);
        let (own, shared) =
            (filter.character(&all, &FxHashSet::default(), false), filter.chat(&view.chat, path));
        let mut withheld = Vec::new();
        let mut note = |tier, before: Vec<&str>, after: Vec<&str>| {
            let gone = before.into_iter().filter(|text| !after.contains(text));
            withheld.extend(gone.map(|text| Withheld { tier, content: text.to_owned() }));
        };
        let (before, after) = (&view.chat, shared.as_ref());
        note(WithheldTier::Memory, texts(&all.memories), texts(&own.memories));
        note(WithheldTier::Memory, texts(&before.session_memories), texts(&after.session_memories));
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

/// The texts of memories that were not replaced.
fn texts(memories: &[Memory]) -> Vec<&str> {
    let holding = memories.iter().filter(|memory| memory.superseded_by.is_none());
    holding.map(|memory| memory.content.as_str()).collect()
}
