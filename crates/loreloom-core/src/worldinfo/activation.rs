//! Whether an entry becomes a candidate: the rules in SillyTavern's order, first one
//! decides.

use super::{pass::Scanner, seat::Seat};
use crate::{
    book::{Entry, Force, SelectiveLogic},
    library::{CompiledKey, EntryIx, Probe, messages},
    report::{Reason, ScanPhase, Stop},
    texts::{Reach, card_bits},
    turn::Turn,
    units::MessageCount,
};

/// How a candidate came about.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) reason: Reason,
    pub(super) reach: Reach,
    /// The primary key that was found, and the secondary ones.
    pub(super) primary: Option<usize>,
    pub(super) secondary: Vec<usize>,
}

impl Scanner<'_> {
    /// Judges the entry at a rank.
    pub(super) fn judge(&mut self, rank: u32) -> Result<Seat, Stop> {
        let ix = self.roster.at(rank);
        let entry = self.library.entry(ix);
        let force = self.library.compiled(ix).force;
        let sticky = self.effects.sticky(ix);
        check_filters(self.turn, entry)?;
        self.check_timing(ix, entry, sticky.is_some())?;
        let reach = self.reach(entry);
        let stored = |reason| {
            let found = Found { reason, reach, primary: None, secondary: Vec::new() };
            Ok(Seat::stored(rank, ix, found))
        };
        if force == Some(Force::Activate) {
            return stored(Reason::Decorator);
        }
        if force == Some(Force::Suppress) {
            return Err(Stop::Suppressed);
        }
        let slot = self.library.compiled(ix).slot;
        if let Some(forced) = self.forced.get(&slot) {
            let found =
                Found { reason: Reason::Forced, reach, primary: None, secondary: Vec::new() };
            return Ok(match &forced.instead {
                Some(instead) => Seat::instead(ix, instead, found),
                None => Seat::stored(rank, ix, found),
            });
        }
        if entry.activation.constant {
            return stored(Reason::Constant);
        }
        if let Some(until) = sticky {
            return stored(Reason::Sticky { until });
        }
        self.match_keys(ix, reach).map(|found| Seat::stored(rank, ix, found))
    }

    fn check_timing(&self, ix: EntryIx, entry: &Entry, sticky: bool) -> Result<(), Stop> {
        if let Some(delay) = delayed(entry, self.turn.length()) {
            return Err(Stop::Delay { until: delay });
        }
        if sticky {
            return Ok(());
        }
        if let Some(until) = self.effects.cooldown(ix) {
            return Err(Stop::Cooldown { until });
        }
        let recursion = entry.recursion;
        let recursing = self.phase == ScanPhase::Recursion;
        if recursion.delay_level > 0 && (!recursing || recursion.delay_level > self.level) {
            return Err(Stop::RecursionLevel { level: recursion.delay_level });
        }
        if recursing && self.rules.recursive && recursion.exclude {
            return Err(Stop::ExcludedFromRecursion);
        }
        Ok(())
    }

    /// What an entry's keys are looked for in.
    pub(super) fn reach(&self, entry: &Entry) -> Reach {
        let depth = entry
            .activation
            .scan
            .messages
            .unwrap_or_else(|| f64::from(self.rules.depth) + f64::from(self.skew));
        match messages(depth) {
            // No text at all, not even the other parts.
            0 => Reach { messages: 0, cards: 0, prompts: false, lore: false },
            messages => Reach {
                messages,
                cards: card_bits(entry.activation.sources),
                prompts: true,
                lore: self.phase != ScanPhase::MinActivations,
            },
        }
    }

    fn match_keys(&mut self, ix: EntryIx, reach: Reach) -> Result<Found, Stop> {
        let library = self.library;
        let compiled = library.compiled(ix);
        if compiled.keys.is_empty() {
            return Err(Stop::NoKeys);
        }
        let primary = (0..compiled.keys.len())
            .find(|&at| self.holds(ix, &compiled.keys[at], reach))
            .ok_or(Stop::NoKeyFound)?;
        let secondary = &library.entry(ix).activation.secondary;
        let mut found = Vec::new();
        if secondary.active && !compiled.secondary.is_empty() {
            found = (0..compiled.secondary.len())
                .filter(|&at| self.holds(ix, &compiled.secondary[at], reach))
                .collect();
            if !passes(secondary.logic, found.len(), compiled.secondary.len()) {
                let raw = |at: &usize| compiled.secondary[*at].raw.to_string();
                let missing = (0..compiled.secondary.len()).filter(|at| !found.contains(at));
                return Err(Stop::Secondary {
                    key: compiled.keys[primary].raw.to_string(),
                    logic: secondary.logic,
                    missing: missing.map(|at| raw(&at)).collect(),
                    found: found.iter().map(raw).collect(),
                });
            }
        }
        Ok(Found { reason: Reason::Key, reach, primary: Some(primary), secondary: found })
    }

    /// Whether a key is found in reach, after its macros.
    pub(super) fn holds(&mut self, ix: EntryIx, key: &CompiledKey, reach: Reach) -> bool {
        if matches!(key.probe, Probe::Dynamic) {
            let probe = self.resolve(key);
            return self.texts.holds(ix, key, &probe, reach);
        }
        self.texts.holds(ix, key, &key.probe, reach)
    }

    /// The probe of a key with macros, resolved once a scan.
    pub(super) fn resolve(&mut self, key: &CompiledKey) -> Probe {
        let known = (key.raw.clone(), key.mode);
        let macros = &self.macros;
        self.resolved.entry(known).or_insert_with(|| key.resolve(&macros.expand(&key.raw))).clone()
    }
}

/// Whether an entry is switched on and for this turn's speaker and kind of generation.
pub(crate) fn check_filters(turn: &Turn<'_>, entry: &Entry) -> Result<(), Stop> {
    let activation = &entry.activation;
    if !activation.enabled {
        return Err(Stop::Disabled);
    }
    let filters = &activation.filters;
    let trigger = turn.generation.as_str();
    if !filters.triggers.is_empty() && !filters.triggers.iter().any(|wanted| wanted == trigger) {
        let (wanted, found) = (filters.triggers.clone(), trigger.to_owned());
        return Err(Stop::Trigger { wanted, found });
    }
    if !filters.characters.is_empty() {
        let name = turn.speaker.and_then(|speaker| speaker.filter_name.as_deref());
        let listed = name.is_some_and(|name| filters.characters.iter().any(|one| one == name));
        if listed == filters.exclude {
            let (listed, exclude) = (filters.characters.clone(), filters.exclude);
            return Err(Stop::Character { listed, exclude });
        }
    }
    // A host that knows no tags cannot filter by them.
    if !filters.tags.is_empty()
        && let Some(tags) = turn.speaker.and_then(|speaker| speaker.tags.as_deref())
    {
        let listed = filters.tags.iter().any(|tag| tags.contains(tag));
        if listed == filters.exclude {
            let (listed, exclude) = (filters.tags.clone(), filters.exclude);
            return Err(Stop::Tag { listed, exclude });
        }
    }
    Ok(())
}

/// The chat length an entry waits for, if it is not there yet.
pub(crate) fn delayed(entry: &Entry, length: MessageCount) -> Option<MessageCount> {
    let until = MessageCount(entry.activation.timed.delay?);
    (length < until).then_some(until)
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
