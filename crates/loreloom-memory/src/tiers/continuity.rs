//! Contradictions between a reply and what is known, and a note that corrects them.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::{GUARD, bullets, part, prompt};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    reply::{is_refusal, plain_lines, prose, says_nothing},
    rules::Rules,
    text::{TextRules, head, pattern, reply_lines},
};

static ALL_CLEAR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\bno (?:contradictions?|conflicts?)\b|\bdoes not (?:contradict|conflict)\b|\bconsistent with\b|\baligns? with\b|\bno issues? found\b",
    )
});
/// A bullet or a number before a contradiction, as Smart Memory removes it: digits at the start of
/// a sentence too.
static MARK: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[-•*\d.]+\s*"));

/// A reply that is checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckedReply<'reply> {
    /// The character that speaks.
    pub speaker: &'reply str,
    /// What it answers.
    pub question: &'reply str,
    /// The reply.
    pub text: &'reply str,
}

/// Asks for contradictions.
pub fn prompt_for(facts: &[&str], reply: CheckedReply<'_>) -> ModelQuestion {
    const QUESTION: usize = 600;
    let CheckedReply { speaker, question, text } = reply;
    ModelQuestion {
        purpose: Purpose::Continuity,
        prompt: prompt(&[
            GUARD,
            "Compare the newest reply with the facts. Name each statement of the reply that \
             cannot be true together with a fact, one per line, as one sentence that says what \
             the reply claims and what is known. Example: The reply says that Hanna has a \
             brother, but she is an only child.\n\
             Something new is no contradiction, nor is a change that the reply tells of, a lie, \
             or a mistake of a person in the story. If there is none, answer NONE.",
            &part("Facts", &bullets(facts.iter().copied())),
            &part("It answers", head(question, QUESTION)),
            &part(&format!("Reply of {speaker}"), text),
        ]),
        max_tokens: 300,
    }
}

/// Reads the contradictions of a reply. An all-clear in the first line counts for the whole reply.
pub fn parse(reply: &str, rules: &Rules) -> Vec<String> {
    let says_none = match rules.text {
        TextRules::Tolerant => says_nothing(reply, rules.text),
        TextRules::Literal => reply.trim().eq_ignore_ascii_case("none"),
    };
    let first = reply_lines(reply).next();
    if says_none || first.is_some_and(|line| ALL_CLEAR.is_match(line)) {
        return Vec::new();
    }
    let without_mark = |line| match rules.text {
        TextRules::Tolerant => Cow::Borrowed(line),
        TextRules::Literal => MARK.replace(line, ""),
    };
    plain_lines(reply, rules.text)
        .split(['\n', '\r'])
        .map(|line| without_mark(line).trim().to_owned())
        .filter(|line| !line.is_empty() && !line.ends_with(':'))
        .collect()
}

/// Asks for a note that corrects the next reply.
pub fn repair_prompt(contradictions: &[String], facts: &[&str]) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::Repair,
        prompt: prompt(&[
            GUARD,
            "The last reply of a story contradicted what is known. Write two to four sentences to \
             the author of the next reply: what is true, and how to lead back to it without \
             drawing attention to the slip. Example: Hanna is an only child. Let her correct \
             herself in passing.",
            &part("Contradictions", &bullets(contradictions.iter().map(String::as_str))),
            &part("Facts", &bullets(facts.iter().copied())),
        ]),
        max_tokens: 300,
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContinuityOutcome {
    /// The contradictions.
    pub contradictions: Vec<String>,
    /// A note for the next reply.
    pub repair: Option<String>,
}

/// Checks a reply. With `repair` set, asks for a repair note if there are contradictions.
pub fn run(
    facts: &[&str],
    reply: CheckedReply<'_>,
    repair: bool,
    rules: &Rules,
    script: &mut Script<'_>,
) -> Result<ContinuityOutcome, Need> {
    let text = rules.text;
    let contradictions = script
        .ask_for(prompt_for(facts, reply), text, |answer| {
            (!text.is_tolerant() || !is_refusal(answer)).then(|| parse(answer, rules))
        })?
        .unwrap_or_default();
    let mut note = None;
    if repair && !contradictions.is_empty() {
        let question = repair_prompt(&contradictions, facts);
        note = script.ask_for(question, text, |answer| prose(answer, text))?.map(str::to_owned);
    }
    Ok(ContinuityOutcome { contradictions, repair: note })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_all_clear_counts_only_in_the_first_line() {
        let rules = Rules::default();
        assert!(parse("\nNo conflicts found.\n- Mara has green eyes", &rules).is_empty());
        assert_eq!(
            parse("Issues:\n1) Odo is dead.\n• Otherwise consistent with the rest", &rules),
            ["Odo is dead.", "Otherwise consistent with the rest"]
        );
    }

    #[test]
    fn a_strict_reader_takes_one_mark_off_the_very_start_of_a_line() {
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        for (reply, tolerant, strict) in [
            ("1. Odo is dead.", "Odo is dead.", "Odo is dead."),
            ("1) Odo is dead.", "Odo is dead.", ") Odo is dead."),
            ("  - indented", "indented", "- indented"),
            ("* **Odo**", "Odo", "**Odo**"),
            ("- - Odo", "Odo", "- Odo"),
            ("None.", "", "None."),
            ("No  contradictions", "No  contradictions", "No  contradictions"),
        ] {
            assert_eq!(parse(reply, &ours).join("|"), tolerant, "{reply}");
            assert_eq!(parse(reply, &theirs).join("|"), strict, "{reply}");
        }
    }

    #[test]
    fn a_repair_is_asked_for_only_where_there_is_something_to_repair() -> Result<(), Need> {
        let answers = crate::pass::Answers {
            replies: vec![Some("- Odo is dead but speaks.".into()), Some(" Odo is dead. ".into())],
            ..Default::default()
        };
        let checked = CheckedReply { speaker: "Mara", question: "", text: "Odo waves." };
        let found =
            run(&["Odo is dead."], checked, true, &Rules::default(), &mut Script::new(&answers))?;
        assert_eq!(found.contradictions, ["Odo is dead but speaks."]);
        assert_eq!(found.repair.as_deref(), Some("Odo is dead."));
        let answers =
            crate::pass::Answers { replies: vec![Some("none".into())], ..Default::default() };
        let found = run(&[], checked, true, &Rules::default(), &mut Script::new(&answers))?;
        assert_eq!(found, ContinuityOutcome::default());
        Ok(())
    }
}
