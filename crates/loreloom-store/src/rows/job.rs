//! Jobs.

use loreloom_core::ids::{ChatId, ConnectionId, TenantId};
use loreloom_core::units::Timestamp;
use loreloom_ports::{Job, JobId, JobKind, JobState};

use super::StoredRow;
use crate::{codec::job_from, errors::Decoded};

/// The columns that [`job`] reads.
macro_rules! job_columns {
    () => {
        "tenant, job, chat, kind, connection, priority, body, state, attempts, \
         due, worker, lease, error, created, updated"
    };
}
pub(crate) use job_columns;

/// Jobs of a chat, or of all chats, with those that are over or without them.
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE tenant = $1 AND (CAST($2 AS TEXT) IS NULL OR chat = $2) \
     AND ($3 OR state IN ('waiting', 'running')) ORDER BY job"
);

/// Extends the lease of a running job: tenant, job, worker, time.
pub(crate) const EXTEND_LEASE: &str = "UPDATE jobs SET lease = $4 \
     WHERE tenant = $1 AND job = $2 AND worker = $3 AND state = 'running'";

/// Stores the outcome of a step: tenant, job, worker, state, body, due, error, time.
pub(crate) const STEP: &str = "UPDATE jobs SET state = $4, body = coalesce($5, body), \
     due = coalesce($6, due), error = $7, updated = $8, \
     worker = CASE WHEN $4 = 'running' THEN worker END, \
     lease = CASE WHEN $4 = 'running' THEN lease END \
     WHERE tenant = $1 AND job = $2 AND worker = $3 AND state = 'running'";

/// A row with the columns of a job.
pub(crate) fn job(row: &impl StoredRow) -> Decoded<Job> {
    let id = row.unsigned(1)?;
    let wrong = |reason: String| format!("job {id}: {reason}");
    let unknown = |name: &str| wrong(format!("`{name}` is unknown"));
    let (kind, state) = (row.str(3)?, row.str(7)?);
    Ok(Job {
        tenant: TenantId(row.text(0)?),
        id: JobId(id),
        chat: ChatId(row.text(2)?),
        kind: JobKind::of(kind).ok_or_else(|| unknown(kind))?,
        connection: ConnectionId(row.text(4)?),
        priority: i32::try_from(row.number(5)?).unwrap_or(0),
        body: job_from(row.str(6)?).map_err(wrong)?,
        state: JobState::of(state).ok_or_else(|| unknown(state))?,
        attempts: u32::try_from(row.number(8)?).unwrap_or(u32::MAX),
        due: row.time(9)?,
        worker: row.optional_text(10)?,
        lease: row.optional_number(11)?.map(Timestamp),
        error: row.optional_text(12)?,
        created: row.time(13)?,
        updated: row.time(14)?,
    })
}
