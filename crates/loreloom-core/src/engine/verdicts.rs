//! Verdicts: which rule stopped an entry, and how reports say it.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{EngineInput, decide::mark_unknown_speaker, notes};
use crate::{
    dialects::{cards, worldinfo},
    ids::EntryId,
    library::{EntryIx, Library, Stages},
    report::{Outcome, Report, Stop, Verdict},
    turn::Instruments,
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
    /// Records a stop. A candidate that several passes stopped is reported with the rule that
    /// stopped it when it got furthest.
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

    /// The candidates that no rule stops. The stops of the others are recorded.
    pub(crate) fn divide<T>(
        &mut self,
        all: Vec<T>,
        key: impl Fn(&T) -> K,
        judge: impl FnMut(&T) -> Option<Stop>,
    ) -> Vec<T> {
        let (kept, stopped) = divide(all, judge);
        for (one, stop) in stopped {
            self.add(key(&one), stop);
        }
        kept
    }

    /// All stops by candidate, in order.
    pub(crate) fn take_sorted(&mut self) -> Vec<(K, Stop)> {
        let mut stops: Vec<(K, Stop)> = self.0.drain().collect();
        stops.sort_unstable_by_key(|(key, _)| *key);
        stops
    }
}

/// Splits candidates into those that stay and those that a rule stops.
pub(crate) fn divide<T>(
    all: Vec<T>,
    mut judge: impl FnMut(&T) -> Option<Stop>,
) -> (Vec<T>, Vec<(T, Stop)>) {
    let mut kept = Vec::with_capacity(all.len());
    let mut stopped = Vec::new();
    for one in all {
        match judge(&one) {
            Some(stop) => stopped.push((one, stop)),
            None => kept.push(one),
        }
    }
    (kept, stopped)
}

/// What was decided about an entry of a book, as reports say it.
pub(crate) fn verdict(library: &Library, ix: EntryIx, outcome: Outcome) -> Verdict {
    let entry = library.entry(ix);
    let (book, title) = (library.book(ix).id.clone(), entry.title().to_owned());
    Verdict::new(book, entry.id.clone(), title, outcome)
}

/// The verdicts of all active entries: those of the report, and for entries that nothing touched
/// the rule that kept them out.
///
/// Looks further back in the chat than the turn did, to find near misses.
pub fn verdicts(
    report: &Report,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Vec<Verdict> {
    let EngineInput { library, active, .. } = *input;
    let known: FxHashSet<&EntryId> = report.verdicts.iter().map(|verdict| &verdict.entry).collect();
    let all = active.entries().iter().chain(active.card_entries()).copied();
    let rest = all.filter(|&ix| !known.contains(&library.entry(ix).id)).map(|ix| (None, ix));
    // A touched entry may have been stopped for want of a key in reach: say how near it was.
    let vague = (0..).zip(&report.verdicts).filter(|(_, verdict)| is_vague(verdict));
    let vague = vague.filter_map(|(at, one)| Some((Some(at), library.find(&one.entry)?)));
    let (cards, world_info): (Vec<(Option<usize>, EntryIx)>, Vec<_>) =
        vague.chain(rest).partition(|&(_, ix)| library.dialect_of(ix).is_cards());
    let mut verdicts = report.verdicts.clone();
    for (stages, open) in [(Stages::WorldInfo, world_info), (Stages::Cards, cards)] {
        let entries: Vec<EntryIx> = open.iter().map(|&(_, ix)| ix).collect();
        let stops = untouched(stages, input, &entries, instruments);
        for ((at, ix), stop) in open.into_iter().zip(stops) {
            match at.and_then(|at: usize| verdicts.get_mut(at)) {
                Some(verdict) => verdict.outcome = Outcome::Stopped(stop),
                None => verdicts.push(verdict(library, ix, Outcome::Stopped(stop))),
            }
        }
    }
    notes::untouched(input, instruments, &mut verdicts);
    mark_unknown_speaker(&mut verdicts, library, active);
    verdicts
}

/// What was decided about one active entry, as in [`verdicts`].
pub(crate) fn outcome_of(
    entry: &EntryId,
    report: &Report,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Option<Outcome> {
    let EngineInput { library, active, .. } = *input;
    let known = report.verdicts.iter().find(|verdict| verdict.entry == *entry);
    if let Some(verdict) = known.filter(|verdict| !is_vague(verdict)) {
        return Some(verdict.outcome.clone());
    }
    let ix = library.find(entry).filter(|ix| active.ranks(*ix).next().is_some())?;
    let stops = untouched(library.dialect_of(ix).stages(), input, &[ix], instruments);
    stops.into_iter().next().map(Outcome::Stopped)
}

/// Whether looking further back may say more.
pub(super) fn is_vague(verdict: &Verdict) -> bool {
    verdict.outcome == Outcome::Stopped(Stop::NoKeyFound)
}

/// The rule that keeps each of these entries out.
fn untouched(
    stages: Stages,
    input: &EngineInput<'_>,
    rest: &[EntryIx],
    instruments: &mut Instruments<'_>,
) -> Vec<Stop> {
    match stages {
        _ if rest.is_empty() => Vec::new(),
        Stages::WorldInfo => worldinfo::judge_untouched(input, rest, instruments),
        Stages::Cards => cards::judge_untouched(input, rest, instruments),
    }
}
