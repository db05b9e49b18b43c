//! One turn: which lore goes where, what the story carries on, and why.

use std::borrow::Cow;

use super::{
    EngineInput, notes,
    same_text::{SameText, drop_repeats},
};
use crate::{
    dialects::{
        cards,
        vault::{Pick, Vault},
        worldinfo,
    },
    hygiene::Cleaning,
    library::{ActiveEntries, Library, Scope},
    macros::names_char,
    place::Injection,
    report::{Report, TurnFacts, VaultMode, Verdict, Warning},
    room,
    rules::Rules,
    state::{StateDelta, StoryState},
    turn::{Instruments, ScannedPrompt, Turn, TurnInput},
};

/// What a turn decided.
#[derive(Clone, Debug)]
pub struct Decision {
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
pub fn decide(input: &EngineInput<'_>, instruments: &mut Instruments<'_>) -> Decision {
    finish(prepare(input, instruments), input, instruments)
}

/// A turn whose vault notes are matched. A selecting model can be asked now; put its answer
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

/// The second step of a turn: decides it. Everything but the selection must be as it was in the
/// first step.
pub fn finish(
    prepared: PreparedTurn,
    input: &EngineInput<'_>,
    instruments: &mut Instruments<'_>,
) -> Decision {
    let EngineInput { library, active, turn, state, rules } = *input;
    let notes = prepared.notes.and_then(|matched| notes::finish(matched, input, instruments));
    let fed = fed(turn.input, notes.as_ref(), rules);
    let turn = &Turn { input: &fed, ..*turn };
    // What notes wrote down is there for books of the same turn.
    let variables = notes.as_ref().and_then(|notes| notes.variables.clone());
    let written = variables.map(|variables| StoryState { variables, ..state.clone() });
    let input = EngineInput { turn, state: written.as_ref().unwrap_or(state), ..*input };
    let (mut lore, timing) = worldinfo::contribute(&input, instruments);
    let mut after = cards::contribute(&input, &mut lore, timing, instruments);
    if turn.input.dry_run {
        after.variables.clone_from(&state.variables);
    }
    let selection = notes.as_ref().and_then(|notes| notes.selection.clone());
    lore.injections.extend(rules.notebooks.injections(&state.notebooks, instruments.counter));
    if let Some(notes) = notes {
        lore.extend(notes.lore);
        after.vault = notes.state;
    }
    if turn.input.speaker.is_none() {
        lore.warnings.extend(unspoken(&lore.injections));
    }
    let mut decision = Decision {
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
            vault_mode: library.vault().map(|_| VaultMode::of(rules.vault.selection.as_ref())),
            selection,
            room: None,
            recalled: Vec::new(),
        },
        injections: lore.injections,
    };
    if rules.same_text == SameText::Once {
        drop_repeats(&mut decision, library);
    }
    mark_unknown_speaker(&mut decision.report.verdicts, library, active);
    let counter = instruments.counter;
    Cleaning { rules, library, input: turn.input, counter }.clean(&mut decision);
    if let Some(limit) = room::limit_of(&decision.injections, turn.input, &rules.budget) {
        room::give_way(&mut decision, limit, &rules.budget, library);
    }
    decision
}

/// Marks the verdicts of books that take part only because nobody is known to speak.
pub(super) fn mark_unknown_speaker(
    verdicts: &mut [Verdict],
    library: &Library,
    active: &ActiveEntries,
) {
    let attachments = active.attachments().iter();
    let assumed = attachments.filter(|one| one.scope == Scope::UnknownSpeaker);
    for book in assumed.filter_map(|one| library.books().get(one.book)) {
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.book == book.id) {
            verdict.speaker_unknown = true;
        }
    }
}

/// The texts that still name a character who speaks, though nobody is known to.
fn unspoken(injections: &[Injection]) -> Vec<Warning> {
    let names_speaker = |one: &&Injection| names_char(&one.text);
    let warning = |one: &Injection| Warning::NobodySpeaks { source: one.source.clone() };
    injections.iter().filter(names_speaker).map(warning).collect()
}

/// How many entries and notes have none of these verdicts.
fn untouched_by(verdicts: &[Verdict], library: &Library, active: &ActiveEntries) -> u32 {
    let entries = active.len() + library.vault().map_or(0, Vault::len);
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
