//! Scenes: when one ends, and what happened in it.

mod cast;
mod heuristic;
mod pass;
mod prompt;

pub use self::{
    cast::cast_changed,
    heuristic::{Break, find_break, is_break},
    pass::{ScenesInput, ScenesOutcome, run},
    prompt::{break_prompt, summary_prompt},
};

/// Whether an answer to [`break_prompt`] means that the scene ended.
pub fn parse_break(reply: &str) -> bool {
    let start: String = reply.trim().chars().take(3).collect();
    start.eq_ignore_ascii_case("yes")
}
