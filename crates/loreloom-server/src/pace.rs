//! How long turns have taken lately, and so where the next one is decided.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// A turn that takes longer is a slow one.
const SLOW: Duration = Duration::from_millis(10);

/// Turns that are watched after a slow one.
const WATCHED: u32 = 8;

/// How turns have been going. The way to another thread and back takes as long as deciding an
/// ordinary turn, so that is done where it is asked for; but nothing can end it there when its
/// time is up. Where a turn was slow, the next ones get a thread of their own, whose work can be
/// left behind.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Turns that are still to be watched.
    watched: AtomicU32,
}

impl Default for Pace {
    /// The first turn loads what others find loaded.
    fn default() -> Self {
        Self { watched: AtomicU32::new(1) }
    }
}

impl Pace {
    /// Whether a turn may be decided where it is asked for.
    pub(crate) fn is_brisk(&self) -> bool {
        self.watched.load(Ordering::Relaxed) == 0
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_get_a_thread_of_their_own_until_several_were_quick() {
        let pace = Pace::default();
        assert!(!pace.is_brisk());
        pace.took(Duration::from_millis(1));
        assert!(pace.is_brisk());
        pace.took(Duration::from_millis(11));
        for _ in 0..WATCHED {
            assert!(!pace.is_brisk());
            pace.took(Duration::from_millis(1));
        }
        assert!(pace.is_brisk());
    }
}
