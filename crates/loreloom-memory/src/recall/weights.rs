//! How much each part of a score counts.

use loreloom_core::bm25::Bm25Parameters;

/// How much neighbours count, by their distance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NearWeights {
    /// One, two, … passages before.
    pub before: Vec<f64>,
    /// One, two, … passages after.
    pub after: Vec<f64>,
}

impl NearWeights {
    fn new(before: &[f64], after: &[f64]) -> Self {
        Self { before: before.to_vec(), after: after.to_vec() }
    }

    /// These weights for a share of `own`, the others for the rest.
    pub(super) fn between(&self, others: &Self, own: f64) -> Self {
        let mix = |mine: &[f64], theirs: &[f64]| {
            let at = |list: &[f64], far: usize| list.get(far).copied().unwrap_or_default();
            (0..mine.len().max(theirs.len()))
                .map(|far| at(mine, far) * own + at(theirs, far) * (1.0 - own))
                .collect()
        };
        Self { before: mix(&self.before, &others.before), after: mix(&self.after, &others.after) }
    }
}

/// Weights, in standard deviations of the word and meaning scores.
///
/// The weights follow from what chat messages are. In a chat of short lines an answer follows its
/// question, so the messages before count more than those after, and less with distance. A long
/// message and its reply are one exchange, and what is further away is something else. Which of the
/// two a chat is follows from the median length of its messages. The defaults are round numbers,
/// found in coarse steps (`docs/design/020-memory.md` has the figures).
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// How words are scored.
    pub words: Bm25Parameters,
    /// A word that the question repeats, relative to its first use.
    pub repeated: f64,
    /// A related word, relative to the word itself.
    pub related: f64,
    /// From this cosine on, words are related.
    pub related_from: f64,
    /// The most related words for each word of the question.
    pub related_most: usize,
    /// The most words that get related words, the rarest first. Each is compared with every word of
    /// the story, and common words mean little.
    pub related_words: usize,
    /// A word of a neighbour that the passage itself does not have, relative to an own word.
    pub reach: NearWeights,
    /// Words reach neighbours only if at most this share of the passages has them.
    pub reach_rarity: f64,
    /// The similarity of vectors.
    pub meaning: f64,
    /// The nearness of single words, relative to the similarity of vectors.
    pub nearest_words: f64,
    /// The nearest word to one that the story has itself, relative to one that it does not have.
    pub nearest_known: f64,
    /// The scores of neighbours in a chat of short lines.
    pub near: NearWeights,
    /// The scores of neighbours in a chat of long messages.
    pub near_long: NearWeights,
    /// The words of a neighbour, relative to its meaning.
    pub near_words: f64,
    /// The speaker is a person in the question. People mostly report themselves what they did.
    pub speaker: f64,
    /// The player speaks, and the question is about the player; or the speaker is the one
    /// the question addresses, and it is about them.
    pub own: f64,
    /// A passage of questions is rarely an answer.
    pub asking: f64,
    /// A passage with a time answers a question about time.
    pub time: f64,
    /// A passage with a number answers a question about a number.
    pub number: f64,
    /// A passage with a place answers a question about a place.
    pub place: f64,
    /// Words of the best passages, relative to the words of the question.
    pub hop: f64,
    /// How many passages and words the second hop uses.
    pub hop_size: (usize, usize),
    /// The newest passage against the oldest; only breaks ties.
    pub recency: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: Bm25Parameters { saturation: 0.7, length: 0.2 },
            repeated: 0.5,
            related: 0.5,
            related_from: 0.5,
            related_most: 8,
            related_words: 6,
            reach: NearWeights::new(&[0.25, 0.15], &[0.15, 0.1]),
            reach_rarity: 0.1,
            meaning: 1.0,
            nearest_words: 0.5,
            nearest_known: 0.5,
            near: NearWeights::new(&[0.4, 0.2], &[0.2, 0.1]),
            near_long: NearWeights::new(&[0.3], &[0.3]),
            near_words: 0.5,
            speaker: 6.0,
            own: 3.0,
            asking: 1.0,
            time: 2.0,
            number: 1.0,
            place: 0.7,
            hop: 0.5,
            hop_size: (5, 10),
            recency: 0.01,
        }
    }
}
