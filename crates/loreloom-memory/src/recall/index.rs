//! An index of the messages of a story.
//!
//! Each message is indexed in pieces ([`super::pieces`]), and found as its best piece.

use std::{ops::Range, sync::Arc};

use loreloom_core::bm25::Bm25;

use super::{
    asks::{tells_number, tells_place},
    best::single,
    language::{Language, LanguageCounts, LanguageSigns},
    lengths::Lengths,
    names::{Addresses, NamedSpeakers, addressed},
    packed::{PackedVector, PackedVectors},
    piece_list::PieceList,
    pieces::{pieces, words},
    related::Related,
    speakers::SpeakerList,
    story_vectors::StoryVectors,
    tokens::{PackedTokens, Token, terms, terms_in},
    vocabulary::StoryVocabulary,
};
use crate::{number::real, text::sentences};

/// A passage of the story, usually one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage<'story> {
    /// The speaker.
    pub speaker: Option<&'story str>,
    /// The text.
    pub text: &'story str,
    /// The part of the story it belongs to. Passages of different parts are no neighbours.
    pub stretch: u32,
    /// Whether the player says it. "What did I promise?" is about the player.
    pub by_player: bool,
}

/// What was computed from a text.
#[derive(Clone, Debug)]
pub struct Prepared(Arc<PreparedText>);

#[derive(Debug)]
struct PreparedText {
    pieces: Vec<PreparedPiece>,
    /// How many words it has.
    words: usize,
    /// The share of its sentences that are questions.
    asking: f64,
    /// What it mentions.
    tells: Tells,
    /// The names with which it addresses somebody.
    addressed: Vec<String>,
    signs: LanguageSigns,
    /// The language of its terms.
    language: Language,
}

#[derive(Debug)]
struct PreparedPiece {
    range: Range<usize>,
    tokens: PackedTokens,
    vector: PackedVector,
}

/// What a text mentions that a question can ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tells {
    pub(super) time: bool,
    pub(super) number: bool,
    pub(super) place: bool,
}

impl Prepared {
    /// Computes what a passage needs. All passages of an index need the same embedder.
    pub fn of(text: &str, embed: Option<&dyn StoryVectors>) -> Self {
        let signs = LanguageSigns::of(&text.to_lowercase());
        let language = signs.language(None).unwrap_or_default();
        let prepared = |range: Range<usize>| {
            let text = &text[range.clone()];
            let vector = embed.and_then(|embed| embed.piece(text, language)).unwrap_or_default();
            let tokens = PackedTokens::of(&terms_in(text, language));
            PreparedPiece { range, tokens, vector }
        };
        Self(Arc::new(PreparedText {
            pieces: pieces(text).into_iter().map(prepared).collect(),
            words: words(text),
            asking: asking(text),
            tells: Tells {
                time: tells_time(text),
                number: tells_number(text),
                place: tells_place(text),
            },
            addressed: addressed(text),
            signs,
            language,
        }))
    }
}

/// A piece of a passage that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVector {
    piece: usize,
    /// The passage's place in the index.
    pub at: usize,
    /// The bytes of the piece in the passage.
    pub range: Range<usize>,
}

/// What is needed to remove a passage again.
#[derive(Clone, Debug)]
struct PassageUndo {
    /// How many speakers, terms and pieces there were before.
    known: (usize, usize, usize),
    words: usize,
    addressed: Vec<String>,
    language: Option<Language>,
}

/// The form of a passage. It is small, because every search reads all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassageForm {
    /// The speaker, as index into the list of speakers.
    pub(super) speaker: Option<u32>,
    pub(super) stretch: u32,
    pub(super) by_player: bool,
    pub(super) asking: f32,
    pub(super) tells: Tells,
}

/// An index over the passages of one story.
///
/// Names of speakers are not terms. Messages are full of them as address ("Hey Mara!"), and the
/// speaker is known anyway.
#[derive(Clone, Debug, Default)]
pub struct PassageIndex {
    /// The words of each piece.
    pub(super) words: Bm25,
    pub(super) pieces: PieceList,
    /// The vector of each piece.
    pub(super) meanings: PackedVectors,
    pub(super) forms: Vec<PassageForm>,
    undo: Vec<PassageUndo>,
    pub(super) lengths: Lengths,
    pub(super) vocabulary: StoryVocabulary,
    pub(super) related: Related,
    speakers: SpeakerList,
    addresses: Addresses,
    languages: LanguageCounts,
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
        let mut known = SpeakerList::default();
        speakers.into_iter().for_each(|speaker| known.add(&speaker));
        Self { speakers: known, ..Self::default() }
    }

    /// How many passages there are.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Adds the next passage. Without `embed`, passages are found by their words alone. All
    /// passages of an index need the same embedder.
    pub fn push(&mut self, passage: Passage<'_>, embed: Option<&dyn StoryVectors>) {
        self.push_prepared(passage, &Prepared::of(passage.text, embed), embed);
    }

    /// Adds the next passage with its prepared text.
    pub fn push_prepared(
        &mut self,
        passage: Passage<'_>,
        prepared: &Prepared,
        embed: Option<&dyn StoryVectors>,
    ) {
        let prepared = &*prepared.0;
        let usual = self.languages.usual();
        let shown = prepared.signs.language(usual);
        self.undo.push(PassageUndo {
            known: (self.speakers.len(), self.vocabulary.len(), self.pieces.len()),
            words: prepared.words,
            addressed: prepared.addressed.clone(),
            language: shown,
        });
        if let Some(speaker) = passage.speaker {
            self.speakers.add(speaker);
        }
        let language = shown.or(usual).unwrap_or_default();
        for piece in &prepared.pieces {
            let words = embed.filter(|embed| embed.knows_words(language));
            if language == prepared.language {
                self.push_piece(&piece.range, piece.tokens.unpack(), words);
                self.meanings.push(&piece.vector);
            } else {
                let text = &passage.text[piece.range.clone()];
                self.push_piece(&piece.range, terms_in(text, language), words);
                let vector = embed.and_then(|embed| embed.piece(text, language));
                self.meanings.push(&vector.unwrap_or_default());
            }
        }
        let speaker = passage.speaker.and_then(|name| self.speakers.place(name));
        if let Some(speaker) = speaker {
            self.addresses.add(speaker, &prepared.addressed);
        }
        self.lengths.add(prepared.words);
        self.languages.add(shown);
        self.stretches_differ |=
            self.forms.last().is_some_and(|last| last.stretch != passage.stretch);
        self.forms.push(PassageForm {
            speaker,
            stretch: passage.stretch,
            by_player: passage.by_player,
            asking: single(prepared.asking),
            tells: prepared.tells,
        });
    }

    fn push_piece(
        &mut self,
        range: &Range<usize>,
        tokens: Vec<Token>,
        words: Option<&dyn StoryVectors>,
    ) {
        let found = self.without_speakers(tokens);
        self.words.push(found.iter().map(|token| token.stem.as_str()));
        let mut terms: Vec<u32> = Vec::with_capacity(found.len());
        for token in &found {
            let term = self.vocabulary.add(token, words);
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        self.pieces.push(self.forms.len(), range, &terms);
    }

    /// Removes the newest passages until `left` remain. The index is then as if they had never been
    /// added.
    pub fn truncate(&mut self, left: usize) {
        let Some(first) = self.undo.get(left) else { return };
        let (speakers, terms, pieces) = first.known;
        while self.undo.len() > left {
            let (Some(undo), Some(form)) = (self.undo.pop(), self.forms.pop()) else { break };
            self.lengths.remove(undo.words);
            if let Some(speaker) = form.speaker {
                self.addresses.remove(speaker, &undo.addressed);
            }
            self.languages.remove(undo.language);
        }
        for piece in (pieces..self.pieces.len()).rev() {
            let vocabulary = &self.vocabulary;
            self.words.pop(self.pieces.terms(piece).iter().map(|term| vocabulary.term(*term)));
        }
        self.pieces.truncate(pieces);
        self.meanings.truncate(pieces);
        self.speakers.truncate(speakers);
        self.related.truncate(terms);
        self.vocabulary.truncate(terms);
    }

    /// How distinctive a term is: the rarer, the more.
    pub(super) fn rarity(&self, term: &str) -> f64 {
        self.words.rarity(self.words.texts_with(term))
    }

    /// Whether the passages belong to several parts of the story.
    pub(super) fn stretches_differ(&self) -> bool {
        self.stretches_differ
    }

    /// Whether both places exist and are in the same part of the story.
    pub(super) fn are_near(&self, one: usize, other: usize) -> bool {
        let stretch = |at: usize| self.forms.get(at).map(|form| form.stretch);
        other < self.forms.len() && (!self.stretches_differ || stretch(one) == stretch(other))
    }

    /// The language in which a text of unclear language is read.
    pub(super) fn usual_language(&self) -> Option<Language> {
        self.languages.usual()
    }

    /// The language that a text is in.
    pub(super) fn language_of(&self, text: &str) -> Language {
        let usual = self.usual_language();
        let shown = LanguageSigns::of(&text.to_lowercase()).language(usual);
        shown.or(usual).unwrap_or_default()
    }

    /// The pieces without a vector, newest first.
    pub fn missing_vectors(&self) -> impl Iterator<Item = MissingVector> {
        let missing = (0..self.pieces.len()).rev().filter(|piece| self.meanings.is_missing(*piece));
        missing.map(|piece| MissingVector {
            piece,
            at: self.pieces.passage(piece),
            range: self.pieces.range(piece),
        })
    }

    /// Adds the vector of a piece that had none.
    pub fn fill_vector(&mut self, missing: &MissingVector, vector: &PackedVector) {
        self.meanings.fill(missing.piece, vector);
    }

    /// The pieces of a passage.
    pub(super) fn pieces_of(&self, at: usize) -> Range<usize> {
        let start = |at: usize| self.undo.get(at).map_or(self.pieces.len(), |undo| undo.known.2);
        start(at)..start(at + 1)
    }

    /// The speakers that a text names.
    pub(super) fn named(&self, text: &str) -> NamedSpeakers {
        // The text itself may be the newest passage.
        let is_known = |word: &str| {
            let found = terms(word, self.usual_language());
            found.iter().any(|token| self.words.texts_with(&token.stem) > 1)
        };
        NamedSpeakers::find(text, self.speakers.names(), &self.addresses, is_known)
    }

    /// Tokens that are not part of a speaker's name.
    pub(super) fn without_speakers(&self, mut found: Vec<Token>) -> Vec<Token> {
        found.retain(|token| !self.speakers.has_word(&token.word));
        found
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
