//! The stages of a turn, each of them once.
//!
//! A dialect ([`dialects`](crate::dialects)) decides in which order an entry passes the stages,
//! and with which rules. What the peers do differently is data.

pub(crate) mod budget;
pub(crate) mod cause;
pub(crate) mod chance;
pub(crate) mod contribution;
mod decide;
pub(crate) mod groups;
mod input;
pub(crate) mod keys;
pub(crate) mod near;
mod notes;
pub(crate) mod placing;
pub(crate) mod render;
pub(crate) mod same_text;
pub(crate) mod scanner;
pub(crate) mod texts;
pub(crate) mod timing;
pub(crate) mod verdicts;

pub use self::{
    decide::{Decision, PreparedTurn, decide, finish, prepare},
    input::EngineInput,
    placing::DEFAULT_DEPTH,
    render::in_format,
    same_text::SameText,
    verdicts::verdicts,
};
pub(crate) use self::{scanner::Scanner, timing::Timing, verdicts::outcome_of};

#[cfg(test)]
mod tests;
