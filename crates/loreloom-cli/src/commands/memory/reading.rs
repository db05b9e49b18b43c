//! Finding, retelling and catching up.

use std::io::Write;

use anyhow::Context as _;
use clap::Args;
use loreloom_core::ids::ChatId;
use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::{
    cycle::Backend,
    service::{FoundMemory, Options, SearchQuery, Who},
};
use loreloom_ports::JobOutcome;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::MemoryContext;
use crate::{model::ModelArguments, stored::excerpt};

/// Find passages of a chat, and memories, by what they say. No model is asked.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// What to look for
    text: String,

    /// The chat
    #[arg(long, value_name = "CHAT")]
    chat: String,

    /// Also what this character remembers
    #[arg(long, value_name = "CHARACTER")]
    character: Option<String>,

    /// How many
    #[arg(long, default_value_t = 10)]
    most: usize,

    /// How like it a memory must be, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    min: f64,
}

impl Search {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let chat = ChatId::from(self.chat.as_str());
        let path = context.path(&chat).await?;
        let who = Who::named(self.character.as_deref().unwrap_or_default());
        anyhow::ensure!(
            (0.0..=1.0).contains(&self.min),
            "`--min` must be from 0 to 1, found {}",
            self.min
        );
        let asked = SearchQuery { text: &self.text, most: self.most, least: self.min };
        let found =
            context.service.search.search(&context.tenant, &chat, &path, &who, asked).await?;
        if context.json {
            let passages: Vec<Value> = found
                .passages
                .iter()
                .map(|hit| {
                    json!({
                        "message": hit.at + 1,
                        "score": hit.score,
                        "found_by": hit.found_by,
                        "channels": hit.channels,
                        "shared": hit.shared,
                        "text": hit.text,
                    })
                })
                .collect();
            let memories: Vec<Value> = found
                .memories
                .iter()
                .map(|FoundMemory { memory, score }| {
                    json!({ "id": memory.id, "score": score, "text": memory.content })
                })
                .collect();
            let whole = json!({ "passages": passages, "memories": memories });
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?);
        }
        for FoundMemory { memory, score } in found.memories {
            writeln!(out, "memory {:<5.2} {}", score, excerpt(&memory.content, 90))?;
        }
        for hit in found.passages {
            let message = &path[hit.at].message;
            let name = message.name.as_deref().unwrap_or_else(|| message.role.as_str());
            let text = excerpt(&hit.text, 80);
            writeln!(out, "#{:<6} {:<5.2} {name}: {text}", hit.at + 1, hit.score)?;
        }
        Ok(())
    }
}

/// Summarise what happened before, for somebody who was away. Asks a model.
#[derive(Debug, Args)]
pub(super) struct Recap {
    /// The chat
    chat: String,

    /// How many of the newest messages it is made from
    #[arg(long, default_value_t = 40)]
    messages: usize,

    /// Only if nobody has written for some hours (setting `recap_threshold_hours`)
    #[arg(long)]
    if_away: bool,

    #[command(flatten)]
    model: ModelArguments,
}

impl Recap {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let chat = ChatId::from(self.chat.as_str());
        context.path(&chat).await?;
        let away = context.service.recaps.away(&context.tenant, &chat).await?;
        if self.if_away && away.is_none() {
            return Ok(());
        }
        let model = self.model.open()?;
        let recap = context
            .service
            .recaps
            .recap(&context.tenant, &chat, self.messages, model.as_ref())
            .await?;
        let recap = recap.context("the model had nothing to tell")?;
        if context.json {
            return Ok(writeln!(out, "{}", json!({ "recap": recap, "away_hours": away }))?);
        }
        Ok(writeln!(out, "{recap}")?)
    }
}

/// Read an existing chat piece by piece and remember it. It can be stopped and
/// goes on where it was.
#[derive(Debug, Args)]
pub(super) struct CatchUp {
    /// The chat
    chat: String,

    /// Whose memory it becomes: the character's name
    #[arg(long, value_name = "CHARACTER")]
    character: String,

    #[command(flatten)]
    model: ModelArguments,
}

impl CatchUp {
    pub(super) async fn run(
        self,
        context: &MemoryContext,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let options =
            Options { model: Some(self.model.used()), ..Options::clone(&context.service.options) };
        let context = context.with(options);
        let chat = ChatId::from(self.chat.as_str());
        context.path(&chat).await?;
        let speakers = [Who::named(&self.character)];
        let job = context.service.planner.catch_up(&context.tenant, &chat, &speakers).await?;
        let job = job.context("no model is set")?;
        let model = self.model.open()?;
        let backend = Backend { model: model.as_ref(), embedder: Some(StaticEmbedder::embedded()) };
        let (_stop, mut stop) = watch::channel(false);
        let worker = format!("cli-{}", std::process::id());
        while let Some(ran) =
            context.service.worker.run_next_job(&worker, backend, &mut stop).await?
        {
            if ran.job != job {
                continue;
            }
            match ran.outcome {
                Some(JobOutcome::Done) => return Ok(writeln!(out, "job {job} is done")?),
                Some(outcome) => {
                    anyhow::bail!("job {job}: {}", outcome.error().unwrap_or("it did not end"))
                }
                None => anyhow::bail!("another worker has job {job}"),
            }
        }
        anyhow::bail!("job {job} waits: see `loreloom jobs`")
    }
}
