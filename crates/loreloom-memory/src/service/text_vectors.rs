//! Vectors of texts, made in the process and cached.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loreloom_ports::Vector;
use rustc_hash::FxHashMap;

use super::EmbedOne;
use crate::similarity::Vectors;

/// How many texts are cached: enough for all memories of a turn.
const MOST_TEXTS: usize = 20_000;

/// Embeds texts and caches their vectors.
pub(super) struct TextVectors {
    embed: Option<EmbedOne>,
    known: Mutex<FxHashMap<String, Vector>>,
}

impl TextVectors {
    pub(super) fn new(embed: Option<EmbedOne>) -> Self {
        Self { embed, known: Mutex::default() }
    }

    /// Embeds one text, if there is an embedder. Its vectors are cached.
    pub(super) fn embedder(self: &Arc<Self>) -> Option<EmbedOne> {
        self.embed.as_ref()?;
        let own = Arc::clone(self);
        Some(Arc::new(move |text| {
            own.of([text]).get(text).map(<[f32]>::to_vec).unwrap_or_default()
        }))
    }

    fn known(&self) -> MutexGuard<'_, FxHashMap<String, Vector>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vectors of these texts. Without an embedder, texts are compared by their words.
    pub(super) fn of<'text>(&self, texts: impl IntoIterator<Item = &'text str>) -> Vectors {
        let Some(embed) = self.embed.as_deref() else { return Vectors::off() };
        let mut vectors = Vectors::on();
        let texts: Vec<&str> = texts.into_iter().collect();
        let known: Vec<Option<Vector>> = {
            let known = self.known();
            texts.iter().map(|text| known.get(*text).cloned()).collect()
        };
        let mut new: Vec<(String, Vector)> = Vec::new();
        for (text, known) in texts.into_iter().zip(known) {
            // Embedding takes a while, so it happens outside the lock.
            let vector = known.unwrap_or_else(|| {
                let vector = embed(text);
                new.push((text.to_owned(), vector.clone()));
                vector
            });
            vectors.insert(text, Some(vector));
        }
        let mut known = self.known();
        if known.len() + new.len() > MOST_TEXTS {
            known.clear();
        }
        known.extend(new);
        drop(known);
        vectors
    }
}
