//! Trying out whether a model can do memory's work.

use std::io::Write;

use clap::Args;
use loreloom_memory::model_test;

use super::serve::runtime;
use crate::model::ModelArguments;

/// Ask a model the questions of five tiers about three fixed scenes, each alone and all together,
/// and show its answers, what was read from them and whether that is enough. Nothing is stored.
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
        let tried = runtime()?.block_on(model_test::run(model.as_ref()))?;
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&tried)?)?);
        }
        for one in &tried {
            let word = if one.finding.passed { "good" } else { "poor" };
            let trial = serde_json::to_value(one.trial)?;
            writeln!(out, "{}: {word} ({})", trial.as_str().unwrap_or("-"), one.finding.hint)?;
            for line in &one.finding.lines {
                writeln!(out, "  read: {line}")?;
            }
            for line in one.reply.lines() {
                writeln!(out, "  | {line}")?;
            }
        }
        Ok(())
    }
}
