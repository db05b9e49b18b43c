//! One turn: which lore goes where, what the story carries on, and why.

mod notes;

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::{
    cards,
    engine::{EngineInput, verdict::verdict},
    ids::EntryId,
    library::{Dialect, EntryIx, Library, Roster},
    place::Injection,
    report::{Outcome, Report, Stop, TurnFacts, Verdict},
    rules::Rules,
    state::StateDelta,
    turn::{Instruments, ScannedPrompt, Turn, TurnInput},
    vault::{Pick, Vault},
    worldinfo,
};

/// What a turn decided.
#[derive(Debug)]
pub struct Woven {
    /// The texts to put into the prompt; within a place, in prompt order.
    pub injections: Vec<Injection>,
    /// Prompts of the front end that lore asks to hide (`@@disable_ui_prompt`).
    pub hide_prompts: Vec<String>,
    /// What changed.
    pub delta: StateDelta,
    /// Why. Spans are filled in when the prompt is assembled.
    pub report: Report,
}

/// Decides a turn. A pure function of its arguments: the same turn gives the same bytes.
pub fn weave(input: &EngineInput<'_>, instruments: &mut Instruments<'_>) -> Woven {
    let prepared = prepare(input, instruments);
    finish(prepared, input, instruments)
}

/// A turn whose vault notes are matched. A selecting model can be asked now: put its answer
/// into [`TurnInput::selection`], and [`finish`] the turn.
#[derive(Clone, Debug, Default)]
pub struct PreparedTurn {
    notes: Option<notes::MatchedNotes>,
}

impl PreparedTurn {
    /// The notes that a selecting model may choose from; `None` if there is no vault or no
    /// model takes part.
    pub fn open_notes(&self) -> Option<&[Pick]> {
        self.notes.as_ref()?.open.as_deref()
    }
}

/// The first step of a turn: matches the notes of a vault.
pub fn prepare(input: &EngineInput<'_>, instruments: &mut Instruments<'_>) -> PreparedTurn {
    PreparedTurn { notes: notes::prepare(input, instruments) }
}

/// The second step of a turn: decides it. The input is that of the first step, with the answer
/// of a selecting model.
pub fn finish(
    prepared: PreparedTurn,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Woven {
    let EngineInput { library, active, turn, state, rules } = *input;
    let notes = prepared.notes.and_then(|matched| notes::finish(matched, input, instruments));
    let fed = fed(turn.input, notes.as_ref(), rules);
    let turn = &Turn { input: &fed, ..*turn };
    let input = EngineInput { turn, ..*input };
    let (mut lore, timing) = worldinfo::contribute(&input, instruments);
    let (cards, mut after) = cards::contribute(&input, timing, instruments);
    lore.extend(cards);
    if turn.input.dry_run {
        after.variables.clone_from(&state.variables);
    }
    let selection = notes.as_ref().and_then(|notes| notes.selection.clone());
    lore.injections.extend(rules.notebooks.injections(&state.notebooks, instruments.counter));
    if let Some(notes) = notes {
        lore.extend(notes.lore);
        after.vault = notes.state;
    }
    Woven {
        hide_prompts: lore.hide_prompts,
        delta: StateDelta::between(state, &after),
        report: Report {
            facts: TurnFacts::of(turn, library.version(), instruments.counter),
            budgets: lore.budgets,
            untouched: untouched_by(&lore.verdicts, library, active),
            verdicts: lore.verdicts,
            spans: Vec::new(),
            warnings: lore.warnings,
            cache: None,
            selection,
        },
        injections: lore.injections,
    }
}

/// How many entries and notes have none of these verdicts.
fn untouched_by(verdicts: &[Verdict], library: &Library, roster: &Roster) -> u32 {
    let entries = roster.len() + library.vault().map_or(0, Vault::len);
    u32::try_from(entries.saturating_sub(verdicts.len())).unwrap_or(u32::MAX)
}

/// The input with the vault's texts as another scanned prompt, if the rules feed them to
/// World Info.
fn fed<'turn>(
    input: &'turn TurnInput,
    notes: Option<&notes::Notes>,
    rules: &Rules,
) -> Cow<'turn, TurnInput> {
    let Some(notes) = notes.filter(|_| rules.vault.feeds_world_info) else {
        return Cow::Borrowed(input);
    };
    let texts = notes.lore.injections.iter().map(|one| one.text.as_str()).collect::<Vec<_>>();
    let mut input = input.clone();
    input.prompts.push(ScannedPrompt { name: "vault".to_owned(), text: texts.join("\n\n") });
    Cow::Owned(input)
}

/// The verdicts of all active entries: those of the report, and for entries that nothing
/// touched the rule that kept them out.
///
/// Looks further back in the chat than the turn did, to tell a near miss from a miss.
pub fn verdicts(
    report: &Report,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Vec<Verdict> {
    let EngineInput { library, active, .. } = *input;
    let known: FxHashSet<&EntryId> = report.verdicts.iter().map(|verdict| &verdict.entry).collect();
    let all = active.entries().iter().chain(active.card_entries()).copied();
    let rest = all.filter(|&ix| !known.contains(&library.entry(ix).id)).map(|ix| (None, ix));
    // A touched entry may have been stopped for want of a key in reach: say how near it was.
    let vague = (0..).zip(&report.verdicts).filter(|(_, verdict)| is_vague(verdict));
    let vague = vague.filter_map(|(at, one)| Some((Some(at), library.find(&one.entry)?)));
    let (cards, world_info): (Vec<(Option<usize>, EntryIx)>, Vec<_>) =
        vague.chain(rest).partition(|&(_, ix)| library.dialect_of(ix) == Dialect::Cards);
    let mut verdicts = report.verdicts.clone();
    for (dialect, open) in [(Dialect::WorldInfo, world_info), (Dialect::Cards, cards)] {
        let entries: Vec<EntryIx> = open.iter().map(|&(_, ix)| ix).collect();
        let stops = untouched(dialect, input, &entries, instruments);
        for ((at, ix), stop) in open.into_iter().zip(stops) {
            match at.and_then(|at: usize| verdicts.get_mut(at)) {
                Some(verdict) => verdict.outcome = Outcome::Stopped(stop),
                None => verdicts.push(verdict(library, ix, Outcome::Stopped(stop))),
            }
        }
    }
    notes::untouched(input, instruments, &mut verdicts);
    verdicts
}

/// What was decided about one active entry, as in [`verdicts`].
pub(crate) fn outcome_of(
    entry: &EntryId,
    report: &Report,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Option<Outcome> {
    let EngineInput { library, active, .. } = *input;
    let known = report.verdicts.iter().find(|verdict| verdict.entry == *entry);
    if let Some(verdict) = known.filter(|verdict| !is_vague(verdict)) {
        return Some(verdict.outcome.clone());
    }
    let ix = library.find(entry).filter(|ix| active.ranks(*ix).next().is_some())?;
    let stops = untouched(library.dialect_of(ix), input, &[ix], instruments);
    stops.into_iter().next().map(Outcome::Stopped)
}

/// Whether looking further back may say more.
fn is_vague(verdict: &Verdict) -> bool {
    verdict.outcome == Outcome::Stopped(Stop::NoKeyFound)
}

/// The rule that keeps each of these entries out.
fn untouched(
    dialect: Dialect,
    input: &EngineInput<'_>,
    rest: &[EntryIx],
    instruments: &mut Instruments<'_>,
) -> Vec<Stop> {
    match dialect {
        _ if rest.is_empty() => Vec::new(),
        Dialect::WorldInfo => worldinfo::judge_untouched(input, rest, instruments),
        Dialect::Cards => cards::judge_untouched(input, rest, instruments),
    }
}

#[cfg(test)]
mod tests;
