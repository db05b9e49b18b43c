//! Background work, kept in the database so that it outlives a process.
//!
//! Each chat is a lane: its jobs run one at a time, whichever process runs them. A worker claims a
//! job for a while and renews the claim; if it stops, another worker takes over.

use std::fmt;

use async_trait::async_trait;
use loreloom_core::{
    ids::{ChatId, ConnectionId, MessageId, TenantId},
    units::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{JobAccount, MemoryError};
use crate::{MemoryId, Policy};

/// A job's number; later jobs have higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Looks at a reply: whether a scene ended, whether it contradicts.
    Reply,
    /// Draws memories from what is settled.
    Extract,
    /// Draws memories after a round of a group.
    Round,
    /// Reads a whole chat, piece by piece.
    CatchUp,
}

impl JobKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Extract => "extract",
            Self::Round => "round",
            Self::CatchUp => "catch_up",
        }
    }

    /// The kind of that name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Reply, Self::Extract, Self::Round, Self::CatchUp]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its turn, or for its time.
    Waiting,
    /// A worker has it.
    Running,
    /// It is done.
    Done,
    /// It was tried often enough.
    Failed,
    /// What it read is not part of the story any more, or somebody stopped it.
    Cancelled,
}

impl JobState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of that name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Waiting, Self::Running, Self::Done, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|state| state.as_str() == name)
    }

    /// Whether it will not run again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// Who was speaking when a job was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSpeaker {
    /// Whose memory is written.
    pub id: String,
    /// The name.
    pub name: String,
    /// The card as text.
    pub card: String,
    /// Its world, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
    /// What its memory is used for.
    #[serde(skip_serializing_if = "Policy::is_usual")]
    pub policy: Policy,
}

/// What a job needs to know, and how far it got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobBody {
    /// The messages it reads: it is cancelled when one of them leaves the story.
    pub reads: Vec<MessageId>,
    /// Those who spoke.
    pub speakers: Vec<JobSpeaker>,
    /// The model's context, in tokens.
    pub context: u32,
    /// Unique to the job: names what it writes.
    pub seed: String,
    /// Pieces done.
    pub done: u32,
    /// Pieces in all; 0 where it is one piece.
    pub total: u32,
    /// The answers so far, so that no question is asked twice.
    pub answers: Option<String>,
    /// Memories that were put into prompts since the last pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<MemoryId>,
    /// Replies of earlier pieces that could not be read; with any, the job fails at its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// How often it was begun and its question was taken back.
    #[serde(skip_serializing_if = "is_zero")]
    pub taken_back: u32,
    /// What it asked its model and was answered.
    #[serde(skip_serializing_if = "is_empty")]
    pub account: JobAccount,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_empty(account: &JobAccount) -> bool {
    *account == JobAccount::default()
}

/// A job to be queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// The lane.
    pub chat: ChatId,
    /// What it does.
    pub kind: JobKind,
    /// The model connection it uses.
    pub connection: ConnectionId,
    /// Higher ones first.
    pub priority: i32,
    /// What it needs to know.
    pub body: JobBody,
    /// Not before this time.
    pub due: Timestamp,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Whose it is.
    pub tenant: TenantId,
    /// Its number.
    pub id: JobId,
    /// The lane.
    pub chat: ChatId,
    /// What it does.
    pub kind: JobKind,
    /// The model connection it uses.
    pub connection: ConnectionId,
    /// Higher ones first.
    pub priority: i32,
    /// What it needs to know, and how far it got.
    pub body: JobBody,
    /// Its state.
    pub state: JobState,
    /// How often it was begun.
    pub attempts: u32,
    /// Not before this time.
    pub due: Timestamp,
    /// Who has it.
    pub worker: Option<String>,
    /// Until when, unless the worker says otherwise.
    pub lease: Option<Timestamp>,
    /// Why it was tried again, failed or was cancelled.
    pub error: Option<String>,
    /// When it was queued.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

impl Job {
    /// How often it was tried: a question that was taken back is no try.
    pub fn tries(&self) -> u32 {
        self.attempts.saturating_sub(self.body.taken_back)
    }
}

/// A worker that looks for work.
#[derive(Clone, Debug)]
pub struct Claiming {
    /// Its name; no two workers share one.
    pub worker: String,
    /// Now.
    pub now: Timestamp,
    /// Until when it claims the job, unless it renews the claim.
    pub until: Timestamp,
    /// The connections it can use, with how many jobs may run on each at once, over all
    /// workers.
    pub connections: Vec<(ConnectionId, u32)>,
}

/// How a job goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// It is done.
    Done,
    /// It goes on with the next piece.
    Further(JobBody),
    /// It is tried again at that time.
    Again {
        /// What it keeps.
        body: JobBody,
        /// When.
        due: Timestamp,
        /// Why.
        error: String,
    },
    /// It is not tried again.
    Failed {
        /// Why.
        error: String,
    },
    /// What it read is not part of the story any more.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl JobOutcome {
    /// The state it leaves the job in.
    pub fn state(&self) -> JobState {
        match self {
            Self::Done => JobState::Done,
            Self::Further(_) => JobState::Running,
            Self::Again { .. } => JobState::Waiting,
            Self::Failed { .. } => JobState::Failed,
            Self::Cancelled { .. } => JobState::Cancelled,
        }
    }

    /// What the job keeps, if that changes.
    pub fn body(&self) -> Option<&JobBody> {
        match self {
            Self::Further(body) | Self::Again { body, .. } => Some(body),
            Self::Done | Self::Failed { .. } | Self::Cancelled { .. } => None,
        }
    }

    /// When it is due again.
    pub fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Again { due, .. } => Some(*due),
            Self::Done | Self::Further(_) | Self::Failed { .. } | Self::Cancelled { .. } => None,
        }
    }

    /// Why it did not end well.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Again { error, .. } | Self::Failed { error } => Some(error),
            Self::Cancelled { reason } => Some(reason),
            Self::Done | Self::Further(_) => None,
        }
    }
}

/// What a worker says about a job it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// The job.
    pub job: JobId,
    /// Who has it.
    pub worker: String,
    /// Now.
    pub now: Timestamp,
    /// How it goes on.
    pub outcome: JobOutcome,
    /// What is left of a job that is over.
    pub left: Option<JobBody>,
}

/// Keeps jobs. All writes are atomic and durable when they return.
#[async_trait]
pub trait JobQueue: Send + Sync {
    /// Queues a job.
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError>;

    /// Takes the next job of any tenant: due, on one of the worker's connections while that
    /// has room, and in a lane where nothing runs. The highest priority first, then the
    /// oldest. A job whose claim has run out waits again.
    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError>;

    /// Renews a worker's claim. `false` if the job is not the worker's any more: it must stop.
    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError>;

    /// Says how a job goes on. Fails with [`MemoryError::JobLost`] if it is not the worker's
    /// any more.
    async fn step(&self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError>;

    /// Cancels jobs that are not over, also running ones. Returns how many were.
    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[JobId],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, MemoryError>;

    /// Jobs of a chat, or of all chats, oldest first; those that are over only if asked for.
    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError>;

    /// Forgets jobs of all tenants that were over before this time. Returns how many.
    async fn prune(&self, before: Timestamp) -> Result<u64, MemoryError>;
}
