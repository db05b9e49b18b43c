//! How long turns have taken lately, and so where the next one is decided.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::lookout::Lookout;

/// A turn that takes longer is a slow one.
const SLOW: Duration = Duration::from_millis(10);

/// Turns that are watched after a slow one.
const WATCHED: u32 = 8;

/// How turns have been going. The way to another thread and back takes as long as deciding an
/// ordinary turn, so that is done where it is asked for; but what computes there cannot be ended
/// when its time is up. Where a turn was slow, or is taking long right now, the next ones get a thread of
/// their own, whose work can be left behind.
#[derive(Debug)]
pub(crate) struct Pace {
    begun: Instant,
    /// Turns that are still to be watched.
    watched: AtomicU32,
    /// Turns that are being decided where they were asked for.
    running: AtomicU32,
    /// When one of those last came to its end, in microseconds.
    ended: AtomicU64,
    /// Requests whose answers have not begun.
    waiting: AtomicU32,
    /// Who looks after turns that are alone.
    pub(crate) lookout: Lookout,
}

impl Default for Pace {
    /// The first turn loads what others find loaded.
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            watched: AtomicU32::new(1),
            running: AtomicU32::new(0),
            ended: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            lookout: Lookout::default(),
        }
    }
}

/// A turn that is decided where it was asked for.
pub(crate) struct Running<'pace> {
    pace: &'pace Pace,
    alone: bool,
}

impl Running<'_> {
    /// Whether no other was being decided so when it began.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }
}

/// A request that waits for its answer to begin.
pub(crate) struct Waits<'pace>(&'pace Pace);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.pace.ended.store(self.pace.now(), Ordering::Relaxed);
        self.pace.running.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Pace {
    /// Begins a turn where it is asked for; `None` if it is to have a thread of its own.
    pub(crate) fn begin(&self) -> Option<Running<'_>> {
        if self.watched.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let since = self.now().saturating_sub(self.ended.load(Ordering::Relaxed));
        let join = |running: u32| {
            // Others have begun, and none has ended for a while: one of them may hang.
            let hangs = running > 0 && Duration::from_micros(since) > SLOW;
            (!hangs).then_some(running + 1)
        };
        let joined = self.running.fetch_update(Ordering::AcqRel, Ordering::Relaxed, join);
        joined.ok().map(|others| Running { pace: self, alone: others == 0 })
    }

    /// Counts a request, as long as its answer has not begun.
    pub(crate) fn wait(&self) -> Waits<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waits(self)
    }

    /// Whether more than one request waits.
    pub(crate) fn is_busy(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 1
    }

    /// Takes note of a turn.
    pub(crate) fn took(&self, time: Duration) {
        if time > SLOW {
            self.watched.store(WATCHED, Ordering::Relaxed);
        } else {
            let fewer = |watched: u32| Some(watched.saturating_sub(1));
            let _always = self.watched.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_get_a_thread_of_their_own_until_several_were_quick() {
        let pace = Pace::default();
        assert!(pace.begin().is_none());
        pace.took(Duration::from_millis(1));
        assert!(pace.begin().is_some());
        pace.took(Duration::from_millis(11));
        for _ in 0..WATCHED {
            assert!(pace.begin().is_none());
            pace.took(Duration::from_millis(1));
        }
        assert!(pace.begin().is_some());
    }

    #[test]
    fn a_turn_that_hangs_is_not_joined_by_others() {
        let pace = Pace::default();
        pace.took(Duration::from_millis(1));
        let first = pace.begin();
        assert!(first.is_some());
        std::thread::sleep(2 * SLOW);
        assert!(pace.begin().is_none());
        drop(first);
        assert!(pace.begin().is_some());
    }

    #[test]
    fn one_turn_at_a_time_is_alone() {
        let pace = Pace::default();
        pace.took(Duration::from_millis(1));
        let alone = |running: &Option<Running<'_>>| running.as_ref().map(Running::is_alone);
        let first = pace.begin();
        let second = pace.begin();
        assert_eq!((alone(&first), alone(&second)), (Some(true), Some(false)));
        drop(first);
        assert_eq!(alone(&pace.begin()), Some(false));
        drop(second);
        assert_eq!(alone(&pace.begin()), Some(true));
    }
}
