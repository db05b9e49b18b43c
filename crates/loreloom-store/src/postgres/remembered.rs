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

use super::{PostgresStore, jobs, memory_log, rows::client};

#[async_trait]
impl MemoryLog for PostgresStore {
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
        memory_log::write(&mut client(&self.pool).await?, tenant, write).await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError> {
        memory_log::events(&client(&self.pool).await?, tenant, owner, after).await
    }

    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError> {
        memory_log::owners(&client(&self.pool).await?, tenant).await
    }

    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError> {
        memory_log::writes(&client(&self.pool).await?, tenant, most).await
    }

    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError> {
        memory_log::written(&client(&self.pool).await?, tenant, write).await
    }

    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError> {
        memory_log::vectors(&client(&self.pool).await?, tenant, model, texts).await
    }

    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError> {
        memory_log::keep_vectors(&client(&self.pool).await?, tenant, model, vectors).await
    }
}

#[async_trait]
impl JobQueue for PostgresStore {
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError> {
        jobs::enqueue(&client(&self.pool).await?, tenant, job, now).await
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        jobs::claim(&mut client(&self.pool).await?, claiming).await
    }

    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError> {
        jobs::still_at(&client(&self.pool).await?, tenant, job, worker, until).await
    }

    async fn step(&self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError> {
        jobs::step(&client(&self.pool).await?, tenant, step).await
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[JobId],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, MemoryError> {
        jobs::cancel(&client(&self.pool).await?, tenant, jobs, reason, now).await
    }

    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError> {
        jobs::jobs(&client(&self.pool).await?, tenant, chat, over).await
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, MemoryError> {
        jobs::prune(&client(&self.pool).await?, before).await
    }
}
