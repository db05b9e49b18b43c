//! Probability and budget: which candidates of a pass are activated.

use std::sync::Arc;

use super::{
    candidate::{EntryCandidate, RenderedText},
    judge::keys_of,
    output::seat_of,
    pass::{Activated, WorldInfoScan, trigger},
};
use crate::{
    engine::{EngineInput, cause::Cause, chance::ChanceRule},
    macros::VariableChanges,
    report::Stop,
    tokens::Measure,
    units::Tokens,
    wrap::{Wrapping, fields_of},
};

/// A candidate's wrapper, made before it is known whether the candidate fits.
struct WrappedText {
    cause: Cause,
    wrapping: Box<Wrapping>,
    measure: Measure,
    tokens: Tokens,
}

impl WorldInfoScan<'_> {
    /// Rolls for the candidates and fits them into the budget, in order. The first that does
    /// not fit closes it, except for those that ignore it. Macros are expanded only in those
    /// reached.
    pub(super) fn fit(&mut self, candidates: &mut [EntryCandidate]) {
        let library = self.scanner.input.library;
        let base = self.scanner.counter.tokens(self.running);
        let mut taken = Measure::default();
        let ignores = |one: &&EntryCandidate| one.ignores_budget(library);
        let mut ignoring = candidates.iter().filter(ignores).count();
        self.activated.reserve(candidates.len());
        let mut closed = false;
        for one in candidates {
            let ignore = one.ignores_budget(library);
            ignoring -= usize::from(ignore);
            closed |= self.budget.overflowed && !ignore && ignoring == 0;
            if closed || (self.budget.overflowed && !ignore) {
                self.leave_out(one);
            } else if let Err(stop) = self.roll(one) {
                self.failed.insert(one.key);
                self.stops.add(one.key, stop);
            } else {
                self.take(one, base, &mut taken);
            }
        }
    }

    /// Leaves out a candidate that comes after the budget was used up.
    fn leave_out(&mut self, one: &mut EntryCandidate) {
        let text = one.text(self.scanner.input.library);
        // The text that did not fit stays what macros made of it, for the next pass too.
        if let Some((_, rendered)) = self.unfit.as_ref().filter(|unfit| unfit.0 == one.key) {
            one.rendered = Some(rendered.clone());
        }
        let stop = self.texts.check(self.scanner.input.library, one.ix, &text).err();
        let stop = stop.unwrap_or_else(|| {
            let wrapped = self.wrapped(one, &text).map(|wrapped| wrapped.tokens);
            let needed = wrapped.unwrap_or_else(|| self.scanner.counter.count(&text));
            Stop::BudgetClosed { needed }
        });
        self.stops.add(one.key, stop);
    }

    /// Activates a candidate if it fits behind the texts before it.
    fn take(&mut self, one: &mut EntryCandidate, base: Tokens, taken: &mut Measure) {
        let (library, counter) = (self.scanner.input.library, self.scanner.counter);
        let (text, writes) = self.render(one);
        if let Err(stop) = self.texts.check(library, one.ix, &text) {
            self.failed.insert(one.key);
            self.stops.add(one.key, stop);
            return;
        }
        let wrapped = self.wrapped(one, &text);
        let sent = wrapped.as_ref().map(|wrapped| wrapped.measure);
        let measure = sent.unwrap_or_else(|| counter.measure(&text));
        if sent.is_some() || !Arc::ptr_eq(&text, &one.text(library)) {
            let text = Arc::clone(&text);
            one.rendered = Some(Box::new(RenderedText { text, wrapped: sent }));
        }
        *taken += measure + self.newline;
        let fits = if one.ignores_budget(library) {
            Ok(())
        } else {
            let needed = counter.tokens(measure);
            let total = base.saturating_add(counter.tokens(*taken));
            self.budget.fit(total.checked_sub(needed).unwrap_or_default(), needed)
        };
        match fits {
            Ok(()) => {
                self.texts.take(library, one.ix, &text);
                self.activate(one, text, wrapped);
                self.scanner.write(&writes);
            }
            Err(stop) => {
                self.unfit = one.rendered.clone().map(|rendered| (one.key, rendered));
                self.stops.add(one.key, stop);
            }
        }
    }

    /// Chance: sticky entries and those without a probability do not roll.
    fn roll(&mut self, one: &EntryCandidate) -> Result<(), Stop> {
        if one.plain || self.is_sticky(one) {
            return Ok(());
        }
        let entry = one.entry(self.scanner.input.library);
        let probability = entry.activation.probability;
        ChanceRule::WORLD_INFO.roll(probability, &entry.id, self.scanner.dice)
    }

    /// A candidate's text after its macros, and what it writes if it is sent.
    fn render(&mut self, one: &EntryCandidate) -> (Arc<str>, VariableChanges) {
        let library = self.scanner.input.library;
        let stored = one.text(library);
        if one.sent().is_none() && !library.compiled(one.ix).dynamic {
            return (stored, VariableChanges::default());
        }
        let (text, writes) = self.scanner.expand(&one.entry(library).id, &stored);
        (text.into(), writes)
    }

    /// The candidate as it would be sent, where entries are wrapped.
    fn wrapped(&mut self, one: &EntryCandidate, text: &str) -> Option<WrappedText> {
        let format = Arc::clone(self.wrap.as_ref()?);
        let EngineInput { library, turn, .. } = self.scanner.input;
        let counter = self.scanner.counter;
        let cause = self.cause(one);
        let (book, entry) = (library.book(one.ix), one.entry(library));
        let seat = seat_of(entry, book);
        let trigger = trigger(&cause, one.ix, library, turn);
        let fields = fields_of((book, entry), seat, &trigger, counter.count(text), turn);
        let wrapping = Box::new(Wrapping { format, fields });
        let sent = wrapping.wrap(text);
        let (measure, tokens) = (counter.measure(&sent), counter.count(&sent));
        Some(WrappedText { cause, wrapping, measure, tokens })
    }

    fn cause(&mut self, one: &EntryCandidate) -> Cause {
        let keys = keys_of(self.scanner.input.library, one.ix);
        self.scanner.cause(&one.found, keys)
    }

    fn activate(&mut self, one: &EntryCandidate, text: Arc<str>, wrapped: Option<WrappedText>) {
        let library = self.scanner.input.library;
        let (cause, wrapping, tokens) = match wrapped {
            Some(WrappedText { cause, wrapping, tokens, .. }) => (cause, Some(wrapping), tokens),
            None => (self.cause(one), None, self.scanner.counter.count(&text)),
        };
        let instead = one.sent().cloned();
        let activated = Activated { ix: one.ix, instead, text, tokens, cause, wrapping };
        self.stops.remove(one.key);
        let placed = &mut self.placed[one.slot.0 as usize];
        if std::mem::replace(placed, true) {
            let slot = |it: &&mut Activated| library.compiled(it.ix).slot == one.slot;
            // Entries that share a slot are few: the later one replaces the earlier.
            if let Some(before) = self.activated.iter_mut().find(slot) {
                *before = activated;
            }
        } else {
            self.activated.push(activated);
        }
    }
}
