//! Memory as events, so that every branch of a story has its own memory.
//!
//! A pass writes its changes as events: the record, the messages it rests on, and the changed
//! fields. The memory of a path is the fold of all events whose messages are on it. So a swipe, an
//! edit or a branch needs no rollback: events on missing messages do not count, and what they had
//! replaced is back. The same fold over a shorter path is the past, and leaving out one write is an
//! undo.
//!
//! An event holds only the changed fields, not the whole record. Otherwise a later event would
//! restore changes of an earlier one that no longer counts.

mod between;
mod containers;
mod fold;

pub(crate) use self::containers::{fields_of, positioned, unplaced};
pub use self::{
    between::between,
    containers::{character_records, chat_records, to_character, to_chat},
    fold::{Live, fold, reverted},
};
