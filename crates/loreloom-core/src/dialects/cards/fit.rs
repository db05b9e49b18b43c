//! Which active entries survive the budget: priority decides, an entry that does not fit is
//! skipped.

use std::cmp::{Ordering, Reverse};

use super::{
    compose::CardPiece,
    pass::CardScan,
    rules::{Overflow, Ties},
};
use crate::{
    engine::{
        budget::{Budget, BudgetRule},
        same_text::TakenTexts,
    },
    library::EntryIx,
    report::BudgetUse,
    units::Tokens,
};

impl CardScan<'_> {
    /// Drops the active entries that do not fit.
    pub(super) fn fit(&mut self, taken: &mut TakenTexts) -> Vec<BudgetUse> {
        let active = std::mem::take(&mut self.active);
        let (mut near, mut found): (Vec<CardPiece>, Vec<CardPiece>) =
            active.into_iter().partition(|piece| piece.near().is_some());
        found.sort_by(|a, b| self.by_rank(a, b));
        let library = self.scanner.input.library;
        let books = self.pool.books.iter().map(|&at| &*library.books()[at]);
        let limit = self.rules.budget_of(books, self.scanner.input.turn.input.context);
        let name = self.pool.dialect.as_str();
        let mut uses = vec![self.take(name, limit, found, taken)];
        if !near.is_empty() {
            near.sort_by(|a, b| b.near().partial_cmp(&a.near()).unwrap_or(Ordering::Equal));
            let (name, limit) = (format!("{name}_semantic"), Tokens(self.rules.semantic_budget));
            uses.push(self.take(&name, limit, near, taken));
        }
        uses
    }

    /// Takes pieces in this order while they fit.
    fn take(
        &mut self,
        pool: &str,
        limit: Tokens,
        pieces: Vec<CardPiece>,
        taken: &mut TakenTexts,
    ) -> BudgetUse {
        let closes = self.rules.overflow == Overflow::Strict;
        let rule = BudgetRule { closes, names_oversized: true, ..BudgetRule::default() };
        let mut budget = Budget::new(limit, rule);
        let library = self.scanner.input.library;
        for piece in pieces {
            let free = self.terms(piece.ix).ignores_budget;
            let copied = taken.check(library, piece.ix, &piece.text);
            match copied.and_then(|()| if free { Ok(()) } else { budget.take(piece.cost) }) {
                Ok(()) => {
                    taken.take(library, piece.ix, &piece.text);
                    self.active.push(piece);
                }
                Err(stop) => self.stops.replace(piece.ix, stop),
            }
        }
        budget.report(pool)
    }

    /// Which piece is fitted first.
    fn by_rank(&self, a: &CardPiece, b: &CardPiece) -> Ordering {
        let (one, other) = (self.terms(a.ix), self.terms(b.ix));
        let later =
            |piece: &CardPiece| self.rules.constants_first && !self.terms(piece.ix).constant;
        (one.drop_first, later(a))
            .cmp(&(other.drop_first, later(b)))
            .then(other.priority.total_cmp(&one.priority))
            .then_with(|| match self.rules.ties {
                Ties::File => one.order.total_cmp(&other.order),
                Ties::Id | Ties::Latest => Ordering::Equal,
            })
            .then_with(|| self.tie(a.ix, b.ix))
    }

    /// Sorts pieces as they go into the prompt.
    pub(super) fn sort_by_place(&self, pieces: &mut [CardPiece]) {
        if self.rules.ties == Ties::Latest {
            // Both sorts are stable, so equals end up in the reverse of the order they have now.
            pieces.sort_by(|a, b| self.terms(b.ix).order.total_cmp(&self.terms(a.ix).order));
            pieces.reverse();
        } else {
            pieces.sort_by(|a, b| self.by_place(a, b));
        }
    }

    fn by_place(&self, a: &CardPiece, b: &CardPiece) -> Ordering {
        let (one, other) = (self.terms(a.ix), self.terms(b.ix));
        one.order
            .total_cmp(&other.order)
            .then(other.priority.total_cmp(&one.priority))
            .then_with(|| self.tie(a.ix, b.ix))
    }

    /// File order is what authors expect; ids are random, but one engine sorts by them.
    fn tie(&self, a: EntryIx, b: EntryIx) -> Ordering {
        let rank = |ix: EntryIx| self.scanner.input.active.ranks(ix).next();
        match self.rules.ties {
            Ties::Latest => Ordering::Equal,
            Ties::File => rank(a).cmp(&rank(b)),
            Ties::Id => {
                let id = |ix: EntryIx| Reverse(&self.scanner.input.library.entry(ix).id);
                id(b).cmp(&id(a)).then(rank(a).cmp(&rank(b)))
            }
        }
    }
}
