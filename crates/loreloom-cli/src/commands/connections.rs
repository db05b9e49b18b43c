//! The model servers of the configuration.

use std::io::Write;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_memory::ports::{Finding, StepOutcome};
use serde_json::json;

use super::serve::runtime;
use crate::config::{Config, ConfigArguments, Opened};

/// List the model servers of the configuration, or try them out.
#[derive(Debug, Args)]
pub(crate) struct Connections {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    config: ConfigArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List them, and which models go where
    List,
    /// Try them out step by step, and say what to mend
    ///
    /// A test asks each server for a list of its models and for one word.
    Test {
        /// The connection; all of them without one
        name: Option<String>,
    },
}

impl Connections {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let config = self.config.read()?;
        match &self.what {
            What::List => list(out, &config, self.json),
            What::Test { name } => self.test(out, &config, name.as_deref()),
        }
    }

    fn test(&self, out: &mut dyn Write, config: &Config, name: Option<&str>) -> anyhow::Result<()> {
        let wanted = |one: &str| name.is_none_or(|name| name == one);
        let names: Vec<&String> = config.connections.keys().filter(|one| wanted(one)).collect();
        if let Some(name) = name {
            anyhow::ensure!(!names.is_empty(), "there is no connection `{name}`");
        }
        anyhow::ensure!(!names.is_empty(), "the configuration has no connections");
        let mut failed = Vec::new();
        for name in names {
            let opened = config.connections[name].open(name, &config.folder)?;
            if self.try_out(out, &opened)? {
                failed.push(format!("`{name}`"));
            }
        }
        anyhow::ensure!(failed.is_empty(), "not usable: {}", failed.join(", "));
        Ok(())
    }

    /// Tries a connection out; returns whether it failed.
    fn try_out(&self, out: &mut dyn Write, opened: &Opened) -> anyhow::Result<bool> {
        if !self.json {
            writeln!(out, "{} ({})", opened.name, opened.shown())?;
        }
        // Printing happens outside: what writes is not for other threads.
        let (tell, told) = std::sync::mpsc::channel();
        let diagnosis = opened.diagnosis();
        let runtime = runtime()?;
        let trying = runtime.spawn(async move {
            // Nobody listens once printing has failed.
            diagnosis.diagnose(&mut |finding| drop(tell.send(finding))).await;
        });
        let mut findings = Vec::new();
        for finding in told {
            if !self.json {
                print(out, &finding)?;
                out.flush()?;
            }
            findings.push(finding);
        }
        runtime.block_on(trying)?;
        if self.json {
            let line = json!({ "connection": opened.name, "findings": findings });
            writeln!(out, "{line}")?;
        }
        Ok(findings.iter().any(|finding| finding.outcome == StepOutcome::Failed))
    }
}

fn print(out: &mut dyn Write, finding: &Finding) -> std::io::Result<()> {
    let mark = match finding.outcome {
        StepOutcome::Passed => "ok",
        StepOutcome::Doubtful => "?",
        StepOutcome::Skipped => "-",
        StepOutcome::Failed => "FAILED",
    };
    writeln!(out, "  {:<9} {mark:<6} {}", finding.step.as_str(), finding.found)?;
    match &finding.fix {
        Some(fix) => writeln!(out, "  {:<9} {:<6} {fix}", "", "→"),
        None => Ok(()),
    }
}

fn list(out: &mut dyn Write, config: &Config, as_json: bool) -> anyhow::Result<()> {
    let writer = config.features.writer.as_ref().map(|writer| writer.connection().to_owned());
    let writer = writer.or_else(|| config.connections.keys().next().cloned());
    if !as_json && config.connections.is_empty() {
        writeln!(out, "the configuration has no connections: `serve` tells stories by itself")?;
        return Ok(());
    }
    for (name, connection) in &config.connections {
        let routes = config.routes.iter().filter(|route| route.connection == *name);
        let mut models: Vec<&str> = routes.map(|route| route.models.as_str()).collect();
        if writer.as_ref() == Some(name) {
            models.push("all others");
        }
        let features: Vec<&str> = config
            .features
            .all()
            .filter(|(_, feature)| feature.connection() == name)
            .map(|(feature, _)| feature)
            .collect();
        let url = connection.url.as_ref().map_or("built in", |url| url.shown());
        let key = connection.key_shown();
        if as_json {
            let line = json!({
                "name": name, "kind": connection.kind.as_str(), "url": url, "key": key,
                "model": connection.model, "context": connection.context,
                "models": models, "features": features,
            });
            writeln!(out, "{line}").context("standard output")?;
            continue;
        }
        writeln!(out, "{name}: {} at {url}", connection.kind.as_str())?;
        writeln!(out, "  key: {key}")?;
        if !models.is_empty() {
            writeln!(out, "  models: {}", models.join(", "))?;
        }
        if !features.is_empty() {
            writeln!(out, "  does: {}", features.join(", "))?;
        }
    }
    Ok(())
}
