//! The one connection that writes, on a thread of its own.
//!
//! SQLite lets one transaction write at a time, and a transaction is durable when the disk
//! says so, which takes longer than all the rest. So writes that wait while the disk is busy
//! are carried out together: each in a savepoint of its own, all in one transaction, and none
//! is acknowledged before that is on disk. A write that is refused takes back only itself.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread::{Builder, JoinHandle},
};

use loreloom_memory::ports::StoreError;
use rusqlite::{Connection, Savepoint};
use tokio::sync::oneshot;

use super::{
    checkpoint::Checkpointer,
    rows::{Doing, failed, is_full},
};

/// Writes of one transaction at most: the first of them waits for the others.
const TOGETHER: usize = 32;

/// Tells a caller what became of its write, once the transaction has ended.
type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A write; it is given no connection if there is no transaction to be part of.
type Write = Box<dyn FnOnce(Option<&mut Connection>) -> Tell + Send>;

/// Something to do.
enum Job {
    /// A write, in a savepoint.
    Write(Write),
    /// Something that begins its own transactions.
    Alone(Box<dyn FnOnce(&mut Connection) + Send>),
}

/// The thread; dropping this lets it finish what was asked for and ends it.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(
        connection: Connection,
        checkpointer: Option<Checkpointer>,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let thread = Builder::new()
            .name("loreloom-writer".to_owned())
            .spawn(move || run(connection, checkpointer, &waiting))
            .map_err(|error| StoreError::Database {
                doing: "starting the writing thread",
                source: error.into(),
            })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Carries out a write; what it returns is on disk. A caller that goes away leaves it to
    /// be finished.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(Savepoint<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = move |connection: Option<&mut Connection>| -> Tell {
            let begun = connection.map(|open| open.savepoint().doing("beginning a transaction"));
            let result = begun.map(|begun| begun.and_then(write));
            Box::new(move |ended| {
                let result = match (result, ended) {
                    (Some(Err(refused)), _) => Err(refused),
                    (Some(Ok(value)), Ok(())) => Ok(value),
                    (None, Ok(())) => Err(stopped("it did nothing".into())),
                    (_, Err(error)) => Err(error),
                };
                // Nobody may be waiting any more.
                drop(answer.send(result));
            })
        };
        self.ask(Job::Write(Box::new(job)))?;
        answered.await.map_err(|error| stopped(error.into()))?
    }

    /// Does something with the connection while nothing is written.
    pub(super) async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = move |connection: &mut Connection| drop(answer.send(work(connection)));
        self.ask(Job::Alone(Box::new(job)))?;
        answered.await.map_err(|error| stopped(error.into()))?
    }

    fn ask(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or_else(|| stopped("it has ended".into()))?;
        jobs.send(job).map_err(|_| stopped("it has ended".into()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // Every caller has been told already.
            drop(thread.join());
        }
    }
}

fn stopped(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing: "waiting for the writing thread", source }
}

fn run(mut connection: Connection, mut checkpointer: Option<Checkpointer>, jobs: &Receiver<Job>) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| jobs.recv().ok()) {
        match job {
            Job::Alone(work) => work(&mut connection),
            Job::Write(first) => next = together(&mut connection, first, jobs),
        }
        if let Some(checkpointer) = &mut checkpointer {
            checkpointer.committed();
        }
    }
}

/// Carries out a write and those that wait behind it; a job that is none of them comes back.
fn together(connection: &mut Connection, first: Write, jobs: &Receiver<Job>) -> Option<Job> {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        first(None)(Err(failed("beginning a transaction", error)));
        return None;
    }
    let mut told = vec![first(Some(connection))];
    let mut other = None;
    // A failing disk makes SQLite end the transaction: nothing more belongs to it.
    while told.len() < TOGETHER && !connection.is_autocommit() {
        match jobs.try_recv() {
            Ok(Job::Write(write)) => told.push(write(Some(connection))),
            Ok(alone @ Job::Alone(_)) => {
                other = Some(alone);
                break;
            }
            Err(_) => break,
        }
    }
    let ended = connection.execute_batch("COMMIT").err();
    if ended.is_some() && !connection.is_autocommit() {
        drop(connection.execute_batch("ROLLBACK"));
    }
    for tell in told {
        tell(match &ended {
            None => Ok(()),
            Some(error) if is_full(error) => Err(StoreError::Full { doing: COMMITTING }),
            Some(error) => {
                Err(StoreError::Database { doing: COMMITTING, source: error.to_string().into() })
            }
        });
    }
    other
}

const COMMITTING: &str = "committing";
