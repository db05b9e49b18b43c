//! Documents of a tenant: books, characters, rules, connections.
//!
//! Documents are a small set of named values. Every change is one numbered revision that keeps the
//! old values, so that it can be undone; nothing is overwritten. Books are long and change a
//! little at a time: they are stored separately, by content, and a document names the version.
//! Files (pictures, original cards) are stored the same way.

use async_trait::async_trait;
use loreloom_core::{
    book::Book,
    ids::{BookVersion, FileVersion, TenantId},
    units::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;

/// A document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its name.
    pub key: String,
    /// What it is.
    pub value: Value,
    /// The revision that put it there.
    pub revision: u64,
}

/// A wish to change a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub key: String,
    /// Its new value; `None` removes it.
    pub value: Option<Value>,
}

/// A value that was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Its name.
    pub key: String,
    /// What it was; `None` if it was not there.
    pub before: Option<Value>,
    /// What it became; `None` if it was taken away.
    pub after: Option<Value>,
}

/// Changes that were made together. Its number is what [`DocumentStore::undo`] takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// Counts from 1.
    pub number: u64,
    /// When.
    pub created: Timestamp,
    /// The revision that this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// What was changed.
    pub changes: Vec<Changed>,
}

/// Stores the documents of tenants. All writes are atomic and durable when they return.
#[async_trait]
pub trait DocumentStore: Send + Sync {
    /// The number of the last revision; 0 before the first.
    async fn revision(&self, tenant: &TenantId) -> Result<u64, StoreError>;

    /// The values whose names begin with `prefix`, by name.
    async fn items(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<Item>, StoreError>;

    /// Makes changes, all or none, and returns their revision. A change to what is there
    /// already is left out; if nothing is left, the last revision is returned.
    ///
    /// Fails with [`StoreError::Outdated`] if `seen` is given and is not the last revision.
    async fn change(
        &self,
        tenant: &TenantId,
        changes: &[Change],
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError>;

    /// Takes a revision back, as a revision of its own, which can be undone in turn.
    ///
    /// Fails with [`StoreError::ChangedSince`] if one of its values was changed again.
    async fn undo(
        &self,
        tenant: &TenantId,
        revision: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError>;

    /// The newest revisions first: those before `before`, at most `most` of them.
    async fn revisions(
        &self,
        tenant: &TenantId,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Revision>, StoreError>;

    /// Keeps a book and names what was kept.
    async fn keep_book(&self, tenant: &TenantId, book: &Book) -> Result<BookVersion, StoreError>;

    /// A book that was kept.
    async fn book(
        &self,
        tenant: &TenantId,
        version: BookVersion,
    ) -> Result<Option<Book>, StoreError>;

    /// Keeps a file and names what was kept. A file that no document names may be deleted.
    async fn keep_file(&self, tenant: &TenantId, bytes: &[u8]) -> Result<FileVersion, StoreError>;

    /// A file that was kept.
    async fn file(
        &self,
        tenant: &TenantId,
        version: FileVersion,
    ) -> Result<Option<Vec<u8>>, StoreError>;
}
