//! Records what a job asks its model and what it answers.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use loreloom_core::tokens::TokenCounter as _;
use loreloom_ports::{
    ChatModel, ChatReply, ChatRequest, JobAccount, MemoryChange, ModelError, OwnerEvents,
};
use serde_json::{Map, Value};

use crate::text::QuarterEstimate;

/// A model that records what it is asked.
pub(super) struct Listening<'model> {
    model: &'model dyn ChatModel,
    account: Mutex<JobAccount>,
}

impl<'model> Listening<'model> {
    /// Continues the record of a job.
    pub(super) fn new(model: &'model dyn ChatModel, account: JobAccount) -> Self {
        Self { model, account: Mutex::new(account) }
    }

    /// The record so far.
    pub(super) fn account(&self) -> JobAccount {
        self.with(|account| account.clone())
    }

    /// Adds the events that a pass produced; `partial` if a part of the work failed.
    pub(super) fn keeps(&self, owners: &[OwnerEvents], partial: bool) {
        let events = owners.iter().flat_map(|given| &given.events);
        let texts = events.filter_map(|event| match &event.change {
            MemoryChange::New(fields) | MemoryChange::Fields(fields) => text(fields),
            MemoryChange::Gone | MemoryChange::Revert(_) | MemoryChange::Forget => None,
        });
        self.with(|account| account.keeps(texts, partial));
    }

    fn with<T>(&self, change: impl FnOnce(&mut JobAccount) -> T) -> T {
        change(&mut self.account.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The text of a record, if it has one.
fn text(fields: &Map<String, Value>) -> Option<&str> {
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
