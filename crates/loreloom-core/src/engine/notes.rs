//! The vault's part of a turn, in two steps: a selecting model is asked between them.

use rustc_hash::FxHashMap;

use crate::{
    dialects::vault::{self, Lines, Matches, Pick, VaultState, VaultTurn},
    ids::EntryId,
    library::{EntryIx, Library},
    note_selection::NoteChoice,
    place::Injection,
    report::{BudgetUse, Fallback, Outcome, SelectionUse, Served, Stop, Verdict},
    rules::Rules,
    state::StoryState,
    turn::{Instruments, Selection, Turn},
};

/// The notes that the chat brings in, before any are selected.
#[derive(Clone, Debug)]
pub(super) struct MatchedNotes {
    matches: Matches,
    /// All that a selecting model could choose from, if one takes part.
    candidates: Vec<Pick>,
    /// Those that it is shown; `None` if none takes part.
    pub(super) open: Option<Vec<Pick>>,
}

/// What the vault adds to a turn.
pub(super) struct Notes {
    pub(super) injections: Vec<Injection>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) budget: Option<BudgetUse>,
    pub(super) state: VaultState,
    pub(super) selection: Option<SelectionUse>,
}

/// Matches the notes; `None` without a vault.
pub(super) fn prepare(
    library: &Library,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Option<MatchedNotes> {
    let lines = turn.transcript.vault_lines();
    let own = vault_turn(library, turn, &lines, state, rules)?;
    let matches = vault::find(own, instruments.dice, &mut instruments.cache.vault);
    let selection = rules.vault.selection.as_ref();
    let (candidates, open) = selection.map(|selection| own.candidates(&matches, selection)).unzip();
    Some(MatchedNotes { matches, candidates: candidates.unwrap_or_default(), open })
}

/// Decides which of the matched notes go in.
pub(super) fn finish(
    matched: MatchedNotes,
    library: &Library,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Option<Notes> {
    let lines = turn.transcript.vault_lines();
    let own = vault_turn(library, turn, &lines, state, rules)?;
    let (picks, selection) = selected(own, &matched, turn.input.selection.as_ref(), rules);
    let tools = (instruments.counter, &mut instruments.cache.vault);
    let report = own.decide(matched.matches, picks, tools);
    let budget = own.rules.budget.tokens.map(|limit| BudgetUse {
        pool: "vault".to_owned(),
        limit,
        used: report.fitted.tokens(),
        overflowed: report.fitted.stopped.iter().any(|one| is_budget(&one.stop)),
    });
    let mut verdicts = report.verdicts;
    if let Some(to) = selection.as_ref().and_then(|selection| selection.fallback) {
        for verdict in &mut verdicts {
            if verdict.outcome == Outcome::Stopped(Stop::NotSelected) {
                verdict.outcome = Outcome::Stopped(Stop::FellBack { to });
            }
        }
    }
    Some(Notes {
        injections: report.fitted.injections(own.vault),
        verdicts,
        selection,
        budget,
        state: if turn.input.dry_run { state.vault.clone() } else { report.state },
    })
}

/// Adds the rule that kept out each note that nothing touched.
pub(super) fn untouched(
    library: &Library,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
    verdicts: &mut Vec<Verdict>,
) {
    let lines = turn.transcript.vault_lines();
    let Some(own) = vault_turn(library, turn, &lines, state, rules) else { return };
    let vault = own.vault;
    let known: FxHashMap<EntryId, usize> =
        (0..).zip(verdicts.iter()).map(|(at, verdict)| (verdict.entry.clone(), at)).collect();
    let at = |ix: EntryIx| known.get(vault.id(ix)).copied();
    // A note that is only here because its text lingers was not looked at either.
    let is_judged = |one: &Verdict| !(one.lingers() && super::verdicts::is_vague(one));
    let is_open = |ix: &EntryIx| at(*ix).is_none_or(|at| !is_judged(&verdicts[at]));
    let open: Vec<_> = vault.entries().filter(is_open).collect();
    let stops = vault::judge_untouched(own, &open, &mut instruments.cache.vault);
    for (ix, stop) in open.into_iter().zip(stops) {
        match at(ix) {
            Some(at) => verdicts[at].outcome = Outcome::Stopped(stop),
            None => verdicts.push(vault.note(ix).verdict(Outcome::Stopped(stop))),
        }
    }
    verdicts.extend(vault.guides().map(|note| note.verdict(Outcome::Stopped(Stop::Guide))));
}

fn vault_turn<'a>(
    library: &'a Library,
    turn: &Turn<'a>,
    lines: &'a Lines,
    state: &'a StoryState,
    rules: &'a Rules,
) -> Option<VaultTurn<'a>> {
    let input = turn.input;
    Some(VaultTurn {
        vault: library.vault()?,
        rules: &rules.vault.rules,
        fields: &rules.vault.fields,
        state: &state.vault,
        lines,
        character: input.speaker.as_ref().map(|speaker| speaker.name.as_str()),
        context: input.vault_context.as_ref().unwrap_or(&state.vault_context),
    })
}

/// The notes that the answer of a selecting model leaves, and how it took part.
fn selected(
    own: VaultTurn<'_>,
    matched: &MatchedNotes,
    answer: Option<&Selection>,
    rules: &Rules,
) -> (Vec<Pick>, Option<SelectionUse>) {
    let MatchedNotes { matches, candidates, .. } = matched;
    let (Some(selection), Some(answer)) = (&rules.vault.selection, answer) else {
        return (matches.picks.clone(), None);
    };
    let (chosen, served) = match answer {
        Selection::Chosen(choices) => (Some(choices.as_slice()), Served::Model),
        Selection::Kept { choices, because } => {
            (Some(choices.as_slice()), Served::Kept { because: *because })
        }
        // Without anything to choose from, all matches go on.
        Selection::NotAsked => {
            let using = of_selection(candidates, None, Served::NotAsked, None);
            return (matches.picks.clone(), Some(using));
        }
        Selection::Failed { reason } => (None, Served::Failed { reason: reason.clone() }),
    };
    let fallback = vault::fallback(chosen, selection);
    let picks = vault::select(own, matches, candidates, chosen, selection);
    (picks, Some(of_selection(candidates, chosen, served, fallback)))
}

fn of_selection(
    candidates: &[Pick],
    chosen: Option<&[NoteChoice]>,
    served: Served,
    fallback: Option<Fallback>,
) -> SelectionUse {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let chosen = count(chosen.map_or(0, <[NoteChoice]>::len));
    SelectionUse { candidates: count(candidates.len()), chosen, served, fallback }
}

fn is_budget(stop: &Stop) -> bool {
    matches!(
        stop,
        Stop::Budget { .. }
            | Stop::BudgetClosed { .. }
            | Stop::OverBudget { .. }
            | Stop::MaxEntries { .. }
    )
}
