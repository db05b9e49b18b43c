//! The stages of a turn, each of them once.
//!
//! A dialect ([`dialects`](crate::dialects)) says in which order an entry passes the stages,
//! and with which rules. What the peers do differently is data.

pub(crate) mod texts;
