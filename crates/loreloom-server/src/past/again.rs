//! A past turn, decided again.

use loreloom_core::{
    assemble::Assembled,
    cache_placement::{Canvas, LoreSources},
    engine::{self, Decision, EngineInput},
    explain::{Case, Fix, FixCandidate, candidates, explain},
    ids::EntryId,
    library::Library,
    notebook,
    place::{Injection, Provenance},
    prompt::PromptMessage,
    report::{Verdict, Warning},
    rules::Rules,
    tokens::TokenCounter,
    turn::{Instruments, Transcript, TurnCache, TurnInput},
};
use loreloom_recognise::layout_of;

use loreloom_ports::TurnRecord;
use loreloom_ports::history::travel::Revisited;

/// A turn decided again.
#[derive(Debug)]
pub struct Again {
    /// What was decided.
    pub woven: Decision,
    /// The prompt.
    pub messages: Vec<PromptMessage>,
    /// The verdicts of all entries.
    pub verdicts: Vec<Verdict>,
}

/// The turn cannot be decided again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgainError {
    /// The prompt was stored by other means than its seams say.
    #[error("the stored prompt does not fit its seams")]
    Seams,
}

impl Again {
    /// Decides a turn again, with this input and these books and rules.
    pub fn decide(
        past: &Revisited,
        input: &TurnInput,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
    ) -> Result<Self, AgainError> {
        Self::decide_watched(past, input, (library, rules), counter, |_| ())
    }

    /// The same with a cache that `prepare` sees first.
    pub fn decide_watched(
        past: &Revisited,
        input: &TurnInput,
        (library, rules): (&Library, &Rules),
        counter: &dyn TokenCounter,
        prepare: impl FnOnce(&mut TurnCache),
    ) -> Result<Self, AgainError> {
        let transcript = Transcript::of(&past.path, rules.world_info.include_names);
        let turn = input.turn(&past.path, &transcript);
        let active = input.active_entries(library, rules);
        let (mut dice, mut cache) = (turn.dice(), TurnCache::default());
        prepare(&mut cache);
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let mut woven = engine::decide(
            &EngineInput { library, active: &active, turn: &turn, state: &past.state, rules },
            &mut instruments,
        );
        recollect(&mut woven, &past.record);
        let prompt = input.seams.unpick(&past.record.prompt);
        let prompt = prompt.ok_or(AgainError::Seams)?;
        let layout = input.seams.layout.clone().unwrap_or_else(|| layout_of(&prompt, false));
        let injections = match &input.arrangement {
            Some(arrangement) => {
                let canvas = Canvas { prompt: &prompt, layout: &layout, path: &past.path };
                let scene = input.vault_context.as_ref().unwrap_or(&past.state.vault_context);
                let sources = LoreSources { library, active: &active, scene };
                arrangement.place(canvas, sources, &past.state.ledger, &mut woven).injections()
            }
            None => woven.injections.clone(),
        };
        let plan = layout.plan(&prompt, &injections);
        let Assembled { messages, spans } = plan.apply(prompt);
        plan.tell(&mut woven.report, spans);
        let mut dice = turn.dice();
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let verdicts = engine::verdicts(
            &woven.report,
            &EngineInput { library, active: &active, turn: &turn, state: &past.state, rules },
            &mut instruments,
        );
        Ok(Self { woven, messages, verdicts })
    }

    /// What is not as it was stored. Of a trimmed turn only its effects and budgets are.
    pub fn differences(&self, record: &TurnRecord, trimmed: bool) -> Vec<Difference> {
        let woven = &self.woven;
        let report = &record.report;
        let same_report =
            if trimmed { woven.report.budgets == report.budgets } else { woven.report == *report };
        [
            (trimmed || self.messages == record.prompt, Difference::Prompt),
            (trimmed || woven.injections == record.injections, Difference::Texts),
            (woven.delta == record.delta, Difference::Effects),
            (same_report, Difference::Report),
        ]
        .into_iter()
        .filter(|(same, _)| !same)
        .map(|(_, what)| what)
        .collect()
    }
}

/// What of a turn that was decided again is not as it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The prompt.
    Prompt,
    /// The texts that were woven in.
    Texts,
    /// The effects on later turns.
    Effects,
    /// The report.
    Report,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Prompt => "the prompt differs",
            Self::Texts => "the woven texts differ",
            Self::Effects => "the effects on later turns differ",
            Self::Report => "the report differs",
        })
    }
}

/// The smallest change that would have made an entry fire at a past turn.
pub fn explained(
    past: &Revisited,
    input: &TurnInput,
    books: (&Library, &Rules),
    counter: &dyn TokenCounter,
    entry: &EntryId,
) -> Option<Fix> {
    with_case(past, input, books, counter, |case| explain(case, entry))
}

/// Several changes that would have made an entry fire at a past turn.
pub fn fixes(
    past: &Revisited,
    input: &TurnInput,
    books: (&Library, &Rules),
    counter: &dyn TokenCounter,
    entry: &EntryId,
) -> Vec<FixCandidate> {
    with_case(past, input, books, counter, |case| candidates(case, entry))
}

fn with_case<R>(
    past: &Revisited,
    input: &TurnInput,
    (library, rules): (&Library, &Rules),
    counter: &dyn TokenCounter,
    ask: impl FnOnce(&Case<'_>) -> R,
) -> R {
    let transcript = Transcript::of(&past.path, rules.world_info.include_names);
    let turn = input.turn(&past.path, &transcript);
    ask(&Case {
        library,
        active: &input.active_entries(library, rules),
        turn: &turn,
        state: &past.state,
        rules,
        counter,
        dice: &turn.dice(),
    })
}

/// What a turn wove, as it was stored.
pub fn as_stored(record: &TurnRecord) -> Decision {
    Decision {
        injections: record.injections.clone(),
        delta: record.delta.clone(),
        report: record.report.clone(),
        hide_prompts: Vec::new(),
    }
}

/// Whether texts of this source are taken from the record. Notebooks are injected again from the
/// state; the author's note comes from the request.
fn is_given_source(source: &Provenance) -> bool {
    match source {
        Provenance::Memory(slot) => !notebook::is_slot(slot),
        Provenance::AuthorsNote => true,
        Provenance::Lore { .. } => false,
    }
}

/// What memory gave to the turn is part of what it was given: it is taken as it was.
fn recollect(woven: &mut Decision, record: &TurnRecord) {
    let is_given = |one: &&Injection| is_given_source(&one.source);
    woven.injections.extend(record.injections.iter().filter(is_given).cloned());
    let cleaned = record.report.warnings.iter().filter(
        |warning| matches!(warning, Warning::Neutralised { source, .. } if is_given_source(source)),
    );
    woven.report.warnings.extend(cleaned.cloned());
    woven.delta.context.clone_from(&record.delta.context);
    let budgets = record.report.budgets.iter().filter(|budget| budget.pool == "memory");
    woven.report.budgets.extend(budgets.cloned());
    // What was measured after sending belongs to the prompts of that day.
    woven.report.cache.clone_from(&record.report.cache);
    woven.report.room.clone_from(&record.report.room);
    woven.report.recalled.clone_from(&record.report.recalled);
}
