//! Recaps: how long a reader was away, and what happened before.

use loreloom_core::chat::PathItem;

use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    reply::prose,
    text::TextRules,
    window::lines,
};

/// Whole hours since the chat was last used, or 0 below `threshold`.
pub fn away_hours(
    now: i64,
    last_active: Option<i64>,
    summary_updated: Option<i64>,
    threshold: u32,
) -> u64 {
    const HOUR: i64 = 3_600_000;
    let since = last_active.or(summary_updated).unwrap_or(now);
    let hours = u64::try_from(now.saturating_sub(since) / HOUR).unwrap_or(0);
    if hours >= u64::from(threshold) { hours } else { 0 }
}

/// Asks for a recap of the newest messages.
pub fn prompt_for(messages: &[PathItem], summary: Option<&str>) -> ModelQuestion {
    let before = summary.map(|text| format!("The story so far:\n{text}\n\n")).unwrap_or_default();
    ModelQuestion {
        purpose: Purpose::Recap,
        prompt: format!(
            "A reader comes back to this story after a break. Remind them in three to five \
             sentences of plain prose: where things stand, what is unresolved, what was about \
             to happen. Tell nothing that is not in the text, and do not continue it.\n\n\
             {before}The latest messages:\n{}",
            lines(messages)
        ),
        max_tokens: 300,
    }
}

/// A recap; `None` if the model answers nothing.
pub fn run(
    messages: &[PathItem],
    summary: Option<&str>,
    rules: TextRules,
    script: &mut Script<'_>,
) -> Result<Option<String>, Need> {
    let question = prompt_for(messages, summary);
    let text = script.ask_for(question, rules, |reply| prose(reply, rules))?;
    Ok(text.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_count_from_the_last_use_and_only_above_the_threshold() {
        let hour = 3_600_000;
        for (now, active, summary, expected) in [
            (10 * hour, Some(6 * hour), None, 4),
            (10 * hour, Some(6 * hour + 1), Some(0), 0),
            (10 * hour, None, Some(0), 10),
            (10 * hour, None, None, 0),
            (0, Some(10 * hour), None, 0),
        ] {
            assert_eq!(away_hours(now, active, summary, 4), expected, "{now} {active:?}");
        }
    }
}
