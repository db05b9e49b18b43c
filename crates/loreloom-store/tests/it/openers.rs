//! One opener for each store.

use std::sync::Arc;

use async_trait::async_trait;
use loreloom_memory::ports::{StoreError, StoryStore};
use loreloom_store::{MemoryStore, SqliteStore};
use loreloom_testkit::store_suite::{Failure, Opener};
use tempfile::TempDir;

/// A store to test, unless it is not available here.
pub(crate) type Opened<O> = Result<Option<O>, Failure>;

/// Handles that are clones of one store.
pub(crate) struct Shared<S>(S);

#[async_trait]
impl<S: StoryStore + Clone + 'static> Opener for Shared<S> {
    async fn open(&self) -> Result<Arc<dyn StoryStore>, StoreError> {
        Ok(Arc::new(self.0.clone()))
    }
}

/// A database file that goes away with its directory.
pub(crate) struct SqliteFile(TempDir);

#[async_trait]
impl Opener for SqliteFile {
    async fn open(&self) -> Result<Arc<dyn StoryStore>, StoreError> {
        Ok(Arc::new(SqliteStore::open(self.0.path().join("stories.sqlite"))?))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "all openers are tested alike")]
pub(crate) fn memory() -> Opened<Shared<MemoryStore>> {
    Ok(Some(Shared(MemoryStore::default())))
}

pub(crate) fn sqlite_memory() -> Opened<Shared<SqliteStore>> {
    Ok(Some(Shared(SqliteStore::in_memory()?)))
}

pub(crate) fn sqlite_file() -> Opened<SqliteFile> {
    Ok(Some(SqliteFile(TempDir::new()?)))
}
