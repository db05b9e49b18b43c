//! Long-term memory: what stays true of a character beyond one chat.

mod merge;
mod pass;
mod prompt;

use super::{Candidate, consolidation::Tier, parse_lines};
use crate::rules::Rules;

pub use self::{
    pass::{Input, Outcome, run},
    prompt::{prompt_for, update_prompt},
};

/// Words that show a model guessing.
const HEDGES: &[&str] = &["maybe", "might be", "possibly", "i think", "perhaps", "seems like"];

/// Reads the model's reply.
pub fn parse(reply: &str, rules: &Rules) -> Vec<Candidate> {
    parse_lines(reply, Tier::LongTerm, rules)
}

/// Whether a statement is worth keeping for good: not too short, not too long, no guess.
pub fn is_fit(candidate: &Candidate) -> bool {
    let text = candidate.content.to_lowercase();
    super::memories::has_length(&candidate.content, 8, 280)
        && !HEDGES.iter().any(|hedge| text.contains(hedge))
}

/// What a model says of two memories that resemble each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The newer one replaces the older.
    Update,
    /// They say the same.
    Same,
    /// Both hold.
    Independent,
    /// Both cannot hold, and nothing tells which does.
    Contradiction,
}

/// Reads the answer to [`update_prompt`]; anything unclear means that both hold.
pub fn parse_update(reply: &str) -> Likeness {
    let first = reply.split_whitespace().next().unwrap_or_default();
    let word: String = first.chars().filter(|c| c.is_alphabetic()).collect();
    match word.to_uppercase().as_str() {
        "UPDATE" => Likeness::Update,
        "SAME" => Likeness::Same,
        "CONTRADICTION" => Likeness::Contradiction,
        _ => Likeness::Independent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_first_word_counts_as_an_answer() {
        for (reply, expected) in [
            ("UPDATE.", Likeness::Update),
            ("**update** because", Likeness::Update),
            ("same", Likeness::Same),
            ("Contradiction: he cannot", Likeness::Contradiction),
            ("Independent", Likeness::Independent),
            ("It is an UPDATE", Likeness::Independent),
            ("", Likeness::Independent),
        ] {
            assert_eq!(parse_update(reply), expected, "{reply}");
        }
    }
}
