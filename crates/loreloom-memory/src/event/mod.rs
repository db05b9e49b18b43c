//! Memory as events, so that every branch of a story has its own.
//!
//! What a pass changed is written down as events: what happened, the messages it rests on,
//! and the record as it was afterwards. What a character remembers is the fold of the events
//! whose messages are all part of their stories. A swiped reply, an edit or a branch
//! therefore needs no roll-back: what was drawn from messages that are gone is gone, and
//! what it had replaced is back. The same fold over a shorter story is the past.

mod character;
mod memory;

pub use self::{
    character::{CharacterChange, CharacterEvent, Revision, between, fold_character},
    memory::{EventKind, MemoryEvent, events, fold},
};
