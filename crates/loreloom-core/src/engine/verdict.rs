//! Verdicts: which rule stopped an entry, and how reports say it.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::{
    library::{EntryIx, Library},
    report::{Outcome, Stop, Verdict},
};

/// The rule that stopped each candidate of a turn.
#[derive(Debug)]
pub(crate) struct Stops<K>(FxHashMap<K, Stop>);

impl<K> Default for Stops<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Copy + Eq + Hash + Ord> Stops<K> {
    /// Records a stop. A candidate that several passes stopped is told by the rule that stopped
    /// it when it got furthest.
    pub(crate) fn add(&mut self, key: K, stop: Stop) {
        if self.0.get(&key).is_none_or(|known| stop.progress() > known.progress()) {
            self.0.insert(key, stop);
        }
    }

    /// Records a stop that decides, whatever stopped the candidate before.
    pub(crate) fn replace(&mut self, key: K, stop: Stop) {
        self.0.insert(key, stop);
    }

    /// Forgets the stops of a candidate that is in after all.
    pub(crate) fn remove(&mut self, key: K) {
        self.0.remove(&key);
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.0.keys().copied()
    }

    /// All stops by candidate, in order.
    pub(crate) fn take_sorted(&mut self) -> Vec<(K, Stop)> {
        let mut stops: Vec<(K, Stop)> = self.0.drain().collect();
        stops.sort_unstable_by_key(|(key, _)| *key);
        stops
    }
}

/// What was decided about an entry of a book, as reports say it.
pub(crate) fn verdict(library: &Library, ix: EntryIx, outcome: Outcome) -> Verdict {
    let entry = library.entry(ix);
    let (book, title) = (library.book(ix).id.clone(), entry.title().to_owned());
    Verdict::new(book, entry.id.clone(), title, outcome)
}
