//! Leaving a model alone that failed repeatedly.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Duration, Instant};

/// A model's failures in a row. Shared by all chats that ask it: one that is down is down for
/// all of them.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
    closed_until: Option<Instant>,
}

impl Breaker {
    /// Whether the model may be asked. After a pause one request tries whether it is back;
    /// others wait for what that finds.
    pub(super) fn lets_through(&self, pause: Duration) -> bool {
        let mut failures = self.failures();
        match failures.closed_until {
            Some(until) if Instant::now() < until => false,
            Some(_) => {
                failures.closed_until = Some(Instant::now() + pause);
                true
            }
            None => true,
        }
    }

    /// It answered.
    pub(super) fn succeeded(&self) {
        *self.failures() = Failures::default();
    }

    /// It failed, and it is to blame for it.
    pub(super) fn failed(&self, most: u32, pause: Duration) {
        let mut failures = self.failures();
        failures.in_a_row += 1;
        if failures.in_a_row >= most {
            failures.closed_until = Some(Instant::now() + pause);
        }
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
