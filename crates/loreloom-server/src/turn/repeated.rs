//! Warnings that repeat are logged once, with a count.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustc_hash::FxHashMap;

/// A warning is logged again after this time at the earliest.
const PAUSE: Duration = Duration::from_mins(1);

/// When warnings were last logged, and how often they came since.
#[derive(Debug, Default)]
pub(crate) struct RepeatedWarnings(Mutex<FxHashMap<&'static str, (Instant, u64)>>);

impl RepeatedWarnings {
    /// How often this warning came since it was last logged, with this one; `None` if it must
    /// not be logged now.
    pub(crate) fn count(&self, warning: &'static str, now: Instant) -> Option<u64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((logged, since)) = known.get_mut(warning) else {
            known.insert(warning, (now, 0));
            return Some(1);
        };
        *since += 1;
        if now.duration_since(*logged) < PAUSE {
            return None;
        }
        *logged = now;
        Some(std::mem::take(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_that_repeats_is_logged_once_a_minute_with_a_count() {
        let (warnings, start) = (RepeatedWarnings::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(warnings.count("late", after(0)), Some(1));
        assert_eq!(warnings.count("late", after(1)), None);
        assert_eq!(warnings.count("store", after(1)), Some(1));
        assert_eq!(warnings.count("late", after(59)), None);
        assert_eq!(warnings.count("late", after(61)), Some(3));
        assert_eq!(warnings.count("late", after(62)), None);
    }
}
