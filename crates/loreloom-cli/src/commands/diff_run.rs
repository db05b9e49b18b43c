//! What a new version of a book would have changed.

use std::{io::Write, path::PathBuf, sync::Arc};

use clap::Args;
use loreloom_core::{
    book::Book,
    ids::EntryId,
    library::{Dialect, Volume},
    replay::{Fired, TurnChange, accidental, compare},
};
use loreloom_formats::diff::as_versions_of;
use serde::Serialize;

use super::runs::{NamedRun, RunArguments};
use crate::{lore::source_of_paths, settings::SettingArguments, tokenizer::TokenizerArguments};

/// Show which turns of chats a new version of a book changes: which entries appear or vanish,
/// which turns no longer fit the budget, which new firings look accidental.
#[derive(Debug, Args)]
pub(crate) struct DiffRun {
    /// The old version of the book, or a vault's folder; may be given several times
    #[arg(long, value_name = "BOOK|DIR", required = true)]
    old: Vec<PathBuf>,

    /// The new version of the book or vault; its old version is found by its name and its
    /// entries
    #[arg(long, value_name = "BOOK|DIR", required = true)]
    new: Vec<PathBuf>,

    #[command(flatten)]
    runs: RunArguments,

    #[command(flatten)]
    settings: SettingArguments,

    /// Print one JSON object a chat for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

#[derive(Serialize)]
struct Difference<'run> {
    chat: &'run str,
    turns: usize,
    over_budget: usize,
    /// How many of the entries that appear look accidental.
    accidental: usize,
    changed: &'run [Changed],
}

#[derive(Serialize)]
struct Changed {
    #[serde(flatten)]
    change: TurnChange,
    /// Those of the entries that appear whose key is all they share with the message.
    accidental: Vec<EntryId>,
}

impl DiffRun {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let counter = self.tokenizer.load()?;
        let settings = self.settings.started(self.runs.changes())?.settings;
        let old = source_of_paths(&self.old, &settings)?;
        let mut new = source_of_paths(&self.new, &settings)?;
        let read: Vec<Dialect> = new.volumes.iter().map(|volume| volume.dialect).collect();
        let books = new.volumes.iter().map(|volume| Book::clone(&volume.book));
        let books = as_versions_of(old.volumes.iter().map(|volume| &*volume.book), books);
        let volumes = books.into_iter().map(Arc::new).zip(read);
        new.volumes = volumes.map(|(book, dialect)| Volume { book, dialect }).collect();
        let (before, after) = (old.compile(), new.compile());
        for NamedRun { name, run } in self.runs.read(&settings.story)? {
            let before = run.lines(&before, &old.rules, counter.as_ref());
            let changes = compare(&before, &run.lines(&after, &new.rules, counter.as_ref()));
            let odd = accidental(&changes, &run.messages(), &after);
            let changed = changes.into_iter().zip(odd);
            let changed: Vec<Changed> =
                changed.map(|(change, accidental)| Changed { change, accidental }).collect();
            let difference = Difference {
                chat: &name,
                turns: before.len(),
                over_budget: changed.iter().filter(|one| one.change.now_over_budget).count(),
                accidental: changed.iter().map(|one| one.accidental.len()).sum(),
                changed: &changed,
            };
            if self.json {
                writeln!(out, "{}", serde_json::to_string(&difference)?)?;
            } else {
                difference.print(out)?;
            }
        }
        Ok(())
    }
}

impl Difference<'_> {
    fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { chat, turns, over_budget, accidental, changed } = self;
        let count = changed.len();
        let odd = match accidental {
            0 => String::new(),
            1 => ", 1 new firing looks accidental".to_owned(),
            odd => format!(", {odd} new firings look accidental"),
        };
        writeln!(
            out,
            "{chat}: {count} of {turns} turns change, {over_budget} no longer fit the budget{odd}"
        )?;
        for Changed { change, accidental } in *changed {
            let (before, after) = (change.tokens_before, change.tokens_after);
            let budget = match (change.now_over_budget, change.now_in_budget) {
                (true, _) => ", no longer fits",
                (_, true) => ", fits now",
                _ => "",
            };
            writeln!(out, "message {}: {before} → {after} tokens{budget}", change.at)?;
            let lists =
                [("+", &change.appeared), ("-", &change.vanished), ("~", &change.rewritten)];
            for (mark, fired) in lists {
                for Fired { entry, title, tokens, .. } in fired {
                    let odd = mark == "+" && accidental.contains(entry);
                    let odd = if odd { ", looks accidental" } else { "" };
                    writeln!(out, "  {mark} {title} ({tokens} tokens{odd})")?;
                }
            }
        }
        Ok(())
    }
}
