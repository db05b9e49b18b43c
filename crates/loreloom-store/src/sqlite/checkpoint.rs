//! Moving the write-ahead log into the database, off the path of commits.
//!
//! SQLite by itself does this inside the commit that finds the log long, which then takes
//! many times as long as the others. A thread of its own does it on its own connection, once
//! nobody has written for a while: the disk is then nobody's bottleneck. While people write
//! without a pause it waits until the log is long. A passive checkpoint waits for nobody and
//! blocks nobody. Durability does not depend on it: the log is what makes a commit durable.

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

use super::rows::Doing;

/// How long nobody has written before the log is moved.
const PAUSE: Duration = Duration::from_millis(250);

/// Commits without a pause after which it is moved all the same: some 20 MB of log, which
/// opening after a crash reads in a few hundredths of a second.
const COMMITS: u32 = 400;

/// Pages of log at which a commit does it after all, should the thread not keep up.
pub(super) const PAGES_AT_MOST: i64 = 20_000;

/// The thread; dropping this ends it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// Commits since the log was last moved.
    commits: Arc<AtomicU32>,
    nudge: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (nudge, nudged) = channel();
        let commits = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&commits);
        let thread = Builder::new()
            .name("loreloom-checkpoint".to_owned())
            .spawn(move || run(&connection, &counted, &nudged))
            .map_err(|error| StoreError::Database {
                doing: "starting the checkpoint thread",
                source: error.into(),
            })?;
        Ok(Self { commits, nudge: Some(nudge), thread: Some(thread) })
    }

    /// Counts a commit. The thread is woken by the first only, and when there are many: it
    /// looks by itself whether there were more.
    pub(super) fn committed(&mut self) {
        let before = self.commits.fetch_add(1, Ordering::Relaxed);
        if before == 0 || before + 1 == COMMITS {
            // A thread that is gone leaves the log to `PAGES_AT_MOST`.
            self.nudge.take_if(|nudge| nudge.send(()).is_err());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.nudge.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say: what it could not do the next opening does.
            drop(thread.join());
        }
    }
}

fn run(connection: &Connection, commits: &AtomicU32, nudged: &Receiver<()>) {
    while nudged.recv().is_ok() {
        let mut seen = commits.load(Ordering::Relaxed);
        while seen < COMMITS {
            match nudged.recv_timeout(PAUSE) {
                Ok(()) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let now = commits.load(Ordering::Relaxed);
                    if std::mem::replace(&mut seen, now) == now {
                        break;
                    }
                }
                // The last connection to close moves the log itself.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        commits.store(0, Ordering::Relaxed);
        // A busy log is left to the next nudge.
        drop(checkpoint(connection));
    }
}

fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection
        .pragma_query(None, "wal_checkpoint(PASSIVE)", |_| Ok(()))
        .doing("moving the log into the database")
}
