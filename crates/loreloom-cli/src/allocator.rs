//! The allocator, and how freed memory goes back to the system.
//!
//! mimalloc gives memory back while it works. A server that is idle would keep what its start and
//! its last turns needed.

#![expect(unsafe_code, reason = "the allocator is a library of C")]

use std::{
    ffi::{c_int, c_long},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

/// A turn allocates and frees thousands of small texts on changing threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    /// Gives freed memory back. It takes no pointer, so every call is sound.
    safe fn mi_collect(force: bool);
    /// Sets an option. Numbers that name none are ignored, so every call is sound.
    safe fn mi_option_set(option: c_int, value: c_long);
    #[cfg(test)]
    safe fn mi_option_get(option: c_int) -> c_long;
}

/// `mi_option_purge_delay`: how many milliseconds freed pages are kept.
const PURGE_DELAY: c_int = 15;
/// Its default. Turns free pages that the next one needs again.
const MILLISECONDS: c_long = 1000;

/// How often memory goes back: seldom enough to cost nothing.
const PAUSE: Duration = Duration::from_secs(2);

/// Gives each page back as soon as it is free, until [`give_back`] begins. A start reads much that
/// it does not keep, and what it keeps would lie among pages that were used before: a page that
/// comes from the system takes memory only where it is written to.
pub(crate) fn begin_start() {
    mi_option_set(PURGE_DELAY, 0);
}

/// Gives freed memory back now and then, until the server stops.
pub(crate) async fn give_back(stopping: CancellationToken) {
    while stopping.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_some() {
        mi_option_set(PURGE_DELAY, MILLISECONDS);
        mi_collect(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_option_is_that_of_the_delay() {
        assert_eq!(mi_option_get(PURGE_DELAY), MILLISECONDS);
        begin_start();
        assert_eq!(mi_option_get(PURGE_DELAY), 0);
    }
}
