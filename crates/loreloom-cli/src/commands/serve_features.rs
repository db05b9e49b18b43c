//! Which connections do what from this start on: as the configuration says, and what was set
//! through the API instead.
//!
//! A configuration that cannot be used stops the start. What was set through the API does not:
//! its key may be gone while nobody is there, and the stories must go on. It is told where it
//! was set.

use std::path::Path;

use loreloom_core::ids::TenantId;
use loreloom_memory::ports::{Desk, StoreError};
use loreloom_server::{Feature, FeatureChoice, Features, OwnConnection, Routing, Started};

use crate::config::{Config, ForAll, Opened};

/// Connections and features of a start.
pub(super) struct AtStart {
    /// The connections of the configuration.
    pub(super) opened: Vec<Opened>,
    /// Those of the API that features ask.
    own: Vec<Opened>,
    /// What features ask.
    pub(super) features: Features,
    /// What is told about it.
    pub(super) started: Started,
}

impl AtStart {
    /// What a store and a configuration come to.
    pub(super) async fn read(
        desk: &dyn Desk,
        config: &Config,
        opened: Vec<Opened>,
        for_all: &ForAll,
    ) -> Result<Self, StoreError> {
        let tenant = TenantId::local();
        let own = OwnConnection::all(desk, &tenant).await?;
        let set = Routing::read(desk, &tenant).await?.routing.features;
        let configured = config.features.chosen();
        let features = set.over(&configured);
        let started = Started { running: features.clone(), configured, own, problems: Vec::new() };
        let mut start = Self { opened, own: Vec::new(), features, started };
        for feature in Feature::AT_START {
            let Some(choice) = set.of(feature) else { continue };
            if let Err(error) = start.prepare(feature, choice, &config.folder, for_all) {
                start.fails(feature, &error);
            }
        }
        Ok(start)
    }

    /// Opens what a feature of the API asks.
    fn prepare(
        &mut self,
        feature: Feature,
        choice: &FeatureChoice,
        folder: &Path,
        for_all: &ForAll,
    ) -> anyhow::Result<()> {
        let name = choice.connection();
        if self.find(choice).is_none() {
            let known = self.started.own.iter().find(|one| one.name == *name);
            let one = known.ok_or_else(|| anyhow::anyhow!("there is no connection `{name}`"))?;
            if let Some(problem) = &one.problem {
                anyhow::bail!("connection `{name}`: {problem}");
            }
            let opened = Opened::within(name.as_str(), &one.settings, folder, one.reach)?;
            self.own.push(for_all.over(opened));
        }
        if feature != Feature::Embedder {
            self.asked(choice)?.model(choice.model())?;
        }
        Ok(())
    }

    /// A feature of the API cannot be used: the server starts without.
    pub(super) fn fails(&mut self, feature: Feature, error: &anyhow::Error) {
        tracing::warn!(%feature, error = format!("{error:#}"), "a feature cannot be used");
        self.started.problems.push(format!("`{feature}` does not work: {error:#}"));
        for features in [&mut self.features, &mut self.started.running] {
            *features.of_mut(feature) = None;
        }
    }

    /// Whether the embedder was set through the API.
    pub(super) fn is_own_embedder(&self) -> bool {
        self.features.embedder != self.started.configured.embedder
    }

    fn find(&self, choice: &FeatureChoice) -> Option<&Opened> {
        let mut all = self.opened.iter().chain(&self.own);
        all.find(|one| one.name == choice.connection().as_str())
    }

    /// The connection that a feature asks.
    pub(super) fn asked(&self, choice: &FeatureChoice) -> anyhow::Result<&Opened> {
        let name = choice.connection();
        self.find(choice).ok_or_else(|| anyhow::anyhow!("there is no connection `{name}`"))
    }
}
