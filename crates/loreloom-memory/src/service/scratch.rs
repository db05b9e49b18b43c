//! Sessions that leave no trace unless they are kept: a branch to try things out on.
//!
//! While one is open nothing is drawn from the chat. Keeping it reads what was told since;
//! dropping it goes back to where it began. The branch stays in the tree either way.

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, PrefixHash, TenantId},
};
use serde_json::{Map, Value, json};

use super::{ByHandError, MemoryService, Who};
use crate::record::ReadOnly;
use loreloom_ports::{JobId, MemoryError, Owner, OwnerEvents, StoreError};
use loreloom_ports::{MemoryChange, MemoryEventKind, NewMemoryEvent};
use loreloom_ports::{RecordKey, RecordKind};

/// Why a session could not be begun or ended.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
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
    /// The memory could not be changed.
    #[error(transparent)]
    ByHand(#[from] ByHandError),
    /// The store failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The story could not be moved.
    #[error(transparent)]
    Story(#[from] StoreError),
}

impl MemoryService {
    /// Begins a read-only session at the end of a path.
    pub async fn begin_scratch(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Result<(), ScratchError> {
        if self.scratch(tenant, chat).await?.is_some() {
            return Err(ScratchError::Open { chat: chat.clone() });
        }
        let from = path.last().map(|item| item.prefix).unwrap_or_default();
        Ok(self.mark(tenant, chat, json!(ReadOnly { from })).await?)
    }

    /// The read-only session of a chat.
    pub async fn scratch(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ReadOnly>, MemoryError> {
        Ok(self.chat_view(tenant, chat, &[]).await?.0.read_only)
    }

    /// Ends the session and keeps what was told: a job reads it.
    pub async fn keep_scratch(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        speakers: &[Who],
    ) -> Result<Option<JobId>, ScratchError> {
        self.end(tenant, chat).await?;
        Ok(self.catch_up(tenant, chat, speakers).await?)
    }

    /// Ends the session and goes back to where it began. Returns the node the story is at.
    pub async fn drop_scratch(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<PrefixHash, ScratchError> {
        let from = self.end(tenant, chat).await?.from;
        let now = self.ports.clock.now();
        Ok(self.ports.story.move_tip(tenant, chat, from, None, now).await?.tip)
    }

    async fn end(&self, tenant: &TenantId, chat: &ChatId) -> Result<ReadOnly, ScratchError> {
        let open = self.scratch(tenant, chat).await?;
        let open = open.ok_or_else(|| ScratchError::None { chat: chat.clone() })?;
        self.mark(tenant, chat, Value::Null).await?;
        Ok(open)
    }

    /// Sets the mark, on whatever path.
    async fn mark(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        read_only: Value,
    ) -> Result<(), ByHandError> {
        let owner = Owner::Chat(chat.clone());
        let id = self.name(tenant, &owner, &["read only", &read_only.to_string()]).await?;
        let key = RecordKey::new(RecordKind::ReadOnly, "");
        let fields: Map<String, Value> =
            std::iter::once(("readOnly".to_owned(), read_only.clone())).collect();
        let (kind, change) = if read_only.is_null() {
            (MemoryEventKind::Removed, MemoryChange::Gone)
        } else {
            (MemoryEventKind::Created, MemoryChange::New(fields))
        };
        let event = NewMemoryEvent { record: Some(key), kind, receipts: Vec::new(), change };
        let owners = vec![OwnerEvents { owner, seen: None, events: vec![event] }];
        self.person_writes(tenant, &id, "a read-only session", None, owners).await
    }
}
