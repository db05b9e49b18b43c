//! The machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use loreloom_core::units::Timestamp;
use loreloom_ports::Clock;

/// Tells the time of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the clock comes in")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
