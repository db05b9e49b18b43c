//! Jobs in memory.

use async_trait::async_trait;
use loreloom_core::{
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Claiming, Job, JobId, JobQueue, JobState, JobStep, MemoryError, NewJob};

use super::InMemoryStore;

#[derive(Debug, Default)]
pub(super) struct JobList {
    jobs: Vec<Job>,
    last: u64,
}

impl JobList {
    fn held(
        &mut self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
    ) -> Result<&mut Job, MemoryError> {
        let lost = || MemoryError::JobLost { job: job.0, worker: worker.to_owned() };
        let is_running = |known: &&mut Job| {
            known.tenant == *tenant
                && known.id == job
                && known.state == JobState::Running
                && known.worker.as_deref() == Some(worker)
        };
        self.jobs.iter_mut().find(is_running).ok_or_else(lost)
    }

    pub(super) fn step(&mut self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError> {
        let job = self.held(tenant, step.job, &step.worker)?;
        job.state = step.outcome.state();
        if let Some(body) = step.body() {
            job.body = body.clone();
        }
        if let Some(due) = step.outcome.due() {
            job.due = due;
        }
        job.error = step.outcome.error().map(str::to_owned);
        job.updated = step.now;
        if job.state != JobState::Running {
            (job.worker, job.lease) = (None, None);
        }
        Ok(())
    }

    fn claim(&mut self, claiming: &Claiming) -> Option<Job> {
        let expired = |job: &&mut Job| {
            job.state == JobState::Running && job.lease.is_none_or(|lease| lease < claiming.now)
        };
        for job in self.jobs.iter_mut().filter(expired) {
            (job.state, job.worker, job.lease) = (JobState::Waiting, None, None);
        }
        let running: Vec<(TenantId, ChatId, _)> = self
            .jobs
            .iter()
            .filter(|job| job.state == JobState::Running)
            .map(|job| (job.tenant.clone(), job.chat.clone(), job.connection.clone()))
            .collect();
        let has_room = |job: &Job| {
            let busy = running.iter().filter(|(.., connection)| *connection == job.connection);
            let busy = u32::try_from(busy.count()).unwrap_or(u32::MAX);
            let known = claiming.connections.iter().find(|(name, _)| *name == job.connection);
            known.is_some_and(|(_, most)| busy < *most)
        };
        let is_free = |job: &Job| {
            !running.iter().any(|(owner, chat, _)| (owner, chat) == (&job.tenant, &job.chat))
        };
        let ready = self.jobs.iter_mut().filter(|job| {
            job.state == JobState::Waiting
                && job.due <= claiming.now
                && has_room(job)
                && is_free(job)
        });
        let job = ready.min_by_key(|job| (std::cmp::Reverse(job.priority), job.id))?;
        job.state = JobState::Running;
        job.attempts += 1;
        (job.worker, job.lease) = (Some(claiming.worker.clone()), Some(claiming.until));
        job.updated = claiming.now;
        Some(job.clone())
    }
}

/// A job that was just queued.
fn queued(tenant: &TenantId, id: JobId, job: &NewJob, now: Timestamp) -> Job {
    Job {
        tenant: tenant.clone(),
        id,
        chat: job.chat.clone(),
        kind: job.kind,
        connection: job.connection.clone(),
        priority: job.priority,
        body: job.body.clone(),
        state: JobState::Waiting,
        attempts: 0,
        due: job.due,
        worker: None,
        lease: None,
        error: None,
        created: now,
        updated: now,
    }
}

#[async_trait]
impl JobQueue for InMemoryStore {
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError> {
        let list = &mut self.memory().jobs;
        list.last += 1;
        let id = JobId(list.last);
        list.jobs.push(queued(tenant, id, job, now));
        Ok(id)
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        Ok(self.memory().jobs.claim(claiming))
    }

    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError> {
        let list = &mut self.memory().jobs;
        let Ok(job) = list.held(tenant, job, worker) else { return Ok(false) };
        job.lease = Some(until);
        Ok(true)
    }

    async fn step(&self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError> {
        self.memory().jobs.step(tenant, step)
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[JobId],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, MemoryError> {
        let list = &mut self.memory().jobs;
        let open = list
            .jobs
            .iter_mut()
            .filter(|job| job.tenant == *tenant && jobs.contains(&job.id) && !job.state.is_over());
        let mut count = 0;
        for job in open {
            (job.state, job.worker, job.lease) = (JobState::Cancelled, None, None);
            (job.error, job.updated) = (Some(reason.to_owned()), now);
            count += 1;
        }
        Ok(count)
    }

    async fn prune(&self, before: Timestamp) -> Result<u64, MemoryError> {
        let list = &mut self.memory().jobs;
        let known = list.jobs.len();
        list.jobs.retain(|job| !job.state.is_over() || job.updated >= before);
        Ok((known - list.jobs.len()) as u64)
    }

    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError> {
        let list = &self.memory().jobs;
        let wanted = list.jobs.iter().filter(|job| {
            job.tenant == *tenant
                && chat.is_none_or(|chat| job.chat == *chat)
                && (over || !job.state.is_over())
        });
        Ok(wanted.cloned().collect())
    }
}
