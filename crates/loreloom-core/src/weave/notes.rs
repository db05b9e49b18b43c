//! The pool of vault notes in a turn.

use std::borrow::Cow;

use crate::{
    dice::Dice,
    library::Library,
    place::Injection,
    report::{BudgetUse, Outcome, Stop, Verdict},
    rules::Rules,
    state::StoryState,
    turn::{Instruments, Scene, Selection, Turn},
    vault::{self, Lines, Matches, Pick, Vault, VaultState},
};

/// What the vault brings to a turn.
pub(super) struct Notes {
    pub(super) injections: Vec<Injection>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) budget: Option<BudgetUse>,
    pub(super) state: VaultState,
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
    let (lines, nothing) = (lines(turn), Scene::default());
    let own = &rules.vault.rules;
    let found = matches(vault, turn, &lines, state, rules, instruments);
    let picks = selected(vault, turn, &lines, &found, rules);
    let told = turn.host.scene.unwrap_or(&nothing);
    let scene = vault::Scene {
        lines: &lines,
        character: turn.speaker.map(|speaker| speaker.name.as_str()),
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
    Some(Notes {
        injections: report.fitted.injections(vault),
        verdicts: report.verdicts,
        budget,
        state: if turn.dry_run { state.vault.clone() } else { report.state },
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
    let found = matches(vault, turn, &lines(turn), state, rules, instruments);
    Some(vault::candidates(vault, &found, selection))
}

/// Adds the rule that kept out each note that nothing touched.
pub(super) fn untouched(
    vault: &Vault,
    turn: &Turn<'_>,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
    verdicts: &mut Vec<Verdict>,
) {
    let known: rustc_hash::FxHashSet<_> =
        verdicts.iter().map(|verdict| verdict.entry.clone()).collect();
    let open: Vec<_> = vault.entries().filter(|ix| !known.contains(vault.id(*ix))).collect();
    let cache = &mut instruments.cache.vault;
    let stops = vault::judge_untouched(vault, &open, &lines(turn), &rules.vault.rules, cache);
    verdicts.extend(open.into_iter().zip(stops).map(|(ix, stop)| Verdict {
        book: vault.note(ix).book(),
        entry: vault.id(ix).clone(),
        title: vault.note(ix).title.clone(),
        outcome: Outcome::Stopped(stop),
    }));
}

fn matches(
    vault: &Vault,
    turn: &Turn<'_>,
    lines: &Lines,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Matches {
    let character = turn.speaker.map(|speaker| speaker.name.as_str());
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
) -> Vec<Pick> {
    let (Some(selection), Some(answer)) = (&rules.vault.selection, turn.host.selection) else {
        return found.picks.clone();
    };
    let own = &rules.vault.rules;
    let candidates = vault::candidates(vault, found, selection);
    let chosen = match answer {
        Selection::Chosen(choices) => Some(choices.as_slice()),
        Selection::Failed { .. } => None,
    };
    let is_new = vault::is_new(lines.len(), own);
    vault::select(vault, found, &candidates, chosen, is_new, (own, selection))
}

/// The chat as vaults scan it.
fn lines<'turn>(turn: &Turn<'turn>) -> Cow<'turn, Lines> {
    match turn.transcript.lines() {
        Some(lines) => Cow::Borrowed(lines),
        None => Cow::Owned(turn.transcript.to_lines()),
    }
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
