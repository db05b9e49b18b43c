//! Jobs. Workers skip rows that others hold (`SKIP LOCKED`). A unique index refuses a second
//! running job of a chat. A lock for each connection makes its count of running jobs exact.

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient};
use loreloom_core::{
    ids::{ChatId, ConnectionId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Claiming, Job, JobId, JobQueue, JobStep, MemoryError, NewJob, StoreError};
use tokio_postgres::error::SqlState;

use super::{
    PostgresStore,
    statement::{Parameters, client, decode_all, execute, query, query_first},
};
use crate::{
    codec::job_body,
    errors::{DatabaseResult as _, DecodeResult as _, not_json},
    rows::{StoredRow as _, job, signed},
};

#[async_trait]
impl JobQueue for PostgresStore {
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError> {
        Ok(enqueue(&client(&self.pool).await?, tenant, job, now).await?)
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        Ok(claim(&mut client(&self.pool).await?, claiming).await?)
    }

    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError> {
        let client = client(&self.pool).await?;
        let row: &Parameters<'_> = &[&tenant.as_str(), &signed(job.0), &worker, &until.0];
        Ok(execute(&client, "extending a lease", job::EXTEND_LEASE, row).await? > 0)
    }

    async fn step(&self, tenant: &TenantId, given: &JobStep) -> Result<(), MemoryError> {
        step(&client(&self.pool).await?, tenant, given).await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[JobId],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, MemoryError> {
        const CANCEL: &str = "UPDATE jobs SET state = 'cancelled', worker = NULL, lease = NULL, \
             error = $3, updated = $4 \
             WHERE tenant = $1 AND job = ANY($2) AND state IN ('waiting', 'running')";
        let client = client(&self.pool).await?;
        let numbers: Vec<i64> = jobs.iter().map(|job| signed(job.0)).collect();
        let row: &Parameters<'_> = &[&tenant.as_str(), &numbers, &reason.as_bytes(), &now.0];
        Ok(execute(&client, "cancelling jobs", CANCEL, row).await?)
    }

    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError> {
        let doing = "reading jobs";
        let client = client(&self.pool).await?;
        let key: &Parameters<'_> = &[&tenant.as_str(), &chat.map(ChatId::as_str), &over];
        Ok(decode_all(&query(&client, doing, job::LIST, key).await?, doing, job::job)?)
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, MemoryError> {
        const DELETE: &str = "DELETE FROM jobs WHERE updated < $1 \
             AND state IN ('done', 'failed', 'cancelled')";
        let client = client(&self.pool).await?;
        Ok(execute(&client, "deleting old jobs", DELETE, &[&before.0]).await?)
    }
}

async fn enqueue(
    client: &Client,
    tenant: &TenantId,
    job: &NewJob,
    now: Timestamp,
) -> Result<JobId, StoreError> {
    const INSERT: &str = "INSERT INTO jobs (tenant, job, chat, kind, connection, priority, body, \
         state, attempts, due, created, updated) \
         VALUES ($1, nextval('job_numbers'), $2, $3, $4, $5, $6, 'waiting', 0, $7, $8, $8) \
         RETURNING job";
    let doing = "queueing a job";
    let body = job_body(&job.body).map_err(|error| not_json(&error))?;
    let row: &Parameters<'_> = &[
        &tenant.as_str(),
        &job.chat.as_str(),
        &job.kind.as_str(),
        &job.connection.as_str(),
        &i64::from(job.priority),
        &body.as_bytes(),
        &job.due.0,
        &now.0,
    ];
    let row = query_first(client, doing, INSERT, row).await?;
    let number = row.ok_or_else(|| "the new job has no number".to_owned());
    Ok(JobId(number.and_then(|row| row.unsigned(0)).row_while(doing)?))
}

/// Takes the next job.
async fn claim(client: &mut Client, claiming: &Claiming) -> Result<Option<Job>, StoreError> {
    const EXPIRE: &str = "UPDATE jobs SET state = 'waiting', worker = NULL, lease = NULL \
         WHERE (tenant, job) IN (SELECT tenant, job FROM jobs \
             WHERE state = 'running' AND lease < $1 FOR UPDATE SKIP LOCKED)";
    execute(client, CLAIMING, EXPIRE, &[&claiming.now.0]).await?;
    let mut open = claiming.connections.clone();
    loop {
        match try_claim(client, claiming, &open).await {
            Ok(ClaimOutcome::Claimed(job)) => return Ok(Some(*job)),
            Ok(ClaimOutcome::NoJob) => return Ok(None),
            Ok(ClaimOutcome::Busy(connection)) => open.retain(|(name, _)| *name != connection),
            // Another worker took a job of the same chat. Its other jobs must wait now.
            Err(error) if is_unique_violation(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

enum ClaimOutcome {
    Claimed(Box<Job>),
    NoJob,
    /// The connection runs as many jobs as it may.
    Busy(ConnectionId),
}

const CLAIMING: &str = "claiming a job";

async fn try_claim(
    client: &mut Client,
    claiming: &Claiming,
    open: &[(ConnectionId, u32)],
) -> Result<ClaimOutcome, StoreError> {
    const NEXT: &str = "SELECT tenant, job, connection FROM jobs j \
         WHERE state = 'waiting' AND due <= $1 AND connection = ANY($2) \
         AND NOT EXISTS (SELECT 1 FROM jobs r \
             WHERE r.tenant = j.tenant AND r.chat = j.chat AND r.state = 'running') \
         ORDER BY priority DESC, job LIMIT 1 FOR UPDATE SKIP LOCKED";
    const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('job of ' || $1, 0))";
    const COUNT: &str = "SELECT count(*) FROM jobs WHERE state = 'running' AND connection = $1";
    const TAKE: &str = concat!(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = $3, lease = $4, \
         updated = $5 WHERE tenant = $1 AND job = $2 RETURNING ",
        job::job_columns!()
    );
    let names: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
    let transaction = client.transaction().await.doing(CLAIMING)?;
    let next = query_first(&transaction, CLAIMING, NEXT, &[&claiming.now.0, &names]).await?;
    let Some(next) = next else { return Ok(ClaimOutcome::NoJob) };
    let name = next.str(2).row_while(CLAIMING)?;
    query(&transaction, CLAIMING, LOCK, &[&name]).await?;
    let count = query_first(&transaction, CLAIMING, COUNT, &[&name]).await?;
    let running = count.map_or(Ok(0), |row| row.unsigned(0)).row_while(CLAIMING)?;
    let most = open.iter().find(|(known, _)| known.as_str() == name).map_or(0, |(_, most)| *most);
    if running >= u64::from(most) {
        return Ok(ClaimOutcome::Busy(ConnectionId::from(name)));
    }
    let row: &Parameters<'_> = &[
        &next.str(0).row_while(CLAIMING)?,
        &next.number(1).row_while(CLAIMING)?,
        &claiming.worker,
        &claiming.until.0,
        &claiming.now.0,
    ];
    let row = query_first(&transaction, CLAIMING, TAKE, row).await?;
    let job = row.map(|row| job::job(&row)).transpose().row_while(CLAIMING)?;
    transaction.commit().await.doing(CLAIMING)?;
    Ok(job.map_or(ClaimOutcome::NoJob, |job| ClaimOutcome::Claimed(Box::new(job))))
}

/// Stores the outcome of a step.
pub(super) async fn step(
    client: &impl GenericClient,
    tenant: &TenantId,
    step: &JobStep,
) -> Result<(), MemoryError> {
    let outcome = &step.outcome;
    let body = step.body().map(job_body).transpose().map_err(|error| not_json(&error))?;
    let row: &Parameters<'_> = &[
        &tenant.as_str(),
        &signed(step.job.0),
        &step.worker,
        &outcome.state().as_str(),
        &body.as_ref().map(String::as_bytes),
        &outcome.due().map(|due| due.0),
        &outcome.error().map(str::as_bytes),
        &step.now.0,
    ];
    if execute(client, "storing a step of a job", job::STEP, row).await? == 0 {
        return Err(MemoryError::JobLost { job: step.job.0, worker: step.worker.clone() });
    }
    Ok(())
}

fn is_unique_violation(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    let cause = source.downcast_ref::<tokio_postgres::Error>();
    cause.and_then(tokio_postgres::Error::code) == Some(&SqlState::UNIQUE_VIOLATION)
}
