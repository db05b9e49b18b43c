//! Whether an entry is active: the rules in their order, the first one decides.

use super::{
    compile::CopyOf,
    decorators::Greeting,
    keys,
    pass::Scanner,
    rules::MessageBasis,
    terms::{Gates, Terms},
    window::is_spoken,
};
use crate::{
    book::Force,
    chat::Role,
    dice::Roll,
    engine::texts::{Limit, Reach},
    ids::{EntryId, MessageId},
    library::{CompiledKey, EntryIx, Probe},
    report::{Gate, Reason, Stop},
    turn::Turn,
    worldinfo::{check_filters, delayed, passes},
};

/// How an entry came to be active.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) reason: Reason,
    /// The primary key that was found, and the secondary ones.
    pub(super) primary: Option<usize>,
    pub(super) secondary: Vec<usize>,
    /// Whether chance has its say.
    pub(super) rolls: bool,
}

impl Found {
    pub(super) fn by(reason: Reason, rolls: bool) -> Self {
        Self { reason, primary: None, secondary: Vec::new(), rolls }
    }
}

impl<'a> Scanner<'a> {
    /// Judges an entry, up to its roll.
    pub(super) fn judge(&mut self, ix: EntryIx) -> Result<Found, Stop> {
        let entry = self.library.entry(ix);
        let terms = self.terms(ix);
        if !terms.enabled {
            return Err(Stop::Disabled);
        }
        match self.copy(ix) {
            Some(CopyOf::Nothing) => return Err(Stop::CopyOfNothing),
            Some(CopyOf::Entry(of)) if self.is_active(of) => return Err(self.copied(of)),
            Some(CopyOf::Entry(_)) | None => {}
        }
        let matched = self.matched_before(&entry.id);
        if let Some(since) = matched.filter(|_| terms.once) {
            return Err(Stop::Once { since });
        }
        if terms.is_forced() && self.rules.activate_beats_gates {
            return Ok(Found::by(Reason::Decorator, false));
        }
        if terms.force == Some(Force::Suppress) {
            return Err(Stop::Suppressed);
        }
        if self.turn.input.forced.iter().any(|forced| forced.entry == entry.id) {
            return Ok(Found::by(Reason::Forced, false));
        }
        if let Some(since) = matched.filter(|_| terms.keep) {
            return Ok(Found::by(Reason::Kept { since }, false));
        }
        let sticky = self.check_timing(ix)?;
        check_gates(&terms.gates, self.turn, self.rules.count)?;
        if terms.is_forced() {
            return Ok(Found::by(Reason::Decorator, true));
        }
        self.check_excluded(ix, terms)?;
        if let Some(until) = sticky {
            return Ok(Found::by(Reason::Sticky { until }, false));
        }
        if terms.constant {
            if self.rules.constants_need_required {
                self.check_required(ix, terms)?;
            }
            return Ok(Found::by(Reason::Constant, true));
        }
        self.match_keys(ix, terms)
    }

    /// What an entry is a copy of.
    pub(super) fn copy(&self, ix: EntryIx) -> Option<CopyOf> {
        self.library.compiled(ix).card.as_ref()?.copy()
    }

    pub(super) fn copied(&self, of: EntryIx) -> Stop {
        Stop::Copied { of: self.library.entry(of).id.clone() }
    }

    pub(super) fn terms(&self, ix: EntryIx) -> &'a Terms {
        let library = self.library;
        // Card rosters hold only entries of card books.
        #[expect(clippy::expect_used, reason = "a card roster holds only card entries")]
        library.compiled(ix).card.as_ref().expect("a card entry").terms(self.turn.input)
    }

    /// The earlier turn that an entry matched first in. This turn's own record, left by
    /// the reply that is now swiped away, is no earlier one.
    fn matched_before(&self, id: &EntryId) -> Option<MessageId> {
        let now = self.turn.answers.unwrap_or_default();
        self.state.first_match.get(id).copied().filter(|turn| *turn != now)
    }

    /// Filters and timed effects; the end of a sticky effect that runs.
    fn check_timing(&self, ix: EntryIx) -> Result<Option<crate::units::MessageCount>, Stop> {
        let entry = self.library.entry(ix);
        check_filters(self.turn, entry)?;
        if let Some(until) = delayed(entry, self.turn.length()) {
            return Err(Stop::Delay { until });
        }
        let sticky = self.effects.sticky(ix);
        if sticky.is_some() {
            return Ok(sticky);
        }
        if let Some(until) = self.effects.cooldown(ix) {
            return Err(Stop::Cooldown { until });
        }
        let level = entry.recursion.delay_level;
        if level > 0 && self.pass < 2 {
            return Err(Stop::RecursionLevel { level });
        }
        Ok(None)
    }

    fn check_excluded(&mut self, ix: EntryIx, terms: &Terms) -> Result<(), Stop> {
        let keys = &terms.keys;
        let any = keys.exclude_any.iter().find(|key| self.holds(ix, key, terms));
        if let Some(key) = any {
            return Err(Stop::Excluded { found: vec![key.raw.to_string()] });
        }
        let all =
            keys.exclude_all.iter().find(|list| list.iter().all(|key| self.holds(ix, key, terms)));
        match all {
            Some(list) => Err(Stop::Excluded { found: raws(list) }),
            None => Ok(()),
        }
    }

    fn check_required(&mut self, ix: EntryIx, terms: &Terms) -> Result<(), Stop> {
        let lists = &terms.keys.require;
        match lists.iter().find(|list| !list.iter().any(|key| self.holds(ix, key, terms))) {
            Some(list) => Err(Stop::Required { missing: raws(list) }),
            None => Ok(()),
        }
    }

    fn match_keys(&mut self, ix: EntryIx, terms: &Terms) -> Result<Found, Stop> {
        let keys = &terms.keys;
        if keys.primary.is_empty() {
            return Err(Stop::NoKeys);
        }
        let primary = (0..keys.primary.len())
            .find(|&at| self.holds(ix, &keys.primary[at], terms))
            .ok_or(Stop::NoKeyFound)?;
        self.check_required(ix, terms)?;
        let secondary: Vec<usize> = (0..keys.secondary.len())
            .filter(|&at| self.holds(ix, &keys.secondary[at], terms))
            .collect();
        if !keys.secondary.is_empty() && !passes(keys.logic, secondary.len(), keys.secondary.len())
        {
            let (found, missing): (Vec<_>, Vec<_>) =
                keys.secondary.iter().enumerate().partition(|(at, _)| secondary.contains(at));
            let raw = |keys: Vec<(usize, &CompiledKey)>| {
                keys.into_iter().map(|(_, key)| key.raw.to_string()).collect()
            };
            return Err(Stop::Secondary {
                key: keys.primary[primary].raw.to_string(),
                logic: keys.logic,
                found: raw(found),
                missing: raw(missing),
            });
        }
        Ok(Found { reason: Reason::Key, primary: Some(primary), secondary, rolls: true })
    }

    /// What an entry's keys are looked for in.
    pub(super) fn reach(&mut self, terms: &Terms) -> Reach {
        let mut reach = Reach {
            messages: terms.depth,
            cards: terms.sources,
            lore: terms.sees_lore,
            ..Reach::default()
        };
        let limits = [terms.characters.map(Limit::Characters), terms.tokens.map(Limit::Tokens)];
        for limit in limits.into_iter().flatten() {
            reach = self.texts.limited(reach, limit, self.counter);
        }
        reach
    }

    pub(super) fn holds(&mut self, ix: EntryIx, key: &CompiledKey, terms: &Terms) -> bool {
        let probe = self.probe(key);
        let reach = self.reach(terms);
        self.texts.holds(ix, key, &probe, reach)
    }

    /// What a key looks for this turn.
    pub(super) fn probe(&mut self, key: &CompiledKey) -> Probe {
        if !matches!(key.probe, Probe::Dynamic) {
            return key.probe.clone();
        }
        let (macros, variables) = (&self.macros, &self.effects.state.variables);
        let known = (key.raw.clone(), key.mode, key.taken);
        let resolved = self.resolved.entry(known);
        resolved
            .or_insert_with(|| keys::resolve(key, &macros.expand_reading(&key.raw, variables)))
            .clone()
    }

    /// Chance, once an entry and turn.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rolls lie in 0..1 and chances between 0 and 100"
    )]
    pub(super) fn roll(&mut self, ix: EntryIx, probability: Option<f64>) -> Result<(), Stop> {
        let Some(probability) = probability.filter(|chance| *chance < 100.0) else {
            return Ok(());
        };
        if probability <= 0.0 {
            return Err(Stop::Chance { roll: 0.0, probability });
        }
        let roll = self.dice.roll(Roll::Chance(&self.library.entry(ix).id));
        let millionths = |share: f64| (share * 1_000_000.0).round() as i64;
        if millionths(roll) < millionths(probability / 100.0) {
            Ok(())
        } else {
            Err(Stop::Chance { roll: roll * 100.0, probability })
        }
    }
}

fn raws(keys: &[CompiledKey]) -> Vec<String> {
    keys.iter().map(|key| key.raw.to_string()).collect()
}

fn check_gates(gates: &Gates, turn: &Turn<'_>, basis: MessageBasis) -> Result<(), Stop> {
    let stop = |gate| Err(Stop::Gate { gate });
    let count = count(turn, basis);
    for wanted in [gates.after, gates.min_messages].into_iter().flatten() {
        if count < wanted {
            return stop(Gate::After { wanted, count });
        }
    }
    if let Some(wanted) = gates.every.filter(|every| !count.is_multiple_of(*every)) {
        return stop(Gate::Every { wanted, count });
    }
    let user_spoke = || turn.transcript.messages.iter().any(|one| one.role == Role::User);
    match (gates.greeting, turn.input.greeting) {
        (Some(Greeting::Only), _) if user_spoke() => return stop(Gate::GreetingOver),
        (Some(Greeting::Index(wanted)), Some(found)) if wanted != found => {
            return stop(Gate::Greeting { wanted, found });
        }
        _ => {}
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
