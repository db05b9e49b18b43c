//! How similar passages are to a question in meaning.

use super::{
    PassageIndex, Weights, best::standard, packed::PackedVector, story_vectors::StoryVectors,
    tokens::Token,
};
use crate::number::clamp_usize;

/// The similarity of a question to all passages.
pub(super) struct Meaning {
    /// The cosine of each piece.
    pub(super) pieces: Vec<f32>,
    /// The score of each passage's vector.
    pub(super) passages: Vec<f32>,
    /// The score of each passage's nearest words.
    pub(super) nearest: Vec<f32>,
    /// The first passage that is not searched.
    pub(super) until: usize,
}

impl PassageIndex {
    /// The similarity to the vector of a question, if it has one, and to its words, if there are
    /// vectors of words.
    pub(super) fn meaning(
        &self,
        wanted: Option<&PackedVector>,
        (asked, words): (&[Token], Option<&dyn StoryVectors>),
        until: usize,
        weights: &Weights,
    ) -> Meaning {
        let none = || vec![0.0; self.len()];
        let (pieces, passages) = match wanted {
            None => (vec![0.0; self.pieces.len()], none()),
            Some(wanted) => {
                let mut pieces = self.meanings.likeness(wanted);
                self.meanings.level(&mut pieces);
                let passages = standard(self.best_of_pieces(&pieces), weights.meaning, until);
                (pieces, passages)
            }
        };
        let nearest = words.map_or_else(none, |words| {
            let pieces = self.nearest_words(asked, until, weights, words);
            standard(self.best_of_pieces(&pieces), weights.nearest_words, until)
        });
        Meaning { pieces, passages, nearest, until }
    }

    /// The best score among the pieces of each passage.
    pub(super) fn best_of_pieces(&self, scores: &[f32]) -> Vec<f32> {
        if self.pieces.len() == self.len() {
            return scores.to_vec();
        }
        let mut found = vec![f32::NEG_INFINITY; self.len()];
        for (passage, score) in self.pieces.passages().iter().zip(scores) {
            let best = &mut found[clamp_usize((*passage).into())];
            *best = best.max(*score);
        }
        found
    }
}
