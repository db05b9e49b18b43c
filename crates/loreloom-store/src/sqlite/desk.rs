//! What tenants have laid out.

use loreloom_core::{
    book::Book,
    ids::{BookVersion, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Change, Changed, Item, Revision, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::{
    rows::{Doing, Hash, Reading},
    unit::Unit,
};
use crate::{
    codec::{Binding, BookPiece},
    desk::{column, effect, from_column, inverse, revision_was_seen},
};

const READING: &str = "reading the desk";
const CHANGING: &str = "changing the desk";

/// The last revision.
pub(super) fn revision(connection: &Connection, tenant: &TenantId) -> Result<u64, StoreError> {
    connection
        .prepare_cached("SELECT revision FROM document_heads WHERE tenant = ?1")
        .and_then(|mut find| find.query_row([tenant.as_str()], number).optional())
        .doing(READING)
        .map(Option::unwrap_or_default)
}

/// The values whose names begin so.
pub(super) fn items(
    connection: &Connection,
    tenant: &TenantId,
    prefix: &str,
) -> Result<Vec<Item>, StoreError> {
    const FIND: &str = "SELECT revision, key, value FROM documents \
                        WHERE tenant = ?1 AND substr(key, 1, length(?2)) = ?2 ORDER BY key";
    let rows: Vec<(u64, String, String)> = connection
        .prepare_cached(FIND)
        .and_then(|mut find| {
            let row = |row: &rusqlite::Row<'_>| Ok((number(row)?, row.get(1)?, row.get(2)?));
            find.query_map(params![tenant.as_str(), prefix], row)?.collect()
        })
        .doing(READING)?;
    let item = |(revision, key, value): (u64, String, String)| {
        let value = from_column(&key, Some(&value))?.unwrap_or_default();
        Ok(Item { key, value, revision })
    };
    rows.into_iter().map(item).collect()
}

/// Makes changes, all or none.
pub(super) fn change(
    transaction: Unit<'_>,
    tenant: &TenantId,
    changes: &[Change],
    seen: Option<u64>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let last = revision(&transaction, tenant)?;
    revision_was_seen(last, seen)?;
    let mut changed = Vec::new();
    for change in changes {
        let before = value(&transaction, tenant, &change.key)?;
        if let Some(effect) = effect(change, before) {
            set(&transaction, tenant, &effect, last + 1)?;
            changed.push(effect);
        }
    }
    if changed.is_empty() {
        return Ok(last);
    }
    log(&transaction, tenant, last + 1, None, now, &changed)?;
    transaction.commit().doing(CHANGING)?;
    Ok(last + 1)
}

/// Takes a revision back.
pub(super) fn undo(
    transaction: Unit<'_>,
    tenant: &TenantId,
    wanted: u64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let next = revision(&transaction, tenant)? + 1;
    let changes = changes_of(&transaction, tenant, wanted)?;
    let inverse = inverse(wanted, changes, |key| {
        Ok((value(&transaction, tenant, key)?, last_change(&transaction, tenant, key)?))
    })?;
    for effect in &inverse {
        set(&transaction, tenant, effect, next)?;
    }
    log(&transaction, tenant, next, Some(wanted), now, &inverse)?;
    transaction.commit().doing(CHANGING)?;
    Ok(next)
}

/// The newest revisions first.
pub(super) fn revisions(
    connection: &mut Connection,
    tenant: &TenantId,
    before: Option<u64>,
    most: u32,
) -> Result<Vec<Revision>, StoreError> {
    const FIND: &str = "SELECT revision, created, undoes FROM document_revisions \
                        WHERE tenant = ?1 AND revision < ?2 ORDER BY revision DESC LIMIT ?3";
    let before = before.map_or(i64::MAX, signed);
    let snapshot = connection.transaction().doing(READING)?;
    let rows: Vec<(u64, i64, Option<i64>)> = snapshot
        .prepare_cached(FIND)
        .and_then(|mut find| {
            let row = |row: &rusqlite::Row<'_>| Ok((number(row)?, row.get(1)?, row.get(2)?));
            find.query_map(params![tenant.as_str(), before, most], row)?.collect()
        })
        .doing(READING)?;
    let revision = |(number, created, undoes): (u64, i64, Option<i64>)| {
        let changes = changes_of(&snapshot, tenant, number)?;
        let undoes = undoes.map(i64::unsigned_abs);
        Ok(Revision { number, created: Timestamp(created), undoes, changes })
    };
    rows.into_iter().map(revision).collect()
}

/// Keeps the pieces of a book.
pub(super) fn keep_book(
    transaction: Unit<'_>,
    tenant: &TenantId,
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    keep_pieces(&transaction, tenant, pieces)?;
    transaction.commit().doing("keeping a book")
}

/// Keeps pieces that are not kept yet.
pub(super) fn keep_pieces(
    transaction: &Connection,
    tenant: &TenantId,
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    for piece in missing(transaction, tenant, pieces)? {
        transaction
            .prepare_cached("INSERT INTO book_pieces VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
            .and_then(|mut insert| {
                insert.execute(params![tenant.as_str(), Hash(piece.hash), piece.body()])
            })
            .doing("keeping a book")?;
    }
    Ok(())
}

/// The pieces that are not kept yet.
pub(super) fn missing<'pieces>(
    connection: &Connection,
    tenant: &TenantId,
    pieces: &'pieces [BookPiece],
) -> Result<Vec<&'pieces BookPiece>, StoreError> {
    let mut missing = Vec::new();
    for piece in pieces {
        let is_kept = connection
            .prepare_cached("SELECT 1 FROM book_pieces WHERE tenant = ?1 AND hash = ?2")
            .and_then(|mut find| find.exists(params![tenant.as_str(), Hash(piece.hash)]))
            .doing("looking for the pieces of a book")?;
        if !is_kept {
            missing.push(piece);
        }
    }
    Ok(missing)
}

/// A book that was kept.
pub(super) fn book(
    connection: &Connection,
    tenant: &TenantId,
    version: BookVersion,
) -> Result<Option<Book>, StoreError> {
    let what = || format!("book {version}");
    let Some(body) = piece(connection, tenant, version.0)? else { return Ok(None) };
    let binding = Binding::read(&body).reading(what)?;
    let pieces = pieces(connection, tenant, binding.needs())?;
    binding.put_together(&pieces).reading(what).map(Some)
}

/// Those of some pieces that are kept.
pub(super) fn pieces(
    connection: &Connection,
    tenant: &TenantId,
    wanted: impl Iterator<Item = Digest>,
) -> Result<FxHashMap<Digest, Vec<u8>>, StoreError> {
    let mut pieces = FxHashMap::default();
    for hash in wanted {
        if let Some(body) = piece(connection, tenant, hash)? {
            pieces.insert(hash, body);
        }
    }
    Ok(pieces)
}

fn piece(
    connection: &Connection,
    tenant: &TenantId,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    connection
        .prepare_cached("SELECT body FROM book_pieces WHERE tenant = ?1 AND hash = ?2")
        .and_then(|mut find| {
            find.query_row(params![tenant.as_str(), Hash(hash)], |row| row.get(0)).optional()
        })
        .doing("reading a book")
}

fn value(
    connection: &Connection,
    tenant: &TenantId,
    key: &str,
) -> Result<Option<Value>, StoreError> {
    let text: Option<String> = connection
        .prepare_cached("SELECT value FROM documents WHERE tenant = ?1 AND key = ?2")
        .and_then(|mut find| {
            find.query_row(params![tenant.as_str(), key], |row| row.get(0)).optional()
        })
        .doing(READING)?;
    from_column(key, text.as_deref())
}

fn last_change(connection: &Connection, tenant: &TenantId, key: &str) -> Result<u64, StoreError> {
    const FIND: &str = "SELECT max(revision) FROM document_changes WHERE tenant = ?1 AND key = ?2";
    let last: Option<i64> = connection
        .prepare_cached(FIND)
        .and_then(|mut find| find.query_row(params![tenant.as_str(), key], |row| row.get(0)))
        .doing(READING)?;
    Ok(last.unwrap_or_default().unsigned_abs())
}

fn changes_of(
    connection: &Connection,
    tenant: &TenantId,
    revision: u64,
) -> Result<Vec<Changed>, StoreError> {
    const FIND: &str = "SELECT key, before, after FROM document_changes \
                        WHERE tenant = ?1 AND revision = ?2 ORDER BY place";
    let rows: Vec<(String, Option<String>, Option<String>)> = connection
        .prepare_cached(FIND)
        .and_then(|mut find| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            find.query_map(params![tenant.as_str(), signed(revision)], row)?.collect()
        })
        .doing(READING)?;
    let changed = |(key, before, after): (String, Option<String>, Option<String>)| {
        let before = from_column(&key, before.as_deref())?;
        let after = from_column(&key, after.as_deref())?;
        Ok(Changed { key, before, after })
    };
    rows.into_iter().map(changed).collect()
}

fn set(
    transaction: &Connection,
    tenant: &TenantId,
    effect: &Changed,
    revision: u64,
) -> Result<(), StoreError> {
    const PUT: &str = "INSERT INTO documents VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT DO UPDATE SET value = ?3, revision = ?4";
    let done = match column(effect.after.as_ref()) {
        Some(value) => transaction.prepare_cached(PUT).and_then(|mut put| {
            put.execute(params![tenant.as_str(), effect.key, value, signed(revision)])
        }),
        None => transaction
            .prepare_cached("DELETE FROM documents WHERE tenant = ?1 AND key = ?2")
            .and_then(|mut take| take.execute(params![tenant.as_str(), effect.key])),
    };
    done.doing(CHANGING).map(drop)
}

fn log(
    transaction: &Connection,
    tenant: &TenantId,
    revision: u64,
    undoes: Option<u64>,
    now: Timestamp,
    changes: &[Changed],
) -> Result<(), StoreError> {
    const COUNT: &str = "INSERT INTO document_heads VALUES (?1, ?2) \
                         ON CONFLICT DO UPDATE SET revision = ?2";
    let (tenant, number) = (tenant.as_str(), signed(revision));
    let write = || -> rusqlite::Result<()> {
        transaction.prepare_cached(COUNT)?.execute(params![tenant, number])?;
        transaction
            .prepare_cached("INSERT INTO document_revisions VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![tenant, number, now.0, undoes.map(signed)])?;
        let mut insert = transaction
            .prepare_cached("INSERT INTO document_changes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for (place, Changed { key, before, after }) in (0_i64..).zip(changes) {
            let (before, after) = (column(before.as_ref()), column(after.as_ref()));
            insert.execute(params![tenant, number, place, key, before, after])?;
        }
        Ok(())
    };
    write().doing(CHANGING)
}

/// The number in the first column.
fn number(row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(0)?.unsigned_abs())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
