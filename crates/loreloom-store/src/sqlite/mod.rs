//! Stories in SQLite, the default: one file, no server.
//!
//! Several processes may open the same file. A write is on disk when it returns (write-ahead log,
//! `synchronous = FULL`).

mod backup;
mod books;
mod checkpoint;
mod connect;
mod diagnosis;
mod documents;
mod jobs;
mod log;
mod memory_log;
mod nodes;
mod opened_file;
mod pool;
mod read;
mod retain;
mod salvage;
mod statement;
mod stories;
mod unit_of_work;
mod write;
mod writer_thread;

use std::{path::PathBuf, sync::Arc};

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{MemoryError, StoreError};
use rusqlite::Connection;

use self::{
    connect::DatabaseLocation, pool::ConnectionPool, read::ChatSnapshot, unit_of_work::UnitOfWork,
    write::ChatWriter,
};
pub use self::{diagnosis::Diagnosis, salvage::Salvage};
use crate::{
    codec::BookPiece, errors::DatabaseResult as _, recent_paths::RecentPaths,
    recent_states::RecentStates,
};

/// Stores stories in SQLite. Clones share their connections.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pool: Arc<ConnectionPool>,
    paths: Arc<RecentPaths>,
    states: Arc<RecentStates>,
}

impl SqliteStore {
    /// Opens the database in a file, which is created if it does not exist.
    ///
    /// Fails with [`StoreError::OtherVersion`] if it has another schema, and with
    /// [`StoreError::Damaged`] if SQLite would drop stored turns because its log is damaged.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::at(DatabaseLocation::File(path.into()))
    }

    /// A database in memory, gone with its last clone.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::at(DatabaseLocation::Memory)
    }

    fn at(location: DatabaseLocation) -> Result<Self, StoreError> {
        let pool = Arc::new(ConnectionPool::open(location)?);
        Ok(Self { pool, paths: Arc::default(), states: Arc::default() })
    }

    /// Reads a chat in one snapshot.
    async fn read_chat<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        read: impl FnOnce(&ChatSnapshot<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        let read =
            move |connection: &mut _| read(&ChatSnapshot::begin(connection, &tenant, &chat)?);
        self.pool.read(read).await
    }

    /// Writes to a chat. `seen` is the version that the caller has seen, if it matters.
    async fn write_chat<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        seen: Option<u64>,
        write: impl FnOnce(ChatWriter<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tenant, chat) = (tenant.clone(), chat.clone());
        let write =
            move |unit: UnitOfWork<'_>| write(ChatWriter::begin(unit, &tenant, &chat, seen)?);
        self.pool.write(write).await
    }

    /// Writes to memory or jobs.
    async fn write_memory<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let write = move |unit: UnitOfWork<'_>| {
            let written = write(&unit);
            // A refused write is rolled back.
            if written.is_ok() {
                unit.commit().doing("writing to memory")?;
            }
            Ok(written)
        };
        self.pool.write(write).await?
    }

    /// Compresses the pieces that are not stored yet, before the write that others wait for.
    async fn compressed(
        &self,
        tenant: &TenantId,
        pieces: Vec<BookPiece>,
    ) -> Result<Vec<BookPiece>, StoreError> {
        let tenant = tenant.clone();
        let read = move |connection: &mut Connection| {
            for piece in books::missing_pieces(connection, &tenant, &pieces)? {
                piece.body();
            }
            Ok(pieces)
        };
        self.pool.read(read).await
    }
}
