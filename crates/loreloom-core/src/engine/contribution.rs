//! What one dialect adds to a turn.

use crate::{
    chat::Role,
    library::{EntryIx, Library},
    place::{Injection, Place, Provenance},
    report::{BudgetUse, Verdict, Warning},
    units::Tokens,
};

/// What one dialect adds to a turn.
#[derive(Debug, Default)]
pub(crate) struct Contribution {
    /// Its texts; within a place, in prompt order.
    pub(crate) injections: Vec<Injection>,
    /// The verdicts of all entries that something touched.
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) budgets: Vec<BudgetUse>,
    pub(crate) warnings: Vec<Warning>,
    /// Prompts that the front end is asked to hide.
    pub(crate) hide_prompts: Vec<String>,
}

impl Contribution {
    /// Adds what the next dialect contributes.
    pub(crate) fn extend(&mut self, other: Self) {
        self.injections.extend(other.injections);
        self.verdicts.extend(other.verdicts);
        self.budgets.extend(other.budgets);
        self.warnings.extend(other.warnings);
        self.hide_prompts.extend(other.hide_prompts);
    }
}

/// The text of an entry at its place.
pub(crate) fn injection(
    library: &Library,
    ix: EntryIx,
    (place, role): (Place, Role),
    text: String,
    tokens: Tokens,
) -> Injection {
    let (book, entry) = (library.book(ix).id.clone(), library.entry(ix).id.clone());
    Injection { place, role, text, tokens, source: Provenance::Lore { book, entry } }
}
