//! What every queue of jobs must do. Times are small numbers: a claim at `n` holds until
//! `n + 100`. All tenants share the workers, so each case uses connections of its own.

#![expect(clippy::missing_panics_doc, reason = "a case that is not met panics, as tests do")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use loreloom_core::{
    ids::{ChatId, ConnectionId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    Claiming, Job, JobAccount, JobBody, JobId, JobOutcome, JobState, MemoryError, MemoryLog,
    NewJob, Write,
};

use super::{
    Keeper, KeeperOpener,
    fixture::{character, job, looking, noted, of, step, tenant, write},
};
use crate::store_suite::{Checked, Failure};

/// A queue in which only this case's jobs are seen.
struct Queue {
    store: Arc<dyn Keeper>,
    tenant: TenantId,
}

impl Queue {
    async fn open(opener: &dyn KeeperOpener) -> Result<Self, Failure> {
        Ok(Self { store: opener.keeper().await?, tenant: tenant() })
    }

    /// The connection of that name that only this case uses.
    fn own(&self, connection: &ConnectionId) -> ConnectionId {
        ConnectionId(format!("{} of {}", connection, self.tenant))
    }

    async fn add(&self, job: NewJob) -> Result<JobId, MemoryError> {
        let job = NewJob { connection: self.own(&job.connection), ..job };
        self.store.enqueue(&self.tenant, &job, Timestamp(1)).await
    }

    async fn claim(&self, claiming: &Claiming) -> Result<Option<Job>, MemoryError> {
        let own = claiming.connections.iter().map(|(name, most)| (self.own(name), *most));
        let claiming = Claiming { connections: own.collect(), ..claiming.clone() };
        self.store.claim(&claiming).await
    }

    async fn claimed(&self, worker: &str, now: i64) -> Result<Option<JobId>, MemoryError> {
        Ok(self.claim(&looking(worker, now)).await?.map(|job| job.id))
    }

    async fn ends(&self, job: JobId, worker: &str, outcome: JobOutcome) -> Result<(), MemoryError> {
        self.store.step(&self.tenant, &step(job, worker, outcome)).await
    }

    async fn state(&self, id: JobId) -> Result<Option<Job>, MemoryError> {
        let jobs = self.store.jobs(&self.tenant, None, true).await?;
        Ok(jobs.into_iter().find(|job| job.id == id))
    }
}

/// The second job of a chat waits for the first; another chat's does not.
pub async fn a_lane_runs_one_job_at_a_time(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let first = queue.add(job("one", "hosted", 0)).await?;
    let second = queue.add(job("one", "hosted", 0)).await?;
    let other = queue.add(job("two", "hosted", 0)).await?;
    assert_eq!(queue.claimed("w", 10).await?, Some(first));
    assert_eq!(queue.claimed("v", 10).await?, Some(other));
    assert_eq!(queue.claimed("v", 10).await?, None);
    queue.ends(first, "w", JobOutcome::Done).await?;
    assert_eq!(queue.claimed("v", 11).await?, Some(second));
    assert_eq!(queue.claimed("v", 11).await?, None);
    let open = queue.store.jobs(&queue.tenant, Some(&ChatId::from("one")), false).await?;
    assert_eq!(open.iter().map(|job| job.id).collect::<Vec<_>>(), [second]);
    Ok(())
}

/// The highest priority goes first, then the oldest; a job is not run before its time.
pub async fn priority_goes_before_age_and_time_before_both(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let old = queue.add(job("one", "hosted", 0)).await?;
    let urgent = queue.add(job("two", "hosted", 5)).await?;
    let later = NewJob { due: Timestamp(30), ..job("three", "hosted", 9) };
    let later = queue.add(later).await?;
    assert_eq!(queue.claimed("w", 10).await?, Some(urgent));
    assert_eq!(queue.claimed("w", 10).await?, Some(old));
    assert_eq!(queue.claimed("w", 29).await?, None);
    assert_eq!(queue.claimed("w", 30).await?, Some(later));
    Ok(())
}

/// A local model serves one caller; a worker without a connection leaves its jobs alone.
pub async fn a_connection_is_not_asked_more_than_it_can_take(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let first = queue.add(job("one", "local", 3)).await?;
    let second = queue.add(job("two", "local", 2)).await?;
    let hosted = queue.add(job("three", "hosted", 1)).await?;
    queue.add(job("four", "elsewhere", 0)).await?;
    assert_eq!(queue.claimed("w", 10).await?, Some(first));
    assert_eq!(queue.claimed("v", 10).await?, Some(hosted));
    assert_eq!(queue.claimed("v", 10).await?, None);
    queue.ends(first, "w", JobOutcome::Failed { error: "no".into() }).await?;
    assert_eq!(queue.claimed("v", 10).await?, Some(second));
    assert_eq!(queue.claimed("v", 10).await?, None);
    Ok(())
}

/// A worker that says nothing loses its job, and whatever it then does is refused.
pub async fn a_silent_workers_job_is_taken_over_and_it_can_write_no_more(
    opener: &dyn KeeperOpener,
) -> Checked {
    let queue = Queue::open(opener).await?;
    let id = queue.add(job("one", "local", 0)).await?;
    assert_eq!(queue.claimed("slow", 10).await?, Some(id));
    assert!(queue.store.still_at(&queue.tenant, id, "slow", Timestamp(150)).await?);
    assert_eq!(queue.claimed("quick", 150).await?, None);
    let taken = queue.claim(&looking("quick", 151)).await?.ok_or("a job")?;
    assert_eq!((taken.id, taken.attempts, taken.worker.as_deref()), (id, 2, Some("quick")));
    assert!(!queue.store.still_at(&queue.tenant, id, "slow", Timestamp(999)).await?);
    let lost = queue.ends(id, "slow", JobOutcome::Done).await;
    assert!(matches!(lost, Err(MemoryError::JobLost { .. })));
    let late = Write {
        job: Some(step(id, "slow", JobOutcome::Done)),
        ..write("late", vec![of(character("Mara"), None, vec![noted("a", "x", &[])])])
    };
    let lost = MemoryLog::write(&*queue.store, &queue.tenant, &late).await;
    assert!(matches!(lost, Err(MemoryError::JobLost { .. })));
    assert!(queue.store.events(&queue.tenant, &character("Mara"), 0).await?.is_empty());
    Ok(())
}

/// A running job that is cancelled is not the worker's any more.
pub async fn a_cancelled_job_is_stopped_and_does_not_come_back(
    opener: &dyn KeeperOpener,
) -> Checked {
    let queue = Queue::open(opener).await?;
    let running = queue.add(job("one", "hosted", 0)).await?;
    let waiting = queue.add(job("one", "hosted", 0)).await?;
    queue.claimed("w", 10).await?;
    let both = [running, waiting];
    let count = queue.store.cancel(&queue.tenant, &both, "a swipe", Timestamp(20)).await?;
    assert_eq!(count, 2);
    assert_eq!(queue.store.cancel(&queue.tenant, &both, "again", Timestamp(21)).await?, 0);
    assert!(!queue.store.still_at(&queue.tenant, running, "w", Timestamp(99)).await?);
    assert_eq!(queue.claimed("w", 500).await?, None);
    let job = queue.state(running).await?.ok_or("a job")?;
    assert_eq!((job.state, job.error.as_deref()), (JobState::Cancelled, Some("a swipe")));
    Ok(())
}

/// What a job has learned stays with it.
pub async fn a_job_that_is_tried_again_keeps_its_answers(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let id = queue.add(job("one", "local", 0)).await?;
    queue.claimed("w", 10).await?;
    let body = JobBody { answers: Some("{\"ö\u{0}\":1}".into()), done: 2, ..JobBody::default() };
    let further = JobOutcome::Further(JobBody { done: 1, ..body.clone() });
    queue.ends(id, "w", further).await?;
    let job = queue.state(id).await?.ok_or("a job")?;
    assert_eq!(
        (job.state, job.body.done, job.worker.as_deref()),
        (JobState::Running, 1, Some("w"))
    );
    let again =
        JobOutcome::Again { body: body.clone(), due: Timestamp(60), error: "timed out".into() };
    queue.ends(id, "w", again).await?;
    assert_eq!(queue.claimed("w", 59).await?, None);
    let job = queue.claim(&looking("v", 60)).await?.ok_or("a job")?;
    assert_eq!((job.body, job.attempts, job.error.as_deref()), (body, 2, Some("timed out")));
    Ok(())
}

/// What a job asked and was answered stays with it when it is over.
pub async fn a_job_that_is_over_tells_what_it_asked(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let failed = || JobOutcome::Failed { error: "no".to_owned() };
    for (name, outcome) in [("one", JobOutcome::Done), ("two", failed())] {
        let id = queue.add(job(name, "local", 0)).await?;
        queue.claimed("w", 10).await?;
        let before = queue.state(id).await?.ok_or("a job")?.body;
        let mut account = JobAccount::default();
        account.asks(7);
        account.hears("[fact] ö\u{0}", 3);
        let step = step(id, "w", outcome).accounted(account.clone(), &before);
        queue.store.step(&queue.tenant, &step).await?;
        let after = queue.state(id).await?.ok_or("a job")?.body;
        assert_eq!(after, JobBody { account, ..before });
    }
    Ok(())
}

/// Events and the end of their job are one write.
pub async fn a_write_and_its_job_move_together(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let id = queue.add(job("one", "local", 0)).await?;
    queue.claimed("w", 10).await?;
    let given = |name: &str, seen| Write {
        job: Some(step(id, "w", JobOutcome::Done)),
        ..write(name, vec![of(character("Mara"), seen, vec![noted("a", "x", &[])])])
    };
    let refused = MemoryLog::write(&*queue.store, &queue.tenant, &given("w1", Some(4))).await;
    assert!(matches!(refused, Err(MemoryError::Behind { .. })));
    assert_eq!(queue.state(id).await?.map(|job| job.state), Some(JobState::Running));
    MemoryLog::write(&*queue.store, &queue.tenant, &given("w1", Some(0))).await?;
    assert_eq!(queue.state(id).await?.map(|job| job.state), Some(JobState::Done));
    Ok(())
}

/// Who runs which lane now, and what was done.
#[derive(Default)]
struct Seen {
    running: BTreeMap<ChatId, JobId>,
    done: Vec<JobId>,
    most_local: usize,
    local: usize,
}

/// Workers on handles of their own, each opening the store as another process would.
pub async fn many_workers_never_share_a_lane_or_a_job(opener: &dyn KeeperOpener) -> Checked {
    const JOBS: usize = 30;
    let queue = Queue::open(opener).await?;
    for number in 0..JOBS {
        let connection = if number % 3 == 0 { "local" } else { "hosted" };
        queue.add(job(&format!("chat {}", number % 5), connection, 0)).await?;
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut running = tokio::task::JoinSet::new();
    for worker in 0..4 {
        let own = Queue { store: opener.keeper().await?, tenant: queue.tenant.clone() };
        let (seen, name) = (Arc::clone(&seen), format!("worker {worker}"));
        running.spawn(async move { work(&own, &name, &seen, JOBS).await });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.done.sort();
    seen.done.dedup();
    assert_eq!((seen.done.len(), seen.most_local), (JOBS, 1));
    Ok(())
}

async fn work(queue: &Queue, worker: &str, seen: &Mutex<Seen>, all: usize) -> Checked {
    let look = || seen.lock().unwrap_or_else(PoisonError::into_inner);
    while look().done.len() < all {
        let Some(job) = queue.claim(&looking(worker, 10)).await? else {
            tokio::task::yield_now().await;
            continue;
        };
        let is_local = usize::from(job.connection.as_str().starts_with("local"));
        {
            let mut seen = look();
            let shared = seen.running.insert(job.chat.clone(), job.id);
            assert_eq!(shared, None, "two jobs run in {}", job.chat);
            seen.local += is_local;
            seen.most_local = seen.most_local.max(seen.local);
        }
        tokio::task::yield_now().await;
        {
            let mut seen = look();
            seen.running.remove(&job.chat);
            seen.local -= is_local;
            seen.done.push(job.id);
        }
        queue.ends(job.id, worker, JobOutcome::Done).await?;
    }
    Ok(())
}

/// Only what is over, and long enough, is forgotten.
pub async fn old_jobs_that_are_over_are_forgotten(opener: &dyn KeeperOpener) -> Checked {
    let queue = Queue::open(opener).await?;
    let done = queue.add(job("one", "hosted", 0)).await?;
    let waiting = queue.add(job("two", "hosted", -1)).await?;
    assert_eq!(queue.claimed("w", 10).await?, Some(done));
    queue.ends(done, "w", JobOutcome::Done).await?;
    let over = queue.state(done).await?.ok_or("a job")?.updated;
    queue.store.prune(over).await?;
    assert!(queue.state(done).await?.is_some(), "not before that time");
    assert!(queue.store.prune(Timestamp(over.0 + 1)).await? >= 1);
    assert!(queue.state(done).await?.is_none());
    assert!(queue.state(waiting).await?.is_some());
    let next = queue.add(job("three", "hosted", 0)).await?;
    assert!(next > waiting, "numbers are not used again");
    Ok(())
}
