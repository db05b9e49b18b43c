//! Moving the write-ahead log into the database, off the path of commits.
//!
//! SQLite by itself does this inside the commit that finds the log long, which then takes
//! many times as long as the others. A thread of its own does it on its own connection; a
//! passive checkpoint waits for nobody and blocks nobody. Durability does not depend on it:
//! the log is what makes a commit durable.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread::{Builder, JoinHandle},
};

use loreloom_memory::ports::StoreError;
use rusqlite::Connection;

use super::rows::Doing;

/// Commits between two checkpoints.
const COMMITS: u32 = 64;

/// Pages of log at which a commit does it after all, should the thread not keep up.
pub(super) const PAGES_AT_MOST: i64 = 20_000;

/// The thread; dropping this ends it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    commits: u32,
    nudge: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (nudge, nudged) = channel();
        let thread = Builder::new()
            .name("loreloom-checkpoint".to_owned())
            .spawn(move || run(&connection, &nudged))
            .map_err(|error| StoreError::Database {
                doing: "starting the checkpoint thread",
                source: error.into(),
            })?;
        Ok(Self { commits: 0, nudge: Some(nudge), thread: Some(thread) })
    }

    /// Counts a commit.
    pub(super) fn committed(&mut self) {
        self.commits += 1;
        if self.commits == COMMITS {
            self.commits = 0;
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

fn run(connection: &Connection, nudged: &Receiver<()>) {
    while nudged.recv().is_ok() {
        while nudged.try_recv().is_ok() {}
        // A busy log is left to the next nudge.
        drop(checkpoint(connection));
    }
}

fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection
        .pragma_query(None, "wal_checkpoint(PASSIVE)", |_| Ok(()))
        .doing("moving the log into the database")
}
