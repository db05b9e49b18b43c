//! Which of two notes is more important.

use std::cmp::{Ordering, Reverse};

use super::{OrderRules, Pick, Vault, VaultRules};

/// Sorts by confidence of the selecting model if the rules say so, by priority, title and
/// vault.
pub(super) fn sort_picks(vault: &Vault, picks: &mut [Pick], rules: &VaultRules) {
    sort_picks_by(vault, picks, rules, |pick| pick.priority);
}

/// The same with another reading of priorities.
pub(super) fn sort_picks_by(
    vault: &Vault,
    picks: &mut [Pick],
    rules: &VaultRules,
    priority: impl Fn(&Pick) -> f64,
) {
    let OrderRules { reversed, by_confidence, .. } = rules.order;
    picks.sort_by_cached_key(|pick| {
        // Notes that the model did not have to choose come before those it chose.
        let confidence = pick.confidence.filter(|_| by_confidence).map(Reverse);
        (confidence, importance(priority(pick), reversed), vault.compiled(pick.ix).rank)
    });
}

/// A number that is smaller for a more important priority.
fn importance(priority: f64, reversed: bool) -> i64 {
    // The bits of a float, those of a negative one turned round, sort as `total_cmp` does.
    let bits = priority.to_bits().cast_signed();
    let ascending = bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed();
    if reversed { !ascending } else { ascending }
}

/// The more important priority first.
pub(super) fn by_priority(a: f64, b: f64, reversed: bool) -> Ordering {
    importance(a, reversed).cmp(&importance(b, reversed))
}
