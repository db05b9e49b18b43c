//! A past turn, decided again.

mod today;

use std::{collections::BTreeMap, io::Write};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    engine::Decision,
    ids::{EntryId, TenantId},
    library::{Library, LibrarySource},
    prompt::PromptMessage,
    replay::{TurnChange, TurnLine, compare},
    report::{Outcome, Report, VaultMode, Verdict, Warning, words},
    rules::Rules,
    tokens::TokenCounter,
    turn::{TurnCache, TurnInput},
};
use loreloom_formats::diff::{LineChange, line_changes};
use loreloom_ports::{
    TurnSummary,
    history::travel::{Revisited, revisit},
};
use loreloom_server::past::again::{Again, as_stored, fixes};
use serde::Serialize;

use self::today::TodaysBooks;
use super::{
    serve::runtime,
    table,
    weave::{Explained, find_entry, print_explained, print_prompt},
};
use crate::{
    dates,
    lore::LoreArguments,
    stage_trace::{self, StageLine, StageTrace},
    store::StoreArguments,
    stored::{self, StoredChat, excerpt, speaker},
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
    /// that it is the reply to. Without it and `--turn`, the newest turn of the path
    #[arg(long, value_name = "MESSAGE")]
    at: Option<usize>,

    /// The turn by its own number, on any branch: `show` lists numbers
    #[arg(long, value_name = "TURN", conflicts_with = "at")]
    turn: Option<u64>,

    /// Only this entry, by its id, its name or its number
    #[arg(long, value_name = "ENTRY")]
    entry: Option<String>,

    /// Also show the smallest change that would have made this entry fire, and others with what
    /// they cost, by its id, its name or its number
    #[arg(long, value_name = "ENTRY")]
    explain: Option<String>,

    /// Also decide the turn with today's books, those of `loreloom books` or of `--book`, and
    /// show the difference
    #[arg(long)]
    with_today: bool,

    /// Also show the stages of vaults, and how long each takes now
    #[arg(long)]
    trace: bool,

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
struct WhyAnswer {
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
    explained: Option<Explained>,
    /// How the stages of vaults went, with `--trace`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StageLine>,
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
struct WhyInput {
    heading: String,
    turn: TurnSummary,
    past: Revisited,
    library: Option<LibrarySource>,
    today: Option<TodaysBooks>,
}

impl Why {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.with_today || self.lore.books()?.is_empty(),
            "`--book` names today's books: it needs `--with-today`"
        );
        let read = runtime()?.block_on(async {
            let store = self.store.open().await?;
            let chat = stored::read(store.as_ref(), &self.chat).await?;
            let turn = self.find(&chat)?;
            let tenant = TenantId::local();
            let past = revisit(store.as_ref(), &tenant, &chat.record.id, turn.id).await?;
            let library = store.library(&tenant, past.record.library).await?;
            let today = if self.with_today {
                let documents = store.as_ref();
                Some(TodaysBooks::find(&self.lore, documents, &past, library.as_ref()).await?)
            } else {
                None
            };
            // A turn that is named by its number is shown with the message it answers.
            let message = match self.at {
                Some(at) => Some(&stored::message(&chat, at)?.message),
                None => past.path.items().last().map(|item| &item.message),
            };
            let said = message.map_or(String::new(), |message| {
                format!(" ({}: {})", speaker(message), excerpt(&message.text, 50))
            });
            let (number, when) = (self.number(&past), dates::shown(turn.created));
            let heading = format!("message {number}{said}, turn {}, {when} UTC", turn.id.0);
            anyhow::Ok(WhyInput { heading, turn: turn.clone(), past, library, today })
        })?;
        let WhyInput { heading, turn, past, library, today } = read;
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

    /// The turn that is asked about.
    fn find<'chat>(&self, chat: &'chat StoredChat) -> anyhow::Result<&'chat TurnSummary> {
        if let Some(at) = self.at {
            let turn = chat.turn_of(stored::message(chat, at)?);
            return turn.with_context(|| format!("message {at} has no turn"));
        }
        let Some(number) = self.turn else {
            let newest = chat.nodes.iter().rev().find_map(|node| chat.turn_of(node));
            return newest.context("the current path of this chat has no turn");
        };
        let turn = chat.turns.iter().find(|turn| turn.id.0 == number);
        turn.with_context(|| {
            let count = chat.turns.len();
            format!("turns are numbered from 1 to {count}, found {number}")
        })
    }

    /// The number of its message, on the path that it was decided on.
    fn number(&self, past: &Revisited) -> usize {
        self.at.unwrap_or(past.path.items().len())
    }

    fn answer(
        &self,
        turn: &TurnSummary,
        past: &Revisited,
        library: Option<&(Library, Rules)>,
        today: Option<TodaysBooks>,
        counter: &dyn TokenCounter,
    ) -> anyhow::Result<WhyAnswer> {
        let record = &past.record;
        let mut answer = WhyAnswer {
            chat: self.chat.clone(),
            message: self.number(past),
            turn: turn.id.0,
            trimmed: turn.trimmed,
            reproduced: None,
            notes: Vec::new(),
            messages: record.prompt.clone(),
            report: record.report.clone(),
            verdicts: record.report.verdicts.clone(),
            explained: None,
            stages: Vec::new(),
            today: None,
        };
        let (then, stages) = again(past, library, counter)?;
        match &then {
            Some((again, _)) => {
                let differences = again.differences(record, turn.trimmed);
                answer.notes = differences.iter().map(ToString::to_string).collect();
                answer.reproduced = Some(answer.notes.is_empty());
                answer.verdicts.clone_from(&again.verdicts);
                answer.stages = if self.trace { stages } else { Vec::new() };
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
        if let Some(TodaysBooks { source, attachments }) = today {
            let input = record.input.as_deref();
            let input = input.context("the turn's circumstances were not stored")?;
            let input = TurnInput { attachments: Some(attachments), ..input.clone() };
            let library = source.compile();
            let again = Again::decide(past, &input, &library, &source.rules, counter)?;
            // A trimmed turn's texts are those that it was just decided to have again.
            let stored = as_stored(record);
            let before = match &then {
                Some((then, _)) if turn.trimmed => &then.woven,
                Some(_) | None => &stored,
            };
            let mut today = todays(again, before, &library, self.entry.as_deref());
            today.names = names(&library, library_of(then.as_ref()));
            answer.today = Some(today);
        }
        if let Some(name) = &self.explain {
            answer.explained = Some(explained(past, library, counter, (&answer.verdicts, name))?);
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

/// What would make the entry of this name activate at a past turn.
fn explained(
    past: &Revisited,
    library: Option<&(Library, Rules)>,
    counter: &dyn TokenCounter,
    (verdicts, name): (&[Verdict], &str),
) -> anyhow::Result<Explained> {
    let stored = past.record.input.as_deref().zip(library);
    let (input, (library, rules)) =
        stored.context("the turn's books or circumstances were not stored")?;
    let entry = find_entry(library, name)?;
    let fires = verdicts.iter().any(|verdict| {
        verdict.entry == entry && matches!(verdict.outcome, Outcome::Activated { .. })
    });
    let found = fixes(past, input, (library, rules), counter, &entry);
    Ok(Explained::of(entry, fires, &found))
}

/// A turn decided again, and the books of that day.
type Then<'a> = (Again, &'a Library);

/// The turn decided again with the books of that day, where both are known, and how its stages
/// went.
fn again<'a>(
    past: &Revisited,
    library: Option<&'a (Library, Rules)>,
    counter: &dyn TokenCounter,
) -> anyhow::Result<(Option<Then<'a>>, Vec<StageLine>)> {
    let (Some(input), Some((library, rules))) = (past.record.input.as_deref(), library) else {
        return Ok((None, Vec::new()));
    };
    let mut stages = StageTrace::default();
    let watch = |cache: &mut TurnCache| stages = StageTrace::watch(cache);
    let again = Again::decide_watched(past, input, (library, rules), counter, watch)?;
    Ok((Some((again, library)), stages.lines()))
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

/// The turn with today's books, beside what it was.
fn todays(mut again: Again, before: &Decision, library: &Library, entry: Option<&str>) -> Today {
    let change = compare(&[TurnLine::of(0, before)], &[TurnLine::of(0, &again.woven)]).pop();
    if let Some(name) = entry {
        let found = find_entry(library, name);
        // An entry that is no longer in the books has no verdict today.
        again.verdicts.retain(|one| found.as_ref().is_ok_and(|entry| one.entry == *entry));
    }
    let Again { woven, messages, verdicts } = again;
    Today { messages, report: woven.report, verdicts, change, names: BTreeMap::new() }
}

impl WhyAnswer {
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
        let is_asked = |warning: &&Warning| {
            whole || self.verdicts.iter().any(|one| warning.is_about(&one.entry, &one.title))
        };
        for warning in self.report.warnings.iter().filter(is_asked) {
            writeln!(out, "note: {}", words::warning(warning))?;
        }
        for recalled in self.report.recalled.iter().filter(|_| whole) {
            writeln!(out, "{}", recalled.sentence())?;
        }
        if let Some(selection) = &self.report.selection {
            let mode = self.report.vault_mode.map_or("", VaultMode::as_str);
            writeln!(out, "{mode}: {}", words::selection(selection))?;
        }
        if !self.stages.is_empty() {
            writeln!(out)?;
            stage_trace::print(out, self.report.vault_mode, &self.stages)?;
        }
        if let Some(explained) = &self.explained {
            writeln!(out)?;
            print_explained(out, library.unwrap_or(&empty), explained)?;
        }
        match &self.today {
            Some(today) => today.print(out, self),
            None => Ok(()),
        }
    }
}

impl Today {
    fn print(&self, out: &mut dyn Write, then: &WhyAnswer) -> anyhow::Result<()> {
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
