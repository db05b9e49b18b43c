//! Probability and budget: which candidates of a pass are activated.

use std::sync::Arc;

use super::{
    pass::{Activated, Scanner},
    seat::Seat,
};
use crate::{dice::Roll, macros::Draw, report::Stop, tokens::Measure, units::Tokens};

/// A candidate after the pass, with its text: macros are expanded only in those reached.
pub(super) struct Rendered {
    pub(super) seat: Seat,
    pub(super) text: Arc<str>,
}

impl Scanner<'_> {
    /// Rolls for the candidates and fits them into the budget, in order. The first that does
    /// not fit closes it, except for those that ignore it.
    pub(super) fn fit(&mut self, candidates: Vec<Seat>) -> Vec<Rendered> {
        let base = self.counter.tokens(self.running);
        let newline = self.counter.measure("\n");
        let mut taken = Measure::default();
        let ignores = |seat: &Seat| seat.entry(self.library).budget.ignore;
        let mut ignoring = candidates.iter().filter(|seat| ignores(seat)).count();
        let mut rendered = Vec::with_capacity(candidates.len());
        let mut closed = false;
        for seat in candidates {
            let ignore = seat.entry(self.library).budget.ignore;
            ignoring -= usize::from(ignore);
            closed |= self.overflowed && !ignore && ignoring == 0;
            if closed || (self.overflowed && !ignore) {
                let needed = self.counter.count(seat.body(self.library));
                self.stop(seat.key, Stop::BudgetClosed { needed });
                let text = seat.body(self.library).into();
                rendered.push(Rendered { seat, text });
                continue;
            }
            if let Err(stop) = self.roll(&seat) {
                self.failed.insert(seat.key);
                self.stop(seat.key, stop);
                let text = seat.body(self.library).into();
                rendered.push(Rendered { seat, text });
                continue;
            }
            let text = self.render(&seat);
            let measure = self.counter.measure(&text);
            taken += measure + newline;
            let total = base.saturating_add(self.counter.tokens(taken));
            if !ignore && total >= self.budget {
                self.overflowed = true;
                let needed = self.counter.tokens(measure);
                // Reaching the budget exactly is already too much.
                let before = total.checked_sub(needed).unwrap_or_default();
                let left = self.budget.checked_sub(before.saturating_add(Tokens(1)));
                self.stop(seat.key, Stop::Budget { needed, left: left.unwrap_or_default() });
            } else {
                self.activate(&seat, &text);
            }
            rendered.push(Rendered { seat, text });
        }
        rendered
    }

    /// Chance: sticky entries and those without a probability do not roll.
    fn roll(&mut self, seat: &Seat) -> Result<(), Stop> {
        let entry = seat.entry(self.library);
        let Some(probability) = entry.activation.probability else { return Ok(()) };
        // Certainty needs no roll, which others would have to do without.
        if self.is_sticky(seat) || (probability - 100.0).abs() < f64::EPSILON {
            return Ok(());
        }
        let roll = self.dice.roll(Roll::Chance(&entry.id)) * 100.0;
        if roll <= probability { Ok(()) } else { Err(Stop::Chance { roll, probability }) }
    }

    fn render(&mut self, seat: &Seat) -> Arc<str> {
        let compiled = self.library.compiled(seat.ix);
        if !seat.is_sent() && !compiled.dynamic {
            return Arc::clone(&compiled.body);
        }
        let entry = &seat.entry(self.library).id;
        let dice = &mut *self.dice;
        let mut roll = |draw: Draw| {
            dice.roll(if draw.lasting {
                Roll::Pick(entry, draw.index)
            } else {
                Roll::Macro(entry, draw.index)
            })
        };
        self.macros.expand_rolling(seat.body(self.library), &mut roll).into()
    }

    fn activate(&mut self, seat: &Seat, text: &Arc<str>) {
        let slot = self.library.compiled(seat.ix).slot;
        let activated = Activated {
            ix: seat.ix,
            instead: seat.sent().cloned(),
            text: Arc::clone(text),
            tokens: self.counter.count(text),
            cause: self.cause(seat),
        };
        self.stops.remove(&seat.key);
        if let Some(&at) = self.places.get(&slot) {
            self.activated[at] = activated;
        } else {
            self.places.insert(slot, self.activated.len());
            self.activated.push(activated);
        }
    }
}
