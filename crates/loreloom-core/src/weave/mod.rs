//! One turn: which lore goes where, what the story carries on, and why.

mod notes;

use std::{borrow::Cow, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    cards,
    chat::Role,
    ids::EntryId,
    library::{Dialect, EntryIx, Library, Roster},
    place::{Injection, Place, Provenance},
    report::{BudgetUse, Outcome, Report, Stop, TurnFacts, Verdict, Warning},
    rules::Rules,
    state::{StateDelta, StoryState},
    tokens::TokenCounter,
    turn::{Instruments, ScannedPrompt, Turn, TurnInput},
    units::Tokens,
    vault::{Pick, Vault},
    worldinfo::{self, Activated, Bucket, Placed},
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
pub fn weave(
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Woven {
    let prepared = prepare(library, turn, state, rules, instruments);
    finish(prepared, library, roster, turn, state, rules, instruments)
}

/// A turn whose vault notes are matched. A selecting model can be asked now; put its answer
/// into [`TurnInput::selection`], and [`finish`] the turn.
#[derive(Clone, Debug)]
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
pub fn prepare(
    library: &Library,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> PreparedTurn {
    PreparedTurn { notes: notes::prepare(library, turn, state, rules, instruments) }
}

/// The second step of a turn: decides it. Everything but the selection must be as it was in the
/// first step.
pub fn finish(
    prepared: PreparedTurn,
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Woven {
    let Rules { world_info, wrap, .. } = rules;
    let notes = prepared
        .notes
        .and_then(|matched| notes::finish(matched, library, turn, state, rules, instruments));
    let input = fed(turn.input, notes.as_ref(), rules);
    let turn = &Turn { input: &input, ..*turn };
    let scan =
        worldinfo::scan_wrapping(library, roster, turn, state, world_info, wrap, instruments);
    let placed = worldinfo::place(library, &scan.activated, &rules.regex_scripts, &turn.macros());
    let injection = |one: &Placed<'_>| Injection {
        place: place_of(&one.bucket),
        role: role_of(&one.bucket),
        text: one.text.to_string(),
        tokens: sent_tokens(library, one, instruments.counter),
        source: source_of(library, one.activated.ix),
    };
    let mut injections: Vec<Injection> = placed.iter().map(injection).collect();
    let places: FxHashMap<EntryIx, Place> =
        placed.iter().map(|one| (one.activated.ix, place_of(&one.bucket))).collect();
    let mut verdicts: Vec<Verdict> = scan
        .activated
        .iter()
        .map(|one| activated(library, turn, one, places.get(&one.ix).cloned()))
        .collect();
    verdicts.extend(scan.stopped.into_iter().map(|(ix, stop)| stopped(library, ix, stop)));
    let mut warnings = warnings(library, roster, scan.too_slow);
    let cards = cards::scan(library, roster, turn, (state, scan.state), &rules.cards, instruments);
    injections.extend(cards::injections(library, &cards.placed, turn, rules, instruments.counter));
    verdicts.extend(cards.placed.into_iter().map(|one| {
        let (place, tokens, trigger) = (one.place, one.tokens, Box::new(one.trigger));
        verdict(library, one.ix, Outcome::Activated { place, tokens, trigger })
    }));
    verdicts.extend(cards.stopped.into_iter().map(|(ix, stop)| stopped(library, ix, stop)));
    warnings.extend(cards.warnings);
    let mut budgets: Vec<BudgetUse> = scan.budget.into_iter().chain(cards.budgets).collect();
    let mut after = cards.state;
    if turn.input.dry_run {
        after.variables.clone_from(&state.variables);
    }
    let selection = notes.as_ref().and_then(|notes| notes.selection.clone());
    injections.extend(rules.notebooks.injections(&state.notebooks, instruments.counter));
    if let Some(notes) = notes {
        injections.extend(notes.injections);
        verdicts.extend(notes.verdicts);
        budgets.extend(notes.budget);
        after.vault = notes.state;
    }
    Woven {
        hide_prompts: cards.hide_prompts,
        delta: StateDelta::between(state, &after),
        report: Report {
            facts: TurnFacts::of(turn, library.version(), instruments.counter),
            budgets,
            untouched: untouched_by(&verdicts, library, roster),
            verdicts,
            spans: Vec::new(),
            warnings,
            cache: None,
            selection,
        },
        injections,
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
    let texts = notes.injections.iter().map(|one| one.text.as_str()).collect::<Vec<_>>();
    let mut input = input.clone();
    input.prompts.push(ScannedPrompt { name: "vault".to_owned(), text: texts.join("\n\n") });
    Cow::Owned(input)
}

/// The verdicts of all entries of the roster: those of the report, and for entries that
/// nothing touched the rule that kept them out.
///
/// Looks further back in the chat than the turn did, to tell a near miss from a miss.
pub fn verdicts(
    report: &Report,
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Vec<Verdict> {
    let known: FxHashSet<&EntryId> = report.verdicts.iter().map(|verdict| &verdict.entry).collect();
    let all = roster.entries().iter().chain(roster.card_entries()).copied();
    let rest = all.filter(|&ix| !known.contains(&library.entry(ix).id)).map(|ix| (None, ix));
    // A touched entry may have been stopped for want of a key in reach: say how near it was.
    let vague = (0..).zip(&report.verdicts).filter(|(_, verdict)| is_vague(verdict));
    let vague = vague.filter_map(|(at, one)| Some((Some(at), library.find(&one.entry)?)));
    let (cards, world_info): (Vec<(Option<usize>, EntryIx)>, Vec<_>) =
        vague.chain(rest).partition(|&(_, ix)| library.dialect_of(ix) == Dialect::Cards);
    let mut verdicts = report.verdicts.clone();
    for (dialect, open) in [(Dialect::WorldInfo, world_info), (Dialect::Cards, cards)] {
        let entries: Vec<EntryIx> = open.iter().map(|&(_, ix)| ix).collect();
        let stops = untouched(dialect, library, roster, turn, state, rules, instruments, &entries);
        for ((at, ix), stop) in open.into_iter().zip(stops) {
            match at.and_then(|at: usize| verdicts.get_mut(at)) {
                Some(verdict) => verdict.outcome = Outcome::Stopped(stop),
                None => verdicts.push(stopped(library, ix, stop)),
            }
        }
    }
    notes::untouched(library, turn, state, rules, instruments, &mut verdicts);
    verdicts
}

/// What was decided about one entry of the roster, as [`verdicts`] tells it.
#[expect(clippy::too_many_arguments, reason = "a turn's inputs, passed on as they are")]
pub(crate) fn outcome_of(
    entry: &EntryId,
    report: &Report,
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
) -> Option<Outcome> {
    let known = report.verdicts.iter().find(|verdict| verdict.entry == *entry);
    if let Some(verdict) = known.filter(|verdict| !is_vague(verdict)) {
        return Some(verdict.outcome.clone());
    }
    let ix = library.find(entry).filter(|ix| roster.ranks(*ix).next().is_some())?;
    let dialect = library.dialect_of(ix);
    let stops = untouched(dialect, library, roster, turn, state, rules, instruments, &[ix]);
    stops.into_iter().next().map(Outcome::Stopped)
}

/// Whether looking further back may say more.
fn is_vague(verdict: &Verdict) -> bool {
    verdict.outcome == Outcome::Stopped(Stop::NoKeyFound)
}

#[expect(clippy::too_many_arguments, reason = "a turn's inputs, passed on as they are")]
fn untouched(
    dialect: Dialect,
    library: &Library,
    roster: &Roster,
    turn: &Turn<'_>,
    state: &StoryState,
    rules: &Rules,
    instruments: &mut Instruments<'_>,
    rest: &[EntryIx],
) -> Vec<Stop> {
    if rest.is_empty() {
        return Vec::new();
    }
    match dialect {
        Dialect::WorldInfo => {
            let rules = &rules.world_info;
            worldinfo::judge_untouched(library, roster, turn, state, rules, instruments, rest)
        }
        Dialect::Cards => {
            let rules = &rules.cards;
            cards::judge_untouched(library, roster, turn, state, rules, instruments, rest)
        }
    }
}

fn activated(library: &Library, turn: &Turn<'_>, one: &Activated, place: Option<Place>) -> Verdict {
    verdict(
        library,
        one.ix,
        Outcome::Activated {
            place,
            tokens: one.tokens,
            trigger: Box::new(one.trigger(library, turn)),
        },
    )
}

fn stopped(library: &Library, ix: EntryIx, stop: Stop) -> Verdict {
    verdict(library, ix, Outcome::Stopped(stop))
}

fn verdict(library: &Library, ix: EntryIx, outcome: Outcome) -> Verdict {
    let entry = library.entry(ix);
    let (book, title) = (library.book(ix).id.clone(), entry.title().to_owned());
    Verdict::new(book, entry.id.clone(), title, outcome)
}

/// What a person should know about the keys of World Info.
fn warnings(
    library: &Library,
    roster: &Roster,
    too_slow: Vec<(EntryIx, Box<str>)>,
) -> Vec<Warning> {
    let title = |ix: EntryIx| library.entry(ix).title().to_owned();
    let slow = too_slow.into_iter();
    let slow = slow.map(|(ix, key)| Warning::KeyTooSlow { entry: title(ix), key: key.into() });
    let here = |ix: EntryIx| roster.ranks(ix).next().is_some();
    let failed = library.not_regexes().filter(|(ix, _)| here(*ix));
    let failed =
        failed.map(|(ix, key)| Warning::KeyNotARegex { entry: title(ix), key: key.to_owned() });
    slow.chain(failed).collect()
}

/// The tokens of a text as it is sent: counted again only if it changed on its way.
fn sent_tokens(library: &Library, placed: &Placed<'_>, counter: &dyn TokenCounter) -> Tokens {
    if Arc::ptr_eq(&placed.text, placed.activated.text(library)) {
        placed.activated.tokens
    } else {
        counter.count(&placed.text)
    }
}

fn source_of(library: &Library, ix: EntryIx) -> Provenance {
    Provenance::Lore { book: library.book(ix).id.clone(), entry: library.entry(ix).id.clone() }
}

fn place_of(bucket: &Bucket) -> Place {
    match bucket {
        Bucket::Before => Place::BeforeCharacter,
        Bucket::After => Place::AfterCharacter,
        Bucket::NoteTop => Place::NoteTop,
        Bucket::NoteBottom => Place::NoteBottom,
        Bucket::ExamplesTop => Place::BeforeExamples,
        Bucket::ExamplesBottom => Place::AfterExamples,
        Bucket::AtDepth(depth, _) => Place::AtDepth(depth.unwrap_or(worldinfo::DEFAULT_DEPTH)),
        Bucket::Outlet(name) => Place::Outlet(name.clone()),
    }
}

fn role_of(bucket: &Bucket) -> Role {
    match bucket {
        Bucket::AtDepth(_, role) => *role,
        Bucket::Before
        | Bucket::After
        | Bucket::NoteTop
        | Bucket::NoteBottom
        | Bucket::ExamplesTop
        | Bucket::ExamplesBottom
        | Bucket::Outlet(_) => Role::System,
    }
}

#[cfg(test)]
mod tests;
