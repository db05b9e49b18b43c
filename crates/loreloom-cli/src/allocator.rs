//! The allocator, and how freed memory goes back to the system.
//!
//! mimalloc gives memory back while it works. A server that is idle would keep what its start and
//! its last turns needed.

#![expect(unsafe_code, reason = "the allocator is a library of C")]

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// A turn allocates and frees thousands of small texts on changing threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    /// Gives freed memory back. It takes no pointer, so every call is sound.
    safe fn mi_collect(force: bool);
}

/// How often memory goes back: seldom enough to cost nothing.
const PAUSE: Duration = Duration::from_secs(2);

/// Gives freed memory back now and then, until the server stops.
pub(crate) async fn give_back(stopping: CancellationToken) {
    while stopping.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_some() {
        mi_collect(true);
    }
}
