//! The outside world as traits: the story store, models, embedders and upstreams.
//!
//! They live here so that the server can be handed any implementation and never names a
//! database or an HTTP client.

mod clock;
mod desk;
mod diagnosis;
mod embed;
mod job_account;
mod jobs;
mod memory_log;
mod model;
mod store;
mod store_error;
mod upstream;

pub use self::{
    clock::Clock,
    desk::{Change, Changed, Desk, Item, Revision},
    diagnosis::{Diagnosis, Finding, Step, StepOutcome},
    embed::{EmbedError, Embedder, Vector},
    job_account::{JobAccount, RawReply},
    jobs::{
        Claiming, Job, JobBody, JobId, JobKind, JobQueue, JobSpeaker, JobState, JobStep, NewJob,
        Outcome,
    },
    memory_log::{
        Author, MemoryError, MemoryLog, Owner, OwnerEvents, SeenStory, Write, WriteSummary, Written,
    },
    model::{ChatModel, ChatReply, ChatRequest, ModelError},
    store::{
        ChatRecord, ChatSummary, Node, Reply, Retained, Retention, Store, StoredTurn, StoryStore,
        TurnId, TurnRecord, TurnSummary, WriteId, WriteKind, WriteRecord,
    },
    store_error::StoreError,
    upstream::{
        BodyStream, Finished, ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError,
        UpstreamReply, WholeReply,
    },
};
