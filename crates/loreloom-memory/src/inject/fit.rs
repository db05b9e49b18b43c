//! Fits lines into a budget.

use loreloom_core::{tokens::TokenCounter, units::Tokens};

use crate::text::{CutPoint, TextRules, cut_to_share};

/// A text with its label, and the tokens it would use without a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotBlock {
    pub(super) text: String,
    pub(super) tokens: Tokens,
    pub(super) wanted: Tokens,
}

impl SlotBlock {
    /// `label` on a line of its own before `body`; nothing if the body is empty.
    pub(super) fn labelled(
        label: &str,
        body: &str,
        full: &str,
        counter: &dyn TokenCounter,
    ) -> Option<Self> {
        if body.is_empty() {
            return None;
        }
        let text = headed(label, body);
        let wanted = counter.count(&headed(label, full));
        Some(Self { tokens: counter.count(&text), wanted, text })
    }

    /// A body without a label.
    pub(super) fn plain(body: &str, full: &str, counter: &dyn TokenCounter) -> Option<Self> {
        Self::labelled("", body, full, counter)
    }
}

/// A text with a label on a line of its own before it.
pub(super) fn headed(label: &str, text: &str) -> String {
    if label.is_empty() { text.to_owned() } else { format!("{label}\n{text}") }
}

/// What a budget leaves for the text below a label. With literal rules labels are free.
pub(super) fn below(
    label: &str,
    budget: Tokens,
    rules: TextRules,
    counter: &dyn TokenCounter,
) -> Tokens {
    if !rules.is_tolerant() || label.is_empty() {
        return budget;
    }
    // One more: a tokenizer may count label and text together differently.
    let cost = counter.count(&headed(label, "")).saturating_add(Tokens(1));
    budget.checked_sub(cost).unwrap_or_default()
}

/// Which end of a list is cut first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivesWay {
    First,
    Last,
}

/// Drops lines at one end until the rest fits. One line always stays and is cut if necessary.
/// `render` formats the rest, so that it can number the lines.
pub(super) fn fit_lines<T>(
    mut lines: &[T],
    budget: Tokens,
    gives_way: GivesWay,
    counter: &dyn TokenCounter,
    render: impl Fn(&[T]) -> String,
) -> String {
    loop {
        let text = render(lines);
        if lines.len() <= 1 {
            return cut_to_share(&text, budget, CutPoint::Whole, counter).to_owned();
        }
        if counter.count(&text) <= budget {
            return text;
        }
        lines = match gives_way {
            GivesWay::First => &lines[1..],
            GivesWay::Last => &lines[..lines.len() - 1],
        };
    }
}

/// Texts as lines with dashes.
pub(super) fn dashes<T: AsRef<str>>(lines: &[T]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {}", line.as_ref())).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::QuarterEstimate;

    #[test]
    fn lines_give_way_at_one_end_and_the_last_one_is_cut() {
        let lines = ["aaaa", "bbbb", "cccc"];
        let fit = |budget, end| fit_lines(&lines, Tokens(budget), end, &QuarterEstimate, dashes);
        assert_eq!(fit(5, GivesWay::First), "- aaaa\n- bbbb\n- cccc");
        assert_eq!(fit(4, GivesWay::First), "- bbbb\n- cccc");
        assert_eq!(fit(4, GivesWay::Last), "- aaaa\n- bbbb");
        assert_eq!(fit(1, GivesWay::First), "- c");
        assert_eq!(fit(0, GivesWay::Last), "");
    }
}
