//! Little free space, noticed before it runs out.

use std::sync::atomic::{AtomicBool, Ordering};

/// Less free space than this is little.
const LITTLE: u64 = 256 << 20;

/// Whether little space is left.
#[derive(Debug, Default)]
pub(crate) struct Space(AtomicBool);

impl Space {
    /// Notes how many bytes are free. Returns a warning when they become few, not each time.
    pub(super) fn measured(&self, free: u64) -> Option<String> {
        let is_low = Self::is_little(free);
        let was_low = self.0.swap(is_low, Ordering::Relaxed);
        (is_low && !was_low).then(|| {
            format!(
                "little space is left on the disk of the data: {} MiB are free; \
                 at 0 turns can no longer be stored",
                free >> 20
            )
        })
    }

    /// Whether so many free bytes are little.
    pub(super) fn is_little(free: u64) -> bool {
        free < LITTLE
    }

    pub(super) fn is_low(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_warned_about_once_until_there_was_more() {
        let space = Space::default();
        let warned: Vec<bool> = [LITTLE, LITTLE - 1, 0, LITTLE, 5 << 20]
            .map(|free| space.measured(free).is_some())
            .to_vec();
        assert_eq!(warned, [false, true, false, false, true]);
        assert!(space.is_low());
    }
}
