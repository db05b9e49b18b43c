//! Whole chats, turn by turn.

use std::io::Write;

use clap::Args;
use loreloom_core::replay::TurnLine;
use serde::Serialize;

use super::runs::{NamedRun, RunArguments};
use crate::{lore::LoreArguments, tokenizer::TokenizerArguments};

/// Run whole chats through the engine and print what fires at each turn.
///
/// Without `--book` and `--vault` a stored chat runs with the books and rules of its last turn.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    runs: RunArguments,

    #[command(flatten)]
    lore: LoreArguments,

    /// Print one JSON object a chat for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

#[derive(Serialize)]
struct Timeline<'run> {
    chat: &'run str,
    turns: &'run [TurnLine],
}

impl Replay {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.each(|run, lines| self.print(out, run, lines))
    }

    /// Whether JSON is wanted.
    pub(super) fn json(&self) -> bool {
        self.json
    }

    /// Decides all turns of every chat.
    pub(super) fn each(
        &self,
        mut report: impl FnMut(&NamedRun, &[TurnLine]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let counter = self.tokenizer.load()?;
        let named = !self.lore.is_empty();
        let settings = self.lore.started(self.runs.changes())?.settings;
        let source = self.lore.library_source(&settings)?;
        let (library, rules) = (source.compile(), &source.rules);
        for named_run in self.runs.read(&settings.story)? {
            let run = &named_run.run;
            let lines = match &run.library {
                Some(kept) if !named => run.lines_as_stored(kept, counter.as_ref()),
                None if !named => anyhow::bail!(
                    "the books of `{}` were not kept: say them with `--book FILE` or `--vault DIR`",
                    named_run.name
                ),
                Some(_) | None => run.lines(&library, rules, counter.as_ref()),
            };
            report(&named_run, &lines)?;
        }
        Ok(())
    }

    fn print(&self, out: &mut dyn Write, run: &NamedRun, lines: &[TurnLine]) -> anyhow::Result<()> {
        if self.json {
            let timeline = Timeline { chat: &run.name, turns: lines };
            writeln!(out, "{}", serde_json::to_string(&timeline)?)?;
            return Ok(());
        }
        writeln!(out, "{}: {} turns", run.name, lines.len())?;
        for line in lines {
            let fired: Vec<&str> = line.fired.iter().map(|one| one.title.as_str()).collect();
            let mut text = if fired.is_empty() { "-".to_owned() } else { fired.join(", ") };
            if !line.cut.is_empty() {
                let cut: Vec<&str> = line.cut.iter().map(|one| one.title.as_str()).collect();
                text = format!("{text}; no room for {}", cut.join(", "));
            }
            let tokens = format!("{}/{}", line.tokens, line.limit);
            writeln!(out, "{:>6}  {tokens:>11}  {text}", line.at)?;
        }
        Ok(())
    }
}
