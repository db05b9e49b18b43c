//! Memory as events, so that every branch of a story has its own.
//!
//! What a pass changed is written down as events: which record, the messages it rests on,
//! and the fields that changed. What is remembered is the fold of the events whose messages
//! are all part of their stories. A swiped reply, an edit or a branch therefore needs no
//! roll-back: what was drawn from messages that are gone is gone, and what it had replaced is
//! back. The same fold over a shorter story is the past, and leaving out one write is an
//! undo.
//!
//! An event holds the fields that changed and not the record as it was afterwards:
//! otherwise a later event would bring back what an earlier one, now left out, had done.

mod between;
mod containers;
mod fold;

pub(crate) use self::containers::{fields_of, positioned, unplaced};
pub use self::{
    between::between,
    containers::{character_records, chat_records, to_character, to_chat},
    fold::{Live, fold, reverted},
};
