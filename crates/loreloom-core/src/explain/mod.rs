//! The smallest change that would have made an entry fire.
//!
//! Each rule that stops an entry suggests one change; the turn is run again with it, and
//! if another rule stops the entry then, its change is added. Only a change
//! that works is reported.

mod candidates;
mod change;
mod note_trial;
mod sample;
mod trial;

use std::mem::discriminant;

use serde::{Deserialize, Serialize};

use self::{
    candidates::{Edited, followed},
    note_trial::NoteTrial,
    trial::FixTrial,
};
pub use self::{
    candidates::{FixCandidate, candidates},
    change::{FixChange, words},
};
use crate::{
    dice::TurnDice,
    ids::EntryId,
    library::{ActiveEntries, Library},
    report::Stop,
    rules::Rules,
    state::StoryState,
    tokens::TokenCounter,
    turn::Turn,
    units::Tokens,
};

/// Rules that can stop one entry one after the other; more than these is no small change.
const MOST_CHANGES: usize = 5;

/// Changes that together make an entry fire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Fix {
    /// The entry.
    pub entry: EntryId,
    /// The rule that stopped it.
    pub stopped_by: Stop,
    /// What to change, in order. The turn was run again with these, and the entry fired.
    pub changes: Vec<FixChange>,
}

/// A turn and everything it was decided from, to be run again.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The compiled books.
    pub library: &'a Library,
    /// Which of them are active.
    pub active: &'a ActiveEntries,
    /// The turn.
    pub turn: &'a Turn<'a>,
    /// The state of the path.
    pub state: &'a StoryState,
    /// The rules.
    pub rules: &'a Rules,
    /// The tokenizer.
    pub counter: &'a dyn TokenCounter,
    /// The turn's dice.
    pub dice: &'a TurnDice,
}

/// A turn that is run again and again with changes.
trait Trial: Clone {
    /// Runs the turn as changed: the rule that stops the entry, or `None` if it fires.
    fn run(&self) -> Option<Stop>;
    /// The smallest change that gets the entry past a rule.
    fn change_for(&self, stop: &Stop) -> Option<FixChange>;
    /// Other changes that may get the entry past a rule.
    fn others_for(&self, stop: &Stop) -> Vec<FixChange>;
    /// Makes a change.
    fn apply(&mut self, change: &FixChange);
    /// The tokens of all lore in the turn as changed.
    fn lore_tokens(&self) -> i64;
    /// The entry and the rules, where they were changed.
    fn edited(&self) -> Edited;

    /// What would stop the entry after one more change.
    fn stop_after(&self, change: &FixChange) -> Option<Stop> {
        let mut trial = self.clone();
        trial.apply(change);
        trial.run()
    }

    /// The first change after which this rule no longer stops the entry.
    fn first_that_helps(
        &self,
        stop: &Stop,
        mut changes: impl Iterator<Item = FixChange>,
    ) -> Option<FixChange> {
        changes.find(|change| {
            self.stop_after(change).is_none_or(|next| discriminant(&next) != discriminant(stop))
        })
    }

    /// The smallest budget up to `most` that lets the entry in, by halving between too little
    /// and enough.
    fn larger_budget(
        &self,
        most: Tokens,
        change: impl Fn(Tokens) -> FixChange,
    ) -> Option<FixChange> {
        let fits = |tokens: u32| {
            !self.stop_after(&change(Tokens(tokens))).is_some_and(|stop| is_budget(&stop))
        };
        let (mut too_little, mut enough) = (0, most.0.max(1));
        if !fits(enough) {
            return None;
        }
        while too_little + 1 < enough {
            let middle = u32::midpoint(too_little, enough);
            if fits(middle) { enough = middle } else { too_little = middle }
        }
        Some(change(Tokens(enough)))
    }
}

fn is_budget(stop: &Stop) -> bool {
    matches!(
        stop,
        Stop::Budget { .. }
            | Stop::BudgetClosed { .. }
            | Stop::OverBudget { .. }
            | Stop::NoRoom { .. }
    )
}

/// Finds the changes that make an entry or a note fire. `None` if it fires already, or if no
/// small change was found.
pub fn explain(case: &Case<'_>, entry: &EntryId) -> Option<Fix> {
    match FixTrial::new(case, entry) {
        Some(trial) => explain_by(trial, entry),
        None => explain_by(NoteTrial::new(case, entry)?, entry),
    }
}

fn explain_by(trial: impl Trial, entry: &EntryId) -> Option<Fix> {
    let first = trial.run()?;
    let change = trial.change_for(&first)?;
    let (changes, _) = followed(trial, change)?;
    Some(Fix { entry: entry.clone(), stopped_by: first, changes })
}

#[cfg(test)]
mod tests;
