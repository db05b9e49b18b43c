//! Vectors of a story that a server makes.
//!
//! A turn asks for its question and for the few pieces that are new, in one request and for a
//! short time. A story that is new to the server is embedded in the background, in batches. Until
//! then, and while the server is down, passages are found by their words. What the server answered
//! is in the store too, so a restart asks for nothing again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, Digest, TenantId},
};
use loreloom_ports::{Embedder, MemoryLog};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::{
    recall::{Language, PackedVector, StoryVectors},
    service::cached_embedder::CachedEmbedder,
    text::head,
};

/// The texts of one request in the background.
const BATCH: usize = 32;
/// The most characters of a text that is embedded.
const LONGEST: usize = 4000;
/// So many chats wait for their vectors at once.
const MOST_CHATS: usize = 64;
/// After a failure the server is left alone for so long.
const REST: Duration = Duration::from_secs(30);

/// An embedding model on a server, and what it answered.
pub(super) struct EmbeddingServer {
    embedder: Arc<dyn Embedder>,
    log: Arc<dyn MemoryLog>,
    /// How long a turn waits for it.
    pub(super) patience: Duration,
    /// The most vectors that are held.
    most: usize,
    known: Mutex<FxHashMap<Digest, PackedVector>>,
    waiting: Mutex<WaitingTexts>,
    rests_until: Mutex<Option<Instant>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(text: &str) -> Digest {
    Hasher::new("passage").field(text.as_bytes()).finish()
}

impl EmbeddingServer {
    pub(super) fn new(
        embedder: Arc<dyn Embedder>,
        log: Arc<dyn MemoryLog>,
        patience: Duration,
        most: usize,
    ) -> Self {
        let (known, waiting, rests_until) = Default::default();
        Self { embedder, log, patience, most, known, waiting, rests_until }
    }

    /// The vector of a text, if the server made it.
    pub(super) fn known(&self, text: &str) -> Option<PackedVector> {
        lock(&self.known).get(&key(text)).cloned()
    }

    /// Whether the server failed a moment ago.
    pub(super) fn rests(&self) -> bool {
        lock(&self.rests_until).is_some_and(|until| Instant::now() < until)
    }

    /// Leaves the server alone for a while.
    pub(super) fn rest(&self) {
        *lock(&self.rests_until) = Some(Instant::now() + REST);
    }

    /// Has these texts of a chat embedded in the background, the first ones first. If too many
    /// other chats wait, returns why this one must ask again.
    pub(super) fn wait_for(
        &self,
        (tenant, chat): (&TenantId, &ChatId),
        texts: Vec<String>,
    ) -> Result<(), String> {
        lock(&self.waiting).add((tenant.clone(), chat.clone()), texts)
    }

    /// Asks for the vectors of these texts. After a failure the server rests.
    pub(super) async fn ask(&self, tenant: &TenantId, texts: &[&str]) -> Result<(), String> {
        let shown: Vec<&str> = texts.iter().map(|text| head(text, LONGEST)).collect();
        let cached = CachedEmbedder::new(self.embedder.as_ref(), self.log.as_ref(), tenant);
        let vectors = cached.embed(&shown).await.map_err(|error| {
            self.rest();
            error.to_string()
        })?;
        let mut known = lock(&self.known);
        if known.len() + texts.len() > self.most {
            known.clear();
        }
        let vectors = vectors.iter().map(PackedVector::of);
        known.extend(texts.iter().map(|text| key(text)).zip(vectors));
        Ok(())
    }

    fn next_waiting(&self) -> Option<(TenantId, Vec<String>)> {
        lock(&self.waiting).next_batch()
    }

    /// Embeds what waits. Ends early if the server fails: the next turn tries again.
    pub(super) async fn work(&self) {
        while let Some((tenant, texts)) = self.next_waiting() {
            if self.rests() {
                return;
            }
            let unknown: Vec<&str> = texts
                .iter()
                .map(String::as_str)
                .filter(|text| self.known(text).is_none())
                .collect();
            if !unknown.is_empty() && self.ask(&tenant, &unknown).await.is_err() {
                return;
            }
        }
    }
}

/// The texts of each chat that the background embeds, the next last.
#[derive(Debug, Default)]
struct WaitingTexts(FxHashMap<(TenantId, ChatId), Vec<String>>);

impl WaitingTexts {
    /// Lets the texts of a chat wait, instead of those that it had.
    fn add(&mut self, chat: (TenantId, ChatId), mut texts: Vec<String>) -> Result<(), String> {
        if self.0.len() >= MOST_CHATS && !self.0.contains_key(&chat) {
            return Err(format!(
                "{MOST_CHATS} other chats wait for their vectors; the next turn asks again"
            ));
        }
        texts.reverse();
        self.0.insert(chat, texts);
        Ok(())
    }

    fn next_batch(&mut self) -> Option<(TenantId, Vec<String>)> {
        let chat = self.0.keys().next()?.clone();
        let texts = self.0.get_mut(&chat)?;
        let batch: Vec<String> = texts.split_off(texts.len().saturating_sub(BATCH));
        if texts.is_empty() {
            self.0.remove(&chat);
        }
        Some((chat.0, batch))
    }
}

/// The vectors of a search: those of the server, and a table for single words.
pub(super) struct ServerVectors<'turn> {
    pub(super) server: &'turn EmbeddingServer,
    pub(super) table: Option<&'turn dyn StoryVectors>,
    pub(super) question: Option<&'turn PackedVector>,
}

impl StoryVectors for ServerVectors<'_> {
    fn knows_words(&self, language: Language) -> bool {
        self.table.is_some_and(|table| table.knows_words(language))
    }

    fn word(&self, word: &str) -> PackedVector {
        self.table.map(|table| table.word(word)).unwrap_or_default()
    }

    fn piece(&self, text: &str, _any: Language) -> Option<PackedVector> {
        self.server.known(text)
    }

    fn question(&self, _text: &str, _any: Language) -> Option<PackedVector> {
        self.question.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chat_too_many_is_told_to_ask_again() {
        let mut waiting = WaitingTexts::default();
        let chat = |number: usize| (TenantId::local(), ChatId::from(format!("c{number}").as_str()));
        for number in 0..MOST_CHATS {
            assert_eq!(waiting.add(chat(number), vec!["old".to_owned()]), Ok(()));
        }
        let problem = waiting.add(chat(MOST_CHATS), vec!["new".to_owned()]).unwrap_err();
        assert!(problem.contains("asks again"), "{problem}");
        // A chat that waits already may still change what it waits for.
        assert_eq!(waiting.add(chat(0), vec!["new".to_owned(), "newer".to_owned()]), Ok(()));
        let batches: Vec<Vec<String>> =
            std::iter::from_fn(|| waiting.next_batch()).map(|(_, texts)| texts).collect();
        assert_eq!(batches.len(), MOST_CHATS);
        assert!(batches.contains(&vec!["newer".to_owned(), "new".to_owned()]));
        assert_eq!(waiting.add(chat(MOST_CHATS), Vec::new()), Ok(()));
    }
}
