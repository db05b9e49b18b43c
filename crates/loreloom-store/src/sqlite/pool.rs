//! The connections to one database: one that writes, a few that read.
//!
//! Readers see the last commit and never wait for the writer. Reading blocks its thread, usually
//! for less time than a switch to another thread takes, so it runs on the caller's thread.
//! `block_in_place` moves the other tasks of that thread to another one. That takes longer than a
//! turn's small queries, of some ten microseconds each, so those skip it
//! ([`ConnectionPool::read_inline`]).

use std::sync::{Arc, Mutex, PoisonError};

use loreloom_ports::StoreError;
use rusqlite::Connection;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task::{block_in_place, spawn_blocking},
};

use super::{
    checkpoint::Checkpointer,
    connect::{DatabaseLocation, connect, connect_to_read, prepare},
    log,
    opened_file::OpenedFile,
    unit_of_work::UnitOfWork,
    writer_thread::WriterThread,
};

/// The most reads at once. Each connection has a cache, and more connections than processors
/// would only wait.
fn most_readers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

#[derive(Debug)]
pub(super) struct ConnectionPool {
    location: DatabaseLocation,
    opened: Option<OpenedFile>,
    writer: WriterThread,
    idle: Arc<Mutex<Vec<Connection>>>,
    reading: Arc<Semaphore>,
}

impl ConnectionPool {
    /// Opens the database, and creates its schema if it is empty.
    pub(super) fn open(location: DatabaseLocation) -> Result<Self, StoreError> {
        if let DatabaseLocation::File(path) = &location {
            log::refuse_damage(path)?;
        }
        let mut connection = connect(&location)?;
        prepare(&mut connection)?;
        let (checkpointer, opened) = match &location {
            DatabaseLocation::File(path) => (
                Some(Checkpointer::start(connect_to_read(&location)?)?),
                Some(OpenedFile::new(path.clone())?),
            ),
            DatabaseLocation::Memory => (None, None),
        };
        let writer = WriterThread::start(connection, checkpointer, opened.clone())?;
        let reading = Arc::new(Semaphore::new(most_readers()));
        Ok(Self { location, opened, writer, idle: Arc::default(), reading })
    }

    /// Runs a write. When this returns, the write is on disk.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(UnitOfWork<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(write).await
    }

    /// Runs work on the writing connection that begins its own transactions.
    pub(super) async fn exclusive<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.exclusive(work).await
    }

    /// Runs a read.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if matches!(self.location, DatabaseLocation::Memory) {
            return self.writer.exclusive(read).await;
        }
        let reading = self.reading(read).await?;
        blocking(reading).await
    }

    /// Runs a read that is quick enough for a step of an async task.
    pub(super) async fn read_inline<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if matches!(self.location, DatabaseLocation::Memory) {
            return self.writer.exclusive(read).await;
        }
        let reading = self.reading(read).await?;
        reading()
    }

    /// Waits until a read may run, and returns it ready to run.
    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<impl FnOnce() -> Result<T, StoreError> + Send + 'static, StoreError> {
        let permit = Arc::clone(&self.reading).acquire_owned().await;
        let permit = permit.map_err(|error| stopped(error.into()))?;
        let (idle, location) = (Arc::clone(&self.idle), self.location.clone());
        let opened = self.opened.clone();
        Ok(move || {
            let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = if let Some(connection) = waiting {
                connection
            } else {
                opened.as_ref().map_or(Ok(()), OpenedFile::still_there)?;
                connect_to_read(&location)?
            };
            let result = read(&mut connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            result
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    // A runtime with one thread has no other thread for the remaining tasks.
    if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        return block_in_place(work);
    }
    spawn_blocking(work).await.map_err(|error| stopped(error.into()))?
}

fn stopped(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing: "running a read", source }
}
