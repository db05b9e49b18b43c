//! Keys and selective logic: whether an entry's keys let it in.

use std::borrow::Cow;

use super::{
    cause::{EntryMatch, Why},
    scanner::Scanner,
    texts::{Limits, ScanReach, SlowKey},
};
use crate::{
    book::SelectiveLogic,
    library::{CompiledKey, EntryIx, MOST_MESSAGES, Probe},
    report::Stop,
};

#[derive(Clone, Copy, Default)]
pub(crate) struct EntryKeys<'k> {
    /// One of them must be found.
    pub(crate) primary: &'k [CompiledKey],
    /// How many of them must be found depends on the logic; empty where they do not count.
    pub(crate) secondary: &'k [CompiledKey],
    pub(crate) logic: SelectiveLogic,
    /// Of each list one must be found.
    pub(crate) require: &'k [Vec<CompiledKey>],
}

/// Whether so many secondary keys found are enough.
pub(crate) fn passes(logic: SelectiveLogic, found: usize, all: usize) -> bool {
    match logic {
        SelectiveLogic::AndAny => found > 0,
        SelectiveLogic::NotAll => found < all,
        SelectiveLogic::NotAny => found == 0,
        SelectiveLogic::AndAll => found == all,
        SelectiveLogic::Unknown => false,
    }
}

impl Scanner<'_> {
    /// What a key looks for this turn. Macros are resolved once a scan.
    pub(crate) fn probe<'k>(&mut self, key: &'k CompiledKey) -> Cow<'k, Probe> {
        if !matches!(key.probe, Probe::Dynamic) {
            return Cow::Borrowed(&key.probe);
        }
        let (macros, variables) = (&self.macros, &self.timing.state.variables);
        let stages = self.stages;
        let known = self.resolved.entry((key.raw.clone(), key.mode, key.taken));
        let expand = || stages.resolve(key, &macros.expand_reading(&key.raw, variables));
        Cow::Owned(known.or_insert_with(expand).clone())
    }

    /// Whether a key of an entry is found in reach, after its macros.
    pub(crate) fn holds(&mut self, ix: EntryIx, key: &CompiledKey, reach: ScanReach) -> bool {
        let probe = self.probe(key);
        self.texts.holds(ix, key, &probe, reach)
    }

    /// A reach with no more of the chat than the entry's own limits.
    pub(crate) fn limited(&mut self, reach: ScanReach, limits: Limits) -> ScanReach {
        self.texts.limited(reach, limits, self.counter)
    }

    /// Lets an entry in by its keys.
    pub(crate) fn match_keys(
        &mut self,
        ix: EntryIx,
        keys: EntryKeys<'_>,
        reach: ScanReach,
    ) -> Result<EntryMatch, Stop> {
        if keys.primary.is_empty() {
            return Err(Stop::NoKeys);
        }
        let (at, primary) = (0_u32..)
            .zip(keys.primary)
            .find(|(_, key)| self.holds(ix, key, reach))
            .ok_or_else(|| self.texts.slow_key(ix).map_or(Stop::NoKeyFound, SlowKey::stop))?;
        self.check_required(ix, keys.require, reach)?;
        let found = EntryMatch { primary: Some(at), ..EntryMatch::by(Why::Key, reach) };
        if keys.secondary.is_empty() {
            return Ok(found);
        }
        let held = keys.secondary.iter().map(|key| self.holds(ix, key, reach));
        let held: Vec<bool> = held.collect();
        let these = |wanted: bool| (0_u32..).zip(&held).filter(move |(_, held)| **held == wanted);
        let secondary: Box<[u32]> = these(true).map(|(at, _)| at).collect();
        if passes(keys.logic, secondary.len(), held.len()) {
            return Ok(EntryMatch { secondary, ..found });
        }
        let written =
            |wanted| these(wanted).map(|(at, _)| keys.secondary[at as usize].raw.to_string());
        Err(Stop::Secondary {
            key: primary.raw.to_string(),
            logic: keys.logic,
            missing: written(false).collect(),
            found: written(true).collect(),
        })
    }

    /// Stops an entry if none of the keys of a list is found.
    pub(crate) fn check_required(
        &mut self,
        ix: EntryIx,
        lists: &[Vec<CompiledKey>],
        reach: ScanReach,
    ) -> Result<(), Stop> {
        match lists.iter().find(|list| !list.iter().any(|key| self.holds(ix, key, reach))) {
            Some(list) => Err(Stop::Required { missing: written(list) }),
            None => Ok(()),
        }
    }

    /// Stops an entry if all keys of a list are found.
    pub(crate) fn check_excluded(
        &mut self,
        ix: EntryIx,
        lists: &[Vec<CompiledKey>],
        reach: ScanReach,
    ) -> Result<(), Stop> {
        match lists.iter().find(|list| list.iter().all(|key| self.holds(ix, key, reach))) {
            Some(list) => Err(Stop::Excluded { found: written(list) }),
            None => Ok(()),
        }
    }

    /// What to say about an entry of which no key was found. Its key may be in the chat, but
    /// further back than the entry scans: messages beyond the usual reach must be scanned for that.
    pub(crate) fn near_miss(
        &mut self,
        ix: EntryIx,
        keys: &[CompiledKey],
        own: ScanReach,
        limits: Limits,
    ) -> Stop {
        let anywhere =
            ScanReach { messages: MOST_MESSAGES, cut: 0, opened: self.texts.opens(), ..own };
        let found = keys.iter().find_map(|key| {
            let probe = self.probe(key);
            let held = self.texts.holds(ix, key, &probe, anywhere);
            Some((key, held.then(|| self.texts.distance(key, &probe))??))
        });
        let Some((key, distance)) = found else { return Stop::NoKeyFound };
        let mut stop = Stop::out_of_reach(&*key.raw, distance, own.messages);
        if let Stop::OutOfReach { characters, tokens, .. } = &mut stop {
            (*characters, *tokens) = (limits.characters, limits.tokens);
        }
        stop
    }
}

fn written(keys: &[CompiledKey]) -> Vec<String> {
    keys.iter().map(|key| key.raw.to_string()).collect()
}
