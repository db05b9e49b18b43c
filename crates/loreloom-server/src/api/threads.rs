//! What was woven at a turn, as threads of the loom: fired, carried on or cut.

use loreloom_core::{
    ids::{BookId, EntryId},
    place::{Injection, Place, Provenance},
    report::{Outcome, Reason, Report, Stop, Verdict},
    units::Tokens,
};
use loreloom_ports::TurnRecord;
use serde::Serialize;

/// Where a woven text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum SourceKind {
    /// An entry of a lorebook.
    Lorebook,
    /// A note of a vault.
    Vault,
    /// A memory.
    Memory,
    /// The author's note.
    Note,
}

/// The state of a thread at a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ThreadState {
    /// It fired at this turn.
    Fired,
    /// It fired before and is carried on.
    Carried,
    /// It did not fire, but its text of an earlier turn stays in the prompt, for the prompt cache.
    Lingering,
    /// It fired and there was no room for it.
    Cut,
}

/// One text that was woven in at a turn, or had no room.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Thread {
    /// What kind of source it is.
    pub(crate) kind: SourceKind,
    /// The entry's id or the memory's slot.
    pub(crate) source: String,
    /// The entry's book or vault.
    pub(crate) book: Option<BookId>,
    /// What people call it.
    pub(crate) title: String,
    /// Its state.
    pub(crate) state: ThreadState,
    /// The tokens of its text, or those it would have needed.
    pub(crate) tokens: Tokens,
    /// Where it went.
    pub(crate) place: Option<Place>,
}

/// The threads of a turn: what was woven in prompt order of evaluation, then memory, then
/// what was cut.
pub(crate) fn threads(
    record: &TurnRecord,
    report: &Report,
    is_note: impl Fn(&EntryId) -> bool,
) -> Vec<Thread> {
    of_report(&record.injections, report, is_note)
}

/// The threads of a turn that may not be stored yet.
pub(crate) fn of_report(
    injections: &[Injection],
    report: &Report,
    is_note: impl Fn(&EntryId) -> bool,
) -> Vec<Thread> {
    let lore = report.verdicts.iter().filter_map(|verdict| woven(verdict, &is_note));
    let memory = injections.iter().filter_map(|injection| {
        let (kind, source) = match &injection.source {
            Provenance::Memory(slot) => (SourceKind::Memory, slot.as_str()),
            Provenance::AuthorsNote => (SourceKind::Note, "authors_note"),
            Provenance::Lore { .. } => return None,
        };
        Some(Thread {
            kind,
            source: source.to_owned(),
            book: None,
            title: source.to_owned(),
            state: ThreadState::Fired,
            tokens: injection.tokens,
            place: Some(injection.place.clone()),
        })
    });
    let cut = report.verdicts.iter().filter_map(|verdict| cut(verdict, &is_note));
    lore.chain(memory).chain(cut).collect()
}

fn woven(verdict: &Verdict, is_note: impl Fn(&EntryId) -> bool) -> Option<Thread> {
    let state = match &verdict.outcome {
        Outcome::Activated { trigger, .. } => {
            let carried = matches!(trigger.reason, Reason::Sticky { .. } | Reason::Kept { .. });
            if carried { ThreadState::Carried } else { ThreadState::Fired }
        }
        Outcome::Stopped(_) if verdict.lingers() => ThreadState::Lingering,
        Outcome::Stopped(_) => return None,
    };
    Some(thread(verdict, state, verdict.tokens()?, verdict.place().cloned(), is_note))
}

fn cut(verdict: &Verdict, is_note: impl Fn(&EntryId) -> bool) -> Option<Thread> {
    if verdict.lingers() {
        return None;
    }
    let needed = match &verdict.outcome {
        Outcome::Stopped(
            Stop::Budget { needed, .. }
            | Stop::BudgetClosed { needed }
            | Stop::OverBudget { needed, .. }
            | Stop::NoRoom { needed },
        ) => *needed,
        Outcome::Stopped(Stop::MaxEntries { .. }) => Tokens::ZERO,
        Outcome::Activated { .. } | Outcome::Stopped(_) => return None,
    };
    Some(thread(verdict, ThreadState::Cut, needed, None, is_note))
}

fn thread(
    verdict: &Verdict,
    state: ThreadState,
    tokens: Tokens,
    place: Option<Place>,
    is_note: impl Fn(&EntryId) -> bool,
) -> Thread {
    let is_note = is_note(&verdict.entry);
    Thread {
        kind: if is_note { SourceKind::Vault } else { SourceKind::Lorebook },
        source: verdict.entry.to_string(),
        book: Some(verdict.book.clone()),
        title: verdict.title.clone(),
        state,
        tokens,
        place,
    }
}
