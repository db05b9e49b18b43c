//! The outside world as traits: store, model, embedder, upstream, clock.
//!
//! The records that cross these borders live here too, and so do the rules that every store
//! follows ([`history`]). The server is handed implementations and never names a database or an
//! HTTP client.
//!
//! ```
//! use loreloom_core::units::Timestamp;
//! use loreloom_ports::Clock;
//!
//! /// A clock for tests: it always shows the same time.
//! #[derive(Debug)]
//! struct Stopped(Timestamp);
//!
//! impl Clock for Stopped {
//!     fn now(&self) -> Timestamp {
//!         self.0
//!     }
//! }
//!
//! assert_eq!(Stopped(Timestamp(1_700_000_000_000)).now(), Timestamp(1_700_000_000_000));
//! ```

mod clock;
mod diagnosis;
mod documents;
mod embed;
pub mod history;
mod job_account;
mod jobs;
mod memory_event;
mod memory_id;
mod memory_log;
mod model;
mod policy;
mod spill;
mod store;
mod store_error;
mod stored_json;
mod upstream;

pub use self::{
    clock::Clock,
    diagnosis::{Diagnosis, Finding, Step, StepOutcome},
    documents::{Change, Changed, DocumentStore, Item, Revision},
    embed::{EmbedError, Embedder, Vector},
    job_account::{JobAccount, RawReply},
    jobs::{
        Claiming, Job, JobBody, JobId, JobKind, JobOutcome, JobQueue, JobSpeaker, JobState,
        JobStep, NewJob,
    },
    memory_event::{
        MemoryChange, MemoryEvent, MemoryEventKind, MemoryWriteId, NewMemoryEvent, RecordKey,
        RecordKind, Records,
    },
    memory_id::MemoryId,
    memory_log::{
        Author, MemoryError, MemoryLog, Owner, OwnerEvents, SeenStory, Write, WriteSummary, Written,
    },
    model::{ChatModel, ChatReply, ChatRequest, ModelError},
    policy::Policy,
    spill::TurnSpill,
    store::{
        ChangeMark, ChangedChats, ChatRecord, ChatSummary, EndedResponse, Node, Reply, Retained,
        Retention, Store, StoredTurn, StoryStore, TurnId, TurnRecord, TurnSummary, WriteId,
        WriteKind, WriteRecord,
    },
    store_error::StoreError,
    stored_json::StoredJson,
    upstream::{
        BodyStream, Finished, ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError,
        UpstreamReply, WholeReply,
    },
};
