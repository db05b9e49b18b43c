//! One line for each turn of a replay.

use serde::{Deserialize, Serialize};

use super::accident::{KeyHit, hits};
use crate::{
    digest::Hasher,
    engine::Decision,
    ids::{BookId, Digest, EntryId},
    place::Provenance,
    report::{Outcome, Stop, Verdict},
    turn::Near,
    units::Tokens,
};

/// What a turn wove in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TurnLine {
    /// Messages on the path, hidden ones too: the number of the last one.
    pub at: usize,
    /// Who was to speak.
    pub speaker: Option<String>,
    /// The entries that fired, in order of activation.
    pub fired: Vec<Fired>,
    /// The entries that did not fit, by rank.
    pub cut: Vec<TimelineCut>,
    /// Tokens of what fired.
    pub tokens: Tokens,
    /// The budgets of all pools; 0 where there was nothing to spend them on.
    pub limit: Tokens,
    /// Whether something did not fit.
    pub overflowed: bool,
}

/// An entry that fired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Fired {
    /// The book.
    pub book: BookId,
    /// The entry.
    pub entry: EntryId,
    /// Its title.
    pub title: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// Hash of the text that was woven in; `None` if the entry has no place in the prompt.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub text: Option<Digest>,
    /// The messages in which the key was found that alone let it in.
    #[serde(skip)]
    pub(super) hits: Vec<KeyHit>,
}

/// An entry that did not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Cut))]
pub struct TimelineCut {
    /// The entry.
    pub entry: EntryId,
    /// Its title.
    pub title: String,
    /// What it needed.
    pub needed: Tokens,
}

impl TurnLine {
    /// The line of a turn on a path of `at` messages.
    pub fn of(at: usize, woven: &Decision) -> Self {
        let report = &woven.report;
        let budgets = || report.budgets.iter();
        Self {
            at,
            speaker: report.facts.speaker.clone(),
            fired: report.verdicts.iter().filter_map(|verdict| fired(verdict, woven)).collect(),
            cut: report.verdicts.iter().filter_map(cut).collect(),
            tokens: budgets().map(|budget| budget.used).sum(),
            limit: budgets().map(|budget| budget.limit).sum(),
            overflowed: budgets().any(|budget| budget.overflowed),
        }
    }

    /// Entries whose meaning was near are in for more than a key.
    pub(super) fn forget_hits_of<'near>(&mut self, near: impl Iterator<Item = &'near Near>) {
        for Near { entry, .. } in near {
            for fired in self.fired.iter_mut().filter(|fired| fired.entry == *entry) {
                fired.hits.clear();
            }
        }
    }
}

fn fired(verdict: &Verdict, woven: &Decision) -> Option<Fired> {
    let Outcome::Activated { tokens, trigger, .. } = &verdict.outcome else { return None };
    let text = woven.injections.iter().find(|injection| {
        matches!(&injection.source, Provenance::Lore { entry, .. } if *entry == verdict.entry)
    });
    Some(Fired {
        book: verdict.book.clone(),
        entry: verdict.entry.clone(),
        title: verdict.title.clone(),
        tokens: *tokens,
        text: text.map(|one| Hasher::new("lore").field(one.text.as_bytes()).finish()),
        hits: hits(trigger),
    })
}

fn cut(verdict: &Verdict) -> Option<TimelineCut> {
    let needed = match &verdict.outcome {
        Outcome::Stopped(
            Stop::Budget { needed, .. } | Stop::BudgetClosed { needed } | Stop::NoRoom { needed },
        ) => *needed,
        Outcome::Activated { .. } | Outcome::Stopped(_) => return None,
    };
    Some(TimelineCut { entry: verdict.entry.clone(), title: verdict.title.clone(), needed })
}
