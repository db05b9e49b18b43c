//! Writes and jobs to store.

use std::sync::atomic::{AtomicU32, Ordering};

use loreloom_core::{
    ids::{ChatId, ConnectionId, MessageId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Author, Claiming, JobBody, JobId, JobKind, JobOutcome, JobStep, NewJob, Owner, OwnerEvents,
    Write,
};
use loreloom_ports::{MemoryChange, MemoryEventKind, MemoryWriteId, NewMemoryEvent};
use loreloom_ports::{RecordKey, RecordKind};
use serde_json::{Map, Value, json};

/// A tenant of its own for each call, so that cases can share a database.
pub fn tenant() -> TenantId {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    TenantId(format!("memory {}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// A new memory with this text.
pub fn noted(id: &str, content: &str, receipts: &[MessageId]) -> NewMemoryEvent {
    let fields: Map<String, Value> =
        [("id", json!(id)), ("type", json!("fact")), ("content", json!(content))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
    NewMemoryEvent {
        record: Some(RecordKey::new(RecordKind::Memory, id)),
        kind: MemoryEventKind::Created,
        receipts: receipts.to_vec(),
        change: MemoryChange::New(fields),
    }
}

/// A character's owner.
pub fn character(name: &str) -> Owner {
    Owner::Character(name.into())
}

/// Events for an owner.
pub fn of(owner: Owner, seen: Option<u64>, events: Vec<NewMemoryEvent>) -> OwnerEvents {
    OwnerEvents { owner, seen, events }
}

/// A write of that name.
pub fn write(id: &str, owners: Vec<OwnerEvents>) -> Write {
    Write {
        id: MemoryWriteId(id.to_owned()),
        author: Author::Pass,
        note: format!("note of {id}"),
        chat: Some(ChatId::from("harbour")),
        at: Timestamp(7),
        story: None,
        job: None,
        owners,
    }
}

/// A job in a chat's lane, on a connection.
pub fn job(chat: &str, connection: &str, priority: i32) -> NewJob {
    NewJob {
        chat: ChatId::from(chat),
        kind: JobKind::Extract,
        connection: ConnectionId::from(connection),
        priority,
        body: JobBody { seed: format!("{chat}-{priority}"), ..JobBody::default() },
        due: Timestamp(0),
    }
}

/// A worker that looks for work at a time, with two connections.
pub fn looking(worker: &str, now: i64) -> Claiming {
    Claiming {
        worker: worker.to_owned(),
        now: Timestamp(now),
        until: Timestamp(now + 100),
        connections: vec![(ConnectionId::from("local"), 1), (ConnectionId::from("hosted"), 4)],
    }
}

/// A worker's word about a job.
pub fn step(job: JobId, worker: &str, outcome: JobOutcome) -> JobStep {
    JobStep { job, worker: worker.to_owned(), now: Timestamp(50), outcome, left: None }
}
