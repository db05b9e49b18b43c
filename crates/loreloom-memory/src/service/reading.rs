//! What people ask of a story: what happened before, and where something is.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, TenantId},
};
use serde::Serialize;

use super::{MemoryService, Who, recalled};
use crate::{
    drive::{DriveError, drive},
    pass::Answers,
    recall::Hit,
    recap,
    record::{CharacterMemory, Memory},
    search,
    similarity::Vectors,
    timeline::{Timeline, timeline},
};
use loreloom_ports::{ChatModel, MemoryError, Vector};

/// Why there is no recap.
#[derive(Debug, thiserror::Error)]
pub enum RecapError {
    /// There is no such chat.
    #[error("there is no chat `{chat}`")]
    NoChat {
        /// The chat asked for.
        chat: ChatId,
    },
    /// The model failed.
    #[error("{error}: {}", error.source)]
    Model {
        /// How.
        error: DriveError,
    },
    /// The store failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// What was found in a chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// Passages of its current path, best first.
    pub passages: Vec<FoundPassage>,
    /// Memories, most alike first.
    pub memories: Vec<FoundMemory>,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundPassage {
    /// Its place on the path, from 0.
    pub at: usize,
    /// How far it stands out.
    pub score: f64,
    /// Who says it.
    pub speaker: Option<String>,
    /// What is said.
    pub text: String,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// How alike it is to what was asked, 0 to 1.
    pub score: f64,
}

impl MemoryService {
    /// Hours since a chat was last told, if that is long enough for a recap.
    pub async fn away(&self, tenant: &TenantId, chat: &ChatId) -> Result<Option<u64>, MemoryError> {
        let settings = &self.options.settings;
        let Some(record) = self.ports.story.chat(tenant, chat).await? else { return Ok(None) };
        let (now, last) = (self.ports.clock.now().0, Some(record.updated.0));
        let hours = recap::away_hours(now, last, None, settings.recap_threshold_hours);
        Ok(Some(hours).filter(|hours| settings.recap_enabled && *hours > 0))
    }

    /// What happened before, from the newest messages and the summary; `None` if the model
    /// has nothing to tell. Nothing is stored.
    pub async fn recap(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        messages: usize,
        model: &dyn ChatModel,
    ) -> Result<Option<String>, RecapError> {
        let record = self.ports.story.chat(tenant, chat).await.map_err(MemoryError::from)?;
        let record = record.ok_or_else(|| RecapError::NoChat { chat: chat.clone() })?;
        let path = self.items(tenant, chat, record.tip).await?;
        let (memory, _) = self.chat_view(tenant, chat, &path).await?;
        let newest = &path[path.len().saturating_sub(messages)..];
        let mut answers = Answers::default();
        let summary = memory.summary.as_deref();
        let pass = |script: &mut crate::pass::Script<'_>| recap::run(newest, summary, script);
        let told = drive(pass, &mut answers, model, None).await;
        told.map_err(|error| RecapError::Model { error })
    }

    /// What is remembered of a person, place or thing on a path, oldest first. `None` if
    /// nothing speaks of it.
    pub async fn timeline(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
        name: &str,
    ) -> Result<Option<Timeline>, MemoryError> {
        let view = self.view(tenant, chat, path, who).await?;
        let mut character = CharacterMemory::clone(&view.character);
        character.memories.extend(view.world.memories.iter().cloned());
        Ok(timeline(name, &character, &view.chat, path))
    }

    /// Passages of a chat's path, and memories that hold on it, by what they say. Asks no
    /// model.
    pub async fn search(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
        asked: Asking<'_>,
    ) -> Result<Found, MemoryError> {
        let view = self.view(tenant, chat, path, who).await?;
        let embed = self.ports.embed.as_deref();
        let embed: Option<&dyn Fn(&str) -> Vector> = match &embed {
            Some(embed) => Some(embed),
            None => None,
        };
        let story = self.indexes().of(tenant, chat, path.len(), self.options.passages_most);
        let hits = recalled::on(&story, path, embed, |index| {
            index.search(asked.text, &[], asked.most, &self.options.weights, embed)
        });
        let memories = view.character.memories.iter().chain(&view.world.memories);
        let memories: Vec<&Memory> = memories.chain(&view.chat.session_memories).collect();
        let mut vectors = Vectors::off();
        if let Some(embed) = embed {
            let texts = memories.iter().map(|memory| memory.content.as_str());
            for text in texts.chain([asked.text]) {
                vectors.insert(text, Some(embed(text)));
            }
        }
        let found = search::search(memories, asked.text, asked.most, asked.least, &vectors);
        Ok(Found {
            passages: hits.iter().filter_map(|hit| passage(hit, path)).collect(),
            memories: found
                .into_iter()
                .map(|(memory, score)| FoundMemory { memory: memory.clone(), score })
                .collect(),
        })
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'text> {
    /// The words.
    pub text: &'text str,
    /// Most passages, and most memories.
    pub most: usize,
    /// How alike a memory must be, 0 to 1.
    pub least: f64,
}

fn passage(hit: &Hit, path: &[PathItem]) -> Option<FoundPassage> {
    let message = &path.get(hit.at)?.message;
    Some(FoundPassage {
        at: hit.at,
        score: hit.score,
        speaker: message.name.clone(),
        text: message.text.to_string(),
    })
}
