//! Listening in on a job's model, so that the job can say what it asked and was answered.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use loreloom_core::tokens::TokenCounter as _;
use serde_json::{Map, Value};

use crate::text::QuarterEstimate;
use loreloom_ports::MemoryChange;
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, JobAccount, ModelError, OwnerEvents};

/// A model, and what was asked of it.
pub(super) struct Listening<'model> {
    model: &'model dyn ChatModel,
    account: Mutex<JobAccount>,
}

impl<'model> Listening<'model> {
    /// Listens on from what a job has asked already.
    pub(super) fn new(model: &'model dyn ChatModel, account: JobAccount) -> Self {
        Self { model, account: Mutex::new(account) }
    }

    /// What was asked and answered until now.
    pub(super) fn account(&self) -> JobAccount {
        self.with(|account| account.clone())
    }

    /// These events come of it; `partial` if a part of the work could not be done.
    pub(super) fn keeps(&self, owners: &[OwnerEvents], partial: bool) {
        let events = owners.iter().flat_map(|given| &given.events);
        let texts = events.filter_map(|event| match &event.change {
            MemoryChange::New(fields) | MemoryChange::Fields(fields) => told(fields),
            MemoryChange::Gone | MemoryChange::Revert(_) | MemoryChange::Forget => None,
        });
        self.with(|account| account.keeps(texts, partial));
    }

    fn with<T>(&self, change: impl FnOnce(&mut JobAccount) -> T) -> T {
        change(&mut self.account.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a record says, if it says something that was read from a reply.
fn told(fields: &Map<String, Value>) -> Option<&str> {
    ["content", "summary", "text"].iter().find_map(|name| fields.get(*name)?.as_str())
}

#[async_trait]
impl ChatModel for Listening<'_> {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let count = |text: &str| QuarterEstimate.count(text).0;
        let asked = request.messages.iter().map(|message| count(&message.content)).sum();
        self.with(|account| account.asks(asked));
        let reply = self.model.complete(request).await?;
        let shown = self.model.without_keys(&reply.text);
        self.with(|account| account.hears(&shown, count(&reply.text)));
        Ok(reply)
    }

    fn without_keys(&self, text: &str) -> String {
        self.model.without_keys(text)
    }
}
