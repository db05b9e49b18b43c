//! Which texts give way to a limit over all sources.

use std::cmp::Ordering;

use super::{RankedSource, RoomRules};
use crate::{
    engine::Decision,
    ids::EntryId,
    library::{Dialect, Library},
    notebook,
    place::{Injection, Provenance},
    report::{GivenUp, Outcome, Stop},
    units::Tokens,
};

/// Takes texts out of a decision until the rest is within `limit`: the least valuable text of
/// the least important source first. The author's note and notebooks always stay, because people
/// write them for this very chat.
pub fn give_way(decision: &mut Decision, limit: Tokens, rules: &RoomRules, library: &Library) {
    let mut left: Tokens = decision.injections.iter().map(|one| one.tokens).sum();
    if left <= limit {
        return;
    }
    let mut candidates: Vec<Candidate> = decision
        .injections
        .iter()
        .enumerate()
        .filter_map(|(at, one)| Candidate::of(at, one, rules, library))
        .collect();
    candidates.sort_by(Candidate::order);
    let mut gone = Vec::new();
    while left > limit {
        let Some(next) = candidates.pop() else { break };
        let tokens = decision.injections[next.at].tokens;
        left = left.checked_sub(tokens).unwrap_or_default();
        gone.push(next.at);
    }
    let given_up = gone.iter().map(|at| {
        let Injection { source, tokens, .. } = &decision.injections[*at];
        GivenUp { source: source.clone(), tokens: *tokens }
    });
    let given_up: Vec<GivenUp> = given_up.collect();
    let mut at = 0;
    decision.injections.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    for one in &given_up {
        match &one.source {
            Provenance::Lore { entry, .. } => drop_entry(decision, entry, library),
            Provenance::Memory(_) => spend_less(decision, "memory", one.tokens),
            Provenance::AuthorsNote => (),
        }
    }
    if !given_up.is_empty() {
        decision.report.room.get_or_insert_default().given_up.extend(given_up);
    }
}

/// Whether a text can give way.
pub fn can_give_way(source: &Provenance) -> bool {
    match source {
        Provenance::Lore { .. } => true,
        Provenance::Memory(slot) => !notebook::is_slot(slot),
        Provenance::AuthorsNote => false,
    }
}

/// A text that can give way.
struct Candidate {
    at: usize,
    rank: usize,
    constant: bool,
    /// Higher is more valuable.
    value: f64,
}

impl Candidate {
    fn of(at: usize, one: &Injection, rules: &RoomRules, library: &Library) -> Option<Self> {
        let (source, constant, value) = match &one.source {
            Provenance::Lore { entry, .. } => worth(entry, library),
            // Memory lists its slots by importance.
            Provenance::Memory(_) | Provenance::AuthorsNote => (RankedSource::Memory, false, 0.0),
        };
        let rank = rules.rank(source);
        can_give_way(&one.source).then_some(Self { at, rank, constant, value })
    }

    /// The most important first. Equal texts go from the last of the list on.
    fn order(&self, other: &Self) -> Ordering {
        let by_rank = self.rank.cmp(&other.rank).then(other.constant.cmp(&self.constant));
        by_rank.then(other.value.total_cmp(&self.value)).then(self.at.cmp(&other.at))
    }
}

/// The source of an entry, whether it is always in, and how valuable it is within its source: by
/// order in World Info, by priority in card books and vaults.
fn worth(id: &EntryId, library: &Library) -> (RankedSource, bool, f64) {
    if let Some(ix) = library.find(id) {
        let entry = library.entry(ix);
        let order = entry.placement.order.unwrap_or_default();
        return match library.dialect_of(ix) {
            Dialect::WorldInfo => (RankedSource::WorldInfo, entry.activation.constant, order),
            Dialect::Cards => {
                let priority = entry.budget.priority.unwrap_or(order);
                (RankedSource::Cards, entry.activation.constant, priority)
            }
        };
    }
    let note = library.vault().and_then(|vault| Some(vault.note(vault.find(id)?)));
    // The smaller number is the more important note.
    let value = note.map_or(0.0, |note| -note.priority);
    (RankedSource::Vault, note.is_some_and(|note| note.kind.constant), value)
}

/// The entry did not get in: its verdict, its pool and its effects say so.
fn drop_entry(decision: &mut Decision, entry: &EntryId, library: &Library) {
    let title = library.title(entry).unwrap_or_default();
    decision.delta.forget(entry, title);
    let verdicts = &mut decision.report.verdicts;
    let Some(verdict) = verdicts.iter_mut().find(|verdict| verdict.entry == *entry) else {
        return;
    };
    let Outcome::Activated { tokens, .. } = verdict.outcome else { return };
    verdict.outcome = Outcome::Stopped(Stop::NoRoom { needed: tokens });
    let pool = match worth(entry, library).0 {
        RankedSource::WorldInfo => "world_info",
        RankedSource::Cards => "cards",
        RankedSource::Vault => "vault",
        RankedSource::Memory => "memory",
    };
    spend_less(decision, pool, tokens);
}

/// A pool spends less, and says that something did not fit.
fn spend_less(decision: &mut Decision, pool: &str, tokens: Tokens) {
    let mut pools = decision.report.budgets.iter_mut();
    if let Some(pool) = pools.find(|one| one.pool == pool) {
        pool.used = pool.used.checked_sub(tokens).unwrap_or_default();
        pool.overflowed = true;
    }
}
