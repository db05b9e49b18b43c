//! Stories in PostgreSQL, for several servers.
//!
//! The tables are those of SQLite. Writers of one chat wait for each other at the chat's row
//! (`SELECT … FOR UPDATE`); writers of different chats do not wait. Lookups and inserts take
//! arrays, so the number of round trips does not grow with the path.

mod books;
mod connect;
mod documents;
mod jobs;
mod memory_log;
mod read;
mod retain;
mod statement;
mod stories;
mod tls;
mod write;

use std::sync::Arc;

use deadpool_postgres::Pool;
use loreloom_ports::StoreError;

use crate::{recent_paths::RecentPaths, recent_states::RecentStates};

/// Stores stories in PostgreSQL. Clones share their connections.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pool: Pool,
    paths: Arc<RecentPaths>,
    states: Arc<RecentStates>,
}

impl PostgresStore {
    /// Connects to a database, and creates the schema if it is empty.
    ///
    /// `address` is a libpq address: `postgresql://user@host/name` or `host=… dbname=…`.
    /// `sslmode=require` asks for encryption, `sslrootcert=FILE` names the trusted certificates.
    ///
    /// Fails with [`StoreError::Unreachable`] if the server refuses us, and with
    /// [`StoreError::OtherVersion`] if the database has another schema.
    pub async fn connect(address: &str) -> Result<Self, StoreError> {
        let pool = connect::pool(address)?;
        connect::reach(&pool, address).await?;
        connect::prepare(&pool).await?;
        Ok(Self { pool, paths: Arc::default(), states: Arc::default() })
    }
}
