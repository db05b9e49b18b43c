//! Whether an entry becomes a candidate: the rules in SillyTavern's order, first one
//! decides.

use super::{pass::Scanner, seat::Seat};
use crate::{
    book::{Entry, Force, SelectiveLogic},
    engine::texts::{Limit, Reach, card_bits},
    library::{CompiledKey, EntryIx, MOST_MESSAGES, Probe, messages},
    report::{Reason, ScanPhase, Stop},
    turn::Turn,
    units::MessageCount,
};

/// How a candidate came about. Small, because a turn moves hundreds of them.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) why: Why,
    pub(super) reach: Reach,
    /// The primary key that was found, and the secondary ones.
    pub(super) primary: Option<u32>,
    pub(super) secondary: Box<[u32]>,
}

/// The reasons that World Info knows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    Key,
    Constant,
    Sticky(MessageCount),
    Decorator,
    Forced,
    Near { score: f64, threshold: f64 },
}

impl Found {
    fn by(why: Why, reach: Reach) -> Self {
        Self { why, reach, primary: None, secondary: Box::default() }
    }
}

impl Why {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Key => Reason::Key,
            Self::Constant => Reason::Constant,
            Self::Sticky(until) => Reason::Sticky { until },
            Self::Decorator => Reason::Decorator,
            Self::Forced => Reason::Forced,
            Self::Near { score, threshold } => {
                Reason::Semantic { score, threshold: Some(threshold) }
            }
        }
    }
}

impl Scanner<'_> {
    /// Judges the entry at a rank.
    pub(super) fn judge(&mut self, rank: u32) -> Result<Seat, Stop> {
        let (library, ix) = (self.library, self.roster.at(rank));
        let compiled = library.compiled(ix);
        if compiled.plain && self.forced.is_empty() && self.near.is_empty() {
            let found = self.match_keys(ix, self.default_reach())?;
            return Ok(Seat::stored(rank, ix, compiled, found));
        }
        let entry = library.entry(ix);
        let sticky = self.effects.sticky(ix);
        check_filters(self.turn, entry)?;
        self.check_timing(ix, entry, sticky.is_some())?;
        let reach = self.reach(ix, entry);
        let stored = |why| Ok(Seat::stored(rank, ix, compiled, Found::by(why, reach)));
        match compiled.force {
            Some(Force::Activate) => return stored(Why::Decorator),
            Some(Force::Suppress) => return Err(Stop::Suppressed),
            None => {}
        }
        if let Some(forced) = self.forced.get(&compiled.slot) {
            let found = Found::by(Why::Forced, reach);
            return Ok(match &forced.instead {
                Some(instead) => Seat::instead((rank, ix), compiled, instead, found),
                None => Seat::stored(rank, ix, compiled, found),
            });
        }
        if let Some(score) = self.near.of(ix) {
            let why = Why::Near { score, threshold: self.rules.vectors.threshold };
            return Ok(Seat::first(rank, ix, compiled, Found::by(why, reach)));
        }
        if entry.activation.constant {
            return stored(Why::Constant);
        }
        if let Some(until) = sticky {
            return stored(Why::Sticky(until));
        }
        let found = self.match_keys(ix, reach).map_err(|stop| self.not_near(ix, entry, stop))?;
        Ok(Seat::stored(rank, ix, compiled, found))
    }

    /// What to say about an entry without a found key that meaning could have let in.
    fn not_near(&self, ix: EntryIx, entry: &Entry, stop: Stop) -> Stop {
        if stop != Stop::NoKeys && stop != Stop::NoKeyFound {
            return stop;
        }
        let threshold = self.rules.vectors.threshold;
        let unknown = stop == Stop::NoKeys && self.rules.vectors.compares(entry);
        let unknown = unknown.then_some(Stop::NotNear { score: None, threshold });
        self.near.refusal(ix).or(unknown).unwrap_or(stop)
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
    pub(super) fn reach(&mut self, ix: EntryIx, entry: &Entry) -> Reach {
        let characters = entry.scan_characters(self.library.book(ix));
        let reach = match (entry.activation.scan.messages, characters) {
            (Some(depth), _) => self.reach_of(depth),
            (None, Some(_)) => self.reach_of(f64::from(MOST_MESSAGES)),
            (None, None) => self.default_reach(),
        };
        let cards = if reach.opened { card_bits(entry.activation.sources) } else { 0 };
        let lore = reach.lore && entry.recursion.scan_lore != Some(false);
        let reach = Reach { cards, lore, ..reach };
        match characters {
            Some(most) => self.texts.limited(reach, Limit::Characters(most), self.counter),
            None => reach,
        }
    }

    /// The reach of an entry that says nothing about it.
    fn default_reach(&self) -> Reach {
        self.reach_of(f64::from(self.rules.depth) + f64::from(self.skew))
    }

    fn reach_of(&self, depth: f64) -> Reach {
        // No text at all, not even the other parts. What is between that and one message
        // leaves out the chat alone.
        if depth <= 0.0 {
            return Reach::default();
        }
        let lore = self.phase != ScanPhase::MinActivations;
        Reach { messages: messages(depth), prompts: true, lore, opened: true, ..Reach::default() }
    }

    fn match_keys(&mut self, ix: EntryIx, reach: Reach) -> Result<Found, Stop> {
        let library = self.library;
        let compiled = library.compiled(ix);
        if compiled.keys.is_empty() {
            return Err(Stop::NoKeys);
        }
        let primary = (0_u32..)
            .zip(&compiled.keys)
            .find(|(_, key)| self.holds(ix, key, reach))
            .ok_or_else(|| self.texts.slow_key(ix).map_or(Stop::NoKeyFound, Stop::too_slow))?;
        let (primary, key) = primary;
        let found = Found { primary: Some(primary), ..Found::by(Why::Key, reach) };
        if compiled.plain || compiled.secondary.is_empty() {
            return Ok(found);
        }
        let secondary = self.match_secondary(ix, key, reach)?;
        Ok(Found { secondary, ..found })
    }

    /// The secondary keys that are found, if they let the entry in.
    fn match_secondary(
        &mut self,
        ix: EntryIx,
        primary: &CompiledKey,
        reach: Reach,
    ) -> Result<Box<[u32]>, Stop> {
        let keys = &self.library.compiled(ix).secondary;
        let secondary = &self.library.entry(ix).activation.secondary;
        if !secondary.active {
            return Ok(Box::default());
        }
        let holds: Vec<bool> = keys.iter().map(|key| self.holds(ix, key, reach)).collect();
        let these = |wanted: bool| (0_u32..).zip(&holds).filter(move |(_, held)| **held == wanted);
        let found: Box<[u32]> = these(true).map(|(at, _)| at).collect();
        if passes(secondary.logic, found.len(), keys.len()) {
            return Ok(found);
        }
        let told =
            |wanted: bool| these(wanted).map(|(at, _)| keys[at as usize].raw.to_string()).collect();
        Err(Stop::Secondary {
            key: primary.raw.to_string(),
            logic: secondary.logic,
            missing: told(false),
            found: told(true),
        })
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
        let known = (key.raw.clone(), key.mode, key.taken);
        let (macros, variables) = (&self.macros, &self.effects.state.variables);
        let expand = || key.resolve(&macros.expand_reading(&key.raw, variables));
        self.resolved.entry(known).or_insert_with(expand).clone()
    }
}

/// Whether an entry is switched on and for this turn's speaker and kind of generation.
pub(crate) fn check_filters(turn: &Turn<'_>, entry: &Entry) -> Result<(), Stop> {
    let activation = &entry.activation;
    if !activation.enabled {
        return Err(Stop::Disabled);
    }
    let filters = &activation.filters;
    let trigger = turn.input.generation.as_str();
    if !filters.triggers.is_empty() && !filters.triggers.iter().any(|wanted| wanted == trigger) {
        let (wanted, found) = (filters.triggers.clone(), trigger.to_owned());
        return Err(Stop::Trigger { wanted, found });
    }
    if !filters.characters.is_empty() {
        let name = turn.input.speaker.as_ref().and_then(|speaker| speaker.filter_name.as_deref());
        let listed = name.is_some_and(|name| filters.characters.iter().any(|one| one == name));
        if listed == filters.exclude {
            let (listed, exclude) = (filters.characters.clone(), filters.exclude);
            return Err(Stop::Character { listed, exclude });
        }
    }
    // A host that knows no tags cannot filter by them.
    if !filters.tags.is_empty()
        && let Some(tags) = turn.input.speaker.as_ref().and_then(|speaker| speaker.tags.as_deref())
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
