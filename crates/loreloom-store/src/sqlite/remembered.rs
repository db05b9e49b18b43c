//! Memory and jobs behind their ports.

use async_trait::async_trait;
use loreloom_core::{
    ids::{ChatId, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Claiming, Job, JobId, JobQueue, JobStep, MemoryError, MemoryLog, NewJob, Owner, Vector, Write,
    WriteSummary, Written,
};
use loreloom_ports::{MemoryEvent, MemoryWriteId};
use rusqlite::Connection;

use super::{SqliteStore, jobs, memory_log, rows::Doing as _, unit::Unit};

/// Events that are read at a glance.
const FEW: u64 = 64;

impl SqliteStore {
    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.pool.read(move |connection| Ok(read(connection))).await?
    }

    /// The same for what every turn asks.
    async fn glancing<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        self.pool.glance(move |connection| Ok(read(connection))).await?
    }

    async fn writing<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let write = move |transaction: Unit<'_>| {
            let written = write(&transaction);
            // What is refused leaves nothing behind.
            if written.is_ok() {
                transaction.commit().doing("writing memory")?;
            }
            Ok(written)
        };
        self.pool.write(write).await?
    }
}

#[async_trait]
impl MemoryLog for SqliteStore {
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
        let (tenant, write) = (tenant.clone(), write.clone());
        let write = move |connection: &Connection| memory_log::write(connection, &tenant, &write);
        self.writing(write).await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError> {
        let (tenant, owner) = (tenant.clone(), owner.clone());
        self.reading(move |connection| memory_log::events(connection, &tenant, &owner, after)).await
    }

    async fn news(
        &self,
        tenant: &TenantId,
        known: &[(Owner, u64)],
    ) -> Result<Vec<Vec<MemoryEvent>>, MemoryError> {
        if known.is_empty() {
            return Ok(Vec::new());
        }
        let (owner, asked) = (tenant.clone(), known.to_vec());
        let look = move |connection: &Connection| memory_log::newer(connection, &owner, &asked);
        let newer = self.glancing(look).await?;
        if newer.iter().all(|newer| *newer == 0) {
            return Ok(vec![Vec::new(); known.len()]);
        }
        let (tenant, known) = (tenant.clone(), known.to_vec());
        let read = move |connection: &Connection| {
            let of = |(owner, after): &(Owner, u64)| {
                memory_log::events(connection, &tenant, owner, *after)
            };
            known.iter().map(of).collect()
        };
        let few = newer.iter().all(|newer| *newer <= FEW);
        if few { self.glancing(read).await } else { self.reading(read).await }
    }

    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError> {
        let tenant = tenant.clone();
        self.reading(move |connection| memory_log::owners(connection, &tenant)).await
    }

    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError> {
        let tenant = tenant.clone();
        self.reading(move |connection| memory_log::writes(connection, &tenant, most)).await
    }

    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError> {
        let (tenant, write) = (tenant.clone(), write.clone());
        self.reading(move |connection| memory_log::written(connection, &tenant, &write)).await
    }

    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError> {
        let (tenant, model, texts) = (tenant.clone(), model.to_owned(), texts.to_vec());
        let read =
            move |connection: &Connection| memory_log::vectors(connection, &tenant, &model, &texts);
        self.reading(read).await
    }

    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError> {
        let (tenant, model, vectors) = (tenant.clone(), model.to_owned(), vectors.to_vec());
        let write = move |connection: &Connection| {
            memory_log::keep_vectors(connection, &tenant, &model, &vectors)
        };
        self.writing(write).await
    }
}

#[async_trait]
impl JobQueue for SqliteStore {
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError> {
        let (tenant, job) = (tenant.clone(), job.clone());
        self.writing(move |connection| jobs::enqueue(connection, &tenant, &job, now)).await
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        let now = claiming.now;
        if !self.glancing(move |connection| jobs::may_claim(connection, now)).await? {
            return Ok(None);
        }
        let claiming = claiming.clone();
        self.writing(move |connection| jobs::claim(connection, &claiming)).await
    }

    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError> {
        let (tenant, worker) = (tenant.clone(), worker.to_owned());
        let write =
            move |connection: &Connection| jobs::still_at(connection, &tenant, job, &worker, until);
        self.writing(write).await
    }

    async fn step(&self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError> {
        let (tenant, step) = (tenant.clone(), step.clone());
        self.writing(move |connection| jobs::step(connection, &tenant, &step)).await
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
        let (tenant, list, reason) = (tenant.clone(), jobs.to_vec(), reason.to_owned());
        let write =
            move |connection: &Connection| jobs::cancel(connection, &tenant, &list, &reason, now);
        self.writing(write).await
    }

    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError> {
        let (tenant, chat) = (tenant.clone(), chat.cloned());
        let read =
            move |connection: &Connection| jobs::jobs(connection, &tenant, chat.as_ref(), over);
        // What is over is everything there ever was.
        if over { self.reading(read).await } else { self.glancing(read).await }
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, MemoryError> {
        self.writing(move |connection| jobs::prune(connection, before)).await
    }
}
