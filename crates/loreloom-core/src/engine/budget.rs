//! The budget: which texts fit, and what becomes of those after one that did not.

use crate::{
    report::{BudgetUse, Stop},
    units::Tokens,
};

/// How a dialect spends its budget.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BudgetRule {
    /// Whether a text that uses the budget up exactly is too much.
    pub(crate) full_is_over: bool,
    /// Whether the first text that does not fit ends the list.
    pub(crate) closes: bool,
    /// Whether a text that is larger than the whole budget says so.
    pub(crate) names_oversized: bool,
}

/// A budget while it is spent.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pub(crate) limit: Tokens,
    pub(crate) used: Tokens,
    /// Whether something did not fit.
    pub(crate) overflowed: bool,
    rule: BudgetRule,
}

impl Budget {
    pub(crate) fn new(limit: Tokens, rule: BudgetRule) -> Self {
        Self { limit, used: Tokens::ZERO, overflowed: false, rule }
    }

    /// Takes a text of so many tokens, or says why not.
    pub(crate) fn take(&mut self, needed: Tokens) -> Result<(), Stop> {
        if self.overflowed && self.rule.closes && needed > Tokens::ZERO {
            return Err(Stop::BudgetClosed { needed });
        }
        self.fit(self.used, needed)?;
        self.used = self.used.saturating_add(needed);
        Ok(())
    }

    /// Whether a text of so many tokens fits behind `before`, for callers that measure what is
    /// used themselves.
    pub(crate) fn fit(&mut self, before: Tokens, needed: Tokens) -> Result<(), Stop> {
        let before = before.saturating_add(Tokens(u32::from(self.rule.full_is_over)));
        if before.saturating_add(needed) <= self.limit {
            return Ok(());
        }
        self.overflowed = true;
        if self.rule.names_oversized && needed > self.limit {
            return Err(Stop::OverBudget { needed, limit: self.limit });
        }
        let left = self.limit.checked_sub(before).unwrap_or_default();
        let over = before.checked_sub(self.limit).unwrap_or_default();
        Err(Stop::Budget { needed, left, over })
    }

    /// How the budget was used.
    pub(crate) fn report(&self, pool: &str) -> BudgetUse {
        let Self { limit, used, overflowed, .. } = *self;
        BudgetUse { pool: pool.to_owned(), limit, used, overflowed }
    }
}
