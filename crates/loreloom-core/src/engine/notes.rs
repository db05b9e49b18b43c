//! The vault's part of a turn, in two steps: a selecting model is asked between them.

use rustc_hash::FxHashMap;

use crate::{
    dialects::vault::{
        self, Divided, Lines, Matches, NoteRendering, Pick, SelectFrom, Stopped, VaultState,
        VaultTools, VaultTurn,
    },
    engine::{EngineInput, contribution::Contribution},
    ids::EntryId,
    library::EntryIx,
    macros::Variables,
    note_selection::NoteChoice,
    number::clamp_u32,
    report::{BudgetUse, Outcome, SelectionUse, Served, Stop, Verdict},
    turn::{Instruments, Selection},
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
    pub(super) lore: Contribution,
    pub(super) state: VaultState,
    pub(super) selection: Option<SelectionUse>,
    /// The variables, if its texts changed any.
    pub(super) variables: Option<Variables>,
}

/// Matches the notes; `None` without a vault.
pub(super) fn prepare(
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Option<MatchedNotes> {
    // Looked at first: without a vault, no message is prepared for one.
    input.library.vault()?;
    let lines = input.turn.transcript.vault_lines();
    let own = vault_turn(input, &lines)?;
    let matches = vault::find(own, instruments.dice, &mut instruments.cache.vault);
    let selection = input.rules.vault.selection.as_ref();
    let (candidates, open) = selection.map(|selection| own.candidates(&matches, selection)).unzip();
    Some(MatchedNotes { matches, candidates: candidates.unwrap_or_default(), open })
}

/// Decides which of the matched notes go in.
pub(super) fn finish(
    matched: MatchedNotes,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Option<Notes> {
    let lines = input.turn.transcript.vault_lines();
    let own = vault_turn(input, &lines)?;
    let (mut selected, selection) = selected(own, &matched, input);
    let cache = &mut instruments.cache.vault;
    vault::add_keys(own, &matched.candidates, &mut selected.1, cache);
    let EngineInput { turn, state, rules, .. } = *input;
    let rendering = NoteRendering::new(turn, rules, &state.variables);
    let mut tools = VaultTools {
        counter: instruments.counter,
        dice: &mut *instruments.dice,
        cache: &mut instruments.cache.vault,
        rendering: Some(rendering),
    };
    let report = own.decide(matched.matches, selected, &mut tools);
    let variables = tools.rendering.and_then(NoteRendering::written);
    let budget = own.rules.budget.tokens.map(|limit| BudgetUse {
        pool: "vault".to_owned(),
        limit,
        used: report.fitted.tokens(),
        overflowed: report.fitted.stopped.iter().any(|one| is_budget(&one.stop)),
    });
    let lore = Contribution {
        injections: report.fitted.injections(own.vault),
        verdicts: report.verdicts,
        budgets: budget.into_iter().collect(),
        ..Contribution::default()
    };
    let dry_run = input.turn.input.dry_run;
    let state = if dry_run { own.state.clone() } else { report.state };
    Some(Notes { lore, state, selection, variables })
}

/// Adds the rule that kept out each note that nothing touched.
pub(super) fn untouched(
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
    verdicts: &mut Vec<Verdict>,
) {
    if input.library.vault().is_none() {
        return;
    }
    let lines = input.turn.transcript.vault_lines();
    let Some(own) = vault_turn(input, &lines) else { return };
    let vault = own.vault;
    let known: FxHashMap<EntryId, usize> =
        (0..).zip(verdicts.iter()).map(|(at, verdict)| (verdict.entry.clone(), at)).collect();
    let at = |ix: EntryIx| known.get(vault.id(ix)).copied();
    // A note that is only here because its text lingers was not looked at either.
    let is_judged = |one: &Verdict| !(one.lingers() && super::verdicts::is_vague(one));
    let is_open = |ix: &EntryIx| at(*ix).is_none_or(|at| !is_judged(&verdicts[at]));
    let open: Vec<_> = vault.entries().filter(is_open).collect();
    let mut stops = vault::judge_untouched(own, &open, &mut instruments.cache.vault);
    if let Some(stop) = passed_over(input) {
        // The model saw all of them that nothing shut out.
        stops.fill(stop);
        for Stopped { ix, stop } in own.shut_out(&open) {
            if let Some(at) = open.iter().position(|one| *one == ix) {
                stops[at] = stop;
            }
        }
    }
    for (ix, stop) in open.into_iter().zip(stops) {
        match at(ix) {
            Some(at) => verdicts[at].outcome = Outcome::Stopped(stop),
            None => verdicts.push(vault.note(ix).verdict(Outcome::Stopped(stop))),
        }
    }
    verdicts.extend(vault.guides().map(|note| note.verdict(Outcome::Stopped(Stop::Guide))));
}

/// Why notes that nothing touched are out, where a model chose from the whole vault.
fn passed_over(input: &EngineInput<'_>) -> Option<Stop> {
    let rules = input.rules.vault.selection.as_ref()?;
    let answer = match input.turn.input.selection.as_ref()? {
        Selection::Chosen(choices) | Selection::Kept { choices, .. } => Some(choices.as_slice()),
        Selection::Failed { .. } => None,
        Selection::NotAsked => return None,
    };
    (rules.from == SelectFrom::Vault).then(|| match vault::fallback(answer, rules) {
        Some(to) => Stop::FellBack { to },
        None => Stop::NotSelected { keys: Vec::new() },
    })
}

fn vault_turn<'a>(input: &EngineInput<'a>, lines: &'a Lines) -> Option<VaultTurn<'a>> {
    let EngineInput { library, turn, state, rules, .. } = *input;
    Some(VaultTurn {
        vault: library.vault()?,
        rules: &rules.vault.rules,
        fields: &rules.vault.fields,
        state: &state.vault,
        lines,
        character: turn.input.speaker.as_ref().map(|speaker| speaker.name.as_str()),
        context: turn.input.vault_context.as_ref().unwrap_or(&state.vault_context),
    })
}

/// The notes that the answer of a selecting model leaves and those it does not, and how it took
/// part.
fn selected(
    own: VaultTurn<'_>,
    matched: &MatchedNotes,
    input: &EngineInput<'_>,
) -> (Divided, Option<SelectionUse>) {
    let MatchedNotes { matches, candidates, .. } = matched;
    let rules = input.rules.vault.selection.as_ref();
    let (Some(rules), Some(answer)) = (rules, input.turn.input.selection.as_ref()) else {
        return ((matches.picks.clone(), Vec::new()), None);
    };
    let (chosen, served) = match answer {
        Selection::Chosen(choices) => (Some(choices.as_slice()), Served::Model),
        Selection::Kept { choices, because } => {
            (Some(choices.as_slice()), Served::Kept { because: *because })
        }
        // Without anything to choose from, all matches go on.
        Selection::NotAsked => {
            let using = SelectionUse {
                candidates: clamp_u32(candidates.len()),
                chosen: 0,
                served: Served::NotAsked,
                fallback: None,
            };
            return ((matches.picks.clone(), Vec::new()), Some(using));
        }
        Selection::Failed { reason } => (None, Served::Failed { reason: reason.clone() }),
    };
    let picks = vault::select(own, matches, candidates, chosen, rules);
    let left_out = vault::turned_down(own.vault, candidates, &picks, chosen, rules);
    let using = SelectionUse {
        candidates: clamp_u32(candidates.len()),
        chosen: clamp_u32(chosen.map_or(0, <[NoteChoice]>::len)),
        served,
        fallback: vault::fallback(chosen, rules),
    };
    ((picks, left_out), Some(using))
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
