//! What other books would have changed.

use serde::{Deserialize, Serialize};

use super::{Fired, TurnLine};
use crate::units::Tokens;

/// A turn that two sets of books decide differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TurnChange {
    /// The turn's place in the replay, from 0.
    pub turn: usize,
    /// Messages on the path.
    pub at: usize,
    /// Entries that only the new books bring in.
    pub appeared: Vec<Fired>,
    /// Entries that only the old books bring in.
    pub vanished: Vec<Fired>,
    /// Entries that both bring in, with another text; as the new books have them.
    pub rewritten: Vec<Fired>,
    /// Tokens of the old books.
    pub tokens_before: Tokens,
    /// Tokens of the new books.
    pub tokens_after: Tokens,
    /// Something fits no more that fitted before.
    pub now_over_budget: bool,
    /// Everything fits that did not before.
    pub now_in_budget: bool,
}

/// The turns of two replays of one story that differ. Entries are compared by id.
pub fn compare(old: &[TurnLine], new: &[TurnLine]) -> Vec<TurnChange> {
    old.iter()
        .zip(new)
        .enumerate()
        .filter_map(|(turn, (old, new))| change(turn, old, new))
        .collect()
}

fn change(turn: usize, old: &TurnLine, new: &TurnLine) -> Option<TurnChange> {
    let missing = |these: &[Fired], those: &[Fired]| -> Vec<Fired> {
        let is_new = |one: &&Fired| !those.iter().any(|other| other.entry == one.entry);
        these.iter().filter(is_new).cloned().collect()
    };
    let is_rewritten = |one: &&Fired| {
        old.fired.iter().any(|other| other.entry == one.entry && other.text != one.text)
    };
    let change = TurnChange {
        turn,
        at: new.at,
        appeared: missing(&new.fired, &old.fired),
        vanished: missing(&old.fired, &new.fired),
        rewritten: new.fired.iter().filter(is_rewritten).cloned().collect(),
        tokens_before: old.tokens,
        tokens_after: new.tokens,
        now_over_budget: new.overflowed && !old.overflowed,
        now_in_budget: old.overflowed && !new.overflowed,
    };
    let differs = !change.appeared.is_empty()
        || !change.vanished.is_empty()
        || !change.rewritten.is_empty()
        || old.overflowed != new.overflowed;
    differs.then_some(change)
}
