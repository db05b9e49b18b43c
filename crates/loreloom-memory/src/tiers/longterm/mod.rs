//! Long-term memory: what stays true of a character in every chat.

mod merge;
mod pass;
mod prompt;

use super::{MemoryCandidate, consolidation::Tier, parse_lines};
use crate::rules::Rules;

pub use self::{
    pass::{LongTermInput, LongTermOutcome, run},
    prompt::{prompt_for, update_prompt},
};

/// Words of a model that guesses.
const HEDGES: &[&str] = &["maybe", "might be", "possibly", "i think", "perhaps", "seems like"];

/// Reads the model's reply.
pub fn parse(reply: &str, rules: &Rules) -> Vec<MemoryCandidate> {
    parse_lines(reply, Tier::LongTerm, rules)
}

/// Whether a statement is worth keeping: not too short, not too long, not a guess.
pub fn is_fit(candidate: &MemoryCandidate) -> bool {
    let text = candidate.content.to_lowercase();
    super::memories::has_length(&candidate.content, 8, 280)
        && !HEDGES.iter().any(|hedge| text.contains(hedge))
}

/// How two similar memories relate, according to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateAnswer {
    /// The newer one replaces the older.
    Update,
    /// They mean the same.
    Same,
    /// Both are true.
    Independent,
    /// Only one can be true, and it is unclear which.
    Contradiction,
}

/// Reads the answer to [`update_prompt`]. An unclear answer means that both are true.
pub fn parse_update(reply: &str) -> UpdateAnswer {
    let first = reply.split_whitespace().next().unwrap_or_default();
    let word: String = first.chars().filter(|c| c.is_alphabetic()).collect();
    match word.to_uppercase().as_str() {
        "UPDATE" => UpdateAnswer::Update,
        "SAME" => UpdateAnswer::Same,
        "CONTRADICTION" => UpdateAnswer::Contradiction,
        _ => UpdateAnswer::Independent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_first_word_counts_as_an_answer() {
        for (reply, expected) in [
            ("UPDATE.", UpdateAnswer::Update),
            ("**update** because", UpdateAnswer::Update),
            ("same", UpdateAnswer::Same),
            ("Contradiction: he cannot", UpdateAnswer::Contradiction),
            ("Independent", UpdateAnswer::Independent),
            ("It is an UPDATE", UpdateAnswer::Independent),
            ("", UpdateAnswer::Independent),
        ] {
            assert_eq!(parse_update(reply), expected, "{reply}");
        }
    }
}
