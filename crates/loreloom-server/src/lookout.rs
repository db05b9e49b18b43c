//! Somebody who looks after turns that are decided where they came in.
//!
//! Such a turn keeps the thread that waited for the network, and while the other threads of the
//! runtime sleep, nobody hears what else comes in. For a turn alone that takes less than a
//! millisecond this is no loss, and to wake another thread each time would cost a tenth of it.
//! If it takes longer, the lookout wakes one.

use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// How often it looks while a turn is being decided.
const TICK: Duration = Duration::from_millis(2);

/// How often it looks whether another one is: whoever is woken takes a processor from somebody. One
/// that takes long is seen so much later.
const IDLE: Duration = Duration::from_millis(10);

/// How long it looks after the last turn, before it sleeps until the next one.
const AFTER: Duration = Duration::from_secs(1);

/// The lookout: a thread of its own, from the first turn on.
#[derive(Debug, Default)]
pub(crate) struct Lookout {
    seen: Arc<Seen>,
    thread: OnceLock<Option<Thread>>,
}

/// What it sees.
#[derive(Debug)]
struct Seen {
    start: Instant,
    /// When the turn began that is being decided, in microseconds from the start; 0 if none is.
    since: AtomicU64,
    /// When the last one began.
    last: AtomicU64,
    /// Whether the lookout is awake.
    awake: AtomicBool,
}

impl Default for Seen {
    fn default() -> Self {
        let (since, last) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { start: Instant::now(), since, last, awake: AtomicBool::new(true) }
    }
}

impl Seen {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }

    /// How long ago that was.
    fn ago(&self, then: u64) -> Duration {
        Duration::from_micros(self.now().saturating_sub(then))
    }
}

/// A turn that is looked after; no longer when it is dropped.
pub(crate) struct LookedAfter<'lookout>(&'lookout Seen);

impl Drop for LookedAfter<'_> {
    fn drop(&mut self) {
        self.0.since.store(0, Ordering::SeqCst);
    }
}

impl Lookout {
    /// Looks after the turn that begins now on this runtime. `None` if there is nobody to do it.
    pub(crate) fn begin(&self, runtime: &Handle, tasks: &TaskTracker) -> Option<LookedAfter<'_>> {
        let thread = self.thread.get_or_init(|| {
            let (seen, runtime) = (Arc::downgrade(&self.seen), runtime.clone());
            let tasks = tasks.clone();
            let looking = move || {
                look(&seen, || {
                    tasks.spawn_on(async {}, &runtime);
                });
            };
            let spawned = thread::Builder::new().name("lookout".to_owned()).spawn(looking);
            let spawned = spawned.inspect_err(|error| tracing::warn!(%error, "nobody looks out"));
            spawned.ok().map(|spawned| spawned.thread().clone())
        });
        let thread = thread.as_ref()?;
        let now = self.seen.now();
        self.seen.last.store(now, Ordering::SeqCst);
        self.seen.since.store(now, Ordering::SeqCst);
        if !self.seen.awake.swap(true, Ordering::SeqCst) {
            thread.unpark();
        }
        Some(LookedAfter(&self.seen))
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        // It goes home when there is nothing left to see.
        self.seen = Arc::default();
        if let Some(Some(thread)) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Wakes somebody as long as a turn takes long.
fn look(seen: &Weak<Seen>, wake: impl Fn()) {
    while let Some(now) = seen.upgrade() {
        let since = now.since.load(Ordering::SeqCst);
        if since > 0 && now.ago(since) >= TICK {
            wake();
        }
        if since > 0 || now.ago(now.last.load(Ordering::SeqCst)) < AFTER {
            drop(now);
            thread::sleep(if since > 0 { TICK } else { IDLE });
            continue;
        }
        now.awake.store(false, Ordering::SeqCst);
        // One that began just now may have found it awake.
        if now.since.load(Ordering::SeqCst) > 0 {
            now.awake.store(true, Ordering::SeqCst);
            continue;
        }
        drop(now);
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_keeps_a_thread_for_long_leaves_another_that_hears_what_comes_in() {
        let (lookout, tasks) = (Lookout::default(), TaskTracker::new());
        let (port, heard) = std::sync::mpsc::channel();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tasks.spawn(async move {
            let _caller = listener.accept().await.unwrap();
            port.send(()).unwrap();
        });
        let runtime = Handle::current();
        let working = tasks.spawn(async move {
            let _looked_after = lookout.begin(&runtime, &TaskTracker::new()).unwrap();
            let _call = std::net::TcpStream::connect(address).unwrap();
            // A turn that takes long: until somebody has heard the call.
            heard.recv_timeout(Duration::from_secs(10))
        });
        working.await.unwrap().unwrap();
    }

    #[test]
    fn it_sleeps_when_nothing_happens_and_is_woken_by_the_next_turn() {
        let seen = Arc::new(Seen::default());
        let woken = Arc::new(AtomicUsize::new(0));
        let (looking, counted) = (Arc::downgrade(&seen), Arc::clone(&woken));
        let thread = thread::spawn(move || {
            look(&looking, || {
                counted.fetch_add(1, Ordering::SeqCst);
            });
        });
        let wait = |until: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !until() && begun.elapsed() < Duration::from_secs(10) {
                thread::sleep(TICK);
            }
            assert!(until());
        };
        wait(&|| !seen.awake.load(Ordering::SeqCst));
        assert_eq!(woken.load(Ordering::SeqCst), 0);
        seen.since.store(seen.now(), Ordering::SeqCst);
        seen.awake.store(true, Ordering::SeqCst);
        thread.thread().unpark();
        wait(&|| woken.load(Ordering::SeqCst) > 0);
        drop(seen);
        thread.thread().unpark();
        thread.join().unwrap();
    }
}
