//! Why an entry fired, kept small until somebody reads it: a turn moves hundreds of these.

use super::{
    keys::EntryKeys,
    scanner::Scanner,
    texts::{Location, PartRef, ScanReach},
};
use crate::{
    ids::MessageId,
    library::{CompiledKey, EntryIx, Library, Probe},
    report::{KeyMatch, MatchPlace, Reason, ScanPhase, Trigger},
    units::MessageCount,
};

/// How an entry came to be a candidate.
#[derive(Clone, Debug)]
pub(crate) struct EntryMatch {
    pub(crate) why: Why,
    pub(crate) reach: ScanReach,
    /// The primary key that was found, and the secondary ones.
    pub(crate) primary: Option<u32>,
    pub(crate) secondary: Box<[u32]>,
}

/// The rules that let an entry of a book in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Why {
    Key,
    Constant,
    Sticky(MessageCount),
    Kept(MessageId),
    Decorator,
    Forced,
    Near { score: f64, threshold: Option<f64> },
}

impl EntryMatch {
    /// A match that needs no key.
    pub(crate) fn by(why: Why, reach: ScanReach) -> Self {
        Self { why, reach, primary: None, secondary: Box::default() }
    }
}

impl Why {
    fn reason(self) -> Reason {
        match self {
            Self::Key => Reason::Key,
            Self::Constant => Reason::Constant,
            Self::Sticky(until) => Reason::Sticky { until },
            Self::Kept(since) => Reason::Kept { since },
            Self::Decorator => Reason::Decorator,
            Self::Forced => Reason::Forced,
            Self::Near { score, threshold } => Reason::Semantic { score, threshold },
        }
    }
}

/// Why an entry fired.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub(crate) why: Why,
    phase: ScanPhase,
    pass: u32,
    depth: u32,
    primary: Option<LocatedKey>,
    secondary: Box<[LocatedKey]>,
    parents: Box<[EntryIx]>,
}

/// A key of the entry that was found.
#[derive(Clone, Debug)]
struct LocatedKey {
    key: u32,
    at: Option<Location>,
    also: Box<[Location]>,
    /// The key after macros, if it has any: their values may change later.
    expanded: Option<Box<str>>,
}

impl Scanner<'_> {
    /// Why a candidate with these keys is one.
    pub(crate) fn cause(&mut self, found: &EntryMatch, keys: EntryKeys<'_>) -> Cause {
        let reach = found.reach;
        let primary = found.primary.map(|at| self.located(at, keys.primary, reach));
        let in_lore =
            |one: &LocatedKey| matches!(one.at, Some(Location { part: PartRef::Lore(_), .. }));
        let parents = match &primary {
            Some(one) if in_lore(one) => {
                let key = &keys.primary[one.key as usize];
                let probe = self.probe(key);
                self.texts.parents(key, &probe).into()
            }
            Some(_) | None => Box::default(),
        };
        let secondary = found.secondary.iter();
        Cause {
            secondary: secondary.map(|&at| self.located(at, keys.secondary, reach)).collect(),
            why: found.why,
            phase: self.phase,
            pass: self.pass,
            depth: reach.messages,
            primary,
            parents,
        }
    }

    fn located(&mut self, at: u32, keys: &[CompiledKey], reach: ScanReach) -> LocatedKey {
        let key = &keys[at as usize];
        let probe = self.probe(key);
        let (place, also) = self.texts.locate_all(key, &probe, reach).unzip();
        let expanded = matches!(key.probe, Probe::Dynamic).then(|| {
            let expanded = self.macros.expand_reading(&key.raw, &self.timing.state.variables);
            Box::from(&*expanded)
        });
        LocatedKey { key: at, at: place, also: also.unwrap_or_default(), expanded }
    }
}

impl Cause {
    /// The trigger as reports say it. `place` says where in the chat a location is.
    pub(crate) fn trigger(
        &self,
        keys: EntryKeys<'_>,
        library: &Library,
        place: impl Fn(&Location) -> MatchPlace,
    ) -> Trigger {
        let key_match = |keys: &[CompiledKey], one: &LocatedKey| {
            let raw = &keys[one.key as usize].raw;
            let expanded = one.expanded.as_ref().filter(|expanded| *expanded != raw);
            KeyMatch {
                key: raw.to_string(),
                expanded: expanded.map(ToString::to_string),
                at: one.at.as_ref().map(&place),
                also: one.also.iter().map(&place).collect(),
            }
        };
        let secondary = self.secondary.iter();
        Trigger {
            reason: self.why.reason(),
            phase: self.phase,
            pass: self.pass,
            depth: self.depth,
            primary: self.primary.as_ref().map(|one| key_match(keys.primary, one)),
            secondary: secondary.map(|one| key_match(keys.secondary, one)).collect(),
            parents: self.parents.iter().map(|&ix| library.entry(ix).id.clone()).collect(),
        }
    }
}
