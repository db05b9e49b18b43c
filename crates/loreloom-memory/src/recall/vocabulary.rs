//! The terms of a story: a number for each, and the vector of its word.

use rustc_hash::FxHashMap;

use super::{packed::PackedVectors, story_vectors::StoryVectors, tokens::Token};
use crate::number::{clamp_u32, clamp_usize};

/// Terms in the order of their first use.
#[derive(Clone, Debug, Default)]
pub(super) struct StoryVocabulary {
    terms: Vec<String>,
    numbers: FxHashMap<String, u32>,
    /// The vector of each; empty where there was no embedder.
    pub(super) meanings: PackedVectors,
}

impl StoryVocabulary {
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// The number of a term, which may be new.
    pub(super) fn add(&mut self, token: &Token, embed: Option<&dyn StoryVectors>) -> u32 {
        if let Some(number) = self.numbers.get(&token.stem) {
            return *number;
        }
        let number = clamp_u32(self.terms.len());
        let meaning = embed.map(|embed| embed.word(&token.word));
        self.meanings.push(&meaning.unwrap_or_default());
        self.terms.push(token.stem.clone());
        self.numbers.insert(token.stem.clone(), number);
        number
    }

    /// The number of a known term.
    pub(super) fn number(&self, term: &str) -> Option<u32> {
        self.numbers.get(term).copied()
    }

    /// The term with a number.
    pub(super) fn term(&self, number: u32) -> &str {
        &self.terms[clamp_usize(number.into())]
    }

    /// Removes the newest terms until `left` remain.
    pub(super) fn truncate(&mut self, left: usize) {
        for term in self.terms.drain(left.min(self.terms.len())..) {
            self.numbers.remove(&term);
        }
        self.meanings.truncate(left);
    }
}
