//! A past turn, decided again.

mod today;

use std::{collections::BTreeMap, io::Write};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    assemble::{Assembled, Layout},
    dice::TurnDice,
    given::{Asked, Given},
    ids::{EntryId, TenantId},
    library::{Library, Shelf},
    place::{Injection, Provenance},
    prompt::PromptMessage,
    replay::{TurnChange, TurnLine, compare},
    report::{Report, Verdict, words},
    rules::Rules,
    stable::Canvas,
    tokens::TokenCounter,
    turn::{Instruments, Transcript, TurnCache},
    weave::{self, Woven},
};
use loreloom_formats::diff::{LineChange, line_changes};
use loreloom_memory::ports::{TurnRecord, TurnSummary};
use loreloom_store::travel::{Revisited, revisit};
use serde::Serialize;

use self::today::TodaysBooks;
use super::{
    serve::runtime,
    table,
    weave::{find_entry, print_prompt},
};
use crate::{
    lore::LoreArguments,
    moment,
    store::StoreArguments,
    stored::{StoredChat, excerpt, speaker},
    tokenizer::{self, TokenizerArguments},
};

/// Decide a past turn again, with the books of that day, and say why each entry fired or did
/// not.
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The chat
    #[arg(long, value_name = "CHAT")]
    chat: String,

    /// The message, by its number on the current path: the turn computed on it, or the one
    /// that it is the reply to
    #[arg(long, value_name = "MESSAGE")]
    at: usize,

    /// Only this entry, by its id, its name or its number
    #[arg(long, value_name = "ENTRY")]
    entry: Option<String>,

    /// Also decide the turn with today's books, those of `loreloom books` or of `--book`, and
    /// show the difference
    #[arg(long)]
    with_today: bool,

    /// Print one JSON object for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    lore: LoreArguments,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    chat: String,
    message: usize,
    turn: u64,
    /// Whether the turn gave up its prompt to save space.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    trimmed: bool,
    /// Whether deciding again gave the same bytes; `None` if it could not be tried.
    reproduced: Option<bool>,
    /// What differs, or why it could not be tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    messages: Vec<PromptMessage>,
    report: Report,
    verdicts: Vec<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<Today>,
}

/// The turn with today's books.
#[derive(Serialize)]
struct Today {
    messages: Vec<PromptMessage>,
    report: Report,
    verdicts: Vec<Verdict>,
    change: Option<TurnChange>,
    /// What entries of both days are called.
    #[serde(skip)]
    names: BTreeMap<EntryId, String>,
}

/// What is read of the store.
struct Read {
    heading: String,
    turn: TurnSummary,
    past: Revisited,
    library: Option<Shelf>,
    today: Option<TodaysBooks>,
}

/// A turn decided again.
struct Again {
    woven: Woven,
    messages: Vec<PromptMessage>,
    verdicts: Vec<Verdict>,
}

impl Why {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.with_today || self.lore.books()?.is_empty(),
            "`--book` names today's books: it needs `--with-today`"
        );
        let read = runtime()?.block_on(async {
            let store = self.store.open().await?;
            let chat = StoredChat::read(store.as_ref(), &self.chat).await?;
            let node = chat.message(self.at)?;
            let turn = chat.turn_of(node);
            let turn = turn.with_context(|| format!("message {} has no turn", self.at))?;
            let tenant = TenantId::local();
            let past = revisit(store.as_ref(), &tenant, &chat.record.id, turn.id).await?;
            let library = store.library(&tenant, past.record.library).await?;
            let today = if self.with_today {
                let desk = store.as_ref();
                Some(TodaysBooks::find(&self.lore, desk, &past, library.as_ref()).await?)
            } else {
                None
            };
            let message = &node.message;
            let said = format!("{}: {}", speaker(message), excerpt(&message.text, 50));
            let when = moment::shown(turn.created);
            let heading = format!("message {} ({said}), turn {}, {when} UTC", self.at, turn.id.0);
            anyhow::Ok(Read { heading, turn: turn.clone(), past, library, today })
        })?;
        let Read { heading, turn, past, library, today } = read;
        let counter = tokenizer::of_turn(&past.record.report.facts.tokenizer, &self.tokenizer)?;
        let library = library.map(|kept| (kept.compile(), kept.rules));
        let answer = self.answer(&turn, &past, library.as_ref(), today, counter.as_ref())?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&answer)?)?;
            return Ok(());
        }
        writeln!(out, "{heading}")?;
        answer.print(out, self.entry.is_none(), library.as_ref().map(|(library, _)| library))
    }

    fn answer(
        &self,
        turn: &TurnSummary,
        past: &Revisited,
        library: Option<&(Library, Rules)>,
        today: Option<TodaysBooks>,
        counter: &dyn TokenCounter,
    ) -> anyhow::Result<Answer> {
        let record = &past.record;
        let mut answer = Answer {
            chat: self.chat.clone(),
            message: self.at,
            turn: turn.id.0,
            trimmed: turn.trimmed,
            reproduced: None,
            notes: Vec::new(),
            messages: record.prompt.clone(),
            report: record.report.clone(),
            verdicts: record.report.verdicts.clone(),
            today: None,
        };
        let then = match (record.given.as_deref(), library) {
            (Some(given), Some((library, rules))) => {
                Some((Again::decide(past, given, library, rules, counter)?, library))
            }
            _ => None,
        };
        match &then {
            Some((again, _)) => {
                answer.notes = again.differences(record, turn.trimmed);
                answer.reproduced = Some(answer.notes.is_empty());
                answer.verdicts.clone_from(&again.verdicts);
                if turn.trimmed {
                    answer.report.clone_from(&again.woven.report);
                }
            }
            None => answer.notes.push(
                "the turn was stored without its books or circumstances: these are the reasons \
                 as they were stored"
                    .to_owned(),
            ),
        }
        if let Some(TodaysBooks { shelf, attachments }) = today {
            let given = record.given.as_deref();
            let given = given.context("the turn's circumstances were not stored")?;
            let given = Given { attachments: Some(attachments), ..given.clone() };
            let library = shelf.compile();
            let again = Again::decide(past, &given, &library, &shelf.rules, counter)?;
            // A trimmed turn's texts are those that it was just decided to have again.
            let stored = as_stored(record);
            let before = match &then {
                Some((then, _)) if turn.trimmed => &then.woven,
                Some(_) | None => &stored,
            };
            let mut today = again.today(before, &library, self.entry.as_deref());
            today.names = names(&library, library_of(then.as_ref()));
            answer.today = Some(today);
        }
        if let Some(name) = &self.entry {
            let entry = match &then {
                Some((_, library)) => find_entry(library, name)?,
                None => name.as_str().into(),
            };
            answer.verdicts.retain(|verdict| verdict.entry == entry || verdict.title == *name);
            anyhow::ensure!(!answer.verdicts.is_empty(), "no entry is called `{name}`");
        }
        Ok(answer)
    }
}

/// What a turn wove, as it was stored.
fn as_stored(record: &TurnRecord) -> Woven {
    Woven {
        injections: record.injections.clone(),
        delta: record.delta.clone(),
        report: record.report.clone(),
        hide_prompts: Vec::new(),
    }
}

/// A prompt as lines, to be compared.
fn prompt_text(messages: &[PromptMessage]) -> String {
    let texts = messages.iter().map(|one| format!("[{}]\n{}", one.role.as_str(), one.content));
    texts.collect::<Vec<_>>().join("\n")
}

fn library_of<'a>(then: Option<&(Again, &'a Library)>) -> Option<&'a Library> {
    then.map(|(_, library)| *library)
}

/// What the entries of both days are called.
fn names(today: &Library, then: Option<&Library>) -> BTreeMap<EntryId, String> {
    let both = then.into_iter().chain([today]);
    let entries = both.flat_map(Library::books).flat_map(|book| &book.entries);
    entries.map(|entry| (entry.id.clone(), entry.title().to_owned())).collect()
}

/// What memory gave to the turn is part of what it was given: it is taken as it was.
fn recollect(woven: &mut Woven, record: &TurnRecord) {
    // So is the author's note, which the host told.
    let is_given =
        |one: &&Injection| matches!(one.source, Provenance::Memory(_) | Provenance::AuthorsNote);
    woven.injections.extend(record.injections.iter().filter(is_given).cloned());
    woven.delta.told.clone_from(&record.delta.told);
    let budgets = record.report.budgets.iter().filter(|budget| budget.pool == "memory");
    woven.report.budgets.extend(budgets.cloned());
    // What was measured after sending belongs to the prompts of that day.
    woven.report.cache.clone_from(&record.report.cache);
}

impl Again {
    fn decide(
        past: &Revisited,
        given: &Given,
        library: &Library,
        rules: &Rules,
        counter: &dyn TokenCounter,
    ) -> anyhow::Result<Self> {
        let transcript = Transcript::of(&past.path, rules.world_info.include_names);
        let asked = Asked::of(given.clone(), &past.record.report.facts);
        let turn = asked.turn(&past.path, &transcript);
        let roster = given.roster(library, rules);
        let (mut dice, mut cache) =
            (TurnDice::at(turn.seed, turn.chat, turn.answers), TurnCache::default());
        let mut instruments = Instruments { counter, dice: &mut dice, cache: &mut cache };
        let mut woven = weave::weave(library, &roster, &turn, &past.state, rules, &mut instruments);
        recollect(&mut woven, &past.record);
        let prompt = given.seams.unpick(&past.record.prompt);
        let prompt = prompt.context("the stored prompt does not fit its seams")?;
        let layout = given.seams.layout.clone().unwrap_or_else(|| Layout::of(&prompt, false));
        let injections = match &given.arrangement {
            Some(arrangement) => {
                let canvas = Canvas { prompt: &prompt, layout: &layout, path: &past.path };
                arrangement.place(canvas, library, &past.state.ledger, &mut woven).injections()
            }
            None => woven.injections.clone(),
        };
        let plan = layout.plan(&prompt, &injections);
        let Assembled { messages, spans } = plan.apply(&prompt);
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
    fn differences(&self, record: &TurnRecord, trimmed: bool) -> Vec<String> {
        let woven = &self.woven;
        let report = &record.report;
        let same_report =
            if trimmed { woven.report.budgets == report.budgets } else { woven.report == *report };
        [
            (trimmed || self.messages == record.prompt, "the prompt differs"),
            (trimmed || woven.injections == record.injections, "the woven texts differ"),
            (woven.delta == record.delta, "the effects on later turns differ"),
            (same_report, "the report differs"),
        ]
        .into_iter()
        .filter(|(same, _)| !same)
        .map(|(_, what)| what.to_owned())
        .collect()
    }

    fn today(mut self, before: &Woven, library: &Library, entry: Option<&str>) -> Today {
        let change = compare(&[TurnLine::of(0, before)], &[TurnLine::of(0, &self.woven)]).pop();
        if let Some(name) = entry {
            let found = find_entry(library, name);
            // An entry that is no longer in the books has no verdict today.
            self.verdicts.retain(|one| found.as_ref().is_ok_and(|entry| one.entry == *entry));
        }
        let Self { woven, messages, verdicts } = self;
        Today { messages, report: woven.report, verdicts, change, names: BTreeMap::new() }
    }
}

impl Answer {
    fn print(
        &self,
        out: &mut dyn Write,
        whole: bool,
        library: Option<&Library>,
    ) -> anyhow::Result<()> {
        match self.reproduced {
            Some(true) if self.trimmed => writeln!(
                out,
                "decided again with that day's books: the same effects; its prompt was given up \
                 to save space and cannot be compared"
            )?,
            Some(true) => writeln!(out, "decided again with that day's books: the same bytes")?,
            Some(false) => {
                writeln!(out, "decided again, but not the same: {}", self.notes.join(", "))?;
            }
            None => writeln!(out, "not decided again: {}", self.notes.join(", "))?,
        }
        writeln!(out)?;
        if whole && !self.messages.is_empty() {
            print_prompt(out, &self.messages)?;
        }
        if whole {
            print_budgets(out, &self.report)?;
        }
        let empty = Library::under([], &Rules::default());
        table::print(out, &self.verdicts, library.unwrap_or(&empty))?;
        match &self.today {
            Some(today) => today.print(out, self),
            None => Ok(()),
        }
    }
}

impl Today {
    fn print(&self, out: &mut dyn Write, then: &Answer) -> anyhow::Result<()> {
        writeln!(out, "\nwith today's books:")?;
        let Some(change) = &self.change else {
            return Ok(writeln!(out, "the same texts")?);
        };
        let why = |verdicts: &[Verdict], entry| {
            let verdict = verdicts.iter().find(|verdict| verdict.entry == entry);
            let names =
                |id: &EntryId| self.names.get(id).cloned().unwrap_or_else(|| id.to_string());
            verdict
                .map_or(String::new(), |verdict| format!(": {}", words::sentence(verdict, &names)))
        };
        for (mark, fired) in
            [("+", &change.appeared), ("-", &change.vanished), ("~", &change.rewritten)]
        {
            for one in fired {
                let why = match why(&self.verdicts, one.entry.clone()) {
                    none if none.is_empty() => ": not in the books".to_owned(),
                    why => why,
                };
                writeln!(out, "{mark} {}{why}", one.title)?;
            }
        }
        writeln!(out)?;
        if then.trimmed {
            return print_budgets(out, &self.report);
        }
        for LineChange { removed, added, .. } in
            line_changes(&prompt_text(&then.messages), &prompt_text(&self.messages))
        {
            for line in removed {
                writeln!(out, "- {line}")?;
            }
            for line in added {
                writeln!(out, "+ {line}")?;
            }
        }
        writeln!(out)?;
        print_budgets(out, &self.report)
    }
}

fn print_budgets(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    for budget in &report.budgets {
        let tokenizer = &report.facts.tokenizer;
        let (pool, used, limit) = (words::pool(&budget.pool), budget.used, budget.limit);
        writeln!(out, "{pool}: {used} of {limit} tokens ({tokenizer})")?;
    }
    Ok(writeln!(out)?)
}
