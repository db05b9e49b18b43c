//! Workers: claim, work, say so, until told to stop.

use std::time::Duration;

use loreloom_core::units::Timestamp;
use tokio::sync::watch;

use super::{
    MemoryService,
    accounting::Listening,
    work::{ATTEMPTS, Worked, step},
};
use crate::cycle::Backend;
use loreloom_ports::{Claiming, Job, JobId, MemoryError, Outcome};

/// How long a worker has a job without saying that it is still at it.
const LEASE: i64 = 60_000;
/// How often it says so.
const BEAT: Duration = Duration::from_secs(10);
/// How long it waits when there is nothing to do.
const IDLE: Duration = Duration::from_secs(2);

/// How long jobs that are over can be looked at, and how often older ones are forgotten.
const KEPT_FOR: i64 = 7 * 24 * 3_600_000;
const PRUNES_EVERY: i64 = 3_600_000;

/// Tells workers to stop: send `true`.
pub type Stop = watch::Receiver<bool>;

/// What a worker did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The job.
    pub job: JobId,
    /// How it goes on; `None` if it was taken away meanwhile.
    pub outcome: Option<Outcome>,
}

impl MemoryService {
    /// Claims one job and carries it out; `None` if there was none. Stops at once when told
    /// to, and leaves the job to the next worker.
    pub async fn run_next_job(
        &self,
        worker: &str,
        backend: Backend<'_>,
        stop: &mut Stop,
    ) -> Result<Option<Ran>, MemoryError> {
        let connections = self.employment.borrow().connections();
        if connections.is_empty() {
            return Ok(None);
        }
        let now = self.ports.clock.now();
        let claiming = Claiming { worker: worker.to_owned(), now, until: after(now), connections };
        let Some(mut job) = self.ports.jobs.claim(&claiming).await? else { return Ok(None) };
        loop {
            let heard = Listening::new(backend.model, job.body.account.clone());
            let listened = Backend { model: &heard, ..backend };
            let Some(worked) = self.attend(&job, worker, (listened, &heard), stop).await? else {
                return Ok(Some(Ran { job: job.id, outcome: None }));
            };
            let outcome = match worked {
                Worked::Stored(outcome) => outcome,
                Worked::Moved(outcome) => {
                    let now = self.ports.clock.now();
                    let step = step(&job, worker, now, outcome);
                    let step = step.accounted(heard.account(), &job.body);
                    match self.ports.jobs.step(&job.tenant, &step).await {
                        Ok(()) => step.outcome,
                        Err(MemoryError::JobLost { .. }) => {
                            return Ok(Some(Ran { job: job.id, outcome: None }));
                        }
                        Err(error) => return Err(error),
                    }
                }
            };
            let Outcome::Further(body) = outcome else {
                return Ok(Some(Ran { job: job.id, outcome: Some(outcome) }));
            };
            job.body = body;
        }
    }

    /// Works on a job while saying so; `None` if it was taken away or the worker stopped.
    async fn attend(
        &self,
        job: &Job,
        worker: &str,
        asked: (Backend<'_>, &Listening<'_>),
        stop: &mut Stop,
    ) -> Result<Option<Worked>, MemoryError> {
        let work = Box::pin(self.work(job, worker, asked));
        tokio::pin!(work);
        let mut beat = tokio::time::interval(BEAT);
        beat.tick().await;
        loop {
            tokio::select! {
                worked = &mut work => return match worked {
                    Ok(worked) => Ok(Some(worked)),
                    Err(MemoryError::JobLost { .. }) => Ok(None),
                    Err(error) => Ok(Some(Worked::Moved(self.failed(job, &error)))),
                },
                _ = beat.tick() => {
                    let until = after(self.ports.clock.now());
                    let jobs = &self.ports.jobs;
                    if !jobs.still_at(&job.tenant, job.id, worker, until).await? {
                        return Ok(None);
                    }
                }
                () = stopped(stop) => {
                    let now = self.ports.clock.now();
                    let error = "the worker stopped".to_owned();
                    let outcome = Outcome::Again { body: job.body.clone(), due: now, error };
                    return Ok(Some(Worked::Moved(outcome)));
                }
            }
        }
    }

    /// A store that failed is tried again, as a model is.
    fn failed(&self, job: &Job, error: &MemoryError) -> Outcome {
        let now = self.ports.clock.now();
        let error = error.to_string();
        if job.attempts >= ATTEMPTS {
            return Outcome::Failed { error };
        }
        let due = Timestamp(now.0 + 5_000 * i64::from(job.attempts.max(1)));
        Outcome::Again { body: job.body.clone(), due, error }
    }

    /// Carries jobs out until told to stop, with the model that does the work at the time. The
    /// worker has a place among others, counted from 0: those whose place is beyond what the
    /// model takes at once wait for another model. A failure of the store is waited out.
    pub async fn work_until(&self, worker: &str, place: u32, mut stop: Stop) {
        let mut pruned: Option<Timestamp> = None;
        let mut employment = self.employment.subscribe();
        while !*stop.borrow() {
            let has_work = place < employment.borrow_and_update().at_once();
            let Some(asked) = self.asked().filter(|_| has_work) else {
                tokio::select! {
                    // The service itself holds the other end.
                    _another = employment.changed() => continue,
                    () = stopped(&mut stop) => return,
                }
            };
            let now = self.ports.clock.now();
            if pruned.is_none_or(|last| now.0 - last.0 >= PRUNES_EVERY) {
                pruned = Some(now);
                // What could not be forgotten now is forgotten later.
                let _later = self.ports.jobs.prune(Timestamp(now.0 - KEPT_FOR)).await;
            }
            let ran = self.run_next_job(worker, asked.backend(), &mut stop).await;
            if matches!(ran, Ok(Some(_))) {
                continue;
            }
            tokio::select! {
                () = self.queued.notified() => {}
                _another = employment.changed() => {}
                () = tokio::time::sleep(IDLE) => {}
                () = stopped(&mut stop) => return,
            }
        }
    }
}

/// Waits until told to stop; for ever if nobody can say so any more.
async fn stopped(stop: &mut Stop) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn after(now: Timestamp) -> Timestamp {
    Timestamp(now.0 + LEASE)
}
