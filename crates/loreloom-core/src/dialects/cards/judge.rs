//! Whether an entry is active: the rules in their order, the first one decides.

use super::{
    compile::CopyOf, pass::CardScan, rules::MessageBasis, terms::Terms, window::is_spoken,
};
use crate::{
    book::{Force, MatchOnce},
    chat::Role,
    engine::{
        cause::{EntryMatch, Why},
        texts::ScanReach,
        timing::{RecursionStep, matched_before},
    },
    library::EntryIx,
    report::{Gate, ScanPhase, Stop},
    turn::Turn,
};

impl<'a> CardScan<'a> {
    /// Judges an entry, up to its roll.
    pub(super) fn judge(&mut self, ix: EntryIx) -> Result<EntryMatch, Stop> {
        let input = self.scanner.input;
        let (entry, terms) = (input.library.entry(ix), self.terms(ix));
        if !terms.enabled {
            return Err(Stop::Disabled);
        }
        match self.copy(ix) {
            Some(CopyOf::Nothing) => return Err(Stop::CopyOfNothing),
            Some(CopyOf::Entry(of)) if self.is_active(of) => return Err(self.copied(of)),
            Some(CopyOf::Entry(_)) | None => {}
        }
        let matched = matched_before(&input, &entry.id);
        if let Some(since) = matched.filter(|_| terms.once == Some(MatchOnce::OnceOnly)) {
            return Err(Stop::Once { since });
        }
        if terms.is_forced() && self.rules.activate_beats_gates {
            return Ok(self.by(Why::Decorator, terms));
        }
        if terms.force == Some(Force::Suppress) {
            return Err(Stop::Suppressed);
        }
        if input.turn.input.forced.iter().any(|forced| forced.entry == entry.id) {
            return Ok(self.by(Why::Forced, terms));
        }
        if let Some(since) = matched.filter(|_| terms.once == Some(MatchOnce::Keep)) {
            return Ok(self.by(Why::Kept(since), terms));
        }
        let sticky = self.scanner.timing.check((ix, entry), input.turn, self.recursion_step())?;
        check_gates(terms, input.turn, self.rules.count)?;
        if terms.is_forced() {
            return Ok(self.by(Why::Decorator, terms));
        }
        let reach = self.reach(terms);
        if !terms.constant || self.rules.exclusions_stop_constants {
            self.scanner.check_excluded(ix, &terms.keys.exclude, reach)?;
        }
        if let Some(until) = sticky {
            return Ok(EntryMatch::by(Why::Sticky(until), reach));
        }
        if terms.constant {
            if self.rules.constants_need_required {
                self.scanner.check_required(ix, &terms.keys.require, reach)?;
            }
            return Ok(EntryMatch::by(Why::Constant, reach));
        }
        self.scanner.match_keys(ix, terms.keys.keys(), reach)
    }

    pub(super) fn by(&mut self, why: Why, terms: &Terms) -> EntryMatch {
        EntryMatch::by(why, self.reach(terms))
    }

    /// Whether chance decides about a match.
    pub(super) fn rolls(&self, found: &EntryMatch) -> bool {
        match found.why {
            Why::Key | Why::Constant => true,
            Why::Decorator => !self.rules.activate_beats_gates,
            Why::Sticky(_) | Why::Kept(_) | Why::Forced | Why::Near { .. } => false,
        }
    }

    pub(super) fn copy(&self, ix: EntryIx) -> Option<CopyOf> {
        self.scanner.input.library.compiled(ix).card.as_ref()?.copy()
    }

    pub(super) fn copied(&self, of: EntryIx) -> Stop {
        Stop::Copied { of: self.scanner.input.library.entry(of).id.clone() }
    }

    pub(super) fn terms(&self, ix: EntryIx) -> &'a Terms {
        let (library, turn) = (self.scanner.input.library, self.scanner.input.turn);
        #[expect(clippy::expect_used, reason = "the active entries of cards are card entries")]
        library.compiled(ix).card.as_ref().expect("a card entry").terms(turn.input)
    }

    /// Entries that wait for recursion wait for the second pass, whatever their level.
    fn recursion_step(&self) -> RecursionStep {
        let recursing = self.scanner.phase == ScanPhase::Recursion;
        RecursionStep { recursing, level: u32::MAX, stops_excluded: false }
    }

    /// What an entry's keys are looked for in.
    pub(super) fn reach(&mut self, terms: &Terms) -> ScanReach {
        let reach = ScanReach {
            messages: terms.depth,
            cards: terms.sources,
            lore: terms.sees_lore,
            ..ScanReach::default()
        };
        self.scanner.limited(reach, terms.limits)
    }

    pub(super) fn stop_of(&mut self, ix: EntryIx) -> Stop {
        match self.judge(ix) {
            Err(Stop::NoKeyFound) => {
                let terms = self.terms(ix);
                let (keys, own) = (&terms.keys.primary, self.reach(terms));
                self.scanner.near_miss(ix, keys, own, terms.limits)
            }
            Err(stop) => stop,
            Ok(_) => Stop::NoKeyFound,
        }
    }
}

fn check_gates(terms: &Terms, turn: &Turn<'_>, basis: MessageBasis) -> Result<(), Stop> {
    let gates = &terms.gates;
    let stop = |gate| Err(Stop::Gate { gate });
    let count = count(turn, basis);
    for wanted in [gates.after, gates.min_messages].into_iter().flatten() {
        if count < wanted {
            return stop(Gate::After { wanted, count });
        }
    }
    if let Some(wanted) = gates.every.filter(|every| *every > 0 && !count.is_multiple_of(*every)) {
        return stop(Gate::Every { wanted, count });
    }
    let user_spoke = || turn.transcript.messages.iter().any(|one| one.role == Role::User);
    if terms.greeting_only {
        if user_spoke() {
            return stop(Gate::GreetingOver);
        }
    } else if let (Some(wanted), Some(found)) = (gates.greeting, turn.input.greeting)
        && wanted != found
    {
        return stop(Gate::Greeting { wanted, found });
    }
    match (&gates.user_icon, turn.input.user_icon.as_deref()) {
        (Some(wanted), Some(found)) if wanted != found => {
            stop(Gate::UserIcon { wanted: wanted.clone(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

fn count(turn: &Turn<'_>, basis: MessageBasis) -> u32 {
    let mut spoken = turn.transcript.messages.iter().filter(|one| is_spoken(one.role));
    let count = match basis {
        MessageBasis::All => spoken.count(),
        MessageBasis::Assistant => spoken.filter(|one| one.role == Role::Assistant).count(),
        MessageBasis::WithGreeting => match spoken.next() {
            Some(first) => spoken.count() + 1 + usize::from(first.role == Role::User),
            None => 1,
        },
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}
