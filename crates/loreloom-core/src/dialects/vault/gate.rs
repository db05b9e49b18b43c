//! Notes that require or exclude others.
//!
//! Taking one note out may take others out, so the rules are applied until nothing
//! changes. That always ends: each pass takes out at least one note. A requirement that
//! goes round in a circle is met as long as all of the circle is in.

use rustc_hash::FxHashMap;

use super::{
    Exempt, Pick, Stopped, Vault, VaultRules,
    matching::{by_priority, sort_picks_by},
};
use crate::report::Stop;

/// What requires and excludes decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Gated {
    /// The notes that stay, most important first.
    pub kept: Vec<Pick>,
    /// The notes that go, in the order they came.
    pub stopped: Vec<Stopped>,
    /// Whether the rules allowed too few passes to settle.
    pub unsettled: bool,
}

/// Applies requires and excludes. Of two notes that exclude each other the more important
/// stays, because less important ones are judged first. A title that no note has is never
/// there, so whoever requires it goes.
pub fn gate_by_relations(
    vault: &Vault,
    picks: Vec<Pick>,
    exempt: &Exempt<'_>,
    rules: &VaultRules,
) -> Gated {
    let mut order: Vec<usize> = (0..picks.len()).collect();
    let rank = |at: usize| vault.compiled(picks[at].ix).rank;
    let priority = |pick: &Pick| match pick.priority {
        zero if zero == 0.0 && rules.quirks.zero_priority_is_fifty => 50.0,
        priority => priority,
    };
    order.sort_by(|&a, &b| {
        by_priority(priority(&picks[b]), priority(&picks[a]), rules.order.reversed)
            .then(rank(a).cmp(&rank(b)))
    });
    let mut titles = Titles::of(vault, &picks, rules);
    let mut stops: Vec<Option<Stop>> = vec![None; picks.len()];
    let mut passes = 0;
    let mut changed = true;
    while changed && rules.quirks.gate_passes.is_none_or(|most| passes < most) {
        changed = false;
        passes += 1;
        for &at in &order {
            if stops[at].is_some() || exempt.holds(vault, &picks[at]) {
                continue;
            }
            if let Some(stop) = titles.judge(vault, &picks[at]) {
                titles.drop(&vault.note(picks[at].ix).title);
                stops[at] = Some(stop);
                changed = true;
            }
        }
    }
    let mut gated = Gated { kept: Vec::new(), stopped: Vec::new(), unsettled: changed };
    for (pick, stop) in picks.into_iter().zip(stops) {
        match stop {
            Some(stop) => gated.stopped.push(Stopped { ix: pick.ix, stop }),
            None => gated.kept.push(pick),
        }
    }
    sort_picks_by(vault, &mut gated.kept, rules, priority);
    gated
}

/// The titles that are in, and how many notes have each.
struct Titles {
    counts: FxHashMap<String, u32>,
    is_set: bool,
}

impl Titles {
    fn of(vault: &Vault, picks: &[Pick], rules: &VaultRules) -> Self {
        let mut counts = FxHashMap::default();
        for pick in picks {
            *counts.entry(vault.note(pick.ix).title.to_lowercase()).or_default() += 1;
        }
        Self { counts, is_set: rules.quirks.titles_are_a_set }
    }

    fn has(&self, title: &str) -> bool {
        self.counts.get(title.to_lowercase().as_str()).is_some_and(|count| *count > 0)
    }

    fn drop(&mut self, title: &str) {
        if let Some(count) = self.counts.get_mut(title.to_lowercase().as_str()) {
            *count = if self.is_set { 0 } else { count.saturating_sub(1) };
        }
    }

    fn judge(&self, vault: &Vault, pick: &Pick) -> Option<Stop> {
        let relations = &vault.note(pick.ix).relations;
        let missing: Vec<String> =
            relations.requires.iter().filter(|title| !self.has(title)).cloned().collect();
        if !missing.is_empty() {
            return Some(Stop::Requires { missing });
        }
        let present: Vec<String> =
            relations.excludes.iter().filter(|title| self.has(title)).cloned().collect();
        (!present.is_empty()).then_some(Stop::Excludes { present })
    }
}
