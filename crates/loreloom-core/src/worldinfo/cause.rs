//! Why an entry fired, kept small until somebody reads it.

use super::{pass::Scanner, seat::Seat};
use crate::{
    library::{CompiledKey, EntryIx, Library, Probe},
    report::{KeyMatch, Reason, ScanPhase, Trigger},
    texts::{Location, PartRef, Reach},
    turn::Turn,
};

/// Why an entry fired.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    reason: Reason,
    phase: ScanPhase,
    pass: u32,
    depth: u32,
    primary: Option<Located>,
    secondary: Vec<Located>,
    parents: Vec<EntryIx>,
}

/// A key of the entry that was found.
#[derive(Clone, Debug)]
struct Located {
    key: usize,
    at: Option<Location>,
}

impl Scanner<'_> {
    /// Why a candidate is one.
    pub(super) fn cause(&mut self, seat: &Seat) -> Cause {
        let library = self.library;
        let compiled = library.compiled(seat.ix);
        let found = &seat.found;
        let primary = found.primary.map(|key| self.located(key, &compiled.keys[key], found.reach));
        let by_lore =
            |one: &Located| matches!(one.at, Some(Location { part: PartRef::Lore(_), .. }));
        let parents = match &primary {
            Some(one) if by_lore(one) => {
                let key = &compiled.keys[one.key];
                let probe = self.probe(key);
                self.texts.parents(key, &probe)
            }
            Some(_) | None => Vec::new(),
        };
        let secondary = found.secondary.iter();
        let secondary =
            secondary.map(|&key| self.located(key, &compiled.secondary[key], found.reach));
        Cause {
            secondary: secondary.collect(),
            reason: found.reason.clone(),
            phase: self.phase,
            pass: self.count,
            depth: found.reach.messages,
            primary,
            parents,
        }
    }

    fn located(&mut self, at: usize, key: &CompiledKey, reach: Reach) -> Located {
        let place = if matches!(key.probe, Probe::Dynamic) {
            let probe = self.resolve(key);
            self.texts.locate(key, &probe, reach)
        } else {
            self.texts.locate(key, &key.probe, reach)
        };
        Located { key: at, at: place }
    }
}

impl Cause {
    /// The trigger metadata of the entry at `ix`.
    pub(super) fn trigger(&self, ix: EntryIx, library: &Library, turn: &Turn<'_>) -> Trigger {
        let compiled = library.compiled(ix);
        let macros = turn.macros();
        let told = |keys: &[CompiledKey], one: &Located| {
            let raw = &keys[one.key].raw;
            let expanded = macros.expand(raw);
            KeyMatch {
                key: raw.to_string(),
                expanded: (*expanded != **raw).then(|| expanded.into_owned()),
                at: one.at.map(|location| location.place(library, turn)),
            }
        };
        Trigger {
            reason: self.reason.clone(),
            phase: self.phase,
            pass: self.pass,
            depth: self.depth,
            primary: self.primary.as_ref().map(|one| told(&compiled.keys, one)),
            secondary: self.secondary.iter().map(|one| told(&compiled.secondary, one)).collect(),
            parents: self.parents.iter().map(|&ix| library.entry(ix).id.clone()).collect(),
        }
    }
}
