//! Jobs. Workers pass over rows that others hold (`SKIP LOCKED`); a unique index refuses a
//! second running job of a lane; a lock for each connection makes its count hold.

use deadpool_postgres::{Client, GenericClient};
use loreloom_core::{
    ids::{ChatId, ConnectionId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Claiming, Job, JobId, JobKind, JobState, JobStep, MemoryError, NewJob, StoreError,
};
use tokio_postgres::Row;

use super::{
    memory_log::{execute, is_taken, query},
    rows::{Doing, damaged, text},
};
use crate::codec::{job_body, job_from, not_json};

const COLUMNS: &str = "tenant, job, chat, kind, connection, priority, body, state, attempts, \
                       due, worker, lease, error, created, updated";

/// Queues a job.
pub(super) async fn enqueue(
    client: &Client,
    tenant: &TenantId,
    job: &NewJob,
    now: Timestamp,
) -> Result<JobId, MemoryError> {
    const INSERT: &str = "INSERT INTO jobs \
         (tenant, job, chat, kind, connection, priority, body, state, attempts, due, created, updated) \
         VALUES ($1, nextval('job_numbers'), $2, $3, $4, $5, $6, 'waiting', 0, $7, $8, $8) \
         RETURNING job";
    let body = job_body(&job.body).map_err(|error| not_json(&error))?;
    let (kind, priority) = (job.kind.as_str(), i64::from(job.priority));
    let rows = query(
        client,
        INSERT,
        &[
            &tenant.as_str(),
            &job.chat.as_str(),
            &kind,
            &job.connection.as_str(),
            &priority,
            &body.as_bytes(),
            &job.due.0,
            &now.0,
        ],
    )
    .await?;
    let row = rows.first().ok_or_else(|| damaged("a job", "it has no number"))?;
    Ok(JobId(row.try_get::<_, i64>(0).doing("queueing a job")?.unsigned_abs()))
}

/// Takes the next job.
pub(super) async fn claim(
    client: &mut Client,
    claiming: &Claiming,
) -> Result<Option<Job>, MemoryError> {
    const SILENT: &str = "UPDATE jobs SET state = 'waiting', worker = NULL, lease = NULL \
         WHERE (tenant, job) IN (SELECT tenant, job FROM jobs \
             WHERE state = 'running' AND lease < $1 FOR UPDATE SKIP LOCKED)";
    execute(client, SILENT, &[&claiming.now.0]).await?;
    let mut open = claiming.connections.clone();
    loop {
        match try_claim(client, claiming, &open).await {
            Ok(Tried::Claimed(job)) => return Ok(Some(*job)),
            Ok(Tried::Nothing) => return Ok(None),
            Ok(Tried::Full(connection)) => open.retain(|(name, _)| *name != connection),
            // Another worker took a job of the same lane: its lane is closed now.
            Err(MemoryError::Store(error)) if is_taken(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// What came of trying to claim.
enum Tried {
    Claimed(Box<Job>),
    Nothing,
    Full(ConnectionId),
}

async fn try_claim(
    client: &mut Client,
    claiming: &Claiming,
    open: &[(ConnectionId, u32)],
) -> Result<Tried, MemoryError> {
    const NEXT: &str = "SELECT tenant, job, connection FROM jobs j \
         WHERE state = 'waiting' AND due <= $1 AND connection = ANY($2) \
         AND NOT EXISTS (SELECT 1 FROM jobs r \
             WHERE r.tenant = j.tenant AND r.chat = j.chat AND r.state = 'running') \
         ORDER BY priority DESC, job LIMIT 1 FOR UPDATE SKIP LOCKED";
    const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('job of ' || $1, 0))";
    const COUNT: &str = "SELECT count(*) FROM jobs WHERE state = 'running' AND connection = $1";
    let doing = "claiming a job";
    let names: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
    let transaction = client.transaction().await.doing(doing)?;
    let next = query(&transaction, NEXT, &[&claiming.now.0, &names]).await?.pop();
    let Some(next) = next else { return Ok(Tried::Nothing) };
    let name: String = next.try_get(2).doing(doing)?;
    query(&transaction, LOCK, &[&name]).await?;
    let count = query(&transaction, COUNT, &[&name]).await?.pop();
    let running: i64 = count.map(|row| row.try_get(0)).transpose().doing(doing)?.unwrap_or(0);
    let most = open.iter().find(|(known, _)| known.as_str() == name).map_or(0, |(_, most)| *most);
    if running >= i64::from(most) {
        return Ok(Tried::Full(ConnectionId(name)));
    }
    let take = format!(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = $3, lease = $4, \
         updated = $5 WHERE tenant = $1 AND job = $2 RETURNING {COLUMNS}"
    );
    let (tenant, job): (String, i64) =
        (next.try_get(0).doing(doing)?, next.try_get(1).doing(doing)?);
    let key = (&claiming.worker, &claiming.until.0, &claiming.now.0);
    let rows = query(&transaction, &take, &[&tenant, &job, key.0, key.1, key.2]).await?;
    let job = rows.first().map(job_of).transpose()?;
    transaction.commit().await.doing(doing)?;
    Ok(job.map_or(Tried::Nothing, |job| Tried::Claimed(Box::new(job))))
}

/// Says that the worker is still at it.
pub(super) async fn still_at(
    client: &Client,
    tenant: &TenantId,
    job: JobId,
    worker: &str,
    until: Timestamp,
) -> Result<bool, MemoryError> {
    const SQL: &str = "UPDATE jobs SET lease = $4 \
         WHERE tenant = $1 AND job = $2 AND worker = $3 AND state = 'running'";
    let key = (tenant.as_str(), number(job));
    Ok(execute(client, SQL, &[&key.0, &key.1, &worker, &until.0]).await? > 0)
}

/// Says how a job goes on.
pub(super) async fn step(
    client: &impl GenericClient,
    tenant: &TenantId,
    step: &JobStep,
) -> Result<(), MemoryError> {
    const SQL: &str = "UPDATE jobs SET state = $4, body = coalesce($5, body), \
         due = coalesce($6, due), error = $7, updated = $8, \
         worker = CASE WHEN $4 = 'running' THEN worker END, \
         lease = CASE WHEN $4 = 'running' THEN lease END \
         WHERE tenant = $1 AND job = $2 AND worker = $3 AND state = 'running'";
    let outcome = &step.outcome;
    let body = step.body().map(job_body).transpose().map_err(|error| not_json(&error))?;
    let body = body.map(String::into_bytes);
    let error = outcome.error().map(str::as_bytes);
    let (state, due) = (outcome.state().as_str(), outcome.due().map(|due| due.0));
    let changed = execute(
        client,
        SQL,
        &[
            &tenant.as_str(),
            &number(step.job),
            &step.worker,
            &state,
            &body,
            &due,
            &error,
            &step.now.0,
        ],
    )
    .await?;
    if changed == 0 {
        return Err(MemoryError::JobLost { job: step.job.0, worker: step.worker.clone() });
    }
    Ok(())
}

/// Cancels jobs.
pub(super) async fn cancel(
    client: &Client,
    tenant: &TenantId,
    jobs: &[JobId],
    reason: &str,
    now: Timestamp,
) -> Result<u64, MemoryError> {
    const SQL: &str = "UPDATE jobs SET state = 'cancelled', worker = NULL, lease = NULL, \
         error = $3, updated = $4 \
         WHERE tenant = $1 AND job = ANY($2) AND state IN ('waiting', 'running')";
    let numbers: Vec<i64> = jobs.iter().map(|job| number(*job)).collect();
    let key = (tenant.as_str(), reason.as_bytes());
    Ok(execute(client, SQL, &[&key.0, &numbers, &key.1, &now.0]).await?)
}

/// Forgets jobs that were over before a time.
pub(super) async fn prune(client: &Client, before: Timestamp) -> Result<u64, MemoryError> {
    const SQL: &str = "DELETE FROM jobs WHERE updated < $1 \
         AND state IN ('done', 'failed', 'cancelled')";
    Ok(execute(client, SQL, &[&before.0]).await?)
}

/// Jobs of a chat, or of all chats.
pub(super) async fn jobs(
    client: &Client,
    tenant: &TenantId,
    chat: Option<&ChatId>,
    over: bool,
) -> Result<Vec<Job>, MemoryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE tenant = $1 AND ($2::text IS NULL OR chat = $2) \
         AND ($3 OR state IN ('waiting', 'running')) ORDER BY job"
    );
    let rows = query(client, &sql, &[&tenant.as_str(), &chat.map(ChatId::as_str), &over]).await?;
    Ok(rows.iter().map(job_of).collect::<Result<_, _>>()?)
}

fn job_of(row: &Row) -> Result<Job, StoreError> {
    let doing = "reading a job";
    let name = |at: usize| row.try_get::<_, String>(at).doing(doing);
    let whole = |at: usize| row.try_get::<_, i64>(at).doing(doing);
    let id = whole(1)?.unsigned_abs();
    let wrong = |reason: String| damaged(format!("job {id}"), reason);
    let unknown = |name: &str| wrong(format!("`{name}` is not known"));
    let (kind, state) = (name(3)?, name(7)?);
    let body = text(row, 6)?.unwrap_or_default();
    Ok(Job {
        tenant: TenantId(name(0)?),
        id: JobId(id),
        chat: ChatId(name(2)?),
        kind: JobKind::of(&kind).ok_or_else(|| unknown(&kind))?,
        connection: ConnectionId(name(4)?),
        priority: i32::try_from(whole(5)?).unwrap_or(0),
        body: job_from(&body).map_err(wrong)?,
        state: JobState::of(&state).ok_or_else(|| unknown(&state))?,
        attempts: u32::try_from(whole(8)?).unwrap_or(u32::MAX),
        due: Timestamp(whole(9)?),
        worker: row.try_get(10).doing(doing)?,
        lease: row.try_get::<_, Option<i64>>(11).doing(doing)?.map(Timestamp),
        error: text(row, 12)?,
        created: Timestamp(whole(13)?),
        updated: Timestamp(whole(14)?),
    })
}

fn number(job: JobId) -> i64 {
    i64::try_from(job.0).unwrap_or(i64::MAX)
}
