//! Entries found by meaning: which of those that the host found near enough take part.
//!
//! As in SillyTavern's Vector Storage, the nearest entries above a threshold are put before
//! all others, as if the host had forced them; every other rule still holds for them.

use rustc_hash::FxHashMap;

use super::WorldInfoRules;
use crate::{
    library::{Dialect, EntryIx, Library, Roster},
    report::Stop,
    turn::Near,
};

/// What nearness says about entries.
#[derive(Debug, Default)]
pub(super) struct Nearness(FxHashMap<EntryIx, Result<f64, Stop>>);

impl Nearness {
    /// Decides about what the host found.
    pub(super) fn judge(
        near: &[Near],
        library: &Library,
        roster: &Roster,
        rules: &WorldInfoRules,
    ) -> Self {
        let rules = &rules.vectors;
        let found = near.iter().filter_map(|one| Some((one.score, library.find(&one.entry)?)));
        let mut found: Vec<(f64, EntryIx)> = found
            .filter(|(_, ix)| library.dialect_of(*ix) == Dialect::WorldInfo)
            .filter(|(_, ix)| roster.ranks(*ix).next().is_some())
            .filter(|(_, ix)| rules.compares(library.entry(*ix)))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let decide = |(at, (score, ix)): (u32, (f64, EntryIx))| {
            let verdict = if score < rules.threshold {
                Err(Stop::NotNear { score: Some(score), threshold: rules.threshold })
            } else if at >= rules.max_entries {
                Err(Stop::MaxEntries { most: rules.max_entries })
            } else {
                Ok(score)
            };
            (ix, verdict)
        };
        Self((0..).zip(found).map(decide).collect())
    }

    /// The entries that something was said about.
    pub(super) fn entries(&self) -> impl Iterator<Item = EntryIx> {
        self.0.keys().copied()
    }

    /// How near an entry is, if near enough.
    pub(super) fn of(&self, ix: EntryIx) -> Option<f64> {
        self.0.get(&ix)?.as_ref().ok().copied()
    }

    /// Why an entry is not near enough.
    pub(super) fn refusal(&self, ix: EntryIx) -> Option<Stop> {
        self.0.get(&ix)?.as_ref().err().cloned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
