//! Scores passages by words, their own and those of their neighbours.
//!
//! A question and its answer share the words of the question between them. So a word counts, less,
//! for the passages around it too; but a passage that has the word itself gains nothing from a
//! neighbour that repeats it. Adding the scores of neighbours instead counts such a word twice.

use super::{PassageIndex, Weights, best::single, weights::NearWeights};
use crate::number::real;

/// The scores of all passages by words.
pub(super) struct WordScores<'index> {
    index: &'index PassageIndex,
    weights: &'index Weights,
    reach: NearWeights,
    /// The first piece that is not searched. The question itself must not lift what is beside it.
    until: usize,
    /// The score of each piece.
    pub(super) pieces: Vec<f32>,
    /// What each passage gains from its neighbours.
    gained: Vec<f32>,
    /// For one term: what each passage has, and what it would get from a neighbour. All zero
    /// between two terms.
    own: Vec<f32>,
    offered: Vec<f32>,
}

impl<'index> WordScores<'index> {
    pub(super) fn new(index: &'index PassageIndex, weights: &'index Weights, until: usize) -> Self {
        // What is far away in words is far away in meaning.
        let short = index.lengths.shortness();
        let reach = weights.reach.between(&NearWeights::default(), f64::midpoint(short, 1.0));
        let passages = vec![0.0; index.len()];
        Self {
            index,
            weights,
            reach,
            until: index.pieces_of(until).start,
            pieces: vec![0.0; index.pieces.len()],
            gained: passages.clone(),
            own: passages.clone(),
            offered: passages,
        }
    }

    /// Adds what weighted terms score.
    pub(super) fn add<'term>(&mut self, terms: impl IntoIterator<Item = (&'term str, f64)>) {
        let (index, parameters) = (self.index, self.weights.words);
        let most = self.weights.reach_rarity * real(index.pieces.len());
        index.words.score_terms(terms, parameters, |found| {
            let found = &found[..found.partition_point(|(piece, _)| *piece < self.until)];
            for (piece, score) in found {
                self.pieces[*piece] += single(*score);
            }
            if !found.is_empty() && real(found.len()) <= most.max(1.0) {
                self.reach_out(found);
            }
        });
    }

    /// Offers a term to the passages around those that have it.
    fn reach_out(&mut self, found: &[(usize, f64)]) {
        let index = self.index;
        let mut offered: Vec<usize> = Vec::new();
        for (piece, score) in found {
            let own = &mut self.own[index.pieces.passage(*piece)];
            *own = own.max(single(*score));
        }
        for (piece, score) in found {
            let from = index.pieces.passage(*piece);
            let later = self.reach.before.iter().zip(1..).map(|(share, far)| (share, from + far));
            let earlier = self.reach.after.iter().zip(1..);
            let earlier = earlier.filter_map(|(share, far)| Some((share, from.checked_sub(far)?)));
            for (share, to) in later.chain(earlier).filter(|(_, to)| index.are_near(from, *to)) {
                if self.offered[to] == 0.0 {
                    offered.push(to);
                }
                self.offered[to] = self.offered[to].max(single(score * share));
            }
        }
        for to in offered {
            self.gained[to] += (self.offered[to] - self.own[to]).max(0.0);
            self.offered[to] = 0.0;
        }
        for (piece, _) in found {
            self.own[index.pieces.passage(*piece)] = 0.0;
        }
    }

    /// The score of each passage.
    pub(super) fn passages(&self) -> Vec<f32> {
        let mut scores = self.index.best_of_pieces(&self.pieces);
        scores.iter_mut().zip(&self.gained).for_each(|(score, gained)| *score += gained);
        scores
    }
}
