//! The model servers of the configuration.

use std::io::Write;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_llm::connection::Address;
use loreloom_memory::ports::{Finding, StepOutcome};
use serde_json::json;

use super::serve::runtime;
use crate::config::{Config, ConfigArguments, ConnectionConfig, KeySource, Kind, Opened};

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
    Test(Test),
}

/// What to try out.
#[derive(Debug, Args)]
struct Test {
    /// The connection; all of them without one
    name: Option<String>,

    /// The address of a server that is not in the configuration
    #[arg(long, value_name = "URL", conflicts_with = "name")]
    url: Option<String>,

    /// How that server is spoken to [default: openai]
    #[arg(long, value_enum, requires = "url")]
    kind: Option<Kind>,

    /// The environment variable that holds that server's key
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    key_env: Option<String>,

    /// The model of that server to ask
    #[arg(long, value_name = "NAME", requires = "url")]
    model: Option<String>,
}

impl Test {
    /// The connections to try, by name.
    fn wanted(&self, config: &Config) -> anyhow::Result<Vec<(String, ConnectionConfig)>> {
        if let Some(url) = &self.url {
            let one = ConnectionConfig {
                kind: self.kind.unwrap_or_default(),
                url: Some(Address::parse(url)?),
                key: self.key_env.clone().map(KeySource::Environment),
                model: self.model.clone(),
                ..ConnectionConfig::default()
            };
            anyhow::ensure!(one.kind != Kind::Offline, "the kind `offline` has no `url`");
            return Ok(vec![("url".to_owned(), one)]);
        }
        let wanted = |one: &str| self.name.as_deref().is_none_or(|name| name == one);
        let all = config.connections.iter().filter(|(name, _)| wanted(name));
        let all: Vec<_> = all.map(|(name, one)| (name.clone(), one.clone())).collect();
        if let Some(name) = &self.name {
            anyhow::ensure!(!all.is_empty(), "there is no connection `{name}`");
        }
        anyhow::ensure!(!all.is_empty(), "the configuration has no connections");
        Ok(all)
    }
}

impl Connections {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let config = self.config.read()?;
        match &self.what {
            What::List => list(out, &config, self.json),
            What::Test(test) => self.test(out, &config, test),
        }
    }

    fn test(&self, out: &mut dyn Write, config: &Config, test: &Test) -> anyhow::Result<()> {
        let mut failed = Vec::new();
        for (name, connection) in test.wanted(config)? {
            let opened = connection.open(&name, &config.folder)?;
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
