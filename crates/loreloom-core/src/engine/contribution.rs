//! What one dialect adds to a turn.

use super::verdicts::verdict;
use crate::{
    chat::Role,
    library::{EntryIx, Library},
    place::{Injection, Place, Provenance},
    report::{BudgetUse, Outcome, Stop, Trigger, Verdict, Warning},
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

    /// Adds the verdict of an entry of a book that is active; without a place it sends nothing.
    pub(crate) fn add_active(
        &mut self,
        (library, ix): (&Library, EntryIx),
        place: Option<Place>,
        tokens: Tokens,
        trigger: Trigger,
    ) {
        let (trigger, shortened_from) = (Box::new(trigger), None);
        let outcome = Outcome::Activated { place, tokens, shortened_from, trigger };
        self.verdicts.push(verdict(library, ix, outcome));
    }

    /// Adds the verdicts of entries that a rule stopped.
    pub(crate) fn add_stopped(&mut self, library: &Library, stopped: Vec<(EntryIx, Stop)>) {
        let stopped = stopped.into_iter();
        let verdicts = stopped.map(|(ix, stop)| verdict(library, ix, Outcome::Stopped(stop)));
        self.verdicts.extend(verdicts);
    }

    /// Adds the text of an entry at its place.
    pub(crate) fn inject(
        &mut self,
        (library, ix): (&Library, EntryIx),
        (place, role): (Place, Role),
        text: &str,
        tokens: Tokens,
    ) {
        let (book, entry) = (library.book(ix).id.clone(), library.entry(ix).id.clone());
        let (text, source) = (text.to_owned(), Provenance::Lore { book, entry });
        self.injections.push(Injection { place, role, text, tokens, source });
    }
}
