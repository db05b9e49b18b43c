//! Jobs. Every change holds SQLite's only write lock, so no two workers take one job, and no two
//! jobs of one chat run at the same time.

use async_trait::async_trait;
use loreloom_core::{
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Claiming, Job, JobId, JobQueue, JobStep, MemoryError, NewJob, StoreError};
use rusqlite::{Connection, params};

use super::{
    SqliteStore,
    statement::{execute, query, query_first},
};
use crate::{
    codec::job_body,
    errors::not_json,
    rows::{StoredRow as _, job, signed},
};

#[async_trait]
impl JobQueue for SqliteStore {
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError> {
        let (tenant, job) = (tenant.clone(), job.clone());
        self.write_memory(move |connection| Ok(enqueue(connection, &tenant, &job, now)?)).await
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        let now = claiming.now;
        if !self.pool.read_inline(move |connection| may_claim(connection, now)).await? {
            return Ok(None);
        }
        let claiming = claiming.clone();
        self.write_memory(move |connection| Ok(claim(connection, &claiming)?)).await
    }

    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError> {
        let (tenant, worker) = (tenant.clone(), worker.to_owned());
        let write = move |connection: &Connection| {
            let row = params![tenant.as_str(), signed(job.0), worker, until.0];
            Ok(execute(connection, "extending a lease", job::EXTEND_LEASE, row)? > 0)
        };
        self.write_memory(write).await
    }

    async fn step(&self, tenant: &TenantId, given: &JobStep) -> Result<(), MemoryError> {
        let (tenant, given) = (tenant.clone(), given.clone());
        self.write_memory(move |connection| step(connection, &tenant, &given)).await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[JobId],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, MemoryError> {
        if jobs.is_empty() {
            return Ok(0);
        }
        let (tenant, jobs, reason) = (tenant.clone(), jobs.to_vec(), reason.to_owned());
        let cancel = move |connection: &Connection| {
            let sql = "UPDATE jobs SET state = 'cancelled', worker = NULL, lease = NULL, \
                 error = $3, updated = $4 \
                 WHERE tenant = $1 AND job = $2 AND state IN ('waiting', 'running')";
            let mut count = 0;
            for job in jobs {
                let row = params![tenant.as_str(), signed(job.0), reason, now.0];
                count += execute(connection, "cancelling jobs", sql, row)? as u64;
            }
            Ok(count)
        };
        self.write_memory(cancel).await
    }

    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError> {
        let (tenant, chat) = (tenant.clone(), chat.cloned());
        let read = move |connection: &mut Connection| {
            let key = params![tenant.as_str(), chat.as_ref().map(ChatId::as_str), over];
            query(connection, "reading jobs", job::LIST, key, |row| job::job(row))
        };
        // With jobs that are over, these may be many.
        Ok(if over { self.pool.read(read).await? } else { self.pool.read_inline(read).await? })
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, MemoryError> {
        let delete = move |connection: &Connection| {
            // The newest job stays: the next number follows from it.
            let sql = "DELETE FROM jobs WHERE updated < $1 \
                 AND state IN ('done', 'failed', 'cancelled') AND job < (SELECT max(job) FROM jobs)";
            Ok(execute(connection, "deleting old jobs", sql, [before.0])? as u64)
        };
        self.write_memory(delete).await
    }
}

fn enqueue(
    connection: &Connection,
    tenant: &TenantId,
    job: &NewJob,
    now: Timestamp,
) -> Result<JobId, StoreError> {
    const NEXT: &str = "SELECT coalesce(max(job), 0) + 1 FROM jobs";
    const INSERT: &str = "INSERT INTO jobs (tenant, job, chat, kind, connection, priority, body, \
         state, attempts, due, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', 0, $8, $9, $9)";
    let doing = "queueing a job";
    let body = job_body(&job.body).map_err(|error| not_json(&error))?;
    let number = query_first(connection, doing, NEXT, [], |row| row.number(0))?.unwrap_or(1);
    let (chat, kind, used) = (job.chat.as_str(), job.kind.as_str(), job.connection.as_str());
    let row =
        params![tenant.as_str(), number, chat, kind, used, job.priority, body, job.due.0, now.0];
    execute(connection, doing, INSERT, row)?;
    Ok(JobId(number.unsigned_abs()))
}

/// Whether there may be a job to claim. Needs no write lock.
fn may_claim(connection: &Connection, now: Timestamp) -> Result<bool, StoreError> {
    const FIND: &str = "SELECT 1 FROM jobs WHERE (state = 'waiting' AND due <= $1) \
         OR (state = 'running' AND lease < $1) LIMIT 1";
    Ok(query_first(connection, "looking for jobs", FIND, [now.0], |_| Ok(()))?.is_some())
}

/// Takes the next job.
fn claim(connection: &Connection, claiming: &Claiming) -> Result<Option<Job>, StoreError> {
    const EXPIRE: &str = "UPDATE jobs SET state = 'waiting', worker = NULL, lease = NULL \
         WHERE state = 'running' AND lease < $1";
    const COUNT: &str = "SELECT count(*) FROM jobs WHERE state = 'running' AND connection = $1";
    const NEXT: &str = "SELECT job FROM jobs j WHERE state = 'waiting' AND due <= $1 \
         AND connection IN (SELECT value FROM json_each($2)) \
         AND NOT EXISTS (SELECT 1 FROM jobs r \
             WHERE r.tenant = j.tenant AND r.chat = j.chat AND r.state = 'running') \
         ORDER BY priority DESC, job LIMIT 1";
    const TAKE: &str = concat!(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1, \
         worker = $2, lease = $3, updated = $4 WHERE job = $1 RETURNING ",
        job::job_columns!()
    );
    let doing = "claiming a job";
    execute(connection, doing, EXPIRE, [claiming.now.0])?;
    let mut open = Vec::new();
    for (name, most) in &claiming.connections {
        let running =
            query_first(connection, doing, COUNT, [name.as_str()], |row| row.unsigned(0))?;
        if running.unwrap_or(0) < u64::from(*most) {
            open.push(name.as_str());
        }
    }
    let open = serde_json::to_string(&open).map_err(|error| not_json(&error))?;
    let key = (claiming.now.0, open);
    let next = query_first(connection, doing, NEXT, key, |row| row.number(0))?;
    let Some(number) = next else { return Ok(None) };
    let row = params![number, claiming.worker, claiming.until.0, claiming.now.0];
    query_first(connection, doing, TAKE, row, |row| job::job(row))
}

/// Stores the outcome of a step.
pub(super) fn step(
    connection: &Connection,
    tenant: &TenantId,
    step: &JobStep,
) -> Result<(), MemoryError> {
    let outcome = &step.outcome;
    let body = step.body().map(job_body).transpose().map_err(|error| not_json(&error))?;
    let (state, due) = (outcome.state().as_str(), outcome.due().map(|due| due.0));
    let (job, worker) = (signed(step.job.0), &step.worker);
    let row = params![tenant.as_str(), job, worker, state, body, due, outcome.error(), step.now.0];
    if execute(connection, "storing a step of a job", job::STEP, row)? == 0 {
        return Err(MemoryError::JobLost { job: step.job.0, worker: worker.clone() });
    }
    Ok(())
}
