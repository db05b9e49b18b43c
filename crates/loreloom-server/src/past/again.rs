//! A past turn, decided again.

use loreloom_core::{
    assemble::Assembled,
    dice::TurnDice,
    explain::{Case, Fix, explain},
    given::{Asked, Given},
    ids::EntryId,
    library::Library,
    notebook,
    place::{Injection, Provenance},
    prompt::PromptMessage,
    report::Verdict,
    rules::Rules,
    stable::{Canvas, LoreSources},
    tokens::TokenCounter,
    turn::{Instruments, Transcript, TurnCache},
    weave::{self, Woven},
};
use loreloom_recognise::layout_of;

use loreloom_ports::TurnRecord;
use loreloom_ports::history::travel::Revisited;

/// A turn decided again.
#[derive(Debug)]
pub struct Again {
    /// What was decided.
    pub woven: Woven,
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
    /// Decides a turn again, with what it was given and these books and rules.
    pub fn decide(
        past: &Revisited,
        given: &Given,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
    ) -> Result<Self, AgainError> {
        Self::decide_watched(past, given, (library, rules), counter, |_| ())
    }

    /// The same with a cache that `prepare` sees first.
    pub fn decide_watched(
        past: &Revisited,
        given: &Given,
        (library, rules): (&Library, &Rules),
        counter: &dyn TokenCounter,
        prepare: impl FnOnce(&mut TurnCache),
    ) -> Result<Self, AgainError> {
        let transcript = Transcript::of(&past.path, rules.world_info.include_names);
        let asked = Asked::of(given.clone(), &past.record.report.facts);
        let turn = asked.turn(&past.path, &transcript);
        let roster = given.roster(library, rules);
        let (mut dice, mut cache) =
            (TurnDice::at(turn.seed, turn.chat, turn.answers), TurnCache::default());
        prepare(&mut cache);
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let mut woven = weave::weave(library, &roster, &turn, &past.state, rules, &mut instruments);
        recollect(&mut woven, &past.record);
        let prompt = given.seams.unpick(&past.record.prompt);
        let prompt = prompt.ok_or(AgainError::Seams)?;
        let layout = given.seams.layout.clone().unwrap_or_else(|| layout_of(&prompt, false));
        let injections = match &given.arrangement {
            Some(arrangement) => {
                let canvas = Canvas { prompt: &prompt, layout: &layout, path: &past.path };
                let scene = turn.host.scene.unwrap_or(&past.state.scene);
                let sources = LoreSources { library, roster: &roster, scene };
                arrangement.place(canvas, sources, &past.state.ledger, &mut woven).injections()
            }
            None => woven.injections.clone(),
        };
        let plan = layout.plan(&prompt, &injections);
        let Assembled { messages, spans } = plan.apply(prompt);
        plan.tell(&mut woven.report, spans);
        let mut dice = TurnDice::at(turn.seed, turn.chat, turn.answers);
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let verdicts = weave::verdicts(
            &woven.report,
            library,
            &roster,
            &turn,
            &past.state,
            rules,
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
    given: &Given,
    library: &Library,
    rules: &Rules,
    counter: &dyn TokenCounter,
    entry: &EntryId,
) -> Option<Fix> {
    let transcript = Transcript::of(&past.path, rules.world_info.include_names);
    let asked = Asked::of(given.clone(), &past.record.report.facts);
    let turn = asked.turn(&past.path, &transcript);
    let case = Case {
        library,
        roster: &given.roster(library, rules),
        turn: &turn,
        state: &past.state,
        rules,
        counter,
        dice: &TurnDice::at(turn.seed, turn.chat, turn.answers),
    };
    explain(&case, entry)
}

/// What a turn wove, as it was stored.
pub fn as_stored(record: &TurnRecord) -> Woven {
    Woven {
        injections: record.injections.clone(),
        delta: record.delta.clone(),
        report: record.report.clone(),
        hide_prompts: Vec::new(),
    }
}

/// What memory gave to the turn is part of what it was given: it is taken as it was.
fn recollect(woven: &mut Woven, record: &TurnRecord) {
    // What notebooks hold is woven anew from the state; the author's note was told.
    let is_given = |one: &&Injection| match &one.source {
        Provenance::Memory(slot) => !notebook::is_slot(slot),
        Provenance::AuthorsNote => true,
        Provenance::Lore { .. } => false,
    };
    woven.injections.extend(record.injections.iter().filter(is_given).cloned());
    woven.delta.told.clone_from(&record.delta.told);
    let budgets = record.report.budgets.iter().filter(|budget| budget.pool == "memory");
    woven.report.budgets.extend(budgets.cloned());
    // What was measured after sending belongs to the prompts of that day.
    woven.report.cache.clone_from(&record.report.cache);
}
