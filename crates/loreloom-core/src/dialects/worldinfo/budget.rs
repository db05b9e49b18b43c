//! Probability and budget: which candidates of a pass are activated.

use std::sync::Arc;

use super::{
    cause::Cause,
    output::bucket_of,
    pass::{Activated, Scanner},
    seat::{Rendered, Seat},
};
use crate::{
    dice::Roll,
    macros::{Draw, VariableChanges},
    report::Stop,
    tokens::Measure,
    units::Tokens,
    wrap::{Wrapping, fields_of},
};

/// A candidate's wrapper, made before it is known whether the candidate fits.
struct Candidate {
    cause: Cause,
    wrapping: Box<Wrapping>,
    measure: Measure,
    tokens: Tokens,
}

impl Scanner<'_> {
    /// Rolls for the candidates and fits them into the budget, in order. The first that does
    /// not fit closes it, except for those that ignore it. Macros are expanded only in those
    /// reached.
    pub(super) fn fit(&mut self, candidates: &mut [Seat]) {
        let base = self.counter.tokens(self.running);
        let newline = self.counter.measure("\n");
        let mut taken = Measure::default();
        let ignores = |seat: &&Seat| seat.ignores_budget(self.library);
        let mut ignoring = candidates.iter().filter(ignores).count();
        self.activated.reserve(candidates.len());
        let mut closed = false;
        for seat in candidates {
            let ignore = seat.ignores_budget(self.library);
            ignoring -= usize::from(ignore);
            closed |= self.overflowed && !ignore && ignoring == 0;
            if closed || (self.overflowed && !ignore) {
                // The text that did not fit stays as macros made it, for the next pass too.
                if let Some((_, rendered)) = self.unfit.as_ref().filter(|one| one.0 == seat.key) {
                    seat.rendered = Some(rendered.clone());
                }
                let body = seat.body(self.library);
                let needed = match self.wrapped(seat, body) {
                    Some(wrapped) => wrapped.tokens,
                    None => self.counter.count(body),
                };
                self.stop(seat.key, Stop::BudgetClosed { needed });
                continue;
            }
            if let Err(stop) = self.roll(seat) {
                self.failed.insert(seat.key);
                self.stop(seat.key, stop);
                continue;
            }
            let (text, writes) = self.render(seat).unzip();
            let said = text.as_deref().unwrap_or_else(|| seat.body(self.library));
            let wrapped = self.wrapped(seat, said);
            let measure = match &wrapped {
                Some(wrapped) => wrapped.measure,
                None => self.counter.measure(said),
            };
            if text.is_some() || wrapped.is_some() {
                let wrapped = wrapped.as_ref().map(|one| one.measure);
                seat.rendered = Some(Box::new(Rendered { text: text.clone(), wrapped }));
            }
            taken += measure + newline;
            let total = base.saturating_add(self.counter.tokens(taken));
            if !ignore && total >= self.budget {
                self.overflowed = true;
                self.unfit = seat.rendered.clone().map(|rendered| (seat.key, rendered));
                let needed = self.counter.tokens(measure);
                // Reaching the budget exactly is already too much.
                let before = total.checked_sub(needed).unwrap_or_default();
                let taken = before.saturating_add(Tokens(1));
                let (left, over) = (self.budget.checked_sub(taken), taken.checked_sub(self.budget));
                let (left, over) = (left.unwrap_or_default(), over.unwrap_or_default());
                self.stop(seat.key, Stop::Budget { needed, left, over });
            } else {
                self.activate(seat, text, wrapped);
                self.write(&writes.unwrap_or_default());
            }
        }
    }

    /// Keeps what an activated entry writes to variables, for keys and texts after it.
    fn write(&mut self, writes: &VariableChanges) {
        if !writes.is_empty() {
            self.effects.state.write(writes);
            self.resolved.clear();
        }
    }

    /// Chance: sticky entries and those without a probability do not roll.
    fn roll(&mut self, seat: &Seat) -> Result<(), Stop> {
        if seat.plain {
            return Ok(());
        }
        let entry = seat.entry(self.library);
        let Some(probability) = entry.activation.probability else { return Ok(()) };
        // Certainty needs no roll, which others would have to do without.
        if self.is_sticky(seat) || (probability - 100.0).abs() < f64::EPSILON {
            return Ok(());
        }
        let roll = self.dice.roll(Roll::Chance(&entry.id)) * 100.0;
        if roll <= probability { Ok(()) } else { Err(Stop::Chance { roll, probability }) }
    }

    /// A candidate's text and what it writes if it is sent, unless it is the stored text as
    /// it is.
    fn render(&mut self, seat: &Seat) -> Option<(Arc<str>, VariableChanges)> {
        if !seat.is_sent() && !self.library.compiled(seat.ix).dynamic {
            return None;
        }
        let mut writes = VariableChanges::default();
        let entry = &seat.entry(self.library).id;
        let dice = &mut *self.dice;
        let mut roll = |draw: Draw| {
            dice.roll(if draw.lasting {
                Roll::Pick(entry, draw.index)
            } else {
                Roll::Macro(entry, draw.index)
            })
        };
        let (body, variables) = (seat.body(self.library), &self.effects.state.variables);
        let text = self.macros.expand_rolling(body, variables, &mut writes, &mut roll).into();
        Some((text, writes))
    }

    /// The candidate as it would be sent, where entries are wrapped.
    fn wrapped(&mut self, seat: &Seat, text: &str) -> Option<Candidate> {
        let format = Arc::clone(self.wrap.as_ref()?);
        let cause = self.cause(seat);
        let trigger = cause.trigger(seat.ix, self.library, self.turn);
        let entry = seat.entry(self.library);
        let fields = fields_of(
            (self.library.book(seat.ix), entry),
            bucket_of(entry, self.library.book(seat.ix)).as_ref(),
            &trigger,
            self.counter.count(text),
            self.turn,
        );
        let wrapping = Box::new(Wrapping { format, fields });
        let sent = wrapping.wrap(text);
        let (measure, tokens) = (self.counter.measure(&sent), self.counter.count(&sent));
        Some(Candidate { cause, wrapping, measure, tokens })
    }

    fn activate(&mut self, seat: &Seat, text: Option<Arc<str>>, wrapped: Option<Candidate>) {
        let (cause, wrapping, tokens) =
            if let Some(Candidate { cause, wrapping, tokens, .. }) = wrapped {
                (cause, Some(wrapping), tokens)
            } else {
                let said = text.as_deref().unwrap_or_else(|| seat.body(self.library));
                (self.cause(seat), None, self.counter.count(said))
            };
        let activated = Activated {
            ix: seat.ix,
            instead: seat.sent().cloned(),
            made: text,
            tokens,
            cause,
            wrapping,
        };
        self.stops.remove(&seat.key);
        let placed = &mut self.placed[seat.slot.0 as usize];
        if std::mem::replace(placed, true) {
            let slot = |one: &&mut Activated| self.library.compiled(one.ix).slot == seat.slot;
            // Entries that share a slot are few: the later one replaces the earlier.
            if let Some(before) = self.activated.iter_mut().find(slot) {
                *before = activated;
            }
        } else {
            self.activated.push(activated);
        }
    }
}
