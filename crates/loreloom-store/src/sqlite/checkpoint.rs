//! Moving the write-ahead log into the database, outside of commits.
//!
//! SQLite does this inside the commit that finds a long log, and that commit then takes many
//! times as long as others. Here a thread with its own connection does it once nobody has written
//! for a while, or, if writing does not pause, once the log is long. A passive checkpoint
//! neither waits nor blocks. Durability does not depend on it: the log makes a commit durable.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use loreloom_ports::StoreError;
use rusqlite::Connection;

use crate::errors::DatabaseResult as _;

/// How long writing must pause before the log is moved.
const PAUSE: Duration = Duration::from_millis(250);

/// The commits without a pause after which the log is moved anyway: some 20 MB, which opening
/// after a crash reads in a few hundredths of a second.
const COMMITS: u32 = 400;

/// The pages of log at which a commit moves it, if the thread cannot keep up.
pub(super) const PAGES_AT_MOST: i64 = 20_000;

/// The thread. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// Commits since the last checkpoint.
    commits: Arc<AtomicU32>,
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (wake, woken) = channel();
        let commits = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&commits);
        let thread = Builder::new()
            .name("loreloom-checkpoint".to_owned())
            .spawn(move || run(&connection, &counted, &woken))
            .map_err(|error| StoreError::Database {
                doing: "starting the checkpoint thread",
                source: error.into(),
            })?;
        Ok(Self { commits, wake: Some(wake), thread: Some(thread) })
    }

    /// Counts a commit. Only the first one wakes the thread, and the one that makes many: the
    /// thread itself looks for more.
    pub(super) fn committed(&mut self) {
        let before = self.commits.fetch_add(1, Ordering::Relaxed);
        if before == 0 || before + 1 == COMMITS {
            // Without the thread, `PAGES_AT_MOST` bounds the log.
            self.wake.take_if(|wake| wake.send(()).is_err());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // The next opening does what it could not do.
            drop(thread.join());
        }
    }
}

fn run(connection: &Connection, commits: &AtomicU32, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        let mut seen = commits.load(Ordering::Relaxed);
        while seen < COMMITS {
            match woken.recv_timeout(PAUSE) {
                Ok(()) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let now = commits.load(Ordering::Relaxed);
                    if std::mem::replace(&mut seen, now) == now {
                        break;
                    }
                }
                // The last connection to close moves the log.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        commits.store(0, Ordering::Relaxed);
        // A busy log waits for the next checkpoint.
        drop(checkpoint(connection));
    }
}

fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        .doing("moving the log into the database")
}
