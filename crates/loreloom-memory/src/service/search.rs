//! Finds passages and memories by their text.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, TenantId},
    report::{ChannelScore, RecallChannel},
};
use loreloom_ports::MemoryError;
use serde::Serialize;

use super::{PathViews, Who, text_vectors::TextVectors, turn::PassageIndexes, views::ChatPath};
use crate::{
    recall::{PassageHit, PassageQuery, Weights, excerpt},
    record::{CharacterMemory, Memory},
    search,
    timeline::{EntityTimeline, timeline},
};

/// How long a search waits for an embedder that is asked over the network, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'text> {
    /// The labels.
    pub text: &'text str,
    /// The most passages, and the most memories.
    pub most: usize,
    /// How similar a memory must be, 0 to 1.
    pub least: f64,
}

/// What was found in a chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchResults {
    /// Passages of the path, best first.
    pub passages: Vec<FoundPassage>,
    /// Memories, most similar first.
    pub memories: Vec<FoundMemory>,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundPassage {
    /// Its place on the path, from 0.
    pub at: usize,
    /// By how much it stands out.
    pub score: f64,
    /// The channel that counted most.
    pub found_by: RecallChannel,
    /// All channels that found it, most important first.
    pub channels: Vec<ChannelScore>,
    /// The words of the query that it has.
    pub shared: Vec<String>,
    /// The speaker.
    pub speaker: Option<String>,
    /// The piece of the message that fits best.
    pub text: String,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// How similar it is to the query, 0 to 1.
    pub score: f64,
}

/// Searches a story and its memories.
pub struct StorySearch {
    pub(super) views: Arc<PathViews>,
    pub(super) weights: Weights,
    pub(super) passages: Arc<PassageIndexes>,
    pub(super) vectors: Arc<TextVectors>,
}

impl StorySearch {
    /// Finds passages of a path, and memories that are active on it. Asks no model.
    pub async fn search(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
        query: SearchQuery<'_>,
    ) -> Result<SearchResults, MemoryError> {
        let view = self.views.view(tenant, chat, path, who).await?;
        let at = ChatPath { tenant, chat, path };
        let asked = self.passages.ask(at, query.text, PATIENCE).await;
        let hits = self.passages.read(at, &asked, |index, embed| {
            index.search(PassageQuery::new(query.text, query.most), &self.weights, embed)
        });
        let memories = view.character.memories.iter().chain(&view.world.memories);
        let memories: Vec<&Memory> = memories.chain(&view.chat.session_memories).collect();
        let texts = memories.iter().map(|memory| memory.content.as_str());
        let vectors = self.vectors.of(texts.chain([query.text]));
        let found = search::search(memories, query.text, query.most, query.least, &vectors);
        Ok(SearchResults {
            passages: hits.iter().filter_map(|hit| passage(hit, path)).collect(),
            memories: found
                .into_iter()
                .map(|(memory, score)| FoundMemory { memory: memory.clone(), score })
                .collect(),
        })
    }

    /// What is remembered of a person, place or thing on a path, oldest first. `None` if no
    /// memory names it.
    pub async fn timeline(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
        name: &str,
    ) -> Result<Option<EntityTimeline>, MemoryError> {
        let view = self.views.view(tenant, chat, path, who).await?;
        let mut character = CharacterMemory::clone(&view.character);
        character.memories.extend(view.world.memories.iter().cloned());
        Ok(timeline(name, &character, &view.chat, path))
    }
}

fn passage(hit: &PassageHit, path: &[PathItem]) -> Option<FoundPassage> {
    let message = &path.get(hit.at)?.message;
    Some(FoundPassage {
        at: hit.at,
        score: hit.score,
        found_by: hit.parts.found_by(),
        channels: hit.parts.channels(),
        shared: hit.shared.clone(),
        speaker: message.name.clone(),
        text: excerpt(hit, &message.text)?,
    })
}
