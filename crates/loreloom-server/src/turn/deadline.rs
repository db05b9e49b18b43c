//! How long a turn may take, and its slot among the turns that are decided at once.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use loreloom_ports::StoreError;
use tokio::{
    runtime::Handle,
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

use super::body::Unreadable;
use crate::app::Weaving;

/// Why a request goes on without lore.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnError {
    /// Its body cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Its story cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It missed its deadline.
    #[error("the engine took longer than {} ms", .0.as_millis())]
    Late(Duration),
    /// The engine has a bug.
    #[error("the engine failed")]
    Panicked,
    /// The server shuts down.
    #[error("the server is stopping")]
    Stopping,
}

/// The deadline of a turn. Time that the turn waits for a model does not count, and while it
/// waits its slot is free for others.
#[derive(Debug)]
pub(crate) struct Deadline {
    longest: Duration,
    /// Microseconds that do not count.
    waited: AtomicU64,
    slots: Arc<Semaphore>,
    slot: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Deadline {
    /// The deadline of a turn that starts now. It has no slot yet.
    pub(crate) fn new(weaving: &Weaving) -> Self {
        Self {
            longest: weaving.deadline,
            waited: AtomicU64::new(0),
            slots: Arc::clone(&weaving.room),
            slot: Mutex::default(),
        }
    }

    /// Runs `work` until the deadline.
    ///
    /// It runs on a blocking thread, so that a slow turn delays no other chat. Work that misses
    /// the deadline runs on unheard, and keeps its slot until it ends.
    pub(super) async fn limit<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, TurnError>> + Send + 'static,
    ) -> Result<T, TurnError> {
        let work = Box::pin(work);
        let working = async {
            self.take_slot().await.map_err(|_closed| TurnError::Stopping)?;
            let runtime = Handle::current();
            let done = spawn_blocking(move || runtime.block_on(work)).await;
            done.unwrap_or_else(|_panicked| Err(TurnError::Panicked))
        };
        let (began, mut working) = (tokio::time::Instant::now(), std::pin::pin!(working));
        loop {
            let end = began + self.longest + self.waited();
            if let Ok(done) = tokio::time::timeout_at(end, &mut working).await {
                return done;
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
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // The end of the wait is not known yet: all of it is granted.
        self.waited.store(before.saturating_add(micros(longest)), Ordering::Relaxed);
        let began = Instant::now();
        drop(self.slot().take());
        let done = wait.await;
        self.waited.store(before.saturating_add(micros(began.elapsed())), Ordering::Relaxed);
        // A server that stops lets running turns end.
        let _stopping = self.take_slot().await;
        done
    }

    /// The time that does not count.
    fn waited(&self) -> Duration {
        Duration::from_micros(self.waited.load(Ordering::Relaxed))
    }

    async fn take_slot(&self) -> Result<(), AcquireError> {
        let slot = Arc::clone(&self.slots).acquire_owned().await?;
        *self.slot() = Some(slot);
        Ok(())
    }

    fn slot(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
