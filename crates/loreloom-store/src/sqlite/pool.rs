//! Connections of one database: one that writes, a few that read.
//!
//! SQLite lets one transaction write at a time; a queue in front of a single writing
//! connection is fairer and cheaper than many connections that find the database busy.
//! Readers see the last commit and are never blocked. All of it blocks, so it runs on
//! tokio's threads for blocking work; a caller that goes away leaves a begun transaction to
//! finish.

use std::sync::{Arc, Mutex, PoisonError};

use loreloom_memory::ports::StoreError;
use rusqlite::Connection;
use tokio::{
    sync::{Mutex as Queue, Semaphore},
    task::spawn_blocking,
};

use super::{
    checkpoint::Checkpointer,
    connect::{Location, connect, prepare},
};

/// Reads that may run at once.
const READERS: usize = 4;

#[derive(Debug)]
pub(super) struct Pool {
    location: Location,
    writer: Arc<Queue<Writer>>,
    idle: Arc<Mutex<Vec<Connection>>>,
    reading: Arc<Semaphore>,
}

#[derive(Debug)]
struct Writer {
    connection: Connection,
    checkpointer: Option<Checkpointer>,
}

impl Pool {
    /// Opens the database and brings it to the newest schema.
    pub(super) fn open(location: Location) -> Result<Self, StoreError> {
        let mut connection = connect(&location)?;
        prepare(&mut connection)?;
        let checkpointer = match location {
            Location::File(_) => Some(Checkpointer::start(connect(&location)?)?),
            Location::Memory => None,
        };
        Ok(Self {
            location,
            writer: Arc::new(Queue::new(Writer { connection, checkpointer })),
            idle: Arc::default(),
            reading: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Runs `write` on the writing connection.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut writer = Arc::clone(&self.writer).lock_owned().await;
        blocking(move || {
            let result = write(&mut writer.connection)?;
            if let Some(checkpointer) = &mut writer.checkpointer {
                checkpointer.committed();
            }
            Ok(result)
        })
        .await
    }

    /// Runs `read` on a reading connection.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if matches!(self.location, Location::Memory) {
            return self.write(read).await;
        }
        let permit = Arc::clone(&self.reading).acquire_owned().await;
        let permit = permit.map_err(|error| stopped(error.into()))?;
        let (idle, location) = (Arc::clone(&self.idle), self.location.clone());
        blocking(move || {
            let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match waiting {
                Some(connection) => connection,
                None => connect(&location)?,
            };
            let result = read(&mut connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            result
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(work).await.map_err(|error| stopped(error.into()))?
}

fn stopped(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing: "running on a thread of its own", source }
}
