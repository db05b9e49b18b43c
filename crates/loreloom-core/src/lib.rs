//! Loreloom's engine: which lore the model must know this turn, where it goes, and why.
//!
//! The crate is pure. It reads no file, no clock and no global randomness; tokens, rolls,
//! time and collation are handed in, so that a recorded turn can be replayed to the byte.

pub mod assemble;
pub mod bm25;
pub mod book;
pub mod cache_placement;
pub mod chat;
pub mod dialects;
pub mod dice;
pub mod digest;
pub mod engine;
pub mod explain;
pub mod ids;
pub mod instruct;
pub mod js_value;
pub mod library;
pub mod lore_tests;
pub mod macros;
pub mod note;
pub mod note_selection;
pub mod notebook;
pub mod place;
pub mod prompt;
pub mod regex_script;
pub mod replay;
pub mod report;
pub mod rules;
pub mod scan;
pub mod shorten;
mod sort;
pub mod state;
pub mod tokens;
pub mod turn;
pub mod units;
pub mod utf16;
pub mod vault_notes;
pub mod wrap;
