//! What is remembered, and jobs, in the memory of this process.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use async_trait::async_trait;
use loreloom_core::{
    ids::{ChatId, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Claiming, Job, JobId, JobQueue, JobState, JobStep, MemoryError, MemoryLog, NewJob, Owner,
    StoryStore as _, Vector, Write, WriteSummary, Written,
};
use loreloom_ports::{MemoryEvent, MemoryWriteId};

use crate::MemoryStore;

/// Everything beside the stories themselves.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    events: BTreeMap<(TenantId, Owner), Vec<MemoryEvent>>,
    writes: BTreeMap<TenantId, Vec<WriteSummary>>,
    vectors: BTreeMap<(TenantId, String, Digest), Vector>,
    jobs: Vec<Job>,
    last_job: u64,
}

impl Remembered {
    fn last(&self, tenant: &TenantId, owner: &Owner) -> u64 {
        let events = self.events.get(&(tenant.clone(), owner.clone()));
        events.map_or(0, |events| events.len() as u64)
    }

    fn is_written(&self, tenant: &TenantId, write: &MemoryWriteId) -> bool {
        let writes = self.writes.get(tenant).into_iter().flatten();
        writes.into_iter().any(|known| known.id == *write)
    }

    fn nobody_wrote(&self, tenant: &TenantId, write: &Write) -> Result<(), MemoryError> {
        for given in &write.owners {
            let found = self.last(tenant, &given.owner);
            if let Some(expected) = given.seen.filter(|seen| *seen != found) {
                return Err(MemoryError::Behind { owner: given.owner.clone(), expected, found });
            }
        }
        Ok(())
    }

    fn add(&mut self, tenant: &TenantId, write: &Write) {
        for given in &write.owners {
            let log = self.events.entry((tenant.clone(), given.owner.clone())).or_default();
            for event in &given.events {
                log.push(MemoryEvent {
                    number: log.len() as u64 + 1,
                    write: write.id.clone(),
                    chat: write.chat.clone(),
                    at: write.at,
                    event: event.clone(),
                });
            }
        }
        self.writes.entry(tenant.clone()).or_default().push(summary(write));
    }

    fn held(
        &mut self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
    ) -> Result<&mut Job, MemoryError> {
        let lost = || MemoryError::JobLost { job: job.0, worker: worker.to_owned() };
        let is_held = |known: &&mut Job| {
            known.tenant == *tenant
                && known.id == job
                && known.state == JobState::Running
                && known.worker.as_deref() == Some(worker)
        };
        self.jobs.iter_mut().find(is_held).ok_or_else(lost)
    }

    fn step(&mut self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError> {
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
        let silent = |job: &&mut Job| {
            job.state == JobState::Running && job.lease.is_none_or(|lease| lease < claiming.now)
        };
        for job in self.jobs.iter_mut().filter(silent) {
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

/// A write as a line of the list.
pub(crate) fn summary(write: &Write) -> WriteSummary {
    WriteSummary {
        id: write.id.clone(),
        author: write.author,
        note: write.note.clone(),
        chat: write.chat.clone(),
        at: write.at,
        owners: write.owners.iter().map(|given| given.owner.clone()).collect(),
    }
}

/// A job that was just queued.
pub(crate) fn queued(tenant: &TenantId, id: JobId, job: &NewJob, now: Timestamp) -> Job {
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

impl MemoryStore {
    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl MemoryLog for MemoryStore {
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
        let found = match &write.story {
            Some(story) => self.chat(tenant, &story.chat).await?.map(|chat| chat.version),
            None => None,
        };
        let mut remembered = self.remembered();
        if remembered.is_written(tenant, &write.id) {
            return Ok(Written::Before);
        }
        if let Some(story) = &write.story
            && found != Some(story.version)
        {
            let (chat, found) = (story.chat.clone(), found.unwrap_or(0));
            return Err(MemoryError::StoryMoved { chat, expected: story.version, found });
        }
        remembered.nobody_wrote(tenant, write)?;
        if let Some(step) = &write.job {
            remembered.step(tenant, step)?;
        }
        remembered.add(tenant, write);
        Ok(Written::Stored)
    }

    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError> {
        let remembered = self.remembered();
        let events = remembered.events.get(&(tenant.clone(), owner.clone()));
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(events.into_iter().flatten().skip(skipped).cloned().collect())
    }

    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError> {
        let remembered = self.remembered();
        let own = remembered.events.iter().filter(|((holder, _), _)| holder == tenant);
        Ok(own.map(|((_, owner), events)| (owner.clone(), events.len() as u64)).collect())
    }

    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError> {
        let remembered = self.remembered();
        let writes = remembered.writes.get(tenant).into_iter().flatten().rev();
        Ok(writes.take(most as usize).cloned().collect())
    }

    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError> {
        let remembered = self.remembered();
        let mut writes = remembered.writes.get(tenant).into_iter().flatten();
        Ok(writes.find(|known| known.id == *write).cloned())
    }

    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError> {
        let remembered = self.remembered();
        let find = |text: &Digest| {
            remembered.vectors.get(&(tenant.clone(), model.to_owned(), *text)).cloned()
        };
        Ok(texts.iter().map(find).collect())
    }

    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError> {
        let mut remembered = self.remembered();
        for (text, vector) in vectors {
            let key = (tenant.clone(), model.to_owned(), *text);
            remembered.vectors.entry(key).or_insert_with(|| vector.clone());
        }
        Ok(())
    }
}

#[async_trait]
impl JobQueue for MemoryStore {
    async fn enqueue(
        &self,
        tenant: &TenantId,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<JobId, MemoryError> {
        let mut remembered = self.remembered();
        remembered.last_job += 1;
        let id = JobId(remembered.last_job);
        remembered.jobs.push(queued(tenant, id, job, now));
        Ok(id)
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        Ok(self.remembered().claim(claiming))
    }

    async fn still_at(
        &self,
        tenant: &TenantId,
        job: JobId,
        worker: &str,
        until: Timestamp,
    ) -> Result<bool, MemoryError> {
        let mut remembered = self.remembered();
        let Ok(job) = remembered.held(tenant, job, worker) else { return Ok(false) };
        job.lease = Some(until);
        Ok(true)
    }

    async fn step(&self, tenant: &TenantId, step: &JobStep) -> Result<(), MemoryError> {
        self.remembered().step(tenant, step)
    }

    async fn cancel(
        &self,
        tenant: &TenantId,
        jobs: &[JobId],
        reason: &str,
        now: Timestamp,
    ) -> Result<u64, MemoryError> {
        let mut remembered = self.remembered();
        let open = remembered
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
        let mut remembered = self.remembered();
        let known = remembered.jobs.len();
        remembered.jobs.retain(|job| !job.state.is_over() || job.updated >= before);
        Ok((known - remembered.jobs.len()) as u64)
    }

    async fn jobs(
        &self,
        tenant: &TenantId,
        chat: Option<&ChatId>,
        over: bool,
    ) -> Result<Vec<Job>, MemoryError> {
        let remembered = self.remembered();
        let wanted = remembered.jobs.iter().filter(|job| {
            job.tenant == *tenant
                && chat.is_none_or(|chat| job.chat == *chat)
                && (over || !job.state.is_over())
        });
        Ok(wanted.cloned().collect())
    }
}
