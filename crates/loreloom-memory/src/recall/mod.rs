//! Finds passages of the story itself, without a language model.
//!
//! Long messages are split into pieces; a message is as good as its best piece. A passage is scored
//! by its words (BM25 over stems and related words), by its meaning (vectors, if there are
//! any), by its neighbours, by its speaker, and by the words of the best passages (a second
//! hop). Scores are converted to standard deviations from the mean and added;
//! adding ranks would lose how far ahead the best are. Every hit lists the parts of its score.

mod address;
mod asks;
mod best;
mod calls;
mod everyday;
mod index;
mod irregular;
mod language;
mod lengths;
mod meaning;
mod names;
mod nearest_words;
mod packed;
mod piece_list;
mod pieces;
mod query;
mod related;
mod speakers;
mod speech;
mod stem;
mod story_vectors;
mod tokens;
mod turn;
mod vocabulary;
mod weights;
mod word_scores;

pub(crate) use self::tokens::stems;
pub use self::{
    index::{MissingVector, Passage, PassageIndex, Prepared},
    language::Language,
    packed::PackedVector,
    query::{Parts, PassageHit, PassageQuery},
    stem::stem,
    story_vectors::StoryVectors,
    tokens::tokens,
    turn::{RecallQuery, excerpt, lines, question},
    weights::{NearWeights, Weights},
};
