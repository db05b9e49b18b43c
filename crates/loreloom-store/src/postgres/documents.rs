//! Documents: a tenant's named values.
//!
//! A change locks the tenant's row of `document_heads`, so changes of one tenant come one after the
//! other, whichever server makes them.

use async_trait::async_trait;
use deadpool_postgres::{Client, GenericClient, Transaction};
use loreloom_core::{
    book::Book,
    ids::{BookVersion, FileVersion, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Change, Changed, DocumentStore, Item, Revision, StoreError};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::{
    PostgresStore, books,
    statement::{Parameters, client, decode_all, execute, query, query_first},
};
use crate::{
    codec::{file_piece, split_book},
    documents::{effect, inverse, revision_was_seen},
    errors::{DatabaseResult as _, DecodeResult as _, not_json},
    rows::{StoredRow as _, document, signed},
};

const READING: &str = "reading documents";
const CHANGING: &str = "changing documents";

#[async_trait]
impl DocumentStore for PostgresStore {
    async fn revision(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        let client = client(&self.pool).await?;
        find_number(&client, document::REVISION, &[&tenant.as_str()]).await
    }

    async fn items(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<Item>, StoreError> {
        let client = client(&self.pool).await?;
        let rows = query(&client, READING, document::LIST, &[&tenant.as_str(), &prefix]).await?;
        let mut items = decode_all(&rows, READING, document::document)?;
        items.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(items)
    }

    async fn change(
        &self,
        tenant: &TenantId,
        changes: &[Change],
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        change(&mut client(&self.pool).await?, tenant, changes, seen, now).await
    }

    async fn undo(
        &self,
        tenant: &TenantId,
        revision: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        undo(&mut client(&self.pool).await?, tenant, revision, now).await
    }

    async fn revisions(
        &self,
        tenant: &TenantId,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Revision>, StoreError> {
        let client = client(&self.pool).await?;
        let before = before.map_or(i64::MAX, signed);
        let key: &Parameters<'_> = &[&tenant.as_str(), &before, &i64::from(most)];
        let rows = query(&client, READING, document::REVISIONS, key).await?;
        // Revisions never change, so no snapshot is needed.
        let mut revisions = decode_all(&rows, READING, document::revision)?;
        for revision in &mut revisions {
            revision.changes = changes_of(&client, tenant, revision.number).await?;
        }
        Ok(revisions)
    }

    async fn keep_book(&self, tenant: &TenantId, book: &Book) -> Result<BookVersion, StoreError> {
        let (version, pieces) = split_book(book).map_err(|error| not_json(&error))?;
        books::store_pieces(&client(&self.pool).await?, tenant, &pieces).await?;
        Ok(version)
    }

    async fn book(
        &self,
        tenant: &TenantId,
        version: BookVersion,
    ) -> Result<Option<Book>, StoreError> {
        books::find_book(&client(&self.pool).await?, tenant, version).await
    }

    async fn keep_file(&self, tenant: &TenantId, bytes: &[u8]) -> Result<FileVersion, StoreError> {
        let (version, piece) = file_piece(bytes);
        books::store_pieces(&client(&self.pool).await?, tenant, &[piece]).await?;
        Ok(version)
    }

    async fn file(
        &self,
        tenant: &TenantId,
        version: FileVersion,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        books::find_file(&client(&self.pool).await?, tenant, version).await
    }
}

/// Makes all changes or none.
async fn change(
    client: &mut Client,
    tenant: &TenantId,
    changes: &[Change],
    seen: Option<u64>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let transaction = client.transaction().await.doing(CHANGING)?;
    let last = lock(&transaction, tenant).await?;
    revision_was_seen(last, seen)?;
    let mut changed = Vec::new();
    for change in changes {
        let before = value(&transaction, tenant, &change.key).await?;
        if let Some(effect) = effect(change, before) {
            set(&transaction, tenant, &effect, last + 1).await?;
            changed.push(effect);
        }
    }
    if changed.is_empty() {
        return Ok(last);
    }
    let (number, undoes) = (last + 1, None);
    commit(transaction, tenant, &Revision { number, created: now, undoes, changes: changed }).await
}

async fn undo(
    client: &mut Client,
    tenant: &TenantId,
    wanted: u64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let transaction = client.transaction().await.doing(CHANGING)?;
    let next = lock(&transaction, tenant).await? + 1;
    let changes = changes_of(&transaction, tenant, wanted).await?;
    let mut found = FxHashMap::default();
    for Changed { key, .. } in &changes {
        let here = value(&transaction, tenant, key).await?;
        let names: &Parameters<'_> = &[&tenant.as_str(), key];
        let last = find_number(&transaction, document::LAST_CHANGE, names).await?;
        found.insert(key.clone(), (here, last));
    }
    let inverse = inverse(wanted, changes, |key| Ok(found.get(key).cloned().unwrap_or_default()))?;
    for effect in &inverse {
        set(&transaction, tenant, effect, next).await?;
    }
    let undoes = Some(wanted);
    let revision = Revision { number: next, created: now, undoes, changes: inverse };
    commit(transaction, tenant, &revision).await
}

/// The last revision, locked until the transaction ends.
async fn lock(transaction: &Transaction<'_>, tenant: &TenantId) -> Result<u64, StoreError> {
    let lock = "INSERT INTO document_heads VALUES ($1, 0) ON CONFLICT (tenant) \
         DO UPDATE SET revision = document_heads.revision RETURNING revision";
    find_number(transaction, lock, &[&tenant.as_str()]).await
}

/// The number in the first row. 0 if there is none.
async fn find_number(
    client: &impl GenericClient,
    sql: &str,
    key: &Parameters<'_>,
) -> Result<u64, StoreError> {
    let row = query_first(client, READING, sql, key).await?;
    row.map_or(Ok(0), |row| row.unsigned(0)).row_while(READING)
}

async fn value(
    client: &impl GenericClient,
    tenant: &TenantId,
    key: &str,
) -> Result<Option<Value>, StoreError> {
    let row = query_first(client, READING, document::FIND, &[&tenant.as_str(), &key]).await?;
    row.map_or(Ok(None), |row| document::value(&row, 0, key)).row_while(READING)
}

async fn changes_of(
    client: &impl GenericClient,
    tenant: &TenantId,
    revision: u64,
) -> Result<Vec<Changed>, StoreError> {
    let key: &Parameters<'_> = &[&tenant.as_str(), &signed(revision)];
    decode_all(&query(client, READING, document::CHANGES, key).await?, READING, document::changed)
}

async fn set(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    effect: &Changed,
    revision: u64,
) -> Result<(), StoreError> {
    let (tenant, key) = (tenant.as_str(), effect.key.as_str());
    let done = if let Some(value) = bytes(effect.after.as_ref()) {
        let row: &Parameters<'_> = &[&tenant, &key, &value, &signed(revision)];
        execute(transaction, CHANGING, document::PUT, row).await
    } else {
        execute(transaction, CHANGING, document::DELETE, &[&tenant, &key]).await
    };
    done.map(drop)
}

/// Adds a revision and commits.
async fn commit(
    transaction: Transaction<'_>,
    tenant: &TenantId,
    revision: &Revision,
) -> Result<u64, StoreError> {
    let (tenant, number) = (tenant.as_str(), signed(revision.number));
    execute(&transaction, CHANGING, document::SET_REVISION, &[&tenant, &number]).await?;
    let undoes = revision.undoes.map(signed);
    let row: &Parameters<'_> = &[&tenant, &number, &revision.created.0, &undoes];
    execute(&transaction, CHANGING, document::INSERT_REVISION, row).await?;
    for (place, Changed { key, before, after }) in (0_i64..).zip(&revision.changes) {
        let (before, after) = (bytes(before.as_ref()), bytes(after.as_ref()));
        let row: &Parameters<'_> = &[&tenant, &number, &place, key, &before, &after];
        execute(&transaction, CHANGING, document::INSERT_CHANGE, row).await?;
    }
    transaction.commit().await.doing(CHANGING)?;
    Ok(revision.number)
}

fn bytes(value: Option<&Value>) -> Option<Vec<u8>> {
    value.map(|value| value.to_string().into_bytes())
}
