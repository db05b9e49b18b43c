//! Talk in private: what a character may learn of it.
//!
//! A model that notes a secret also writes threads, memories and scenes about it in its own words,
//! so the words of the secret do not always give it away. A text that was written together with the
//! note of a secret, or from messages that tell one, must therefore rest on what the character
//! heard: most of the words of each sentence are in one message, or its meaning is close to a
//! sentence. Only what was heard counts, so the secret itself cannot change the answer.

use std::{fmt, sync::Arc};

use loreloom_core::{chat::PathItem, ids::MessageId};
use loreloom_ports::Vector;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{SecretSources, stems};
use crate::{similarity::cosine, text::sentences};

/// How many messages back a sentence is looked for.
const READ: usize = 600;
/// How many messages after a secret still belong to it, until the character speaks.
const AFTER: usize = 4;
/// The share of a sentence's words that one message must have.
const MOST_WORDS: f64 = 0.6;
/// The cosine from which on two sentences mean the same.
const SAME_MEANING: f64 = 0.5;

/// Embeds one text.
pub type EmbedText = Arc<dyn Fn(&str) -> Vector + Send + Sync>;

/// Messages, and the secrets that each is about, by their index.
pub(super) type PrivateTalk = FxHashMap<MessageId, Vec<usize>>;

/// The messages about secrets that a character did not hear: those that tell them, and what
/// follows until the character speaks. What it answers, it heard.
pub(super) fn private_talk(
    path: &[PathItem],
    bearers: &PrivateTalk,
    own: &FxHashSet<MessageId>,
) -> PrivateTalk {
    let mut private = bearers.clone();
    if bearers.is_empty() {
        return private;
    }
    let (mut left, mut about): (usize, &[usize]) = (0, &[]);
    for (at, item) in path.iter().enumerate() {
        let answered = path.get(at + 1).is_some_and(|next| own.contains(&next.id));
        if let Some(told) = bearers.get(&item.id) {
            (left, about) = (AFTER, told);
        } else if own.contains(&item.id) || answered {
            left = 0;
        } else if left > 0 {
            left -= 1;
            private.insert(item.id, about.to_vec());
        }
    }
    private
}

/// What a character heard of a story that has secrets.
#[derive(Clone, Default)]
pub(super) struct HeardTalk {
    /// The words of each message.
    messages: Vec<FxHashSet<String>>,
    /// The meaning of each sentence.
    meanings: Vec<Vector>,
    /// The words of the names, which occur everywhere.
    names: FxHashSet<String>,
    embed: Option<EmbedText>,
}

impl fmt::Debug for HeardTalk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HeardTalk")
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}

impl HeardTalk {
    /// What a character heard of a path, without these private messages.
    pub(super) fn of(sources: &SecretSources<'_>, private: &PrivateTalk, cast: &[&str]) -> Self {
        let (path, presence, embed) = (sources.path, sources.presence, sources.embed);
        let mut heard = Self { embed: embed.cloned(), ..Self::default() };
        heard.names = cast.iter().flat_map(|name| stems(name)).collect();
        for (at, item) in path.iter().enumerate().skip(path.len().saturating_sub(READ)) {
            if private.contains_key(&item.id) || !presence.hears(at) {
                continue;
            }
            let text = item.message.text.as_str();
            heard.messages.push(stems(text));
            if let Some(embed) = embed {
                heard.meanings.extend(sentences(text).into_iter().map(|sentence| embed(sentence)));
            }
        }
        heard
    }

    /// Counts these texts as heard: what the character knows already.
    pub(super) fn with(mut self, texts: &[&str]) -> Self {
        self.messages.extend(texts.iter().map(|text| stems(text)));
        self
    }

    /// Whether each sentence of a text rests on what the character heard.
    pub(super) fn supports(&self, text: &str) -> bool {
        sentences(text).into_iter().all(|sentence| self.supports_sentence(sentence))
    }

    fn supports_sentence(&self, sentence: &str) -> bool {
        let mut words = stems(sentence);
        words.retain(|word| !self.names.contains(word));
        let share = |message: &FxHashSet<String>| {
            let shared = u32::try_from(words.intersection(message).count()).unwrap_or(0);
            f64::from(shared) >= MOST_WORDS * f64::from(u32::try_from(words.len()).unwrap_or(0))
        };
        if words.is_empty() || self.messages.iter().any(share) {
            return true;
        }
        let Some(embed) = &self.embed else { return false };
        let meaning = embed(sentence);
        self.meanings.iter().any(|heard| cosine(heard, &meaning) >= SAME_MEANING)
    }
}
