//! Jobs. Every change is made under SQLite's only write lock, so that no two workers take
//! one job or run one lane.

use loreloom_core::{
    ids::{ChatId, ConnectionId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Claiming, Job, JobId, JobKind, JobState, JobStep, MemoryError, NewJob, StoreError,
};
use rusqlite::{Connection, Row, params};

use super::rows::{Doing, Reading};
use crate::codec::{job_body, job_from, not_json};

const COLUMNS: &str = "tenant, job, chat, kind, connection, priority, body, state, attempts, \
                       due, worker, lease, error, created, updated";

/// Queues a job.
pub(super) fn enqueue(
    transaction: &Connection,
    tenant: &TenantId,
    job: &NewJob,
    now: Timestamp,
) -> Result<JobId, MemoryError> {
    const NEXT: &str = "SELECT coalesce(max(job), 0) + 1 FROM jobs";
    const INSERT: &str = "INSERT INTO jobs \
         (tenant, job, chat, kind, connection, priority, body, state, attempts, due, created, updated) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting', 0, ?8, ?9, ?9)";
    let doing = "queueing a job";
    let body = job_body(&job.body).map_err(|error| not_json(&error))?;
    let number: i64 = transaction.query_row(NEXT, [], |row| row.get(0)).doing(doing)?;
    let (chat, kind, used) = (job.chat.as_str(), job.kind.as_str(), job.connection.as_str());
    let row =
        params![tenant.as_str(), number, chat, kind, used, job.priority, body, job.due.0, now.0];
    let insert = transaction.prepare_cached(INSERT);
    insert.and_then(|mut insert| insert.execute(row)).doing(doing)?;
    Ok(JobId(number.unsigned_abs()))
}

/// Whether there may be something to claim; looks without taking the write lock.
pub(super) fn may_claim(connection: &Connection, now: Timestamp) -> Result<bool, MemoryError> {
    const LOOK: &str = "SELECT 1 FROM jobs WHERE (state = 'waiting' AND due <= ?1) \
         OR (state = 'running' AND lease < ?1) LIMIT 1";
    let mut look = connection.prepare_cached(LOOK).doing("looking for jobs")?;
    Ok(look.exists([now.0]).doing("looking for jobs")?)
}

/// Takes the next job.
pub(super) fn claim(
    transaction: &Connection,
    claiming: &Claiming,
) -> Result<Option<Job>, MemoryError> {
    const SILENT: &str = "UPDATE jobs SET state = 'waiting', worker = NULL, lease = NULL \
         WHERE state = 'running' AND lease < ?1";
    const NEXT: &str = "SELECT job FROM jobs j WHERE state = 'waiting' AND due <= ?1 \
         AND connection IN (SELECT value FROM json_each(?2)) \
         AND NOT EXISTS (SELECT 1 FROM jobs r \
             WHERE r.tenant = j.tenant AND r.chat = j.chat AND r.state = 'running') \
         ORDER BY priority DESC, job LIMIT 1";
    const TAKE: &str = "UPDATE jobs SET state = 'running', attempts = attempts + 1, \
         worker = ?2, lease = ?3, updated = ?4 WHERE job = ?1";
    let doing = "claiming a job";
    transaction.execute(SILENT, [claiming.now.0]).doing(doing)?;
    let mut open = Vec::new();
    for (name, most) in &claiming.connections {
        let running: u32 = transaction
            .prepare_cached("SELECT count(*) FROM jobs WHERE state = 'running' AND connection = ?1")
            .and_then(|mut count| count.query_row([name.as_str()], |row| row.get(0)))
            .doing(doing)?;
        if running < *most {
            open.push(name.as_str());
        }
    }
    let open = serde_json::to_string(&open).map_err(|error| not_json(&error))?;
    let next: Option<i64> = {
        let mut next = transaction.prepare_cached(NEXT).doing(doing)?;
        let mut rows = next.query(params![claiming.now.0, open]).doing(doing)?;
        rows.next().doing(doing)?.map(|row| row.get(0)).transpose().doing(doing)?
    };
    let job = match next {
        Some(number) => {
            let row = params![number, claiming.worker, claiming.until.0, claiming.now.0];
            transaction.execute(TAKE, row).doing(doing)?;
            let sql = format!("SELECT {COLUMNS} FROM jobs WHERE job = ?1");
            read(transaction, &sql, params![number])?.pop()
        }
        None => None,
    };
    Ok(job)
}

/// Says that the worker is still at it.
pub(super) fn still_at(
    connection: &Connection,
    tenant: &TenantId,
    job: JobId,
    worker: &str,
    until: Timestamp,
) -> Result<bool, MemoryError> {
    const SQL: &str = "UPDATE jobs SET lease = ?4 \
         WHERE tenant = ?1 AND job = ?2 AND worker = ?3 AND state = 'running'";
    let row = params![tenant.as_str(), number(job), worker, until.0];
    let update = connection.prepare_cached(SQL);
    let changed = update.and_then(|mut update| update.execute(row)).doing("keeping a job")?;
    Ok(changed > 0)
}

/// Says how a job goes on.
pub(super) fn step(
    connection: &Connection,
    tenant: &TenantId,
    step: &JobStep,
) -> Result<(), MemoryError> {
    const SQL: &str = "UPDATE jobs SET state = ?4, body = coalesce(?5, body), \
         due = coalesce(?6, due), error = ?7, updated = ?8, \
         worker = CASE WHEN ?4 = 'running' THEN worker END, \
         lease = CASE WHEN ?4 = 'running' THEN lease END \
         WHERE tenant = ?1 AND job = ?2 AND worker = ?3 AND state = 'running'";
    let outcome = &step.outcome;
    let body = step.body().map(job_body).transpose().map_err(|error| not_json(&error))?;
    let (state, due) = (outcome.state().as_str(), outcome.due().map(|due| due.0));
    let (job, worker) = (number(step.job), &step.worker);
    let row = params![tenant.as_str(), job, worker, state, body, due, outcome.error(), step.now.0];
    let update = connection.prepare_cached(SQL);
    let changed = update.and_then(|mut update| update.execute(row)).doing("moving a job on")?;
    if changed == 0 {
        return Err(MemoryError::JobLost { job: step.job.0, worker: worker.clone() });
    }
    Ok(())
}

/// Cancels jobs.
pub(super) fn cancel(
    transaction: &Connection,
    tenant: &TenantId,
    jobs: &[JobId],
    reason: &str,
    now: Timestamp,
) -> Result<u64, MemoryError> {
    const SQL: &str = "UPDATE jobs SET state = 'cancelled', worker = NULL, lease = NULL, \
         error = ?3, updated = ?4 \
         WHERE tenant = ?1 AND job = ?2 AND state IN ('waiting', 'running')";
    let doing = "cancelling jobs";
    let mut count = 0;
    for job in jobs {
        let row = params![tenant.as_str(), number(*job), reason, now.0];
        let update = transaction.prepare_cached(SQL);
        count += update.and_then(|mut update| update.execute(row)).doing(doing)? as u64;
    }
    Ok(count)
}

/// Forgets jobs that were over before a time.
pub(super) fn prune(transaction: &Connection, before: Timestamp) -> Result<u64, MemoryError> {
    const SQL: &str = "DELETE FROM jobs WHERE updated < ?1 \
         AND state IN ('done', 'failed', 'cancelled') AND job < (SELECT max(job) FROM jobs)";
    // The newest stays: numbers go on from it.
    Ok(transaction.execute(SQL, params![before.0]).doing("forgetting old jobs")? as u64)
}

/// Jobs of a chat, or of all chats.
pub(super) fn jobs(
    connection: &Connection,
    tenant: &TenantId,
    chat: Option<&ChatId>,
    over: bool,
) -> Result<Vec<Job>, MemoryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE tenant = ?1 AND (?2 IS NULL OR chat = ?2) \
         AND (?3 OR state IN ('waiting', 'running')) ORDER BY job"
    );
    read(connection, &sql, params![tenant.as_str(), chat.map(ChatId::as_str), over])
}

fn read(
    connection: &Connection,
    sql: &str,
    key: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Job>, MemoryError> {
    let doing = "reading jobs";
    let mut find = connection.prepare_cached(sql).doing(doing)?;
    let mut rows = find.query(key).doing(doing)?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next().doing(doing)? {
        jobs.push(job_of(row)?);
    }
    Ok(jobs)
}

fn job_of(row: &Row<'_>) -> Result<Job, StoreError> {
    let doing = "reading a job";
    let text = |at: usize| row.get::<_, String>(at).doing(doing);
    let time = |at: usize| row.get::<_, i64>(at).doing(doing).map(Timestamp);
    let id = row.get::<_, i64>(1).doing(doing)?.unsigned_abs();
    let what = || format!("job {id}");
    let (kind, state) = (text(3)?, text(7)?);
    let unknown = |name: &str| format!("`{name}` is not known");
    Ok(Job {
        tenant: TenantId(text(0)?),
        id: JobId(id),
        chat: ChatId(text(2)?),
        kind: JobKind::of(&kind).ok_or_else(|| unknown(&kind)).reading(what)?,
        connection: ConnectionId(text(4)?),
        priority: row.get(5).doing(doing)?,
        body: job_from(&text(6)?).reading(what)?,
        state: JobState::of(&state).ok_or_else(|| unknown(&state)).reading(what)?,
        attempts: row.get(8).doing(doing)?,
        due: time(9)?,
        worker: row.get(10).doing(doing)?,
        lease: row.get::<_, Option<i64>>(11).doing(doing)?.map(Timestamp),
        error: row.get(12).doing(doing)?,
        created: time(13)?,
        updated: time(14)?,
    })
}

fn number(job: JobId) -> i64 {
    i64::try_from(job.0).unwrap_or(i64::MAX)
}
