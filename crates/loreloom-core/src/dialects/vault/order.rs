//! Which of two notes is more important.

use std::cmp::{Ordering, Reverse};

use super::{OrderRules, Pick, Vault, VaultRules};

/// Sorts by confidence of the selecting model if the rules say so and by priority. Among equals,
/// notes whose keys occur more often come first if the rules say so, then notes with a key before
/// those found by topic, the better fit first; then title and vault decide.
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
    let OrderRules { reversed, by_confidence, by_occurrences } = rules.order;
    let weighs = !rules.quirks.title_breaks_ties;
    picks.sort_by_cached_key(|pick| {
        // Notes that the model did not have to choose come before those it chose.
        let confidence = pick.confidence.filter(|_| by_confidence).map(Reverse);
        let occurrences = Reverse(if weighs && by_occurrences { pick.occurrences } else { 0 });
        let score = pick.score.filter(|_| weighs).map(|score| importance(score, true));
        let importance = importance(priority(pick), reversed);
        (confidence, importance, occurrences, score, vault.compiled(pick.ix).rank)
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
