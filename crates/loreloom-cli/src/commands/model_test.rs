//! Trying out whether a model can do memory's work.

use std::io::Write;

use clap::Args;
use loreloom_core::{chat::Role, prompt::PromptMessage};
use loreloom_memory::{model_test::Trial, ports::ChatRequest};
use serde_json::{Value, json};

use super::serve::runtime;
use crate::model::ModelArguments;

/// Ask a model the questions of five tiers about three fixed scenes, and show its answers, what
/// was read out of them and whether that is enough. Nothing is stored.
#[derive(Debug, Args)]
pub(crate) struct ModelTest {
    #[command(flatten)]
    model: ModelArguments,

    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

impl ModelTest {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let model = self.model.open()?;
        let found = runtime()?.block_on(async {
            let mut found: Vec<Value> = Vec::new();
            for trial in Trial::ALL {
                let question = trial.question();
                let request = ChatRequest {
                    messages: vec![PromptMessage {
                        role: Role::User,
                        name: None,
                        content: question.prompt.clone(),
                    }],
                    max_tokens: Some(question.max_tokens),
                    temperature: Some(0.0),
                    schema: None,
                };
                let reply = model.complete(&request).await?.text;
                let finding = trial.judge(&reply);
                found.push(json!({ "trial": trial, "reply": reply, "finding": finding }));
            }
            anyhow::Ok(found)
        })?;
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?);
        }
        for one in &found {
            let passed = one["finding"]["passed"].as_bool().unwrap_or(false);
            let word = if passed { "good" } else { "poor" };
            let (trial, hint) = (one["trial"].as_str(), one["finding"]["hint"].as_str());
            writeln!(out, "{}: {word} ({})", trial.unwrap_or("-"), hint.unwrap_or("-"))?;
            for line in one["finding"]["lines"].as_array().into_iter().flatten() {
                writeln!(out, "  read: {}", line.as_str().unwrap_or_default())?;
            }
            for line in one["reply"].as_str().unwrap_or_default().lines() {
                writeln!(out, "  | {line}")?;
            }
        }
        Ok(())
    }
}
