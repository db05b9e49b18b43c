//! Read-only sessions: a branch to try things out on, which leaves no trace unless it is kept.
//!
//! While a session is open, nothing is extracted from the chat. Keeping it reads the messages
//! since its start; dropping it goes back to the start. The branch stays in the tree either
//! way.

use std::sync::Arc;

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, PrefixHash, TenantId},
};
use loreloom_ports::{
    Clock, JobId, MemoryChange, MemoryError, MemoryEventKind, Owner, RecordKey, RecordKind,
    StoreError, StoryStore,
};
use serde_json::json;

use super::{
    EditError, JobPlanner, MemoryEdits, PathViews, Ports, Who,
    edits::{HandWrite, event, one},
    views::ChatPath,
};
use crate::record::ReadOnly;

/// Why a session did not start or end.
#[derive(Debug, thiserror::Error)]
pub enum ReadOnlyError {
    /// There is one already.
    #[error("chat `{chat}` has a read-only session already")]
    Open {
        /// The chat.
        chat: ChatId,
    },
    /// There is none.
    #[error("chat `{chat}` has no read-only session")]
    None {
        /// The chat.
        chat: ChatId,
    },
    /// The memory was not changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The store failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The story was not moved.
    #[error(transparent)]
    Story(#[from] StoreError),
}

/// Starts and ends read-only sessions.
pub struct ReadOnlySessions {
    story: Arc<dyn StoryStore>,
    clock: Arc<dyn Clock>,
    views: Arc<PathViews>,
    edits: Arc<MemoryEdits>,
    planner: Arc<JobPlanner>,
}

impl ReadOnlySessions {
    pub(super) fn new(
        ports: &Ports,
        views: &Arc<PathViews>,
        edits: &Arc<MemoryEdits>,
        planner: &Arc<JobPlanner>,
    ) -> Self {
        Self {
            story: Arc::clone(&ports.story),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(views),
            edits: Arc::clone(edits),
            planner: Arc::clone(planner),
        }
    }

    /// Starts a session at the end of a path.
    pub async fn begin(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<(), ReadOnlyError> {
        if self.current(tenant, chat).await?.is_some() {
            return Err(ReadOnlyError::Open { chat: chat.clone() });
        }
        let from = path.last().map(|item| item.prefix).unwrap_or_default();
        Ok(self.mark(tenant, chat, Some(ReadOnly { from })).await?)
    }

    /// The session of a chat.
    pub async fn current(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ReadOnly>, MemoryError> {
        Ok(self.views.chat_view(ChatPath { tenant, chat, path: &[] }).await?.0.read_only)
    }

    /// Ends the session and keeps its messages: a job reads them.
    pub async fn keep(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        speakers: &[Who],
    ) -> Result<Option<JobId>, ReadOnlyError> {
        self.end(tenant, chat).await?;
        Ok(self.planner.catch_up(tenant, chat, speakers).await?)
    }

    /// Ends the session and goes back to its start. Returns the node the story is at.
    pub async fn discard(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<PrefixHash, ReadOnlyError> {
        let from = self.end(tenant, chat).await?.from;
        Ok(self.story.move_tip(tenant, chat, from, None, self.clock.now()).await?.tip)
    }

    async fn end(&self, tenant: &TenantId, chat: &ChatId) -> Result<ReadOnly, ReadOnlyError> {
        let open = self.current(tenant, chat).await?;
        let open = open.ok_or_else(|| ReadOnlyError::None { chat: chat.clone() })?;
        self.mark(tenant, chat, None).await?;
        Ok(open)
    }

    /// Sets or removes the mark, on every path.
    async fn mark(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        session: Option<ReadOnly>,
    ) -> Result<(), EditError> {
        let owner = Owner::Chat(chat.clone());
        let value = json!(session);
        let id = self.edits.name(tenant, &owner, &["read only", &value.to_string()]).await?;
        let key = RecordKey::new(RecordKind::ReadOnly, "");
        let (kind, change) = match session {
            Some(_) => (MemoryEventKind::Created, MemoryChange::New(one("readOnly", value))),
            None => (MemoryEventKind::Removed, MemoryChange::Gone),
        };
        let events = vec![(owner, vec![event(key, kind, change)])];
        self.edits.write_all(tenant, HandWrite::new(id, "a read-only session"), events).await
    }
}
