//! The pool of vault notes in a turn.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::{
    dice::Dice,
    ids::EntryId,
    library::{EntryIx, Library},
    place::Injection,
    report::{BudgetUse, Fallback, Outcome, SelectionUse, Served, Stop, Verdict},
    rules::Rules,
    state::StoryState,
    turn::{Instruments, Selection, Turn},
    vault::{self, Choice, Exempt, Lines, Matches, Note, Pick, Vault, VaultState},
};

/// What the vault brings to a turn.
pub(super) struct Notes {
    pub(super) injections: Vec<Injection>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) budget: Option<BudgetUse>,
    pub(super) state: VaultState,
    pub(super) selection: Option<SelectionUse>,
}

/// Decides which notes go in.
pub(super) fn weave(
    library: &Library,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Option<Notes> {
    let vault = library.vault()?;
    let lines = lines(turn);
    let own = &rules.vault.rules;
    let found = matches(vault, turn, &lines, state, rules, instruments);
    let (picks, selection) = selected(vault, turn, &lines, &found, rules);
    let told = turn.input.vault_context.as_ref().unwrap_or(&state.vault_context);
    let scene = vault::Scene {
        lines: &lines,
        character: turn.input.speaker.as_ref().map(|speaker| speaker.name.as_str()),
        context: &told.context,
        fields: &rules.vault.fields,
        folders: &told.folders,
        pins: &told.pins,
        blocks: &told.blocks,
    };
    let counter = instruments.counter;
    let cache = &mut instruments.cache.vault;
    let report = vault::decide(vault, scene, (found, picks), &state.vault, own, (counter, cache));
    let budget = own.budget.tokens.map(|limit| BudgetUse {
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
        injections: report.fitted.injections(vault),
        verdicts,
        selection,
        budget,
        state: if turn.input.dry_run { state.vault.clone() } else { report.state },
    })
}

/// What the chat brings in, for a selecting model to choose from.
pub(super) fn candidates(
    library: &Library,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Option<Vec<Pick>> {
    let (vault, selection) = (library.vault()?, rules.vault.selection.as_ref()?);
    let lines = lines(turn);
    let found = matches(vault, turn, &lines, state, rules, instruments);
    let open = vault::candidates(vault, &found, selection);
    // What the scene will stop need not be chosen.
    let scene = turn.input.vault_context.as_ref().unwrap_or(&state.vault_context);
    let (own, fields) = (&rules.vault.rules, &rules.vault.fields);
    let is_new = vault::is_new(lines.len(), own);
    let exempt = Exempt::among(vault, open.iter().map(|one| one.ix), &scene.pins, is_new, own);
    let (open, _) = vault::gate_by_context(vault, open, &scene.context, fields, &exempt, own);
    let (mut open, _) = vault::filter_by_folder(vault, open, &scene.folders, &exempt, own);
    open.retain(|pick| !scene.blocks.iter().any(|block| block.names(vault.note(pick.ix))));
    Some(open)
}

/// Adds the rule that kept out each note that nothing touched.
pub(super) fn untouched(
    vault: &Vault,
    turn: &Turn<'_>,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
    verdicts: &mut Vec<Verdict>,
) {
    let known: FxHashMap<EntryId, usize> =
        (0..).zip(verdicts.iter()).map(|(at, verdict)| (verdict.entry.clone(), at)).collect();
    let at = |ix: EntryIx| known.get(vault.id(ix)).copied();
    // One that only its lingering text brought here was not looked at either.
    let is_told = |one: &Verdict| !(one.lingers() && super::is_vague(one));
    let is_open = |ix: &EntryIx| at(*ix).is_none_or(|at| !is_told(&verdicts[at]));
    let open: Vec<_> = vault.entries().filter(is_open).collect();
    let cache = &mut instruments.cache.vault;
    let stops = vault::judge_untouched(vault, &open, &lines(turn), &rules.vault.rules, cache);
    let verdict = |note: &Note, stop: Stop| {
        Verdict::new(note.book(), note.id(), note.title.clone(), Outcome::Stopped(stop))
    };
    for (ix, stop) in open.into_iter().zip(stops) {
        match at(ix) {
            Some(at) => verdicts[at].outcome = Outcome::Stopped(stop),
            None => verdicts.push(verdict(vault.note(ix), stop)),
        }
    }
    verdicts.extend(vault.guides().map(|note| verdict(note, Stop::Guide)));
}

fn matches(
    vault: &Vault,
    turn: &Turn<'_>,
    lines: &Lines,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Matches {
    let character = turn.input.speaker.as_ref().map(|speaker| speaker.name.as_str());
    let Instruments { dice, cache, .. } = instruments;
    let tools: (&mut dyn Dice, _) = (*dice, &mut cache.vault);
    vault::find(vault, lines, character, &state.vault, &rules.vault.rules, tools)
}

fn selected(
    vault: &Vault,
    turn: &Turn<'_>,
    lines: &Lines,
    found: &Matches,
    rules: &Rules,
) -> (Vec<Pick>, Option<SelectionUse>) {
    let (Some(selection), Some(answer)) = (&rules.vault.selection, &turn.input.selection) else {
        return (found.picks.clone(), None);
    };
    let own = &rules.vault.rules;
    let candidates = vault::candidates(vault, found, selection);
    let (chosen, served) = match answer {
        Selection::Chosen(choices) => (Some(choices.as_slice()), Served::Model),
        Selection::Kept { choices, because } => {
            (Some(choices.as_slice()), Served::Kept { because: *because })
        }
        // Nothing to choose is no choice: what the chat brought in is in.
        Selection::NotAsked => {
            let using = of_selection(&candidates, None, Served::NotAsked, None);
            return (found.picks.clone(), Some(using));
        }
        Selection::Failed { reason } => (None, Served::Failed { reason: reason.clone() }),
    };
    let fallback = vault::fallback(chosen, selection);
    let is_new = vault::is_new(lines.len(), own);
    let picks = vault::select(vault, found, &candidates, chosen, is_new, (own, selection));
    (picks, Some(of_selection(&candidates, chosen, served, fallback)))
}

fn of_selection(
    candidates: &[Pick],
    chosen: Option<&[Choice]>,
    served: Served,
    fallback: Option<Fallback>,
) -> SelectionUse {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let chosen = count(chosen.map_or(0, <[Choice]>::len));
    SelectionUse { candidates: count(candidates.len()), chosen, served, fallback }
}

/// The chat as vaults scan it.
fn lines<'turn>(turn: &Turn<'turn>) -> Cow<'turn, Lines> {
    turn.transcript.vault_lines()
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
