//! What tenants have laid out.
//!
//! The row of a tenant's desk is locked by whoever changes it, so that changes of one
//! tenant come one after the other whichever server makes them.

use deadpool_postgres::{Client, GenericClient, Transaction};
use loreloom_core::{
    book::Book,
    ids::{BookVersion, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Change, Changed, Item, Revision, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use tokio_postgres::Row;

use super::rows::{Doing, damaged, digest, text};
use crate::{
    codec::{Binding, BookPiece},
    desk::{column, effect, from_column, inverse, revision_was_seen},
};

const READING: &str = "reading the desk";
const CHANGING: &str = "changing the desk";

/// The last revision.
pub(super) async fn revision(client: &Client, tenant: &TenantId) -> Result<u64, StoreError> {
    let find = "SELECT revision FROM document_heads WHERE tenant = $1";
    let find = client.prepare_cached(find).await.doing(READING)?;
    let row = client.query_opt(&find, &[&tenant.as_str()]).await.doing(READING)?;
    row.map_or(Ok(0), |row| number(&row, 0))
}

/// The values whose names begin so.
pub(super) async fn items(
    client: &Client,
    tenant: &TenantId,
    prefix: &str,
) -> Result<Vec<Item>, StoreError> {
    let find = "SELECT key, value, revision FROM documents \
                WHERE tenant = $1 AND starts_with(key, $2) ORDER BY key COLLATE \"C\"";
    let find = client.prepare_cached(find).await.doing(READING)?;
    let rows = client.query(&find, &[&tenant.as_str(), &prefix]).await.doing(READING)?;
    let item = |row: &Row| {
        let key: String = row.try_get(0).doing(READING)?;
        let value = value_in(row, &key, 1)?.unwrap_or_default();
        Ok(Item { revision: number(row, 2)?, key, value })
    };
    rows.iter().map(item).collect()
}

/// Makes changes, all or none.
pub(super) async fn change(
    client: &mut Client,
    tenant: &TenantId,
    changes: &[Change],
    seen: Option<u64>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let transaction = client.transaction().await.doing(CHANGING)?;
    let last = locked(&transaction, tenant).await?;
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
    log(&transaction, tenant, last + 1, None, now, &changed).await?;
    transaction.commit().await.doing(CHANGING)?;
    Ok(last + 1)
}

/// Takes a revision back.
pub(super) async fn undo(
    client: &mut Client,
    tenant: &TenantId,
    wanted: u64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let transaction = client.transaction().await.doing(CHANGING)?;
    let next = locked(&transaction, tenant).await? + 1;
    let changes = changes_of(&transaction, tenant, wanted).await?;
    let mut found = FxHashMap::default();
    for Changed { key, .. } in &changes {
        let here = value(&transaction, tenant, key).await?;
        found.insert(key.clone(), (here, last_change(&transaction, tenant, key).await?));
    }
    let inverse = inverse(wanted, changes, |key| Ok(found.get(key).cloned().unwrap_or_default()))?;
    for effect in &inverse {
        set(&transaction, tenant, effect, next).await?;
    }
    log(&transaction, tenant, next, Some(wanted), now, &inverse).await?;
    transaction.commit().await.doing(CHANGING)?;
    Ok(next)
}

/// The newest revisions first.
pub(super) async fn revisions(
    client: &mut Client,
    tenant: &TenantId,
    before: Option<u64>,
    most: u32,
) -> Result<Vec<Revision>, StoreError> {
    let find = "SELECT revision, created, undoes FROM document_revisions \
                WHERE tenant = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3";
    let before = before.map_or(i64::MAX, signed);
    // Revisions never change, so no snapshot is needed.
    let find = client.prepare_cached(find).await.doing(READING)?;
    let rows = client.query(&find, &[&tenant.as_str(), &before, &i64::from(most)]).await;
    let mut revisions = Vec::new();
    for row in rows.doing(READING)? {
        let number = number(&row, 0)?;
        let created = Timestamp(row.try_get(1).doing(READING)?);
        let undoes: Option<i64> = row.try_get(2).doing(READING)?;
        let changes = changes_of(client, tenant, number).await?;
        let undoes = undoes.map(i64::unsigned_abs);
        revisions.push(Revision { number, created, undoes, changes });
    }
    Ok(revisions)
}

/// Keeps the pieces of a book.
pub(super) async fn keep_pieces(
    client: &impl GenericClient,
    tenant: &TenantId,
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    let doing = "keeping a book";
    let all: Vec<&[u8]> = pieces.iter().map(|piece| piece.hash.0.as_slice()).collect();
    // The lock waits for whoever is taking unused pieces away, and then does not find them.
    let find =
        "SELECT hash FROM book_pieces WHERE tenant = $1 AND hash = ANY($2::bytea[]) FOR KEY SHARE";
    let find = client.prepare_cached(find).await.doing(doing)?;
    let kept = client.query(&find, &[&tenant.as_str(), &all]).await.doing(doing)?;
    let kept: FxHashSet<Vec<u8>> = kept.iter().map(|row| row.get(0)).collect();
    let pieces = || pieces.iter().filter(|piece| !kept.contains(piece.hash.0.as_slice()));
    let insert = "INSERT INTO book_pieces SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) \
                  ON CONFLICT DO NOTHING";
    let hashes: Vec<&[u8]> = pieces().map(|piece| piece.hash.0.as_slice()).collect();
    let bodies: Vec<&[u8]> = pieces().map(BookPiece::body).collect();
    let insert = client.prepare_cached(insert).await.doing(doing)?;
    client.execute(&insert, &[&tenant.as_str(), &hashes, &bodies]).await.doing(doing)?;
    Ok(())
}

/// A book that was kept.
pub(super) async fn book(
    client: &Client,
    tenant: &TenantId,
    version: BookVersion,
) -> Result<Option<Book>, StoreError> {
    let wrong = |reason| damaged(format!("book {version}"), reason);
    let found = pieces(client, tenant, &[version.0]).await?;
    let Some(body) = found.get(&version.0) else { return Ok(None) };
    let binding = Binding::read(body).map_err(wrong)?;
    let needs: Vec<Digest> = binding.needs().collect();
    let found = pieces(client, tenant, &needs).await?;
    binding.put_together(&found).map(Some).map_err(wrong)
}

/// Those of some pieces that are kept.
pub(super) async fn pieces(
    client: &Client,
    tenant: &TenantId,
    hashes: &[Digest],
) -> Result<FxHashMap<Digest, Vec<u8>>, StoreError> {
    let doing = "reading a book";
    let find = "SELECT hash, body FROM book_pieces WHERE tenant = $1 AND hash = ANY($2)";
    let hashes: Vec<&[u8]> = hashes.iter().map(|hash| hash.0.as_slice()).collect();
    let find = client.prepare_cached(find).await.doing(doing)?;
    let rows = client.query(&find, &[&tenant.as_str(), &hashes]).await.doing(doing)?;
    rows.iter().map(|row| Ok((digest(row, 0)?, row.try_get(1).doing(doing)?))).collect()
}

/// The last revision; nobody else changes the desk until the transaction ends.
async fn locked(transaction: &Transaction<'_>, tenant: &TenantId) -> Result<u64, StoreError> {
    let lock = "INSERT INTO document_heads VALUES ($1, 0) \
                ON CONFLICT (tenant) DO UPDATE SET revision = document_heads.revision RETURNING revision";
    let lock = transaction.prepare_cached(lock).await.doing(CHANGING)?;
    number(&transaction.query_one(&lock, &[&tenant.as_str()]).await.doing(CHANGING)?, 0)
}

async fn value(
    client: &impl GenericClient,
    tenant: &TenantId,
    key: &str,
) -> Result<Option<Value>, StoreError> {
    let find = "SELECT value FROM documents WHERE tenant = $1 AND key = $2";
    let find = client.prepare_cached(find).await.doing(READING)?;
    let row = client.query_opt(&find, &[&tenant.as_str(), &key]).await.doing(READING)?;
    row.map_or(Ok(None), |row| value_in(&row, key, 0))
}

async fn last_change(
    client: &impl GenericClient,
    tenant: &TenantId,
    key: &str,
) -> Result<u64, StoreError> {
    let find = "SELECT coalesce(max(revision), 0) FROM document_changes \
                WHERE tenant = $1 AND key = $2";
    let find = client.prepare_cached(find).await.doing(READING)?;
    number(&client.query_one(&find, &[&tenant.as_str(), &key]).await.doing(READING)?, 0)
}

async fn changes_of(
    client: &impl GenericClient,
    tenant: &TenantId,
    revision: u64,
) -> Result<Vec<Changed>, StoreError> {
    let find = "SELECT key, before, after FROM document_changes \
                WHERE tenant = $1 AND revision = $2 ORDER BY place";
    let find = client.prepare_cached(find).await.doing(READING)?;
    let rows = client.query(&find, &[&tenant.as_str(), &signed(revision)]).await.doing(READING)?;
    let changed = |row: &Row| {
        let key: String = row.try_get(0).doing(READING)?;
        let (before, after) = (value_in(row, &key, 1)?, value_in(row, &key, 2)?);
        Ok(Changed { key, before, after })
    };
    rows.iter().map(changed).collect()
}

async fn set(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    effect: &Changed,
    revision: u64,
) -> Result<(), StoreError> {
    let put = "INSERT INTO documents VALUES ($1, $2, $3, $4) \
               ON CONFLICT (tenant, key) DO UPDATE SET value = $3, revision = $4";
    let take = "DELETE FROM documents WHERE tenant = $1 AND key = $2";
    let (tenant, key) = (tenant.as_str(), effect.key.as_str());
    let done = if let Some(value) = column(effect.after.as_ref()) {
        let put = transaction.prepare_cached(put).await.doing(CHANGING)?;
        let revision = signed(revision);
        transaction.execute(&put, &[&tenant, &key, &value.as_bytes(), &revision]).await
    } else {
        let take = transaction.prepare_cached(take).await.doing(CHANGING)?;
        transaction.execute(&take, &[&tenant, &key]).await
    };
    done.doing(CHANGING).map(drop)
}

async fn log(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    revision: u64,
    undoes: Option<u64>,
    now: Timestamp,
    changes: &[Changed],
) -> Result<(), StoreError> {
    let count = "UPDATE document_heads SET revision = $2 WHERE tenant = $1";
    let keep = "INSERT INTO document_revisions VALUES ($1, $2, $3, $4)";
    let insert = "INSERT INTO document_changes VALUES ($1, $2, $3, $4, $5, $6)";
    let (tenant, number) = (tenant.as_str(), signed(revision));
    transaction.execute(count, &[&tenant, &number]).await.doing(CHANGING)?;
    let undoes = undoes.map(signed);
    transaction.execute(keep, &[&tenant, &number, &now.0, &undoes]).await.doing(CHANGING)?;
    let insert = transaction.prepare_cached(insert).await.doing(CHANGING)?;
    for (place, Changed { key, before, after }) in (0_i64..).zip(changes) {
        let bytes = |value: &Option<Value>| column(value.as_ref()).map(String::into_bytes);
        let (before, after) = (bytes(before), bytes(after));
        transaction
            .execute(&insert, &[&tenant, &number, &place, key, &before, &after])
            .await
            .doing(CHANGING)?;
    }
    Ok(())
}

fn value_in(row: &Row, key: &str, at: usize) -> Result<Option<Value>, StoreError> {
    from_column(key, text(row, at)?.as_deref())
}

fn number(row: &Row, at: usize) -> Result<u64, StoreError> {
    Ok(row.try_get::<_, i64>(at).doing(READING)?.unsigned_abs())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
