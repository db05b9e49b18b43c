//! Connections of one database: one that writes, a few that read.
//!
//! Readers see the last commit and are never blocked. Reading blocks its thread, mostly for less
//! time than the way to another thread and back takes: it is done where it is asked for. Tokio
//! is told, so that a worker's other tasks go on elsewhere, except of a glance: what a turn asks
//! takes some ten microseconds, and handing the tasks over would take longer.

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
    connect::{Location, connect, connect_to_read, prepare},
    unit::Unit,
    writer::Writer,
};

/// Reads that may run at once: each connection has a cache, and more than there are processors
/// would only wait for them.
fn readers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

#[derive(Debug)]
pub(super) struct Pool {
    location: Location,
    writer: Writer,
    idle: Arc<Mutex<Vec<Connection>>>,
    reading: Arc<Semaphore>,
}

impl Pool {
    /// Opens the database, and creates its schema if it is empty.
    pub(super) fn open(location: Location) -> Result<Self, StoreError> {
        let mut connection = connect(&location)?;
        prepare(&mut connection)?;
        let checkpointer = match &location {
            Location::File(_) => Some(Checkpointer::start(connect_to_read(&location)?)?),
            Location::Memory => None,
        };
        let writer = Writer::start(connection, checkpointer)?;
        let reading = Arc::new(Semaphore::new(readers()));
        Ok(Self { location, writer, idle: Arc::default(), reading })
    }

    /// Carries out a write; what it returns is on disk.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(Unit<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(write).await
    }

    /// Does something on the writing connection that begins its own transactions.
    pub(super) async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.alone(work).await
    }

    /// Runs `read` on a reading connection.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if matches!(self.location, Location::Memory) {
            return self.writer.alone(read).await;
        }
        let reading = self.reading(read).await?;
        blocking(reading).await
    }

    /// Runs a `read` that takes no longer than any step of a task may.
    pub(super) async fn glance<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if matches!(self.location, Location::Memory) {
            return self.writer.alone(read).await;
        }
        let reading = self.reading(read).await?;
        reading()
    }

    /// A `read` that has a place among those that run at once.
    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<impl FnOnce() -> Result<T, StoreError> + Send + 'static, StoreError> {
        let permit = Arc::clone(&self.reading).acquire_owned().await;
        let permit = permit.map_err(|error| stopped(error.into()))?;
        let (idle, location) = (Arc::clone(&self.idle), self.location.clone());
        Ok(move || {
            let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match waiting {
                Some(connection) => connection,
                None => connect_to_read(&location)?,
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
    // A runtime of one thread has no other that could go on with its tasks.
    if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        return block_in_place(work);
    }
    spawn_blocking(work).await.map_err(|error| stopped(error.into()))?
}

fn stopped(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing: "running on a thread of its own", source }
}
