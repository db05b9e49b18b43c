//! The dialects of lore: each composes the stages of [`engine`](crate::engine) in its own
//! order, with a table of rules.

pub mod cards;
pub mod vault;
pub mod worldinfo;
