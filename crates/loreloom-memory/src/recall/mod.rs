//! Finds passages of the story itself, without a language model.
//!
//! A passage is scored by its words (BM25 over stems and related words), by its meaning (vectors,
//! if there is an embedder), by its neighbours, by its speaker, and by the words of the best
//! passages (a second hop). Scores are converted to standard deviations from the mean and added;
//! adding ranks would lose how far ahead the best are. Every hit lists the parts of its score.

mod address;
mod index;
mod irregular;
mod packed;
mod query;
mod related;
mod stem;
mod tokens;
mod turn;
mod weights;

pub use self::{
    index::{Passage, PassageIndex, Prepared},
    query::{Parts, PassageHit, PassageQuery},
    stem::stem,
    tokens::tokens,
    turn::{RecallQuery, lines},
    weights::Weights,
};
