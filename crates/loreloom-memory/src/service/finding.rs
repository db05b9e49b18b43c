//! Finding passages of a chat, and memories, by what they say. No model is asked.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, TenantId},
};

use super::{MemoryService, Who};
use crate::{
    ports::MemoryError,
    recall::{Index, Passage},
    record::Memory,
    search::search,
    similarity::Vectors,
};

/// How like a question a memory must be.
const LEAST: f64 = 0.3;

/// What was found, best first.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Places on the path, with how well each fits.
    pub passages: Vec<(usize, f64)>,
    /// Memories, with how well each fits.
    pub memories: Vec<(Memory, f64)>,
}

impl MemoryService {
    /// Looks for passages of a path, and for what is remembered there.
    pub async fn search(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
        who: &Who,
        text: &str,
        most: usize,
    ) -> Result<Found, MemoryError> {
        let view = self.view(tenant, chat, path, who).await?;
        let embed = self.ports.embed.as_deref();
        let mut index = Index::new([]);
        for item in path {
            let (speaker, text) = (item.message.name.as_deref(), item.message.text.as_str());
            index.push(Passage { speaker, text, stretch: 0 }, embed.map(|embed| embed as _));
        }
        let weights = &self.options.weights;
        let hits = index.search(text, &[], most, weights, embed.map(|embed| embed as _));
        let memories = view.character.memories.iter().chain(&view.chat.session_memories);
        let memories: Vec<&Memory> = memories.collect();
        let mut vectors = if embed.is_some() { Vectors::on() } else { Vectors::default() };
        if let Some(embed) = embed {
            let texts = memories.iter().map(|memory| memory.content.as_str());
            for text in texts.chain([text]) {
                vectors.insert(text, Some(embed(text)));
            }
        }
        let found = search(memories, text, most, LEAST, &vectors).into_iter();
        Ok(Found {
            passages: hits.iter().map(|hit| (hit.at, hit.score)).collect(),
            memories: found.map(|(memory, score)| (memory.clone(), score)).collect(),
        })
    }
}
