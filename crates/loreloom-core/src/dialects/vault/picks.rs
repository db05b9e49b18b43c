//! A note on its way through a turn.

use super::Vault;
use crate::{
    engine::verdicts,
    library::EntryIx,
    note_selection::Confidence,
    report::{Reason, Stop},
};

/// A note that is in, so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// The note.
    pub ix: EntryIx,
    /// What brought it in.
    pub reason: Reason,
    /// The key that was found, as its place in the note's list.
    pub key: Option<usize>,
    /// The step of recursion; 0 is the chat itself.
    pub step: u32,
    /// Its priority, which a pin changes.
    pub priority: f64,
    /// Whether a pin made it a constant.
    pub pinned: bool,
    /// How sure the selecting model was, where it chose the note.
    pub confidence: Option<Confidence>,
    /// How often its keys occur, where the rules order by that.
    pub occurrences: u32,
    /// How well it fits, where only the search by topic found it.
    pub score: Option<f64>,
}

/// A note that is out, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// The note.
    pub ix: EntryIx,
    /// The rule that stopped it.
    pub stop: Stop,
}

impl Pick {
    /// A note that came in without a key.
    pub fn new(vault: &Vault, ix: EntryIx, reason: Reason) -> Self {
        let priority = vault.compiled(ix).priority;
        let score = if let Reason::Fuzzy { score } = reason { Some(score) } else { None };
        Self {
            ix,
            reason,
            key: None,
            step: 0,
            priority,
            pinned: false,
            confidence: None,
            occurrences: 0,
            score,
        }
    }

    /// Whether it counts as a constant.
    pub fn is_constant(&self, vault: &Vault) -> bool {
        self.pinned || vault.compiled(self.ix).constant
    }

    /// The key that was found.
    pub fn key_text<'a>(&self, vault: &'a Vault) -> Option<&'a str> {
        self.key.and_then(|at| vault.keys_of(self.ix).nth(at))
    }
}

/// The notes that stay, and those that a rule stops.
pub type Divided = (Vec<Pick>, Vec<Stopped>);

/// Splits picks into those that stay and those that a rule stops.
pub(super) fn divide(picks: Vec<Pick>, judge: impl FnMut(&Pick) -> Option<Stop>) -> Divided {
    let (kept, stopped) = verdicts::divide(picks, judge);
    let stopped = stopped.into_iter().map(|(pick, stop)| Stopped { ix: pick.ix, stop });
    (kept, stopped.collect())
}
