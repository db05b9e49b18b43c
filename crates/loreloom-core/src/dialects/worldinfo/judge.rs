//! Whether an entry becomes a candidate: the rules in SillyTavern's order, the first one
//! decides.

use super::{candidate::EntryCandidate, pass::WorldInfoScan};
use crate::{
    book::{Entry, Force},
    engine::{
        EngineInput, Timing,
        cause::{EntryMatch, Why},
        keys::EntryKeys,
        texts::{Furthest, Limits, ScanReach, card_bits},
    },
    library::{CompiledEntry, EntryIx, Library, MOST_MESSAGES, messages},
    report::{ScanPhase, Stop},
    turn::Instruments,
};

/// The rule that keeps each of these entries out, in the same order.
pub(crate) fn judge_untouched(
    input: &EngineInput<'_>,
    entries: &[EntryIx],
    instruments: &mut Instruments<'_>,
) -> Vec<Stop> {
    let mut scan = WorldInfoScan::new(*input, Timing::begin(input), instruments);
    scan.scanner.texts.reach_back(Furthest::messages(MOST_MESSAGES));
    entries.iter().map(|&ix| scan.stop_of(ix)).collect()
}

/// The keys of a stored entry.
pub(super) fn keys_of(library: &Library, ix: EntryIx) -> EntryKeys<'_> {
    let compiled = library.compiled(ix);
    let keys = EntryKeys { primary: &compiled.keys, ..EntryKeys::default() };
    if compiled.plain || compiled.secondary.is_empty() {
        return keys;
    }
    let secondary = &library.entry(ix).activation.secondary;
    if secondary.active {
        EntryKeys { secondary: &compiled.secondary, logic: secondary.logic, ..keys }
    } else {
        keys
    }
}

impl WorldInfoScan<'_> {
    pub(super) fn judge(&mut self, rank: u32) -> Result<EntryCandidate, Stop> {
        let EngineInput { library, active, turn, .. } = self.scanner.input;
        let ix = active.at(rank);
        let compiled = library.compiled(ix);
        let stored = |found| EntryCandidate::stored((rank, ix), compiled, found);
        if compiled.plain && self.forced.is_empty() && self.near.is_empty() {
            let reach = self.default_reach();
            return self.scanner.match_keys(ix, keys_of(library, ix), reach).map(stored);
        }
        let entry = library.entry(ix);
        if library.book(ix).disables(entry) {
            return Err(Stop::Disabled);
        }
        let sticky = self.scanner.timing.check((ix, entry), turn, self.recursion_step())?;
        let reach = self.reach(ix, entry);
        let by = |why| stored(EntryMatch::by(why, reach));
        match compiled.force {
            Some(Force::Activate) => return Ok(by(Why::Decorator)),
            Some(Force::Suppress) => return Err(Stop::Suppressed),
            None => {}
        }
        if let Some(forced) = self.forced.get(&compiled.slot) {
            let candidate = by(Why::Forced);
            return Ok(match &forced.instead {
                Some(instead) => candidate.instead(compiled, instead),
                None => candidate,
            });
        }
        if let Some(&Ok(score)) = self.near.get(&ix) {
            let threshold = Some(self.rules.vectors.threshold);
            return Ok(by(Why::Near { score, threshold }).first());
        }
        if entry.activation.constant {
            return Ok(by(Why::Constant));
        }
        if let Some(until) = sticky {
            return Ok(by(Why::Sticky(until)));
        }
        let found = self.scanner.match_keys(ix, keys_of(library, ix), reach);
        found.map(stored).map_err(|stop| self.not_near(ix, entry, stop))
    }

    /// What to say about an entry without a found key that meaning could have let in.
    fn not_near(&self, ix: EntryIx, entry: &Entry, stop: Stop) -> Stop {
        if stop != Stop::NoKeys && stop != Stop::NoKeyFound {
            return stop;
        }
        let vectors = &self.rules.vectors;
        match self.near.get(&ix) {
            Some(Err(refusal)) => refusal.clone(),
            Some(Ok(_)) | None if stop == Stop::NoKeys && vectors.compares(entry) => {
                Stop::NotNear { score: None, threshold: vectors.threshold }
            }
            Some(Ok(_)) | None => stop,
        }
    }

    /// What an entry's keys are looked for in.
    pub(super) fn reach(&mut self, ix: EntryIx, entry: &Entry) -> ScanReach {
        let characters = entry.scan_characters(self.scanner.input.library.book(ix));
        let reach = match (entry.activation.scan.messages, characters) {
            (Some(depth), _) => self.reach_of(depth),
            (None, Some(_)) => self.reach_of(f64::from(MOST_MESSAGES)),
            (None, None) => self.default_reach(),
        };
        let cards = if reach.opened { card_bits(entry.activation.sources) } else { 0 };
        let lore = reach.lore && entry.recursion.scan_lore != Some(false);
        let limits = Limits { characters, tokens: None };
        self.scanner.limited(ScanReach { cards, lore, ..reach }, limits)
    }

    /// The reach of an entry that says nothing about it.
    fn default_reach(&self) -> ScanReach {
        self.reach_of(f64::from(self.rules.depth) + f64::from(self.skew))
    }

    fn reach_of(&self, depth: f64) -> ScanReach {
        // No text at all, not even the other parts. What is between that and one message
        // leaves out the chat alone.
        if depth <= 0.0 {
            return ScanReach::default();
        }
        let lore = self.scanner.phase != ScanPhase::MinActivations;
        ScanReach {
            messages: messages(depth),
            prompts: true,
            lore,
            opened: true,
            ..ScanReach::default()
        }
    }

    fn stop_of(&mut self, ix: EntryIx) -> Stop {
        let EngineInput { library, active, .. } = self.scanner.input;
        match active.ranks(ix).next().map(|rank| self.judge(rank)) {
            Some(Err(Stop::NoKeyFound)) => {
                let CompiledEntry { keys, characters, .. } = library.compiled(ix);
                let own = self.reach(ix, library.entry(ix));
                let limits = Limits { characters: *characters, tokens: None };
                self.scanner.near_miss(ix, keys, own, limits)
            }
            Some(Err(stop)) => stop,
            Some(Ok(_)) | None => Stop::NoKeyFound,
        }
    }
}
