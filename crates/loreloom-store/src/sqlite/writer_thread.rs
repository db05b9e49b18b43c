//! The thread with the only connection that writes.
//!
//! SQLite lets one transaction write at a time, and a transaction is durable when the disk has
//! synchronised, which takes longer than everything else. So writes that wait for the disk share
//! the next transaction. None is acknowledged before that transaction is on disk. A write that is
//! refused rolls back only itself.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread::{Builder, JoinHandle},
};

use loreloom_ports::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    checkpoint::Checkpointer,
    opened_file::OpenedFile,
    statement::{failed, is_full},
    unit_of_work::{UnitOfWork, run},
};

/// The most writes of one transaction: the first of them waits for the others.
const MOST_SHARED: usize = 32;

/// Answers the caller of a write, once the transaction has ended.
type WriteAnswer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A write. It gets nothing if there is no transaction for it.
type QueuedWrite = Box<dyn FnOnce(Option<UnitOfWork<'_>>) -> WriteAnswer + Send>;

enum WriterJob {
    Write(QueuedWrite),
    /// Work that begins its own transactions.
    Exclusive(Box<dyn FnOnce(&mut Connection) + Send>),
}

/// The thread. Dropping it finishes all queued jobs first.
#[derive(Debug)]
pub(super) struct WriterThread {
    jobs: Option<Sender<WriterJob>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    pub(super) fn start(
        connection: Connection,
        checkpointer: Option<Checkpointer>,
        opened: Option<OpenedFile>,
    ) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let thread = Builder::new()
            .name("loreloom-writer".to_owned())
            .spawn(move || work((connection, opened), checkpointer, &waiting))
            .map_err(|error| StoreError::Database {
                doing: "starting the writer thread",
                source: error.into(),
            })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs a write. When this returns, the write is on disk. The write also finishes if the
    /// caller goes away.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(UnitOfWork<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = move |unit: Option<UnitOfWork<'_>>| -> WriteAnswer {
            let result = unit.map(write);
            Box::new(move |ended| {
                let result = match (result, ended) {
                    (Some(Err(refused)), _) => Err(refused),
                    (Some(Ok(value)), Ok(())) => Ok(value),
                    (None, Ok(())) => Err(stopped("the write did not run".into())),
                    (_, Err(error)) => Err(error),
                };
                // The caller may be gone.
                drop(answer.send(result));
            })
        };
        self.queue(WriterJob::Write(Box::new(job)))?;
        answered.await.map_err(|error| stopped(error.into()))?
    }

    /// Runs work on the connection while no write runs.
    pub(super) async fn exclusive<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = move |connection: &mut Connection| drop(answer.send(work(connection)));
        self.queue(WriterJob::Exclusive(Box::new(job)))?;
        answered.await.map_err(|error| stopped(error.into()))?
    }

    fn queue(&self, job: WriterJob) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or_else(|| stopped("it has ended".into()))?;
        jobs.send(job).map_err(|_| stopped("it has ended".into()))
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // Every caller has its answer already.
            drop(thread.join());
        }
    }
}

fn stopped(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing: "waiting for the writer thread", source }
}

fn work(
    (mut connection, opened): (Connection, Option<OpenedFile>),
    mut checkpointer: Option<Checkpointer>,
    jobs: &Receiver<WriterJob>,
) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| jobs.recv().ok()) {
        match job {
            WriterJob::Exclusive(work) => work(&mut connection),
            WriterJob::Write(first) => {
                next = share_transaction((&connection, opened.as_ref()), first, jobs);
            }
        }
        if let Some(checkpointer) = &mut checkpointer {
            checkpointer.committed();
        }
    }
}

/// Runs a write and those that wait behind it in one transaction. Returns the first job that
/// cannot share it.
fn share_transaction(
    (connection, opened): (&Connection, Option<&OpenedFile>),
    first: QueuedWrite,
    jobs: &Receiver<WriterJob>,
) -> Option<WriterJob> {
    if let Err(replaced) = opened.map_or(Ok(()), OpenedFile::still_there) {
        first(None)(Err(replaced));
        return None;
    }
    if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
        first(None)(Err(failed(BEGINNING, error)));
        return None;
    }
    let answer = first(Some(UnitOfWork::first(connection)));
    if connection.is_autocommit() {
        // The write was refused; its answer has the reason.
        answer(Ok(()));
        return None;
    }
    let mut answers = vec![answer];
    let mut other = None;
    // If the disk fails, SQLite ends the transaction, and no more writes can share it.
    while answers.len() < MOST_SHARED && !connection.is_autocommit() {
        match jobs.try_recv() {
            Ok(WriterJob::Write(write)) => match UnitOfWork::after_others(connection) {
                Ok(unit) => answers.push(write(Some(unit))),
                Err(error) => write(None)(Err(failed(BEGINNING, error))),
            },
            Ok(exclusive @ WriterJob::Exclusive(_)) => {
                other = Some(exclusive);
                break;
            }
            Err(_) => break,
        }
    }
    let error = run(connection, "COMMIT").err();
    if error.is_some() && !connection.is_autocommit() {
        drop(run(connection, "ROLLBACK"));
    }
    for answer in answers {
        answer(match &error {
            None => opened.map_or(Ok(()), OpenedFile::still_there),
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
