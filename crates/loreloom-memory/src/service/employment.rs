//! The model that does memory's work, which may be another from one moment to the next.
//!
//! Whoever begins something keeps the model that there was: a job is not half one model's and
//! half another's.

use std::sync::Arc;

use loreloom_core::ids::ConnectionId;

use super::{MemoryService, ModelUse};
use crate::cycle::Backend;
use loreloom_ports::{ChatModel, Embedder};

/// Who does memory's work now.
#[derive(Clone, Default)]
pub(super) struct Employment {
    /// What is known of the model; without one no jobs are made.
    pub(super) used: Option<ModelUse>,
    /// The model; none where somebody else does the work.
    model: Option<Arc<dyn ChatModel>>,
    /// Connections that did the work before: what was queued for them is done by this one.
    former: Vec<ConnectionId>,
}

impl Employment {
    /// What is known of a model that somebody else asks.
    pub(super) fn elsewhere(used: Option<ModelUse>) -> Self {
        Self { used, ..Self::default() }
    }

    /// The connections whose jobs are done now, with how many at once.
    pub(super) fn connections(&self) -> Vec<(ConnectionId, u32)> {
        let Some(used) = &self.used else { return Vec::new() };
        let all = std::iter::once(&used.connection).chain(&self.former);
        all.map(|connection| (connection.clone(), used.at_once)).collect()
    }

    /// Another model does the work.
    fn begin(&mut self, used: ModelUse, model: Arc<dyn ChatModel>) {
        self.leave();
        self.former.retain(|former| *former != used.connection);
        (self.used, self.model) = (Some(used), Some(model));
    }

    /// Nobody does the work.
    fn leave(&mut self) {
        self.model = None;
        if let Some(before) = self.used.take()
            && !self.former.contains(&before.connection)
        {
            self.former.push(before.connection);
        }
    }

    /// How many jobs are done at once.
    pub(super) fn at_once(&self) -> u32 {
        let used = self.used.as_ref().filter(|_| self.model.is_some());
        used.map_or(0, |used| used.at_once)
    }
}

/// What is asked where something is to be done now.
#[derive(Clone)]
pub struct Asked {
    model: Arc<dyn ChatModel>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Asked {
    /// The same, as passes take it.
    pub fn backend(&self) -> Backend<'_> {
        Backend { model: self.model.as_ref(), embedder: self.embedder.as_deref() }
    }
}

impl MemoryService {
    /// Has a model do the work from now on. Jobs that run are ended by the one they began with,
    /// those that wait for the one before are this one's.
    pub fn employ(&self, mut used: ModelUse, model: Arc<dyn ChatModel>) {
        used.hardware = self.options.hardware.unwrap_or(used.hardware);
        self.employment.send_modify(|now| now.begin(used, model));
    }

    /// Has no model do the work any more. What waits goes on waiting for the next.
    pub fn dismiss(&self) {
        self.employment.send_modify(Employment::leave);
    }

    /// What is asked at once, where a person wants something now; none without a model.
    pub fn asked(&self) -> Option<Asked> {
        let model = self.employment.borrow().model.clone()?;
        Some(Asked { model, embedder: self.ports.embedder.clone() })
    }

    /// How many jobs can be done at once, and whenever that may have changed.
    pub async fn next_at_once(&self, known: u32) -> u32 {
        let mut employment = self.employment.subscribe();
        let found = employment.wait_for(|now| now.at_once() != known).await;
        found.map_or(known, |now| now.at_once())
    }

    /// What is known of the model.
    pub(super) fn used(&self) -> Option<ModelUse> {
        self.employment.borrow().used.clone()
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use loreloom_core::units::Tokens;

    use super::*;
    use crate::hardware::Hardware;
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
        let (hardware, context) = (Hardware::A, Tokens(1));
        ModelUse { connection: connection.into(), hardware, at_once, context }
    }

    #[test]
    fn the_next_model_does_what_waits_for_those_before() {
        let mut now = Employment::elsewhere(Some(used("a", 3)));
        let named = |now: &Employment| -> Vec<(String, u32)> {
            let all = now.connections().into_iter();
            all.map(|(name, most)| (name.to_string(), most)).collect()
        };
        let of = |all: &[(&str, u32)]| -> Vec<(String, u32)> {
            all.iter().map(|(name, most)| ((*name).to_owned(), *most)).collect()
        };
        assert_eq!((named(&now), now.at_once()), (of(&[("a", 3)]), 0), "others ask it");
        now.begin(used("b", 2), Arc::new(Silent));
        assert_eq!((named(&now), now.at_once()), (of(&[("b", 2), ("a", 2)]), 2));
        now.leave();
        assert_eq!((named(&now), now.at_once()), (of(&[]), 0));
        now.begin(used("a", 1), Arc::new(Silent));
        assert_eq!((named(&now), now.at_once()), (of(&[("a", 1), ("b", 1)]), 1));
    }
}
