//! Documents in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use loreloom_core::{
    book::Book,
    ids::{BookVersion, FileVersion, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Change, Changed, DocumentStore, Item, Revision, StoreError};

use super::InMemoryStore;
use crate::{
    codec::{file_piece, split_book},
    documents::{effect, inverse, revision_was_seen},
    errors::not_json,
};

/// Documents, books and files.
#[derive(Debug, Default)]
pub(super) struct DocumentTables {
    tenants: BTreeMap<TenantId, TenantDocuments>,
    books: BTreeMap<(TenantId, BookVersion), Arc<Book>>,
    files: BTreeMap<(TenantId, FileVersion), Arc<[u8]>>,
}

#[derive(Debug, Default)]
struct TenantDocuments {
    items: BTreeMap<String, Item>,
    log: Vec<Revision>,
}

impl TenantDocuments {
    fn last(&self) -> u64 {
        self.log.last().map_or(0, |revision| revision.number)
    }

    fn make(&mut self, changes: Vec<Changed>, undoes: Option<u64>, now: Timestamp) -> u64 {
        let number = self.last() + 1;
        for Changed { key, after, .. } in &changes {
            match after.clone() {
                Some(value) => {
                    let item = Item { key: key.clone(), value, revision: number };
                    self.items.insert(key.clone(), item);
                }
                None => drop(self.items.remove(key)),
            }
        }
        self.log.push(Revision { number, created: now, undoes, changes });
        number
    }

    fn last_change(&self, key: &str) -> u64 {
        let touched = |revision: &&Revision| revision.changes.iter().any(|one| one.key == key);
        self.log.iter().rev().find(touched).map_or(0, |revision| revision.number)
    }
}

impl InMemoryStore {
    fn documents(&self) -> MutexGuard<'_, DocumentTables> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl DocumentStore for InMemoryStore {
    async fn revision(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        Ok(self.documents().tenants.get(tenant).map_or(0, TenantDocuments::last))
    }

    async fn items(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<Item>, StoreError> {
        let tables = self.documents();
        let items =
            tables.tenants.get(tenant).into_iter().flat_map(|documents| documents.items.values());
        Ok(items.filter(|item| item.key.starts_with(prefix)).cloned().collect())
    }

    async fn change(
        &self,
        tenant: &TenantId,
        changes: &[Change],
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut tables = self.documents();
        let documents = tables.tenants.entry(tenant.clone()).or_default();
        revision_was_seen(documents.last(), seen)?;
        let mut here: BTreeMap<&str, Option<_>> = BTreeMap::new();
        let mut changed = Vec::new();
        for change in changes {
            let stored = || documents.items.get(&change.key).map(|item| item.value.clone());
            let before = here.get(change.key.as_str()).cloned().unwrap_or_else(stored);
            if let Some(effect) = effect(change, before) {
                here.insert(&change.key, effect.after.clone());
                changed.push(effect);
            }
        }
        if changed.is_empty() {
            return Ok(documents.last());
        }
        Ok(documents.make(changed, None, now))
    }

    async fn undo(
        &self,
        tenant: &TenantId,
        revision: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut tables = self.documents();
        let documents = tables.tenants.entry(tenant.clone()).or_default();
        let wanted = documents.log.iter().find(|one| one.number == revision);
        let changes = wanted.map(|one| one.changes.clone()).unwrap_or_default();
        let inverse = inverse(revision, changes, |key| {
            let value = documents.items.get(key).map(|item| item.value.clone());
            Ok((value, documents.last_change(key)))
        })?;
        Ok(documents.make(inverse, Some(revision), now))
    }

    async fn revisions(
        &self,
        tenant: &TenantId,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Revision>, StoreError> {
        let tables = self.documents();
        let log =
            tables.tenants.get(tenant).into_iter().flat_map(|documents| documents.log.iter().rev());
        let wanted = log.filter(|one| before.is_none_or(|before| one.number < before));
        Ok(wanted.take(most as usize).cloned().collect())
    }

    async fn keep_book(&self, tenant: &TenantId, book: &Book) -> Result<BookVersion, StoreError> {
        let (version, _) = split_book(book).map_err(|error| not_json(&error))?;
        let key = (tenant.clone(), version);
        self.documents().books.entry(key).or_insert_with(|| Arc::new(book.clone()));
        Ok(version)
    }

    async fn book(
        &self,
        tenant: &TenantId,
        version: BookVersion,
    ) -> Result<Option<Book>, StoreError> {
        let found = self.documents().books.get(&(tenant.clone(), version)).cloned();
        Ok(found.map(Arc::unwrap_or_clone))
    }

    async fn keep_file(&self, tenant: &TenantId, bytes: &[u8]) -> Result<FileVersion, StoreError> {
        let (version, _) = file_piece(bytes);
        self.documents().files.entry((tenant.clone(), version)).or_insert_with(|| bytes.into());
        Ok(version)
    }

    async fn file(
        &self,
        tenant: &TenantId,
        version: FileVersion,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.documents().files.get(&(tenant.clone(), version)).cloned();
        Ok(found.map(|bytes| bytes.to_vec()))
    }
}
