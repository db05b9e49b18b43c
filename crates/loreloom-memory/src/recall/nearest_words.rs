//! How near the words of each piece are to the words of a question.
//!
//! The vector of a piece is the mean of all it says, but a question asks for one thing in it. So
//! each word of the question is also compared with every word of a piece, and the nearest one
//! counts: "injury" finds "wound" among sixty other words. Some words are near to something in
//! every piece, so what counts is how much pieces differ. A word that the story has itself counts
//! less: it is searched for as a word already.

use super::{PassageIndex, Weights, best::single, story_vectors::StoryVectors, tokens::Token};
use crate::number::{clamp_usize, real};

/// How many words of a question are compared, the rarest first. Their numbers fit one wide
/// register.
const WORDS: usize = 8;

/// Pieces that differ less than this do not differ.
const LEAST_SPREAD: f64 = 0.05;

/// From this likeness on, it is the same word.
const SAME: f32 = 0.9999;

/// A number for each word of the question.
type Row = [f32; WORDS];

impl PassageIndex {
    /// The score of each piece for the words of a question. Pieces from the passage `until` on are
    /// not searched, so they do not decide what stands out.
    pub(super) fn nearest_words(
        &self,
        asked: &[Token],
        until: usize,
        weights: &Weights,
        embed: &dyn StoryVectors,
    ) -> Vec<f32> {
        let rows = self.vocabulary_rows(&self.rarest(asked), embed);
        let nearest: Vec<Row> =
            (0..self.pieces.len()).map(|piece| nearest(self.pieces.terms(piece), &rows)).collect();
        let searched = self.pieces_of(until).start.min(nearest.len());
        let scales = scales(&nearest[..searched], weights.nearest_known);
        let score = |row: &Row| row.iter().zip(&scales).map(|(one, scale)| one * scale).sum();
        nearest.iter().map(score).collect()
    }

    /// The rarest words of a question, each once.
    fn rarest<'asked>(&self, asked: &'asked [Token]) -> Vec<&'asked Token> {
        let mut words: Vec<&Token> = Vec::new();
        for token in asked {
            if !words.iter().any(|known| known.stem == token.stem) {
                words.push(token);
            }
        }
        words.sort_by(|a, b| self.rarity(&b.stem).total_cmp(&self.rarity(&a.stem)));
        words.truncate(WORDS);
        words
    }

    /// The likeness of each term of the story to the words.
    fn vocabulary_rows(&self, words: &[&Token], embed: &dyn StoryVectors) -> Vec<Row> {
        let mut rows: Vec<Row> = vec![[0.0; WORDS]; self.vocabulary.len()];
        for (at, token) in words.iter().enumerate() {
            let likeness = self.vocabulary.meanings.likeness(&embed.word(&token.word));
            for (row, likeness) in rows.iter_mut().zip(likeness) {
                row[at] = likeness.max(0.0);
            }
            // Forms of one word are the same, whatever their vectors say.
            if let Some(own) = self.vocabulary.number(&token.stem) {
                rows[clamp_usize(own.into())][at] = 1.0;
            }
        }
        rows
    }
}

/// The likeness of the nearest term to each word.
fn nearest(terms: &[u32], rows: &[Row]) -> Row {
    let mut best = [0.0_f32; WORDS];
    for term in terms {
        let row = &rows[clamp_usize((*term).into())];
        for (best, one) in best.iter_mut().zip(row) {
            *best = best.max(*one);
        }
    }
    best
}

/// What the likeness to each word counts.
fn scales(searched: &[Row], known: f64) -> Row {
    let count = real(searched.len().max(1));
    let (mut sums, mut squares, mut most) = ([0.0_f64; WORDS], [0.0_f64; WORDS], [0.0_f32; WORDS]);
    for row in searched {
        for (at, one) in row.iter().enumerate() {
            sums[at] += f64::from(*one);
            squares[at] += f64::from(one * one);
            most[at] = most[at].max(*one);
        }
    }
    std::array::from_fn(|at| {
        let mean = sums[at] / count;
        let spread = (squares[at] / count - mean * mean).max(0.0).sqrt();
        single(if most[at] >= SAME { known } else { 1.0 } / (spread + LEAST_SPREAD))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::Passage;

    /// "wound" is near to "injury", everything else is far from everything.
    fn embed(word: &str) -> Vec<f32> {
        match word {
            "injury" => vec![1.0, 0.0, 0.0],
            "wound" => vec![0.8, 0.6, 0.0],
            _ => vec![0.0, 0.0, 1.0],
        }
    }

    #[test]
    fn one_near_word_among_many_is_found() {
        let mut index = PassageIndex::new([]);
        for text in ["Bread, rain and gulls.", "Rain on a wound, bread, gulls.", "The wound."] {
            let passage = Passage { speaker: None, text, stretch: 0, by_player: false };
            index.push(passage, Some(&embed));
        }
        let asked = super::super::tokens("an injury in the rain");
        let scores = |known: f64, until: usize| {
            let weights = Weights { nearest_known: known, ..Weights::default() };
            index.nearest_words(&asked, until, &weights, &embed)
        };
        let found = scores(0.0, 3);
        assert!(found[0].abs() < 1e-6 && found[1] > 1.0, "{found:?}");
        assert!((found[1] - found[2]).abs() < 1e-6, "{found:?}");
        let found = scores(0.5, 3);
        assert!(found[1] > found[2], "{found:?}");
        // What is not searched decides nothing: all pieces before it are alike.
        assert!(scores(0.0, 1)[1] > found[1]);
    }
}
