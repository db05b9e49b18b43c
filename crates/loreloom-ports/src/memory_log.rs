//! Keeping what is remembered: a log of events for each owner, and vectors.
//!
//! Nothing is overwritten. A write adds events to the logs of one or more owners, all of
//! them or none; an undo is another write. Business code makes ids, times and receipts; a
//! store keeps what it is given.

use std::fmt;

use async_trait::async_trait;
use loreloom_core::{
    ids::{CharacterId, ChatId, Digest, TenantId},
    units::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{JobStep, StoreError, Vector};
use crate::{MemoryEvent, MemoryWriteId, NewMemoryEvent};

/// Whose memory it is, inside a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// Everybody of a world.
    World(String),
    /// A character, in all its chats.
    Character(CharacterId),
    /// One chat.
    Chat(ChatId),
}

impl Owner {
    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::World(_) => "world",
            Self::Character(_) => "character",
            Self::Chat(_) => "chat",
        }
    }

    /// Its id among owners of its kind.
    pub fn id(&self) -> &str {
        match self {
            Self::World(id) => id,
            Self::Character(id) => id.as_str(),
            Self::Chat(id) => id.as_str(),
        }
    }

    /// The owner of that kind and id.
    pub fn of(kind: &str, id: &str) -> Option<Self> {
        match kind {
            "world" => Some(Self::World(id.to_owned())),
            "character" => Some(Self::Character(id.into())),
            "chat" => Some(Self::Chat(id.into())),
            _ => None,
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} `{}`", self.kind(), self.id())
    }
}

/// Who wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A pass over the story.
    Pass,
    /// A person.
    Person,
    /// An import.
    Import,
}

/// Events for one owner.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerEvents {
    /// The owner.
    pub owner: Owner,
    /// The number of the last event the writer has seen; `None` if it does not matter.
    pub seen: Option<u64>,
    /// The events, in order.
    pub events: Vec<NewMemoryEvent>,
}

/// The story a pass was computed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenStory {
    /// The chat.
    pub chat: ChatId,
    /// Its version.
    pub version: u64,
}

/// One write: all of it is stored or nothing is.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Its name. A write of a name that is stored already changes nothing, so that a job
    /// that is taken over cannot write twice.
    pub id: MemoryWriteId,
    /// Who writes.
    pub author: Author,
    /// Its purpose, for people.
    pub note: String,
    /// The chat it comes from.
    pub chat: Option<ChatId>,
    /// When.
    pub at: Timestamp,
    /// The story it was computed on; `None` if it does not matter.
    pub story: Option<SeenStory>,
    /// The job it belongs to, which moves on with it.
    pub job: Option<JobStep>,
    /// The events.
    pub owners: Vec<OwnerEvents>,
}

/// A line of the list of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WriteSummary {
    /// Its name.
    pub id: MemoryWriteId,
    /// Who wrote.
    pub author: Author,
    /// What it was for.
    pub note: String,
    /// The chat it comes from.
    pub chat: Option<ChatId>,
    /// When.
    pub at: Timestamp,
    /// Whose memory it changed.
    pub owners: Vec<Owner>,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is stored.
    Stored,
    /// It was stored before.
    Before,
}

/// Keeps what is remembered. All writes are atomic and durable when they return.
#[async_trait]
pub trait MemoryLog: Send + Sync {
    /// Stores a write.
    ///
    /// Fails with [`MemoryError::Behind`] if an owner has events the writer has not seen,
    /// with [`MemoryError::StoryMoved`] if the story is at another version, and with
    /// [`MemoryError::JobLost`] if the job is not the worker's any more.
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError>;

    /// The events of an owner after that number, in order.
    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError>;

    /// The same of several owners, in their order.
    async fn news(
        &self,
        tenant: &TenantId,
        known: &[(Owner, u64)],
    ) -> Result<Vec<Vec<MemoryEvent>>, MemoryError> {
        let mut news = Vec::with_capacity(known.len());
        for (owner, after) in known {
            news.push(self.events(tenant, owner, *after).await?);
        }
        Ok(news)
    }

    /// Everybody who has events, with the number of the last.
    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError>;

    /// The last writes, newest first.
    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError>;

    /// One write.
    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError>;

    /// The vectors of texts, by their hashes, where this model made them.
    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError>;

    /// Keeps vectors that this model made. What is kept already stays as it is.
    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError>;
}

/// Why memory could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Somebody else wrote in between: read again and retry.
    #[error("the memory of {owner} is at event {found}, not at {expected}")]
    Behind {
        /// The owner.
        owner: Owner,
        /// The number the writer had seen.
        expected: u64,
        /// The number it is at.
        found: u64,
    },
    /// The chat went on or left the path: check whether the messages that were read are still on
    /// it.
    #[error("chat `{chat}` is at version {found}, not at {expected}")]
    StoryMoved {
        /// The chat.
        chat: ChatId,
        /// The version the writer had seen.
        expected: u64,
        /// The version it is at.
        found: u64,
    },
    /// Another worker has the job, or it was cancelled.
    #[error("job {job} is not `{worker}`'s any more")]
    JobLost {
        /// The job.
        job: u64,
        /// Who had it.
        worker: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
