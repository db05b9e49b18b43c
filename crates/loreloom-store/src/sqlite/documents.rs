//! Documents: a tenant's named values.

use async_trait::async_trait;
use loreloom_core::{
    book::Book,
    ids::{BookVersion, FileVersion, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Change, Changed, DocumentStore, Item, Revision, StoreError};
use rusqlite::{Connection, params};
use serde_json::Value;

use super::{
    SqliteStore, books,
    statement::{execute, query, query_first},
    unit_of_work::UnitOfWork,
};
use crate::{
    codec::{file_piece, split_book},
    documents::{effect, inverse, revision_was_seen},
    errors::{DatabaseResult as _, not_json},
    rows::{StoredRow as _, document, signed},
};

const READING: &str = "reading documents";
const CHANGING: &str = "changing documents";

#[async_trait]
impl DocumentStore for SqliteStore {
    async fn revision(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| last_revision(connection, &tenant)).await
    }

    async fn items(&self, tenant: &TenantId, prefix: &str) -> Result<Vec<Item>, StoreError> {
        let (tenant, prefix) = (tenant.clone(), prefix.to_owned());
        let read = move |connection: &mut Connection| {
            let key = (tenant.as_str(), prefix.as_str());
            query(connection, READING, document::LIST, key, |row| document::document(row))
        };
        let mut items = self.pool.read(read).await?;
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
        let (tenant, changes) = (tenant.clone(), changes.to_vec());
        self.pool.write(move |unit| change(unit, &tenant, &changes, seen, now)).await
    }

    async fn undo(
        &self,
        tenant: &TenantId,
        revision: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.pool.write(move |unit| undo(unit, &tenant, revision, now)).await
    }

    async fn revisions(
        &self,
        tenant: &TenantId,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Revision>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| revisions(connection, &tenant, before, most)).await
    }

    async fn keep_book(&self, tenant: &TenantId, book: &Book) -> Result<BookVersion, StoreError> {
        let (version, pieces) = split_book(book).map_err(|error| not_json(&error))?;
        let pieces = self.compressed(tenant, pieces).await?;
        let tenant = tenant.clone();
        self.pool.write(move |unit| books::store_book(unit, &tenant, &pieces)).await?;
        Ok(version)
    }

    async fn book(
        &self,
        tenant: &TenantId,
        version: BookVersion,
    ) -> Result<Option<Book>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| books::find_book(connection, &tenant, version)).await
    }

    async fn keep_file(&self, tenant: &TenantId, bytes: &[u8]) -> Result<FileVersion, StoreError> {
        let (version, piece) = file_piece(bytes);
        let pieces = self.compressed(tenant, vec![piece]).await?;
        let tenant = tenant.clone();
        self.pool.write(move |unit| books::store_book(unit, &tenant, &pieces)).await?;
        Ok(version)
    }

    async fn file(
        &self,
        tenant: &TenantId,
        version: FileVersion,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let tenant = tenant.clone();
        self.pool.read(move |connection| books::find_file(connection, &tenant, version)).await
    }
}

fn last_revision(connection: &Connection, tenant: &TenantId) -> Result<u64, StoreError> {
    let key = [tenant.as_str()];
    let found = query_first(connection, READING, document::REVISION, key, |row| row.unsigned(0))?;
    Ok(found.unwrap_or_default())
}

/// Makes all changes or none.
fn change(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    changes: &[Change],
    seen: Option<u64>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let last = last_revision(&unit, tenant)?;
    revision_was_seen(last, seen)?;
    let mut changed = Vec::new();
    for change in changes {
        let before = value(&unit, tenant, &change.key)?;
        if let Some(effect) = effect(change, before) {
            set(&unit, tenant, &effect, last + 1)?;
            changed.push(effect);
        }
    }
    if changed.is_empty() {
        return Ok(last);
    }
    let (number, undoes) = (last + 1, None);
    commit(unit, tenant, &Revision { number, created: now, undoes, changes: changed })
}

fn undo(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    wanted: u64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let next = last_revision(&unit, tenant)? + 1;
    let changes = changes_of(&unit, tenant, wanted)?;
    let inverse = inverse(wanted, changes, |key| {
        Ok((value(&unit, tenant, key)?, last_change(&unit, tenant, key)?))
    })?;
    for effect in &inverse {
        set(&unit, tenant, effect, next)?;
    }
    let undoes = Some(wanted);
    commit(unit, tenant, &Revision { number: next, created: now, undoes, changes: inverse })
}

fn revisions(
    connection: &mut Connection,
    tenant: &TenantId,
    before: Option<u64>,
    most: u32,
) -> Result<Vec<Revision>, StoreError> {
    let snapshot = connection.transaction().doing(READING)?;
    let key = params![tenant.as_str(), before.map_or(i64::MAX, signed), most];
    let mut revisions =
        query(&snapshot, READING, document::REVISIONS, key, |row| document::revision(row))?;
    for revision in &mut revisions {
        revision.changes = changes_of(&snapshot, tenant, revision.number)?;
    }
    Ok(revisions)
}

fn value(
    connection: &Connection,
    tenant: &TenantId,
    key: &str,
) -> Result<Option<Value>, StoreError> {
    let found = query_first(connection, READING, document::FIND, (tenant.as_str(), key), |row| {
        document::value(row, 0, key)
    })?;
    Ok(found.flatten())
}

fn last_change(connection: &Connection, tenant: &TenantId, key: &str) -> Result<u64, StoreError> {
    let key = (tenant.as_str(), key);
    let last = query_first(connection, READING, document::LAST_CHANGE, key, |row| row.unsigned(0))?;
    Ok(last.unwrap_or_default())
}

fn changes_of(
    connection: &Connection,
    tenant: &TenantId,
    revision: u64,
) -> Result<Vec<Changed>, StoreError> {
    let key = (tenant.as_str(), signed(revision));
    query(connection, READING, document::CHANGES, key, |row| document::changed(row))
}

fn set(
    connection: &Connection,
    tenant: &TenantId,
    effect: &Changed,
    revision: u64,
) -> Result<(), StoreError> {
    let (tenant, key) = (tenant.as_str(), effect.key.as_str());
    let done = match &effect.after {
        Some(value) => {
            let row = params![tenant, key, value.to_string(), signed(revision)];
            execute(connection, CHANGING, document::PUT, row)
        }
        None => execute(connection, CHANGING, document::DELETE, (tenant, key)),
    };
    done.map(drop)
}

/// Adds a revision and commits.
fn commit(unit: UnitOfWork<'_>, tenant: &TenantId, revision: &Revision) -> Result<u64, StoreError> {
    let (tenant, number) = (tenant.as_str(), signed(revision.number));
    execute(&unit, CHANGING, document::SET_REVISION, (tenant, number))?;
    let row = params![tenant, number, revision.created.0, revision.undoes.map(signed)];
    execute(&unit, CHANGING, document::INSERT_REVISION, row)?;
    for (place, Changed { key, before, after }) in (0_i64..).zip(&revision.changes) {
        let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        let row = params![tenant, number, place, key, text(before), text(after)];
        execute(&unit, CHANGING, document::INSERT_CHANGE, row)?;
    }
    unit.commit().doing(CHANGING)?;
    Ok(revision.number)
}
