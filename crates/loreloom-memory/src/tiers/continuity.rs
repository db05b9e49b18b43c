//! Contradictions between a reply and what is known, and a note that repairs them.

use std::sync::LazyLock;

use regex::Regex;

use super::{GUARD, bullets};
use crate::{
    pass::{Need, Purpose, Question, Script, is_none},
    text::{pattern, reply_lines},
};

static ALL_CLEAR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\bno\s+(?:contradictions?|conflicts?)\b|\bdoes\s+not\s+(?:contradict|conflict)\b|\bconsistent\s+with\b|\baligns?\s+with\b|\bno\s+issues?\s+found\b",
    )
});

/// The question for contradictions.
pub fn prompt_for(facts: &[&str], reply: &str) -> Question {
    Question {
        purpose: Purpose::Continuity,
        prompt: format!(
            "{GUARD}\n\n\
             Compare the newest reply with the facts. Name each statement of the reply that \
             cannot be true together with a fact, one per line, as one sentence that says what \
             the reply claims and what is known. Something new is no contradiction, nor is a \
             change that the reply tells of. If there is none, answer NONE.\n\n\
             Facts:\n{}\n\nReply:\n{reply}",
            bullets(facts.iter().copied())
        ),
        max_tokens: 300,
    }
}

/// Reads the contradictions of a reply. An all-clear in its first line stands for all of it.
pub fn parse(reply: &str) -> Vec<String> {
    let first = reply_lines(reply).next();
    if is_none(reply) || first.is_some_and(|line| ALL_CLEAR.is_match(line)) {
        return Vec::new();
    }
    reply_lines(reply)
        .map(|line| {
            line.trim_start_matches(|c: char| {
                c.is_whitespace()
                    || c.is_ascii_digit()
                    || matches!(c, '-' | '*' | '•' | '.' | ')' | '–')
            })
        })
        .filter(|line| !line.is_empty() && !line.ends_with(':'))
        .map(|line| line.trim().to_owned())
        .collect()
}

/// The question for a note that sets the next reply right.
pub fn repair_prompt(contradictions: &[String], facts: &[&str]) -> Question {
    Question {
        purpose: Purpose::Repair,
        prompt: format!(
            "{GUARD}\n\n\
             The last reply of a story contradicted what is known. Write two to four sentences \
             to the author of the next reply: what is true, and how to lead back to it without \
             drawing attention to the slip.\n\n\
             Contradictions:\n{}\n\nFacts:\n{}",
            bullets(contradictions.iter().map(String::as_str)),
            bullets(facts.iter().copied())
        ),
        max_tokens: 300,
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The contradictions.
    pub contradictions: Vec<String>,
    /// A note for the next reply.
    pub repair: Option<String>,
}

/// Checks a reply; asks for a repair note if there is something to repair and `repair` is set.
pub fn run(
    facts: &[&str],
    reply: &str,
    repair: bool,
    script: &mut Script<'_>,
) -> Result<Outcome, Need> {
    let contradictions = parse(script.ask(prompt_for(facts, reply))?.unwrap_or_default());
    let mut note = None;
    if repair && !contradictions.is_empty() {
        let answer = script.ask(repair_prompt(&contradictions, facts))?.unwrap_or_default().trim();
        note = (!answer.is_empty()).then(|| answer.to_owned());
    }
    Ok(Outcome { contradictions, repair: note })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_all_clear_counts_only_in_the_first_line() {
        assert!(parse("\nNo conflicts found.\n- Mara has green eyes").is_empty());
        assert_eq!(
            parse("Issues:\n1) Odo is dead.\n• Otherwise consistent with the rest"),
            ["Odo is dead.", "Otherwise consistent with the rest"]
        );
    }

    #[test]
    fn a_repair_is_asked_for_only_where_there_is_something_to_repair() -> Result<(), Need> {
        let answers = crate::pass::Answers {
            replies: vec![Some("- Odo is dead but speaks.".into()), Some(" Odo is dead. ".into())],
            ..Default::default()
        };
        let found = run(&["Odo is dead."], "Odo waves.", true, &mut Script::new(&answers))?;
        assert_eq!(found.contradictions, ["Odo is dead but speaks."]);
        assert_eq!(found.repair.as_deref(), Some("Odo is dead."));
        let answers =
            crate::pass::Answers { replies: vec![Some("none".into())], ..Default::default() };
        assert_eq!(run(&[], "x", true, &mut Script::new(&answers))?, Outcome::default());
        Ok(())
    }
}
