//! How long a turn may wait and work, and its slot among the turns that are decided at once.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use loreloom_ports::StoreError;
use tokio::{runtime::Handle, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    body::Unreadable,
    queue::{QueueKey, QueueSlot, QueuedTooLong, TurnQueue},
};
use crate::app::Weaving;

/// The names of the reasons for going on without lore.
pub(crate) const FAIL_OPEN_REASONS: [&str; 5] =
    ["unreadable", "store", "queue", "deadline", "panic"];

/// Why a request goes on without lore.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnError {
    /// Its body cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Its story cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It waited too long for its turn.
    #[error("other turns took longer than {} s", .0.as_secs())]
    Queued(Duration),
    /// It missed its deadline.
    #[error("the engine took longer than {} ms", .0.as_millis())]
    Late(Duration),
    /// The engine has a bug.
    #[error("the engine failed")]
    Panicked,
}

impl TurnError {
    /// The name of the reason, for metrics.
    pub(super) fn reason(&self) -> &'static str {
        let [unreadable, store, queue, deadline, panic] = FAIL_OPEN_REASONS;
        match self {
            Self::Unreadable(_) => unreadable,
            Self::Store(_) => store,
            Self::Queued(_) => queue,
            Self::Late(_) => deadline,
            Self::Panicked => panic,
        }
    }
}

/// The deadline of a turn. It begins when the turn leaves the queue. Time that the turn waits
/// for a model does not count, and while it waits its slot is free for others.
#[derive(Debug)]
pub(crate) struct Deadline {
    longest: Duration,
    /// The longest that it waits for a slot.
    longest_queued: Duration,
    /// Microseconds that do not count.
    waited: AtomicU64,
    /// Microseconds in the queue.
    queued: AtomicU64,
    queue: TurnQueue,
    chat: QueueKey,
    slot: Mutex<Option<QueueSlot>>,
}

impl Deadline {
    /// The deadline of a turn that has no slot yet.
    pub(crate) fn new(weaving: &Weaving, chat: QueueKey) -> Self {
        Self {
            longest: weaving.deadline,
            longest_queued: weaving.longest_queued,
            waited: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            queue: weaving.queue.clone(),
            chat,
            slot: Mutex::default(),
        }
    }

    /// Waits for a slot and runs `work` until the deadline.
    ///
    /// It runs on a blocking thread, so that a slow turn delays no other chat. Work that misses
    /// the deadline ends the next time it waits for something. The engine waits for nothing, but
    /// its steps are limited.
    pub(super) async fn limit<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TurnError>> + Send + 'static,
    ) -> Result<T, TurnError> {
        self.take_slot().await.map_err(|QueuedTooLong| TurnError::Queued(self.longest_queued))?;
        let (runtime, late, work) =
            (Handle::current(), CancellationToken::new(), Box::pin(work.in_current_span()));
        let ended = late.clone();
        let working = spawn_blocking(move || runtime.block_on(ended.run_until_cancelled(work)));
        let (began, mut working) = (tokio::time::Instant::now(), std::pin::pin!(working));
        // A caller that goes away leaves no work behind.
        let _ends = late.drop_guard();
        loop {
            let end = began + self.longest + self.waited();
            if let Ok(done) = tokio::time::timeout_at(end, &mut working).await {
                drop(self.slot().take());
                let done = done.map_err(|_panicked| TurnError::Panicked)?;
                return done.unwrap_or(Err(TurnError::Late(self.longest)));
            }
            // The turn may have started to wait meanwhile.
            if tokio::time::Instant::now() >= began + self.longest + self.waited() {
                return Err(TurnError::Late(self.longest));
            }
        }
    }

    /// Waits for something whose time does not count, at most `longest`.
    pub(super) async fn pause<T>(&self, longest: Duration, wait: impl Future<Output = T>) -> T {
        let before = self.waited.load(Ordering::Relaxed);
        // The end of the wait is not known yet: all of it is granted.
        let granted = micros(longest.saturating_add(self.longest_queued));
        self.waited.store(before.saturating_add(granted), Ordering::Relaxed);
        let began = Instant::now();
        drop(self.slot().take());
        let done = wait.await;
        // Without a slot it still goes on: it is half done.
        let _queued = self.take_slot().await;
        self.waited.store(before.saturating_add(micros(began.elapsed())), Ordering::Relaxed);
        done
    }

    /// How long the turn waited for a slot.
    pub(super) fn queued(&self) -> Duration {
        Duration::from_micros(self.queued.load(Ordering::Relaxed))
    }

    /// The time that does not count.
    fn waited(&self) -> Duration {
        Duration::from_micros(self.waited.load(Ordering::Relaxed))
    }

    async fn take_slot(&self) -> Result<(), QueuedTooLong> {
        let began = Instant::now();
        let slot = self.queue.slot(self.chat, self.longest_queued).await;
        self.queued.fetch_add(micros(began.elapsed()), Ordering::Relaxed);
        *self.slot() = Some(slot?);
        Ok(())
    }

    fn slot(&self) -> MutexGuard<'_, Option<QueueSlot>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
