//! One opener for each store.

use std::sync::Arc;

use async_trait::async_trait;
use loreloom_ports::{Store, StoreError};
use loreloom_store::SqliteStore;
use loreloom_testkit::{
    memory_suite::{Keeper, KeeperOpener},
    store_suite::{Failure, Opener},
};
use tempfile::TempDir;

/// A store to test, unless it is not available here.
pub(crate) type Opened<O> = Result<Option<O>, Failure>;

/// Handles that are clones of one store.
pub(crate) struct Shared<S>(S);

#[async_trait]
impl<S: Store + Clone + 'static> Opener for Shared<S> {
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(self.0.clone()))
    }
}

#[async_trait]
impl<S: Keeper + Clone + 'static> KeeperOpener for Shared<S> {
    async fn keeper(&self) -> Result<Arc<dyn Keeper>, StoreError> {
        Ok(Arc::new(self.0.clone()))
    }
}

/// A database file that goes away with its directory.
pub(crate) struct SqliteFile(TempDir);

#[async_trait]
impl Opener for SqliteFile {
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(SqliteStore::open(self.0.path().join("stories.sqlite"))?))
    }
}

#[async_trait]
impl KeeperOpener for SqliteFile {
    async fn keeper(&self) -> Result<Arc<dyn Keeper>, StoreError> {
        Ok(Arc::new(SqliteStore::open(self.0.path().join("stories.sqlite"))?))
    }
}

pub(crate) fn sqlite_memory() -> Opened<Shared<SqliteStore>> {
    Ok(Some(Shared(SqliteStore::in_memory()?)))
}

pub(crate) fn sqlite_file() -> Opened<SqliteFile> {
    Ok(Some(SqliteFile(TempDir::new()?)))
}

/// One server for all tests of this process, each with tenants of its own.
#[cfg(feature = "postgres")]
pub(crate) fn postgres() -> Opened<Postgres> {
    use std::sync::OnceLock;

    use loreloom_testkit::postgres::Cluster;

    static CLUSTER: OnceLock<Result<Option<Cluster>, String>> = OnceLock::new();
    let started = CLUSTER.get_or_init(|| Cluster::start().map_err(|error| error.to_string()));
    let cluster = started.as_ref().map_err(String::as_str)?;
    Ok(cluster.as_ref().map(|cluster| Postgres(cluster.address())))
}

/// A database on the test server.
#[cfg(feature = "postgres")]
pub(crate) struct Postgres(String);

#[cfg(feature = "postgres")]
#[async_trait]
impl Opener for Postgres {
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(loreloom_store::PostgresStore::connect(&self.0).await?))
    }
}

#[cfg(feature = "postgres")]
#[async_trait]
impl KeeperOpener for Postgres {
    async fn keeper(&self) -> Result<Arc<dyn Keeper>, StoreError> {
        Ok(Arc::new(loreloom_store::PostgresStore::connect(&self.0).await?))
    }
}
