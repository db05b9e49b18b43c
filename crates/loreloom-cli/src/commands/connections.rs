//! The model servers of the configuration.

use std::io::Write;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use loreloom_core::ids::TenantId;
use loreloom_llm::connection::Address;
use loreloom_ports::{Finding, StepOutcome, StoreError};
use loreloom_server::{
    ConnectionKind, ConnectionSettings, FeatureChoice, KeptRouting, KeySource, OwnConnection,
    RouteSetting, Routing, ServerUrl,
};
use serde_json::json;

use super::serve::runtime;
use crate::{
    config::{Config, ConfigArguments, Opened},
    store::StoreArguments,
};

/// List the model servers that requests go to, or test those of the configuration.
#[derive(Debug, Args)]
pub(crate) struct Connections {
    #[command(subcommand)]
    what: ConnectionsCommand,

    #[command(flatten)]
    store: StoreArguments,

    #[command(flatten)]
    config: ConfigArguments,

    /// Print JSON for scripts
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ConnectionsCommand {
    /// List them, and which models go where
    ///
    /// Those that were set up through the API or the web page are in the store.
    List,
    /// Test them step by step, and say what to fix
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

    /// The protocol of that server [default: openai]
    #[arg(long, value_parser = ["openai", "ollama"], requires = "url")]
    kind: Option<String>,

    /// The environment variable that holds that server's key
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    key_env: Option<String>,

    /// The model of that server to ask
    #[arg(long, value_name = "NAME", requires = "url")]
    model: Option<String>,
}

impl Test {
    /// The connections to try, by name.
    fn wanted(&self, config: &Config) -> anyhow::Result<Vec<(String, ConnectionSettings)>> {
        if let Some(url) = &self.url {
            // All errors are shown before it is used.
            let _checked = Address::parse(url)?;
            let kind = self.kind.as_deref().map(str::parse::<ConnectionKind>).transpose()?;
            let one = ConnectionSettings {
                kind: kind.unwrap_or_default(),
                url: Some(ServerUrl::parse(url)?),
                key: self.key_env.clone().map(KeySource::Environment),
                model: self.model.clone(),
                ..ConnectionSettings::default()
            };
            return Ok(vec![("url".to_owned(), one)]);
        }
        let wanted = |one: &str| self.name.as_deref().is_none_or(|name| name == one);
        let all = config.connections.iter().filter(|(name, _)| wanted(name));
        let all: Vec<_> = all.map(|(name, one)| (name.clone(), one.clone())).collect();
        if let Some(name) = &self.name {
            anyhow::ensure!(
                !all.is_empty(),
                "the configuration has no connection `{name}`; what was set up while a server ran is tried out by that server: *Settings* → *Models*, or `POST /api/v1/connections/test`"
            );
        }
        anyhow::ensure!(!all.is_empty(), "the configuration has no connections");
        Ok(all)
    }
}

impl Connections {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let config = self.config.read()?;
        match &self.what {
            ConnectionsCommand::List => {
                let own = own(&self.store.under(&config))?;
                Listing { config: &config, own }.print(out, self.json)
            }
            ConnectionsCommand::Test(test) => self.test(out, &config, test),
        }
    }

    fn test(&self, out: &mut dyn Write, config: &Config, test: &Test) -> anyhow::Result<()> {
        let mut failed = Vec::new();
        for (name, connection) in test.wanted(config)? {
            let opened = Opened::open(&name, &connection, &config.folder)?;
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
        let (tell, results) = std::sync::mpsc::channel();
        let diagnosis = opened.diagnosis();
        let runtime = runtime()?;
        let trying = runtime.spawn(async move {
            // Nobody listens once printing has failed.
            diagnosis.diagnose(&mut |finding| drop(tell.send(finding))).await;
        });
        let mut findings = Vec::new();
        for finding in results {
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

/// Connections that were added through the API; none if there is no store yet.
fn own(store: &StoreArguments) -> anyhow::Result<(Vec<OwnConnection>, Routing)> {
    runtime()?.block_on(async {
        let store = match store.open().await {
            Ok(store) => store,
            Err(error) => {
                let is_new = matches!(error.downcast_ref(), Some(StoreError::Missing { .. }));
                if !is_new {
                    let error = format!("{error:#}");
                    tracing::warn!(error, "connections of the API are left out");
                }
                return Ok((Vec::new(), Routing::default()));
            }
        };
        let tenant = TenantId::local();
        let own = OwnConnection::all(store.as_ref(), &tenant).await?;
        let KeptRouting { routing, problem } = Routing::read(store.as_ref(), &tenant).await?;
        if let Some(problem) = problem {
            tracing::warn!("{problem}");
        }
        Ok((own, routing))
    })
}

/// The connections of the configuration and of the API.
struct Listing<'a> {
    config: &'a Config,
    own: (Vec<OwnConnection>, Routing),
}

impl Listing<'_> {
    /// The connection that requests go to which no route names.
    fn writer(&self) -> Option<String> {
        let (own, configured) = (&self.own.1.features.writer, &self.config.features.writer);
        let writer = own.as_ref().or(configured.as_ref());
        let writer = writer.map(|writer| writer.connection().to_string());
        writer.or_else(|| self.config.connections.keys().next().cloned())
    }

    fn print(&self, out: &mut dyn Write, as_json: bool) -> anyhow::Result<()> {
        let config = self.config;
        if !as_json && config.connections.is_empty() && self.own.0.is_empty() {
            writeln!(out, "the configuration has no connections: `serve` tells stories by itself")?;
            return Ok(());
        }
        for (name, connection) in &config.connections {
            self.print_one(out, as_json, (name, connection, "configuration"))?;
        }
        for one in &self.own.0 {
            if let Some(problem) = &one.problem {
                tracing::warn!(connection = %one.name, problem, "a connection cannot be used");
                continue;
            }
            self.print_one(out, as_json, (one.name.as_str(), &one.settings, "api"))?;
        }
        Ok(())
    }

    fn print_one(
        &self,
        out: &mut dyn Write,
        as_json: bool,
        (name, connection, source): (&str, &ConnectionSettings, &str),
    ) -> anyhow::Result<()> {
        let routes = self.own.1.routes.iter().chain(&self.config.routes);
        let leads_here = |route: &&RouteSetting| route.connection.as_str() == name;
        let mut models: Vec<&str> =
            routes.filter(leads_here).map(|route| route.models.as_str()).collect();
        if self.writer().as_deref() == Some(name) {
            models.push("all others");
        }
        let chosen = self.own.1.features.over(&self.config.features.chosen());
        let is_asked = |(_, choice): &(_, &FeatureChoice)| choice.connection().as_str() == name;
        let features: Vec<&str> =
            chosen.all().filter(is_asked).map(|(feature, _)| feature.name()).collect();
        let url = match &connection.url {
            Some(url) => Address::parse(url.as_str())?.shown().to_owned(),
            None => "built in".to_owned(),
        };
        let (kind, key) = (connection.kind.as_str(), connection.key_shown());
        if as_json {
            let line = json!({
                "name": name, "source": source, "kind": kind, "url": url, "key": key,
                "model": connection.model, "context": connection.context,
                "models": models, "features": features,
            });
            writeln!(out, "{line}").context("standard output")?;
            return Ok(());
        }
        let set_up = if source == "api" { ", set up through the API" } else { "" };
        writeln!(out, "{name}: {kind} at {url}{set_up}")?;
        writeln!(out, "  key: {key}")?;
        if !models.is_empty() {
            writeln!(out, "  models: {}", models.join(", "))?;
        }
        if !features.is_empty() {
            writeln!(out, "  does: {}", features.join(", "))?;
        }
        Ok(())
    }
}
