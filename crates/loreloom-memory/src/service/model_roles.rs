//! Which model does memory's work. It can change at any time.
//!
//! A job keeps the model it started with, so one job never mixes two models.

use std::sync::Arc;

use loreloom_core::{ids::ConnectionId, units::Tokens};
use loreloom_ports::{ChatModel, Embedder};
use tokio::sync::watch;

use super::{Options, Ports};
use crate::{cycle::Backend, model_profile::ModelProfile};

/// The model that does memory's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// Its connection.
    pub connection: ConnectionId,
    /// How capable it is.
    pub profile: ModelProfile,
    /// How many jobs it runs at once. A local model runs one.
    pub at_once: u32,
    /// Its context, without its reply.
    pub context: Tokens,
}

/// The model of the moment and those before it.
#[derive(Clone, Default)]
pub(super) struct Assignment {
    /// What is known of the model. Without one, no jobs are queued.
    used: Option<ModelUse>,
    /// The model itself. Missing if another process does the work.
    model: Option<Arc<dyn ChatModel>>,
    /// Earlier connections. The current model also runs the jobs queued for them.
    former: Vec<ConnectionId>,
}

impl Assignment {
    /// A model that another process uses.
    fn elsewhere(used: Option<ModelUse>) -> Self {
        Self { used, ..Self::default() }
    }

    /// The connections whose jobs are run now, each with how many at once.
    pub(super) fn connections(&self) -> Vec<(ConnectionId, u32)> {
        let Some(used) = &self.used else { return Vec::new() };
        let all = std::iter::once(&used.connection).chain(&self.former);
        all.map(|connection| (connection.clone(), used.at_once)).collect()
    }

    fn begin(&mut self, used: ModelUse, model: Arc<dyn ChatModel>) {
        self.end();
        self.former.retain(|former| *former != used.connection);
        (self.used, self.model) = (Some(used), Some(model));
    }

    fn end(&mut self) {
        self.model = None;
        if let Some(before) = self.used.take()
            && !self.former.contains(&before.connection)
        {
            self.former.push(before.connection);
        }
    }

    /// Whether this is the model. Names would not tell: a connection may have any.
    fn is(&self, model: &dyn ChatModel) -> bool {
        self.model.as_ref().is_some_and(|own| std::ptr::addr_eq(Arc::as_ptr(own), model))
    }

    /// How many jobs run at once.
    pub(super) fn at_once(&self) -> u32 {
        let used = self.used.as_ref().filter(|_| self.model.is_some());
        used.map_or(0, |used| used.at_once)
    }
}

/// A model that can be asked now, with the embedder that goes with it.
#[derive(Clone)]
pub struct MemoryModel {
    model: Arc<dyn ChatModel>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl MemoryModel {
    /// The same, as passes take it.
    pub fn backend(&self) -> Backend<'_> {
        Backend { model: self.model.as_ref(), embedder: self.embedder.as_deref() }
    }
}

/// Knows which model does memory's work.
pub struct ModelRoles {
    embedder: Option<Arc<dyn Embedder>>,
    /// Replaces the profile that a connection suggests.
    profile: Option<ModelProfile>,
    current: watch::Sender<Assignment>,
}

impl ModelRoles {
    pub(super) fn new(ports: &Ports, options: &Options) -> Self {
        let mut used = options.model.clone();
        if let (Some(model), Some(profile)) = (&mut used, options.model_profile) {
            model.profile = profile;
        }
        Self {
            embedder: ports.embedder.clone(),
            profile: options.model_profile,
            current: watch::Sender::new(Assignment::elsewhere(used)),
        }
    }

    /// Gives the work to a model. Jobs that run finish with the model they started with; jobs
    /// that wait go to the new one.
    pub fn assign(&self, mut used: ModelUse, model: Arc<dyn ChatModel>) {
        used.profile = self.profile.unwrap_or(used.profile);
        self.current.send_modify(|now| now.begin(used, model));
    }

    /// Gives the work to a model unless another one has it. Returns whether it has it now.
    pub fn assign_if_free(&self, mut used: ModelUse, model: &Arc<dyn ChatModel>) -> bool {
        used.profile = self.profile.unwrap_or(used.profile);
        let mut has_work = true;
        self.current.send_if_modified(|now| {
            let is_free = now.model.is_none();
            if is_free {
                now.begin(used, Arc::clone(model));
            } else {
                has_work = now.is(model.as_ref());
            }
            is_free
        });
        has_work
    }

    /// Takes the work away from this model, if it has it.
    pub fn dismiss_only(&self, model: &dyn ChatModel) {
        self.current.send_if_modified(|now| {
            let has_work = now.is(model);
            if has_work {
                now.end();
            }
            has_work
        });
    }

    /// Takes the work away from the model. Waiting jobs wait for the next one.
    pub fn dismiss(&self) {
        self.current.send_modify(Assignment::end);
    }

    /// The model that can be asked now.
    pub fn current(&self) -> Option<MemoryModel> {
        let model = self.current.borrow().model.clone()?;
        Some(MemoryModel { model, embedder: self.embedder.clone() })
    }

    /// Waits until the number of jobs that run at once differs from `known`, and returns it.
    pub async fn next_at_once(&self, known: u32) -> u32 {
        let mut current = self.current.subscribe();
        let found = current.wait_for(|now| now.at_once() != known).await;
        found.map_or(known, |now| now.at_once())
    }

    /// What is known of the model.
    pub(super) fn used(&self) -> Option<ModelUse> {
        self.current.borrow().used.clone()
    }

    /// How capable the model is; the weak profile without one.
    pub(super) fn profile(&self) -> ModelProfile {
        self.used().map_or(ModelProfile::A, |model| model.profile)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Assignment> {
        self.current.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use loreloom_ports::{ChatReply, ChatRequest, ModelError};

    struct Silent;

    #[async_trait]
    impl ChatModel for Silent {
        async fn complete(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
            let (address, reason) = (String::new(), String::new());
            Err(ModelError::Unreachable { address, reason })
        }
    }

    fn used(connection: &str, at_once: u32) -> ModelUse {
        let (profile, context) = (ModelProfile::A, Tokens(1));
        ModelUse { connection: connection.into(), profile, at_once, context }
    }

    #[test]
    fn the_next_model_runs_the_jobs_of_those_before() {
        let mut now = Assignment::elsewhere(Some(used("a", 3)));
        let named = |now: &Assignment| -> Vec<(String, u32)> {
            let all = now.connections().into_iter();
            all.map(|(name, most)| (name.to_string(), most)).collect()
        };
        let of = |all: &[(&str, u32)]| -> Vec<(String, u32)> {
            all.iter().map(|(name, most)| ((*name).to_owned(), *most)).collect()
        };
        assert_eq!((named(&now), now.at_once()), (of(&[("a", 3)]), 0), "others ask it");
        now.begin(used("b", 2), Arc::new(Silent));
        assert_eq!((named(&now), now.at_once()), (of(&[("b", 2), ("a", 2)]), 2));
        now.end();
        assert_eq!((named(&now), now.at_once()), (of(&[]), 0));
        now.begin(used("a", 1), Arc::new(Silent));
        assert_eq!((named(&now), now.at_once()), (of(&[("a", 1), ("b", 1)]), 1));
    }
}
