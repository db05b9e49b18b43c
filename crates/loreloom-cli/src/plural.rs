//! Words that depend on a number.

/// A count with its noun: `1 turn`, `2 turns`. `many` is the noun for all but one.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
