//! The one connection that writes, on a thread of its own.
//!
//! SQLite lets one transaction write at a time, and a transaction is durable when the disk
//! says so, which takes longer than all the rest. So writes that wait while the disk is busy
//! are carried out together, all in one transaction, and none is acknowledged before that is on
//! disk. A write that is refused takes back only itself.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread::{Builder, JoinHandle},
};

use loreloom_ports::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    checkpoint::Checkpointer,
    rows::{failed, is_full},
    unit::{Unit, run},
};

/// Writes of one transaction at most: the first of them waits for the others.
const TOGETHER: usize = 32;

/// Tells a caller what became of its write, once the transaction has ended.
type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A write; it is given nothing if there is no transaction to be part of.
type Write = Box<dyn FnOnce(Option<Unit<'_>>) -> Tell + Send>;

/// Something to do.
enum Job {
    /// A write.
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
            .spawn(move || work_off(connection, checkpointer, &waiting))
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
        write: impl FnOnce(Unit<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = move |unit: Option<Unit<'_>>| -> Tell {
            let result = unit.map(write);
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

fn work_off(
    mut connection: Connection,
    mut checkpointer: Option<Checkpointer>,
    jobs: &Receiver<Job>,
) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| jobs.recv().ok()) {
        match job {
            Job::Alone(work) => work(&mut connection),
            Job::Write(first) => next = together(&connection, first, jobs),
        }
        if let Some(checkpointer) = &mut checkpointer {
            checkpointer.committed();
        }
    }
}

/// Carries out a write and those that wait behind it; a job that is none of them comes back.
fn together(connection: &Connection, first: Write, jobs: &Receiver<Job>) -> Option<Job> {
    if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
        first(None)(Err(failed(BEGINNING, error)));
        return None;
    }
    let tell = first(Some(Unit::first(connection)));
    if connection.is_autocommit() {
        // It was refused, and knows why.
        tell(Ok(()));
        return None;
    }
    let mut told = vec![tell];
    let mut other = None;
    // A failing disk makes SQLite end the transaction: nothing more belongs to it.
    while told.len() < TOGETHER && !connection.is_autocommit() {
        match jobs.try_recv() {
            Ok(Job::Write(write)) => match Unit::after_others(connection) {
                Ok(unit) => told.push(write(Some(unit))),
                Err(error) => write(None)(Err(failed(BEGINNING, error))),
            },
            Ok(alone @ Job::Alone(_)) => {
                other = Some(alone);
                break;
            }
            Err(_) => break,
        }
    }
    let ended = run(connection, "COMMIT").err();
    if ended.is_some() && !connection.is_autocommit() {
        drop(run(connection, "ROLLBACK"));
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

const BEGINNING: &str = "beginning a transaction";
const COMMITTING: &str = "committing";
