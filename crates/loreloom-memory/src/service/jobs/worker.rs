//! Claims jobs, runs them, and reports on them until it is stopped.

use std::{sync::Arc, time::Duration};

use loreloom_core::units::Timestamp;
use loreloom_ports::{Claiming, Clock, Job, JobId, JobOutcome, JobQueue, MemoryError};
use tokio::sync::{Notify, watch};

use super::{
    accounting::Listening,
    foreground::{Foreground, IdleModel},
    passes::{ATTEMPTS, ClaimedJob, JobPasses, PassResult, step},
};
use crate::{
    cycle::Backend,
    service::{ModelRoles, Options, PathViews, Ports},
};

/// How long a worker holds a job without a heartbeat, in milliseconds.
const LEASE: i64 = 60_000;
/// The time between heartbeats.
const BEAT: Duration = Duration::from_secs(10);
/// How long a worker waits when there is nothing to do.
const IDLE: Duration = Duration::from_secs(2);

/// How long finished jobs stay visible, and how often older ones are deleted.
const KEPT_FOR: i64 = 7 * 24 * 3_600_000;
const PRUNES_EVERY: i64 = 3_600_000;

/// Stops workers: send `true`.
pub type Stop = watch::Receiver<bool>;

/// A job that a worker ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRun {
    /// The job.
    pub job: JobId,
    /// How it goes on; `None` if another worker took it over.
    pub outcome: Option<JobOutcome>,
}

/// What a worker waits for.
pub(in crate::service) struct JobSignals {
    /// A job was queued.
    pub(in crate::service) queued: Arc<Notify>,
    /// Nobody waits for a reply.
    pub(in crate::service) foreground: Arc<Foreground>,
}

/// Runs queued jobs.
pub struct JobWorker {
    jobs: Arc<dyn JobQueue>,
    clock: Arc<dyn Clock>,
    models: Arc<ModelRoles>,
    passes: JobPasses,
    queued: Arc<Notify>,
    foreground: Arc<Foreground>,
}

impl JobWorker {
    pub(in crate::service) fn new(
        ports: &Ports,
        views: &Arc<PathViews>,
        models: &Arc<ModelRoles>,
        options: &Arc<Options>,
        signals: JobSignals,
    ) -> Self {
        let JobSignals { queued, foreground } = signals;
        let passes = JobPasses {
            story: Arc::clone(&ports.story),
            log: Arc::clone(&ports.log),
            clock: Arc::clone(&ports.clock),
            views: Arc::clone(views),
            models: Arc::clone(models),
            options: Arc::clone(options),
        };
        Self {
            jobs: Arc::clone(&ports.jobs),
            clock: Arc::clone(&ports.clock),
            models: Arc::clone(models),
            passes,
            queued,
            foreground,
        }
    }

    /// Claims one job and runs it; `None` if there was none. When `stop` is set, it stops at
    /// once and leaves the job to the next worker.
    pub async fn run_next_job(
        &self,
        worker: &str,
        backend: Backend<'_>,
        stop: &mut Stop,
    ) -> Result<Option<JobRun>, MemoryError> {
        let connections = self.models.subscribe().borrow().connections();
        if connections.is_empty() {
            return Ok(None);
        }
        let now = self.clock.now();
        let claiming = Claiming { worker: worker.to_owned(), now, until: after(now), connections };
        let Some(mut job) = self.jobs.claim(&claiming).await? else { return Ok(None) };
        loop {
            let one_slot = self.models.used().is_some_and(|model| model.at_once == 1);
            let foreground = one_slot.then_some(self.foreground.as_ref());
            let idle = IdleModel { model: backend.model, foreground };
            let heard = Listening::new(&idle, job.body.account.clone());
            let backend = Backend { model: &heard, ..backend };
            let claimed = ClaimedJob { job: &job, worker, backend, heard: &heard };
            let outcome = match self.run_with_heartbeat(claimed, stop).await? {
                Some(PassResult::Stored(outcome)) => Some(outcome),
                Some(PassResult::Unstored(outcome)) => self.store(claimed, outcome).await?,
                None => None,
            };
            let Some(JobOutcome::Further(body)) = outcome else {
                return Ok(Some(JobRun { job: job.id, outcome }));
            };
            job.body = body;
        }
    }

    /// Stores the outcome of a job; `None` if another worker took it over.
    async fn store(
        &self,
        claimed: ClaimedJob<'_>,
        outcome: JobOutcome,
    ) -> Result<Option<JobOutcome>, MemoryError> {
        let step = step(claimed, self.clock.now(), outcome);
        match self.jobs.step(&claimed.job.tenant, &step).await {
            Ok(()) => Ok(Some(step.outcome)),
            Err(MemoryError::JobLost { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a job and sends heartbeats; `None` if another worker took it over.
    async fn run_with_heartbeat(
        &self,
        claimed: ClaimedJob<'_>,
        stop: &mut Stop,
    ) -> Result<Option<PassResult>, MemoryError> {
        let job = claimed.job;
        let run = Box::pin(self.passes.run(claimed));
        tokio::pin!(run);
        let mut beat = tokio::time::interval(BEAT);
        beat.tick().await;
        loop {
            tokio::select! {
                result = &mut run => return match result {
                    Ok(result) => Ok(Some(result)),
                    Err(MemoryError::JobLost { .. }) => Ok(None),
                    Err(error) => Ok(Some(PassResult::Unstored(self.failed(job, &error)))),
                },
                _ = beat.tick() => {
                    let until = after(self.clock.now());
                    if !self.jobs.still_at(&job.tenant, job.id, claimed.worker, until).await? {
                        return Ok(None);
                    }
                }
                () = stopped(stop) => {
                    let error = "the worker stopped".to_owned();
                    let due = self.clock.now();
                    let outcome = JobOutcome::Again { body: job.body.clone(), due, error };
                    return Ok(Some(PassResult::Unstored(outcome)));
                }
            }
        }
    }

    /// Tries again after a failure of the store, as after one of the model.
    fn failed(&self, job: &Job, error: &MemoryError) -> JobOutcome {
        let error = error.to_string();
        if job.tries() >= ATTEMPTS {
            return JobOutcome::Failed { error };
        }
        let due = Timestamp(self.clock.now().0 + 5_000 * i64::from(job.tries().max(1)));
        JobOutcome::Again { body: job.body.clone(), due, error }
    }

    /// Runs jobs until it is stopped, always with the current model. `place` numbers the
    /// workers from 0: those beyond what the model runs at once wait for another model. If the
    /// store fails, the worker waits and tries again.
    pub async fn work_until(&self, worker: &str, place: u32, mut stop: Stop) {
        let mut pruned: Option<Timestamp> = None;
        let mut models = self.models.subscribe();
        while !*stop.borrow() {
            let has_work = place < models.borrow_and_update().at_once();
            let Some(model) = self.models.current().filter(|_| has_work) else {
                tokio::select! {
                    // The service itself holds the sender, so this never fails.
                    _another = models.changed() => continue,
                    () = stopped(&mut stop) => return,
                }
            };
            let now = self.clock.now();
            if pruned.is_none_or(|last| now.0 - last.0 >= PRUNES_EVERY) {
                pruned = Some(now);
                // A failure does not matter: the next round deletes the same jobs.
                let _later = self.jobs.prune(Timestamp(now.0 - KEPT_FOR)).await;
            }
            let ran = self.run_next_job(worker, model.backend(), &mut stop).await;
            if matches!(ran, Ok(Some(_))) {
                continue;
            }
            tokio::select! {
                () = self.queued.notified() => {}
                _another = models.changed() => {}
                () = tokio::time::sleep(IDLE) => {}
                () = stopped(&mut stop) => return,
            }
        }
    }
}

/// Waits until `stop` is set; for ever if its sender is gone.
pub(in crate::service) async fn stopped(stop: &mut Stop) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn after(now: Timestamp) -> Timestamp {
    Timestamp(now.0 + LEASE)
}
