//! An index of the passages of a story.

use std::sync::Arc;

use loreloom_core::bm25::Bm25;
use rustc_hash::FxHashSet;

use super::{
    address::speaks_about,
    packed::{PackedVector, PackedVectors},
    related::Related,
    tokens::{Token, tokens},
};
use crate::{number::real, text::sentences};
use loreloom_ports::Vector;

/// A passage of the story, usually one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage<'story> {
    /// The speaker.
    pub speaker: Option<&'story str>,
    /// The text.
    pub text: &'story str,
    /// The part of the story it belongs to. Passages of different parts are no neighbours.
    pub stretch: u32,
}

/// What was computed from a text.
#[derive(Clone, Debug)]
pub struct Prepared(Arc<PreparedText>);

#[derive(Debug)]
struct PreparedText {
    tokens: Vec<Token>,
    /// The share of its sentences that are questions.
    asking: f64,
    /// Whether it mentions a time.
    tells_time: bool,
    vector: PackedVector,
}

impl Prepared {
    /// Computes what a passage needs. All passages of an index need the same embedder.
    pub fn of(text: &str, embed: Option<&dyn Fn(&str) -> Vector>) -> Self {
        Self(Arc::new(PreparedText {
            tokens: tokens(text),
            asking: asking(text),
            tells_time: tells_time(text),
            vector: embed.map(|embed| PackedVector::of(&embed(text))).unwrap_or_default(),
        }))
    }
}

/// What the index stores of a passage.
#[derive(Clone, Debug)]
pub(super) struct PassageTerms {
    /// Its distinct terms.
    pub(super) terms: Vec<String>,
    /// How many speakers and terms there were before.
    known: (usize, usize),
}

/// The form of a passage. It is small, because every search reads all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassageForm {
    /// The speaker, as index into the list of speakers.
    pub(super) speaker: Option<u32>,
    pub(super) stretch: u32,
    pub(super) asking: f64,
    pub(super) tells_time: bool,
}

/// An index over the passages of one story.
///
/// Names of speakers are not terms. Messages are full of them as address ("Hey Mara!"), and the
/// speaker is known anyway.
#[derive(Clone, Debug, Default)]
pub struct PassageIndex {
    pub(super) words: Bm25,
    pub(super) entries: Vec<PassageTerms>,
    pub(super) forms: Vec<PassageForm>,
    pub(super) meanings: PackedVectors,
    /// All terms, and the vectors of their words.
    pub(super) terms: Vec<String>,
    pub(super) term_meanings: PackedVectors,
    pub(super) related: Related,
    known_terms: FxHashSet<String>,
    pub(super) speakers: Vec<String>,
    stretches_differ: bool,
}

/// Words about time.
#[rustfmt::skip]
const TIMES: &[&str] = &[
    "afternoon", "ago", "april", "august", "dawn", "december", "dusk", "evening", "february",
    "friday", "january", "july", "june", "last", "march", "may", "midnight", "monday", "month",
    "months", "morning", "next", "night", "november", "october", "recently", "saturday",
    "september", "since", "sunday", "thursday", "today", "tomorrow", "tonight", "tuesday",
    "wednesday", "week", "weekend", "weeks", "year", "years", "yesterday",
];

impl PassageIndex {
    /// An empty index with the speakers that are already known.
    pub fn new(speakers: impl IntoIterator<Item = String>) -> Self {
        Self { speakers: speakers.into_iter().collect(), ..Self::default() }
    }

    /// How many passages there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds the next passage. Without `embed`, passages are found by their words alone. All
    /// passages of an index need the same embedder.
    pub fn push(&mut self, passage: Passage<'_>, embed: Option<&dyn Fn(&str) -> Vector>) {
        self.push_prepared(passage, &Prepared::of(passage.text, embed), embed);
    }

    /// Adds the next passage with its prepared text.
    pub fn push_prepared(
        &mut self,
        passage: Passage<'_>,
        prepared: &Prepared,
        embed: Option<&dyn Fn(&str) -> Vector>,
    ) {
        let known = (self.speakers.len(), self.terms.len());
        if let Some(speaker) = passage.speaker
            && !self.speakers.iter().any(|known| known == speaker)
        {
            self.speakers.push(speaker.to_owned());
        }
        let found = self.without_speakers(prepared.0.tokens.clone());
        self.words.push(found.iter().map(|token| token.stem.as_str()));
        let mut terms: Vec<String> = Vec::new();
        for token in found {
            if terms.contains(&token.stem) {
                continue;
            }
            if let Some(embed) = embed
                && self.known_terms.insert(token.stem.clone())
            {
                self.terms.push(token.stem.clone());
                self.term_meanings.push(&PackedVector::of(&embed(&token.word)));
            }
            terms.push(token.stem);
        }
        let speaker = passage.speaker.and_then(|name| self.speaker_place(name));
        self.stretches_differ |=
            self.forms.last().is_some_and(|last| last.stretch != passage.stretch);
        self.forms.push(PassageForm {
            speaker,
            stretch: passage.stretch,
            asking: prepared.0.asking,
            tells_time: prepared.0.tells_time,
        });
        self.meanings.push(&prepared.0.vector);
        self.entries.push(PassageTerms { terms, known });
    }

    /// Removes the newest passages until `left` remain. The index is then as if they had never been
    /// added.
    pub fn truncate(&mut self, left: usize) {
        let Some(first) = self.entries.get(left) else { return };
        let (speakers, terms) = first.known;
        while self.entries.len() > left {
            let Some(entry) = self.entries.pop() else { break };
            self.words.pop(entry.terms.iter().map(String::as_str));
        }
        self.forms.truncate(left);
        self.meanings.truncate(left);
        self.speakers.truncate(speakers);
        self.term_meanings.truncate(terms);
        self.related.truncate(terms);
        for term in self.terms.drain(terms..) {
            self.known_terms.remove(&term);
        }
    }

    /// How distinctive a term is: the rarer, the more.
    pub(super) fn rarity(&self, term: &str) -> f64 {
        self.words.rarity(self.words.texts_with(term))
    }

    /// Whether the passages belong to several parts of the story.
    pub(super) fn stretches_differ(&self) -> bool {
        self.stretches_differ
    }

    /// The index of a name in the list of speakers.
    pub(super) fn speaker_place(&self, name: &str) -> Option<u32> {
        let place = self.speakers.iter().position(|known| known == name)?;
        u32::try_from(place).ok()
    }

    /// The speakers that a text names.
    pub(super) fn named(&self, text: &str) -> Vec<&str> {
        let names = self.speakers.iter().map(String::as_str);
        names.filter(|name| crate::text::contains_word(text, name)).collect()
    }

    /// The indexes of the named speakers that a text is about.
    pub(super) fn spoken_about(&self, text: &str, named: &[&str]) -> Vec<u32> {
        let about = named.iter().filter(|name| speaks_about(text, name));
        about.filter_map(|name| self.speaker_place(name)).collect()
    }

    /// Tokens that are not part of a speaker's name.
    pub(super) fn without_speakers(&self, found: Vec<Token>) -> Vec<Token> {
        let is_name = |word: &str| {
            self.speakers
                .iter()
                .any(|name| name.split_whitespace().any(|part| part.to_lowercase() == word))
        };
        found.into_iter().filter(|token| !is_name(&token.word)).collect()
    }
}

/// The share of a text's sentences that are questions.
fn asking(text: &str) -> f64 {
    let parts = sentences(text);
    let asked = parts.iter().filter(|part| part.trim_end().ends_with(['?', '？'])).count();
    if parts.is_empty() { 0.0 } else { real(asked) / real(parts.len()) }
}

fn tells_time(text: &str) -> bool {
    let text = text.to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).any(|word| TIMES.binary_search(&word).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_time_are_sorted_for_the_search() {
        assert!(TIMES.is_sorted());
    }

    #[test]
    fn the_share_of_questions_is_counted_in_sentences() {
        for (text, expected) in [("Really? Yes. No.", 1.0 / 3.0), ("Why?", 1.0), ("", 0.0)] {
            assert!((asking(text) - expected).abs() < 1e-9, "{text}");
        }
    }
}
