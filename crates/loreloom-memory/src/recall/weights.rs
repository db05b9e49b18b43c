//! How much each part of a score counts.

use loreloom_core::bm25::Bm25Parameters;

/// Weights, in standard deviations of the word and meaning scores.
///
/// Each part has its reason in what chat turns are: they are short, so their length says
/// little (`words.length`); an answer stands just after its question, so what comes before a turn
/// tells more of it than what comes after, and less with distance. The defaults are round
/// numbers, tried in coarse steps (`docs/design/020-memory.md` has the figures).
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// How words are scored.
    pub words: Bm25Parameters,
    /// A related word, relative to the word itself.
    pub related: f64,
    /// From this cosine on words are related.
    pub related_from: f64,
    /// Most related words for each word asked for.
    pub related_most: usize,
    /// Most words whose related words are looked for, the rarest first: each is compared with
    /// every word of the story, and common words tell little.
    pub related_words: usize,
    /// Likeness of meaning.
    pub meaning: f64,
    /// One, two, … passages before.
    pub before: Vec<f64>,
    /// One, two, … passages after.
    pub after: Vec<f64>,
    /// Said by somebody the question is about: what people did they mostly tell themselves.
    pub speaker: f64,
    /// A passage that only asks does not answer.
    pub asking: f64,
    /// A question for a time is answered by a passage that tells one.
    pub time: f64,
    /// Words of the best passages, relative to the question's own.
    pub hop: f64,
    /// How much of the meaning that is looked for is that of the best passages, 0 to 1.
    pub hop_meaning: f64,
    /// How many passages and words the second hop takes.
    pub hop_size: (usize, usize),
    /// The newest passage over the oldest: a tie-breaker only.
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
