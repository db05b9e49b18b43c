//! Finding passages of the story itself, without any language model.
//!
//! A passage is scored by its words (BM25 over stems, with related words standing in for
//! those asked for), by its meaning (vectors, where an embedder is at hand), by what stands
//! next to it, by who says it, and by what the best passages speak of (a second hop).
//! Scores are put on one scale (standard deviations from the mean) and added; adding ranks
//! instead loses how far ahead the best are. Every hit says what each part gave.

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
    query::{Parts, PassageHit},
    stem::stem,
    tokens::tokens,
    turn::{RecallQuery, lines},
    weights::Weights,
};
