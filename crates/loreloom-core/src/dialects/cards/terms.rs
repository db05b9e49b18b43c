//! What applies to one entry: its decorators over its fields.

use std::sync::Arc;

use super::{
    decorators::{InjectDirective, Problem},
    rules::CardRules,
};
use crate::{
    book::{Book, Force, Gates, MatchOnce, Position, SelectiveLogic},
    chat::Role,
    engine::{keys::EntryKeys, texts::Limits},
    library::CompiledKey,
    units::Tokens,
};

/// What applies to an entry. Decorators beat fields, fields beat books, books beat rules.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one decorator or field")]
pub(super) struct Terms {
    pub(super) enabled: bool,
    pub(super) constant: bool,
    pub(super) force: Option<Force>,
    pub(super) once: Option<MatchOnce>,
    pub(super) gates: Gates,
    /// Only while the user has said nothing; the gate on a numbered greeting does not apply.
    pub(super) greeting_only: bool,
    pub(super) keys: KeyTerms,
    /// Messages scanned.
    pub(super) depth: u32,
    pub(super) limits: Limits,
    /// Which card texts are scanned.
    pub(super) sources: u8,
    pub(super) sees_lore: bool,
    /// Whether its text is scanned; `None` leaves it to its book.
    pub(super) feeds: Option<bool>,
    pub(super) probability: Option<f64>,
    pub(super) priority: f64,
    /// Lower is earlier.
    pub(super) order: f64,
    pub(super) drop_first: bool,
    pub(super) ignores_budget: bool,
    pub(super) position: Position,
    pub(super) at_depth: Option<u32>,
    /// The depth, where it is counted in tokens.
    pub(super) at_tokens: Option<u32>,
    pub(super) role: Role,
    pub(super) inject: InjectDirective,
    pub(super) hide_prompts: Vec<String>,
    pub(super) body: Arc<str>,
    pub(super) problems: Vec<(String, Problem)>,
}

/// The keys of an entry.
#[derive(Debug, Default)]
pub(super) struct KeyTerms {
    pub(super) primary: Vec<CompiledKey>,
    /// Empty where they do not count.
    pub(super) secondary: Vec<CompiledKey>,
    pub(super) logic: SelectiveLogic,
    /// From each list one must be found.
    pub(super) require: Vec<Vec<CompiledKey>>,
    /// Not all of a list may be found.
    pub(super) exclude: Vec<Vec<CompiledKey>>,
    /// Patterns that cannot be used.
    pub(super) bad: Vec<String>,
}

impl KeyTerms {
    /// The keys that let the entry in.
    pub(super) fn keys(&self) -> EntryKeys<'_> {
        let Self { primary, secondary, logic, require, .. } = self;
        EntryKeys { primary, secondary, logic: *logic, require }
    }
}

impl CardRules {
    /// What the pool of these books may use, in a context of this size.
    pub(super) fn budget_of<'a>(
        &self,
        books: impl Iterator<Item = &'a Book>,
        context: Tokens,
    ) -> Tokens {
        let own = match self.budget_percent {
            0 => self.budget,
            percent => {
                let share = u64::from(context.0) * u64::from(percent) / 100;
                u32::try_from(share).unwrap_or(u32::MAX)
            }
        };
        let stated = books.filter_map(|book| book.token_budget).max();
        Tokens(stated.unwrap_or(own).min(self.budget_most).max(self.budget_floor))
    }

    /// Whether a book's texts are scanned for further keys.
    pub(super) fn is_recursive(&self, book: &Book) -> bool {
        book.recursive.unwrap_or(self.recursive)
    }
}
