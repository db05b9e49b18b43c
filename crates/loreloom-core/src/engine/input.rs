//! What a turn is decided from, as one value.

use crate::{
    library::{ActiveEntries, Library},
    rules::Rules,
    state::StoryState,
    turn::Turn,
};

/// Everything a turn is decided from. Tokenizer, dice and caches are passed separately, because
/// deciding changes them.
#[derive(Clone, Copy)]
pub struct EngineInput<'a> {
    /// The compiled books.
    pub library: &'a Library,
    /// The entries that take part.
    pub active: &'a ActiveEntries,
    /// The turn.
    pub turn: &'a Turn<'a>,
    /// The state of the story before the turn.
    pub state: &'a StoryState,
    /// The rules of all dialects.
    pub rules: &'a Rules,
}
