//! Why an entry fired, kept small until somebody reads it.

use super::{activation::Why, pass::Scanner, seat::Seat};
use crate::{
    engine::texts::{Location, PartRef, Reach},
    library::{CompiledKey, EntryIx, Library, Probe},
    report::{KeyMatch, ScanPhase, Trigger},
    turn::Turn,
};

/// Why an entry fired.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    why: Why,
    phase: ScanPhase,
    pass: u32,
    depth: u32,
    primary: Option<Located>,
    secondary: Box<[Located]>,
    parents: Box<[EntryIx]>,
}

/// A key of the entry that was found.
#[derive(Clone, Debug)]
struct Located {
    key: u32,
    at: Option<Location>,
    also: Box<[Location]>,
    /// The key after macros, where it has any: they may say something else later.
    expanded: Option<Box<str>>,
}

impl Scanner<'_> {
    /// Why a candidate is one.
    pub(super) fn cause(&mut self, seat: &Seat) -> Cause {
        let library = self.library;
        let compiled = library.compiled(seat.ix);
        let found = &seat.found;
        let primary =
            found.primary.map(|key| self.located(key, &compiled.keys[key as usize], found.reach));
        let by_lore =
            |one: &Located| matches!(one.at, Some(Location { part: PartRef::Lore(_), .. }));
        let parents = match &primary {
            Some(one) if by_lore(one) => {
                let key = &compiled.keys[one.key as usize];
                let probe = self.probe(key);
                self.texts.parents(key, &probe).into()
            }
            Some(_) | None => Box::default(),
        };
        let secondary = found.secondary.iter();
        let secondary =
            secondary.map(|&key| self.located(key, &compiled.secondary[key as usize], found.reach));
        Cause {
            secondary: secondary.collect(),
            why: found.why,
            phase: self.phase,
            pass: self.count,
            depth: found.reach.messages,
            primary,
            parents,
        }
    }

    fn located(&mut self, at: u32, key: &CompiledKey, reach: Reach) -> Located {
        let resolved = matches!(key.probe, Probe::Dynamic).then(|| self.resolve(key));
        let probe = resolved.as_ref().unwrap_or(&key.probe);
        let (place, also) = self.texts.locate_all(key, probe, reach).unzip();
        let expanded = matches!(key.probe, Probe::Dynamic).then(|| {
            let expanded = self.macros.expand_reading(&key.raw, &self.effects.state.variables);
            Box::from(&*expanded)
        });
        Located { key: at, at: place, also: also.unwrap_or_default(), expanded }
    }
}

impl Cause {
    /// The trigger metadata of the entry at `ix`.
    pub(super) fn trigger(&self, ix: EntryIx, library: &Library, turn: &Turn<'_>) -> Trigger {
        let compiled = library.compiled(ix);
        let told = |keys: &[CompiledKey], one: &Located| {
            let raw = &keys[one.key as usize].raw;
            let expanded = one.expanded.as_ref().filter(|expanded| *expanded != raw);
            KeyMatch {
                key: raw.to_string(),
                expanded: expanded.map(ToString::to_string),
                at: one.at.map(|location| location.place(library, turn)),
                also: one.also.iter().map(|location| location.place(library, turn)).collect(),
            }
        };
        Trigger {
            reason: self.why.reason(),
            phase: self.phase,
            pass: self.pass,
            depth: self.depth,
            primary: self.primary.as_ref().map(|one| told(&compiled.keys, one)),
            secondary: self.secondary.iter().map(|one| told(&compiled.secondary, one)).collect(),
            parents: self.parents.iter().map(|&ix| library.entry(ix).id.clone()).collect(),
        }
    }
}
