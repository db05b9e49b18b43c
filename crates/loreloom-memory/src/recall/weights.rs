//! How much each part of a score counts.

use loreloom_core::bm25::Bm25Parameters;

/// Weights, in standard deviations of the word and meaning scores.
///
/// The weights follow from what chat messages are. They are short, so their length means little
/// (`words.length`). An answer follows its question, so the messages before count more than those
/// after, and less with distance. The defaults are round numbers, found in coarse steps
/// (`docs/design/020-memory.md` has the figures).
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// How words are scored.
    pub words: Bm25Parameters,
    /// A related word, relative to the word itself.
    pub related: f64,
    /// From this cosine on, words are related.
    pub related_from: f64,
    /// The most related words for each word of the question.
    pub related_most: usize,
    /// The most words that get related words, the rarest first. Each is compared with every word of
    /// the story, and common words mean little.
    pub related_words: usize,
    /// The similarity of vectors.
    pub meaning: f64,
    /// One, two, … passages before.
    pub before: Vec<f64>,
    /// One, two, … passages after.
    pub after: Vec<f64>,
    /// The speaker is a person in the question. People mostly report themselves what they did.
    pub speaker: f64,
    /// A passage of questions is rarely an answer.
    pub asking: f64,
    /// A passage with a time answers a question about time.
    pub time: f64,
    /// Words of the best passages, relative to the words of the question.
    pub hop: f64,
    /// How far the searched vector moves to that of the best passages, 0 to 1.
    pub hop_meaning: f64,
    /// How many passages and words the second hop uses.
    pub hop_size: (usize, usize),
    /// The newest passage against the oldest; only breaks ties.
    pub recency: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: Bm25Parameters { saturation: 0.9, length: 0.4 },
            related: 0.5,
            related_from: 0.6,
            related_most: 8,
            related_words: 6,
            meaning: 1.0,
            before: vec![0.4, 0.2],
            after: vec![0.2, 0.1],
            speaker: 4.0,
            asking: 1.0,
            time: 1.0,
            hop: 0.5,
            hop_meaning: 0.3,
            hop_size: (5, 10),
            recency: 0.01,
        }
    }
}
