//! Who survives the budget: priority decides, an entry that does not fit is skipped.

use std::cmp::{Ordering, Reverse};

use super::{
    compose::Piece,
    pass::Scanner,
    rules::{Overflow, Ties},
};
use crate::{
    library::EntryIx,
    report::{BudgetUse, Stop},
    units::Tokens,
};

impl Scanner<'_> {
    /// Drops the active entries that do not fit.
    pub(super) fn fit(&mut self) -> Vec<BudgetUse> {
        let active = std::mem::take(&mut self.active);
        let (mut near, mut found): (Vec<Piece>, Vec<Piece>) =
            active.into_iter().partition(|piece| piece.near().is_some());
        found.sort_by(|a, b| self.by_rank(a, b));
        let books = self.roster.cards().books.iter().map(|&at| &*self.library.books()[at]);
        let limit = Tokens(self.rules.budget_of(books));
        let mut uses = vec![self.take("cards", limit, found)];
        if !near.is_empty() {
            near.sort_by(|a, b| b.near().partial_cmp(&a.near()).unwrap_or(Ordering::Equal));
            uses.push(self.take("cards_semantic", Tokens(self.rules.semantic_budget), near));
        }
        uses
    }

    /// Takes pieces in this order while they fit.
    fn take(&mut self, pool: &str, limit: Tokens, pieces: Vec<Piece>) -> BudgetUse {
        let mut used = Tokens::ZERO;
        let mut overflowed = false;
        for piece in pieces {
            if self.terms(piece.ix).ignores_budget {
                self.active.push(piece);
                continue;
            }
            let needed = piece.cost;
            let left = limit.checked_sub(used).unwrap_or_default();
            if overflowed && self.rules.overflow == Overflow::Strict && needed > Tokens::ZERO {
                self.stops.insert(piece.ix, Stop::BudgetClosed { needed });
            } else if needed > limit {
                overflowed = true;
                self.stops.insert(piece.ix, Stop::OverBudget { needed, limit });
            } else if needed > left {
                overflowed = true;
                self.stops.insert(piece.ix, Stop::Budget { needed, left, over: Tokens::default() });
            } else {
                used = used.saturating_add(needed);
                self.active.push(piece);
            }
        }
        BudgetUse { pool: pool.to_owned(), limit, used, overflowed }
    }

    /// Who is fitted first.
    fn by_rank(&self, a: &Piece, b: &Piece) -> Ordering {
        let (one, other) = (self.terms(a.ix), self.terms(b.ix));
        let later = |piece: &Piece| self.rules.constants_first && !self.terms(piece.ix).constant;
        (one.drop_first, later(a))
            .cmp(&(other.drop_first, later(b)))
            .then(other.priority.total_cmp(&one.priority))
            .then_with(|| match self.rules.ties {
                Ties::File => one.order.total_cmp(&other.order),
                Ties::Id => Ordering::Equal,
            })
            .then_with(|| self.tie(a.ix, b.ix))
    }

    /// Who stands first in the prompt.
    pub(super) fn by_place(&self, a: &Piece, b: &Piece) -> Ordering {
        let (one, other) = (self.terms(a.ix), self.terms(b.ix));
        one.order
            .total_cmp(&other.order)
            .then(other.priority.total_cmp(&one.priority))
            .then_with(|| self.tie(a.ix, b.ix))
    }

    /// File order is what authors expect; ids are random, but one engine sorts by them.
    fn tie(&self, a: EntryIx, b: EntryIx) -> Ordering {
        let rank = |ix: EntryIx| self.roster.ranks(ix).next();
        match self.rules.ties {
            Ties::File => rank(a).cmp(&rank(b)),
            Ties::Id => {
                let id = |ix: EntryIx| Reverse(&self.library.entry(ix).id);
                id(b).cmp(&id(a)).then(rank(a).cmp(&rank(b)))
            }
        }
    }
}
