//! Texts compared by line.

use serde::Serialize;

/// Lines that became other lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LineChange {
    /// The line of the older text before which the change is, from 0.
    pub at: usize,
    /// Lines that are gone.
    pub removed: Vec<String>,
    /// Lines that are new.
    pub added: Vec<String>,
}

/// Texts with more pairs of lines than this are compared as a whole.
const MAX_PAIRS: usize = 4_000_000;

/// The changes from one text to another.
pub fn changes(old: &str, new: &str) -> Vec<LineChange> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut found = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let end = (old.len(), new.len());
    for (same_old, same_new) in common(&old, &new).into_iter().chain([end]) {
        if same_old > at_old || same_new > at_new {
            let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
            found.push(LineChange {
                at: at_old,
                removed: own(&old[at_old..same_old]),
                added: own(&new[at_new..same_new]),
            });
        }
        (at_old, at_new) = (same_old + 1, same_new + 1);
    }
    found
}

/// The places of a longest common subsequence of lines.
pub(super) fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = (&old[start..], &new[start..]);
    let end = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&rest.0[..rest.0.len() - end], &rest.1[..rest.1.len() - end]);
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    pairs.extend(middle(a, b).into_iter().map(|(x, y)| (x + start, y + start)));
    let (from_old, from_new) = (old.len() - end, new.len() - end);
    pairs.extend((0..end).map(|at| (from_old + at, from_new + at)));
    pairs
}

fn middle(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    if a.is_empty() || b.is_empty() || a.len().saturating_mul(b.len()) > MAX_PAIRS {
        return Vec::new();
    }
    let width = b.len() + 1;
    let mut longest = vec![0_u32; (a.len() + 1) * width];
    for x in (0..a.len()).rev() {
        for y in (0..b.len()).rev() {
            longest[x * width + y] = if a[x] == b[y] {
                longest[(x + 1) * width + y + 1] + 1
            } else {
                longest[(x + 1) * width + y].max(longest[x * width + y + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < a.len() && y < b.len() {
        if a[x] == b[y] {
            pairs.push((x, y));
            (x, y) = (x + 1, y + 1);
        } else if longest[(x + 1) * width + y] >= longest[x * width + y + 1] {
            x += 1;
        } else {
            y += 1;
        }
    }
    pairs
}

/// Three texts merged by line; `None` where both sides changed the same lines.
pub(super) fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let split = |text: &'_ str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let base_lines = split(base);
    let mut changes: Vec<(LineChange, u8)> = Vec::new();
    changes.extend(self::changes(base, ours).into_iter().map(|change| (change, 0)));
    for change in self::changes(base, theirs) {
        if !changes.iter().any(|(ours, _)| *ours == change) {
            changes.push((change, 1));
        }
    }
    changes.sort_by_key(|(change, side)| (change.at, *side));
    let overlaps = |a: &LineChange, b: &LineChange| b.at <= a.at + a.removed.len();
    let clash =
        changes.windows(2).any(|pair| pair[0].1 != pair[1].1 && overlaps(&pair[0].0, &pair[1].0));
    if clash {
        return None;
    }
    let mut out: Vec<String> = Vec::new();
    let mut done = 0;
    for (change, _) in changes {
        out.extend(base_lines[done..change.at].iter().cloned());
        out.extend(change.added);
        done = change.at + change.removed.len();
    }
    out.extend(base_lines[done..].iter().cloned());
    Some(out.join("\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edits_apart_merge_and_edits_of_one_line_clash() {
        let base = "a\nb\nc\nd\ne";
        for (ours, theirs, expected) in [
            ("A\nb\nc\nd\ne", "a\nb\nc\nd\nE", Some("A\nb\nc\nd\nE")),
            ("a\nb\nc\nd\ne", "a\nx\ny\nc\nd\ne", Some("a\nx\ny\nc\nd\ne")),
            ("b\nc\nd\ne", "a\nb\nc\nd\ne\nf", Some("b\nc\nd\ne\nf")),
            ("a\nX\nc\nd\ne", "a\nX\nc\nd\ne", Some("a\nX\nc\nd\ne")),
            ("a\nX\nc\nd\ne", "a\nY\nc\nd\ne", None),
            ("a\nX\nc\nd\ne", "a\nb\nY\nd\ne", None),
        ] {
            assert_eq!(merged(base, ours, theirs).as_deref(), expected, "{ours:?} {theirs:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn changes_lead_from_one_text_to_the_other(old in "[ab\n]{0,12}", new in "[ab\n]{0,12}") {
            prop_assert_eq!(merged(&old, &new, &old), Some(new.clone()));
            prop_assert_eq!(merged(&old, &old, &new), Some(new.clone()));
            prop_assert_eq!(merged(&old, &new, &new), Some(new));
        }
    }
}
