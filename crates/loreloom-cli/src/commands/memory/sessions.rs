//! Sessions that leave no trace, and what is asked for at once.

use std::io::Write;

use clap::{Args, ValueEnum};
use loreloom_core::ids::ChatId;
use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::{
    cycle::{Backend, Demand},
    service::{Options, Who},
};
use serde_json::json;

use super::MemoryContext;
use crate::model::ModelArguments;

/// What to do with a read-only session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Begin one: nothing is remembered until it ends
    Begin,
    /// End it and extract memories from it
    Keep,
    /// End it and go back to where it began
    Drop,
    /// Say whether one is open
    Show,
}

/// Try something: a session from which nothing is remembered, unless it is kept.
#[derive(Debug, Args)]
pub(super) struct Scratch {
    /// What to do
    #[arg(value_enum)]
    step: Step,

    /// The chat
    chat: String,

    /// Whose memory it becomes when it is kept: the character's name
    #[arg(long, value_name = "CHARACTER", required_if_eq("step", "keep"))]
    character: Option<String>,

    #[command(flatten)]
    model: ModelArguments,
}

impl Scratch {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (tenant, chat) = (&context.tenant, ChatId::from(self.chat.as_str()));
        let path = context.path(&chat).await?;
        match self.step {
            Step::Begin => {
                context.service.read_only.begin(tenant, &chat, &path).await?;
                writeln!(out, "{chat}: nothing is remembered from here on")?;
            }
            Step::Keep => {
                let model = Some(self.model.used());
                let options = Options { model, ..Options::clone(&context.service.options) };
                let context = context.with(options);
                let speakers = [Who::named(self.character.as_deref().unwrap_or_default())];
                context.service.read_only.keep(tenant, &chat, &speakers).await?;
                writeln!(out, "{chat}: a job reads the chat; see `loreloom jobs`")?;
            }
            Step::Drop => {
                context.service.read_only.discard(tenant, &chat).await?;
                writeln!(out, "{chat}: the story is where the session began")?;
            }
            Step::Show => {
                let open = context.service.read_only.current(tenant, &chat).await?.is_some();
                writeln!(out, "{chat}: {}", if open { "open" } else { "none" })?;
            }
        }
        Ok(())
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SessionCommand {
    /// The story so far
    Summary,
    /// The character's history
    Canon,
    /// The character's standing
    Profile,
    /// What the newest reply contradicts
    Check,
    /// The same, with a note for the next reply
    Repair,
    /// All that is drawn from the newest messages
    Extract,
    /// Long-term memories of the newest messages
    LongTerm,
    /// Session memories of the newest messages
    Session,
    /// Threads of the newest messages
    Arcs,
    /// State cards of the newest messages
    Ledger,
}

/// Ask a model at once for a summary, canon, a profile, a check of the newest reply, or the
/// memories of the newest messages.
#[derive(Debug, Args)]
pub(super) struct Now {
    /// What
    #[arg(value_enum)]
    what: SessionCommand,

    /// The chat
    chat: String,

    /// The character's name
    #[arg(long, value_name = "CHARACTER")]
    character: String,

    #[command(flatten)]
    model: ModelArguments,
}

impl Now {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let options =
            Options { model: Some(self.model.used()), ..Options::clone(&context.service.options) };
        let context = context.with(options);
        let demand = match self.what {
            SessionCommand::Summary => Demand::Summary,
            SessionCommand::Canon => Demand::Canon,
            SessionCommand::Profile => Demand::Profile,
            SessionCommand::Check => Demand::Check,
            SessionCommand::Repair => Demand::Repair,
            SessionCommand::Extract => Demand::Extract,
            SessionCommand::LongTerm => Demand::LongTerm,
            SessionCommand::Session => Demand::Session,
            SessionCommand::Arcs => Demand::Arcs,
            SessionCommand::Ledger => Demand::Ledger,
        };
        let model = self.model.open()?;
        let embedder = StaticEmbedder::embedded();
        let backend = Backend { model: model.as_ref(), embedder: Some(&embedder) };
        let (chat, who) = (ChatId::from(self.chat.as_str()), Who::named(&self.character));
        let done =
            context.service.demands.run(&context.tenant, &chat, &who, demand, backend).await?;
        if context.json {
            let whole = json!({ "write": done.write, "contradictions": done.contradictions });
            return Ok(writeln!(out, "{whole}")?);
        }
        for found in &done.contradictions {
            writeln!(out, "contradiction: {found}")?;
        }
        match done.write {
            Some(write) => context.wrote(out, "done", &write),
            None => Ok(writeln!(out, "nothing changed")?),
        }
    }
}
