//! A chat's current path, and what was woven in at each message.

use std::io::Write;

use clap::Args;
use loreloom_core::{
    chat::{GenerationType, Message},
    ids::TenantId,
    place::Injection,
    report::{BudgetUse, Outcome, Verdict},
    units::Tokens,
};
use loreloom_ports::{StoryStore, TurnRecord, TurnSummary};
use serde::Serialize;

use super::serve::runtime;
use crate::{
    store::StoreArguments,
    stored::{self, speaker},
};

/// Show a chat's current path and what was woven in at each message.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The chat
    #[arg(value_name = "CHAT")]
    chat: String,

    /// Show only this message, with the texts that were woven in
    #[arg(long, value_name = "MESSAGE")]
    at: Option<usize>,

    /// Print one JSON object for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

/// A message and its turns.
#[derive(Serialize)]
struct ShownMessage {
    number: usize,
    #[serde(flatten)]
    message: Message,
    turns: Vec<ShownTurn>,
}

/// A turn computed on a message.
#[derive(Serialize)]
struct ShownTurn {
    #[serde(flatten)]
    summary: TurnSummary,
    woven: Vec<Injection>,
    titles: Vec<String>,
    /// Texts of earlier turns that stay, for the prompt cache.
    lingering: Vec<String>,
    budgets: Vec<BudgetUse>,
}

#[derive(Serialize)]
struct Shown {
    chat: String,
    title: String,
    messages: Vec<ShownMessage>,
}

impl Show {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let shown =
            runtime()?.block_on(async { self.read(self.store.open().await?.as_ref()).await })?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&shown)?)?;
            return Ok(());
        }
        for message in &shown.messages {
            message.print(out, self.at.is_some())?;
        }
        Ok(())
    }

    async fn read(&self, store: &dyn StoryStore) -> anyhow::Result<Shown> {
        let chat = stored::read(store, &self.chat).await?;
        if let Some(at) = self.at {
            stored::message(&chat, at)?;
        }
        let mut messages = Vec::new();
        for (number, node) in (1..).zip(&chat.nodes) {
            if self.at.is_some_and(|at| at != number) {
                continue;
            }
            let mut turns = Vec::new();
            for summary in chat.turns_at(node.prefix) {
                let record = chat.turn(store, &TenantId::local(), summary.id).await?;
                turns.push(ShownTurn::of(summary.clone(), record));
            }
            messages.push(ShownMessage { number, message: node.message.clone(), turns });
        }
        let (chat, title) = (chat.record.id.0, chat.record.title);
        Ok(Shown { chat, title, messages })
    }
}

impl ShownTurn {
    fn of(summary: TurnSummary, record: TurnRecord) -> Self {
        let titles = |is_one: fn(&Verdict) -> bool| {
            let verdicts = record.report.verdicts.iter().filter(|verdict| is_one(verdict));
            verdicts.map(|verdict| verdict.title.clone()).collect()
        };
        Self {
            summary,
            titles: titles(|verdict| matches!(verdict.outcome, Outcome::Activated { .. })),
            lingering: titles(Verdict::lingers),
            woven: record.injections,
            budgets: record.report.budgets,
        }
    }
}

impl ShownMessage {
    fn print(&self, out: &mut dyn Write, whole: bool) -> anyhow::Result<()> {
        let hidden = if self.message.hidden { " (hidden)" } else { "" };
        writeln!(out, "{} {}{hidden}\n{}", self.number, speaker(&self.message), self.message.text)?;
        for turn in &self.turns {
            let (id, kind) = (turn.summary.id.0, turn.summary.generation.as_str());
            let woven = match turn.titles.as_slice() {
                // What people or the model noted between two turns weaves nothing in.
                [] if turn.summary.generation == GenerationType::Edit => "noted".to_owned(),
                [] => "nothing".to_owned(),
                titles => titles.join(", "),
            };
            let used: Tokens = turn.budgets.iter().map(|budget| budget.used).sum();
            let limit: Tokens = turn.budgets.iter().map(|budget| budget.limit).sum();
            let used = match turn.budgets.as_slice() {
                [] => String::new(),
                _ => format!(" ({used} of {limit} tokens)"),
            };
            let lingering = match turn.lingering.as_slice() {
                [] => String::new(),
                titles => format!("; still there: {}", titles.join(", ")),
            };
            writeln!(out, "  turn {id}, {kind}: {woven}{used}{lingering}")?;
            for injection in turn.woven.iter().filter(|_| whole) {
                writeln!(out, "    {}", injection.text.replace('\n', "\n    "))?;
            }
        }
        writeln!(out)?;
        Ok(())
    }
}
