//! Long-term memory: what stays true of a character in every chat.

mod merge;
mod pass;
mod prompt;

use super::{MemoryCandidate, consolidation::Tier, parse_lines};
use crate::{
    pass::{Need, Script},
    reply::plain_lines,
    rules::Rules,
    text::{TextRules, reply_lines},
};

pub(super) use self::prompt::{KINDS, REPLACES, RULES, VALUES};
pub use self::{
    pass::{LongTermInput, LongTermOutcome, run},
    prompt::{prompt_for, update_prompt, updates_prompt},
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

/// Asks how pairs of a newer and an older statement relate: all in one question, or with literal
/// rules one after the other. `None` if there is no answer for a pair.
pub(super) fn answers_about(
    pairs: &[(&str, &str)],
    rules: TextRules,
    script: &mut Script<'_>,
) -> Result<Vec<Option<UpdateAnswer>>, Need> {
    if !rules.is_tolerant() || pairs.len() < 2 {
        let ask = |(new, old): &(&str, &str)| -> Result<Option<UpdateAnswer>, Need> {
            Ok(script.ask(update_prompt(new, old))?.map(parse_update))
        };
        return pairs.iter().map(ask).collect();
    }
    let reply = script.ask(updates_prompt(pairs))?;
    Ok(reply.map_or_else(|| vec![None; pairs.len()], |reply| parse_updates(reply, pairs.len())))
}

/// Reads lines such as `1. UPDATE`. Without numbers, the lines count in their order.
fn parse_updates(reply: &str, count: usize) -> Vec<Option<UpdateAnswer>> {
    let mut answers = vec![None; count];
    let digits = |line: &str| -> Option<usize> {
        let start = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = start.find(|c: char| !c.is_ascii_digit()).unwrap_or(start.len());
        start[..end].parse::<usize>().ok()?.checked_sub(1)
    };
    for (at, line) in reply_lines(reply).enumerate() {
        let place = digits(line).unwrap_or(at);
        let words = plain_lines(line, TextRules::Tolerant);
        if let Some(answer) = answers.get_mut(place) {
            *answer = Some(parse_update(words.trim_start_matches(|c: char| !c.is_alphabetic())));
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reply_answers_for_several_pairs() {
        let [update, same] = [Some(UpdateAnswer::Update), Some(UpdateAnswer::Same)];
        for (reply, expected) in [
            ("1. UPDATE\n2. SAME", [update, same]),
            ("- 2: **SAME**\n- 1: update", [update, same]),
            ("UPDATE\nSAME", [update, same]),
            ("2) same", [None, same]),
        ] {
            assert_eq!(parse_updates(reply, 2), expected, "{reply}");
        }
    }

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
