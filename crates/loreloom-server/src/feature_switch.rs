//! Switches the features that ask a model when settings change.
//!
//! A running question keeps its model; the next one uses the new model. A new embedder embeds all
//! lore in the background, and until then entries are found with the old one. Stories are embedded
//! when they are played. A setting from the
//! API that cannot be used stops nothing: stories go on without the feature, and the settings show
//! the error.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use loreloom_core::{ids::TenantId, units::Tokens};
use loreloom_memory::service::MemoryServices;
use loreloom_ports::Embedder;
use loreloom_settings::FeatureSection;
use tokio::sync::{Mutex, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    announcements::Announcements,
    connections::{Connection, Connections},
    events::ServerEvent,
    features::{Feature, FeatureChoice, Features},
    lore_service::{EntryFinder, LoreService},
    questions::NoEmbedder,
    turn::Choosing,
};

/// What a server was started with, besides its connections.
#[derive(Clone, Debug)]
pub struct Started {
    /// What the configuration says.
    pub configured: Features,
    /// The features whose model was named at start, by the option that did: nothing that is
    /// set elsewhere changes them.
    pub fixed: Vec<(Feature, &'static str)>,
    /// How long a turn waits for an embedder that is asked over the network.
    pub patience: Duration,
}

impl Default for Started {
    fn default() -> Self {
        let (configured, fixed) = (Features::default(), Vec::new());
        let patience = FeatureSection::default().embedder_timeout_ms;
        Self { configured, fixed, patience: Duration::from_millis(patience) }
    }
}

/// The features as applied last.
#[derive(Default)]
pub(crate) struct LiveFeatures {
    taken: RwLock<Vec<(Feature, SwitchedFeature)>>,
    /// Signalled whenever one changes.
    changed: watch::Sender<()>,
    /// Embedders are exchanged one after the other.
    exchanging: Mutex<()>,
}

/// What was applied for a feature, and the result.
#[derive(Clone)]
struct SwitchedFeature {
    wanted: FeatureTarget,
    outcome: FeatureOutcome,
}

/// What a feature is to ask.
#[derive(Clone, Default)]
struct FeatureTarget {
    choice: Option<FeatureChoice>,
    /// Its connection, if there is one.
    connection: Option<Arc<Connection>>,
    /// Whether it comes from the configuration, not from the API.
    configured: bool,
}

impl FeatureTarget {
    /// Whether that is the same model of the same connection. One that was exchanged has its
    /// name still.
    fn is_same(&self, other: &Self) -> bool {
        let same_connection = match (&self.connection, &other.connection) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.choice == other.choice && same_connection
    }
}

#[derive(Clone)]
enum FeatureOutcome {
    /// It works, or nothing is asked.
    Works,
    /// It is being applied; meanwhile this works.
    Pending(Option<FeatureChoice>),
    /// It does not work, for this reason.
    Fails(String),
    /// Its server does not answer, for this reason. It is asked again.
    Silent(String),
}

/// A server that does not answer is asked again after this time, then after twice of it, …
const FIRST_REST: Duration = Duration::from_secs(1);
/// … and at last so often.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// The state of the features, for people.
#[derive(Debug, Default)]
pub(crate) struct FeaturesNow {
    /// What works.
    pub(crate) working: Features,
    /// What is being applied.
    pub(crate) pending: Vec<&'static str>,
    /// Why others do not work.
    pub(crate) problems: Vec<String>,
}

impl LiveFeatures {
    fn of(&self, feature: Feature) -> Option<SwitchedFeature> {
        let taken = self.taken.read().unwrap_or_else(PoisonError::into_inner);
        taken.iter().find(|(one, _)| *one == feature).map(|(_, taken)| taken.clone())
    }

    fn set(&self, feature: Feature, wanted: FeatureTarget, outcome: FeatureOutcome) {
        match &outcome {
            FeatureOutcome::Fails(reason) => {
                tracing::warn!(%feature, %reason, "a feature cannot be used");
            }
            FeatureOutcome::Silent(reason) => {
                tracing::warn!(%feature, %reason, "a feature waits for its server");
            }
            FeatureOutcome::Works | FeatureOutcome::Pending(_) => {}
        }
        let mut all = self.taken.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(one, _)| *one != feature);
        all.push((feature, SwitchedFeature { wanted, outcome }));
        drop(all);
        self.changed.send_replace(());
    }

    fn is_pending(&self) -> bool {
        let taken = self.taken.read().unwrap_or_else(PoisonError::into_inner);
        taken.iter().any(|(_, taken)| matches!(taken.outcome, FeatureOutcome::Pending(_)))
    }

    /// Waits until nothing is being applied.
    async fn settled(&self) {
        let mut changed = self.changed.subscribe();
        // The other end is here, too.
        let _ended = changed.wait_for(|()| !self.is_pending()).await;
    }
}

fn fails(feature: Feature, reason: &str) -> String {
    format!("`{feature}` does not work: {reason}")
}

/// Lets features ask the models that are set now.
pub(crate) struct FeatureSwitch {
    pub(crate) tenant: TenantId,
    pub(crate) configured: Arc<Connections>,
    pub(crate) memory: Option<Arc<MemoryServices>>,
    pub(crate) choosing: Option<Arc<Choosing>>,
    pub(crate) lore: Arc<LoreService>,
    /// The context size of models that state none.
    pub(crate) context: Tokens,
    pub(crate) announcements: Announcements,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
    pub(crate) state: LiveFeatures,
}

impl FeatureSwitch {
    /// Waits until nothing is being applied.
    pub(crate) async fn settled(&self) {
        self.state.settled().await;
    }

    /// The state of the features, with what the API set.
    pub(crate) fn now(&self, set: &Features) -> FeaturesNow {
        let mut now = FeaturesNow::default();
        let writer = set.writer.as_ref().or(self.configured.start().configured.writer.as_ref());
        now.working.writer = writer.cloned();
        // The others are the installation's: other tenants change none of them.
        if self.tenant != TenantId::local() {
            return now;
        }
        for (feature, option) in &self.configured.start().fixed {
            if set.of(*feature).is_some() {
                let wins = format!("`{option}` on the command line wins over it");
                now.problems.push(fails(*feature, &wins));
            }
        }
        for feature in Feature::ASKING {
            let Some(SwitchedFeature { wanted, outcome }) = self.state.of(feature) else {
                continue;
            };
            *now.working.of_mut(feature) = match outcome {
                FeatureOutcome::Works => wanted.choice,
                FeatureOutcome::Pending(before) => {
                    now.pending.push(feature.name());
                    before
                }
                FeatureOutcome::Fails(reason) => {
                    now.problems.push(fails(feature, &reason));
                    None
                }
                FeatureOutcome::Silent(reason) => {
                    let reason = format!("{reason}; Loreloom tries again by itself");
                    now.problems.push(fails(feature, &reason));
                    None
                }
            };
        }
        now
    }

    /// Why what the configuration says of features cannot be used. A server does not start with
    /// such a problem: the author of the file is there to repair it. An embedding server that
    /// does not answer is not such a problem: it may be started later.
    pub(crate) fn configured_problems(&self) -> Vec<String> {
        let taken = self.state.taken.read().unwrap_or_else(PoisonError::into_inner);
        let problem = |(feature, taken): &(Feature, SwitchedFeature)| match &taken.outcome {
            FeatureOutcome::Fails(reason) if taken.wanted.configured => {
                Some(format!("the feature `{feature}`: {reason}"))
            }
            FeatureOutcome::Fails(_)
            | FeatureOutcome::Works
            | FeatureOutcome::Pending(_)
            | FeatureOutcome::Silent(_) => None,
        };
        taken.iter().filter_map(problem).collect()
    }

    /// Has features ask what they are to ask now, where that is something else than before.
    pub(crate) fn take_up(self: &Arc<Self>, connections: &Connections, set: &Features) {
        if self.tenant != TenantId::local() {
            return;
        }
        let start = self.configured.start();
        let all = set.over(&start.configured);
        for feature in Feature::ASKING {
            if start.fixed.iter().any(|(fixed, _)| *fixed == feature) {
                continue;
            }
            let choice = all.of(feature).cloned();
            let connection = choice.as_ref().map(FeatureChoice::connection);
            let connection = connection.and_then(|name| connections.named(name).ok()).cloned();
            let configured = set.of(feature).is_none();
            let wanted = FeatureTarget { choice, connection, configured };
            let before = self.state.of(feature);
            let known = before.as_ref().map(|taken| taken.wanted.clone()).unwrap_or_default();
            if !known.is_same(&wanted) {
                self.take_up_feature(feature, wanted, before);
            }
        }
    }

    fn take_up_feature(
        self: &Arc<Self>,
        feature: Feature,
        wanted: FeatureTarget,
        before: Option<SwitchedFeature>,
    ) {
        let taken = match feature {
            // Every request looks the writer up.
            Feature::Writer => Ok(()),
            Feature::Extractor => self.employ_extractor(&wanted),
            Feature::Selector => self.employ_selector(&wanted),
            Feature::Embedder => return self.begin_exchange(wanted, before),
        };
        let outcome = taken.map_or_else(FeatureOutcome::Fails, |()| FeatureOutcome::Works);
        self.state.set(feature, wanted, outcome);
    }

    fn employ_extractor(&self, wanted: &FeatureTarget) -> Result<(), String> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let employed = wanted.asked().map(|asked| {
            let (connection, model) = asked?;
            let questions = connection.questions()?;
            Ok((questions.used(self.context), questions.model(model)?))
        });
        match employed {
            Some(Ok((used, model))) => memory.models.assign(used, model),
            Some(Err(reason)) => {
                memory.models.dismiss();
                return Err(reason);
            }
            None => memory.models.dismiss(),
        }
        Ok(())
    }

    fn employ_selector(&self, wanted: &FeatureTarget) -> Result<(), String> {
        let Some(choosing) = &self.choosing else { return Ok(()) };
        let model = wanted.asked().map(|asked| {
            let (connection, model) = asked?;
            connection.questions()?.model(model)
        });
        let problem = model.as_ref().and_then(|model| model.as_ref().err().cloned());
        choosing.employ(model);
        problem.map_or(Ok(()), Err)
    }

    /// Exchanges the embedder beside everything else: it has to be asked for all lore.
    fn begin_exchange(self: &Arc<Self>, wanted: FeatureTarget, before: Option<SwitchedFeature>) {
        let working = before.and_then(|taken| match taken.outcome {
            FeatureOutcome::Works => taken.wanted.choice,
            FeatureOutcome::Pending(working) => working,
            FeatureOutcome::Fails(_) | FeatureOutcome::Silent(_) => None,
        });
        self.state.set(Feature::Embedder, wanted.clone(), FeatureOutcome::Pending(working));
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.stopping.cancelled() => {}
                () = this.exchange(wanted) => {}
            }
        });
    }

    /// Exchanges the embedder. While its server does not answer, it is asked again now and then.
    async fn exchange(&self, wanted: FeatureTarget) {
        let mut rest = FIRST_REST;
        while self.try_exchange(&wanted).await {
            tokio::time::sleep(rest).await;
            rest = (2 * rest).min(LONGEST_REST);
        }
    }

    /// Returns whether to try again.
    async fn try_exchange(&self, wanted: &FeatureTarget) -> bool {
        let features = &self.state;
        let _one_at_a_time = features.exchanging.lock().await;
        let now = || features.of(Feature::Embedder).filter(|taken| taken.wanted.is_same(wanted));
        // Somebody may have thought better of it, and has begun an exchange of his own.
        let Some(before) = now() else { return false };
        let was_silent = matches!(before.outcome, FeatureOutcome::Silent(_));
        let outcome = match self.find_with(wanted).await {
            Ok(()) => FeatureOutcome::Works,
            // Entries and passages are found without it already.
            Err(NoEmbedder::Silent(_)) if was_silent => return true,
            Err(problem) => {
                self.recall_with(None);
                if let Err(error) = self.lore.find_with_own().await {
                    tracing::warn!(%error, "the embedder stays as it was");
                }
                match problem {
                    NoEmbedder::Wrong(reason) => FeatureOutcome::Fails(reason),
                    NoEmbedder::Silent(reason) => FeatureOutcome::Silent(reason),
                }
            }
        };
        let tries_again = matches!(outcome, FeatureOutcome::Silent(_));
        if now().is_some() {
            features.set(Feature::Embedder, wanted.clone(), outcome);
        }
        let version = self.lore.current().library().version().to_string();
        self.announcements.tell(ServerEvent::Lore { version });
        tries_again
    }

    /// Searches stories with an embedder, or with the table.
    fn recall_with(&self, embedder: Option<&Arc<dyn Embedder>>) {
        let Some(memory) = &self.memory else { return };
        match embedder {
            Some(embedder) => {
                let patience = self.configured.start().patience;
                memory.embedding.use_server(Arc::clone(embedder), patience);
            }
            None => memory.embedding.use_table(),
        }
    }

    /// Finds entries and passages with what is wanted, or with the table where nothing is.
    async fn find_with(&self, wanted: &FeatureTarget) -> Result<(), NoEmbedder> {
        let found = match wanted.asked() {
            None => {
                self.recall_with(None);
                self.lore.find_with_own().await
            }
            Some(asked) => {
                let (connection, model) = asked.map_err(NoEmbedder::Wrong)?;
                let questions = connection.questions().map_err(NoEmbedder::Wrong)?;
                let embedder = questions.embedder(model).await?;
                self.recall_with(Some(&embedder));
                let patience = Some(self.configured.start().patience);
                self.lore.find_with(EntryFinder { embedder, patience }).await
            }
        };
        found.map_err(|error| NoEmbedder::Silent(error.to_string()))
    }
}

impl FeatureTarget {
    /// The connection and the model to ask; `None` if nobody is.
    fn asked(&self) -> Option<Result<(&Connection, Option<&str>), String>> {
        let choice = self.choice.as_ref()?;
        let connection = self.connection.as_ref();
        let connection =
            connection.ok_or_else(|| format!("there is no connection `{}`", choice.connection()));
        Some(connection.map(|connection| (connection.as_ref(), choice.model())))
    }
}
