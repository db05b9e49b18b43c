//! Fits lines into a budget.

use loreloom_core::{tokens::TokenCounter, units::Tokens};

use crate::text::{CutPoint, cut_to_share};

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
        let head = |text: &str| {
            if label.is_empty() { text.to_owned() } else { format!("{label}\n{text}") }
        };
        let text = head(body);
        Some(Self { tokens: counter.count(&text), wanted: counter.count(&head(full)), text })
    }

    /// A body without a label.
    pub(super) fn plain(body: &str, full: &str, counter: &dyn TokenCounter) -> Option<Self> {
        Self::labelled("", body, full, counter)
    }
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
