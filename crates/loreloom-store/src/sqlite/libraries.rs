//! The books and rules that turns were decided with.

use loreloom_core::ids::{LibraryVersion, TenantId};
use loreloom_core::library::Shelf;
use loreloom_ports::StoreError;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    desk,
    rows::{Doing, Hash, Reading},
    unit::Unit,
};
use crate::codec::{BookPiece, library_from};

/// Whether a version is kept.
pub(super) fn is_kept(
    connection: &Connection,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT 1 FROM libraries WHERE tenant = ?1 AND version = ?2")
        .and_then(|mut find| find.exists(params![tenant.as_str(), Hash(version.0)]))
        .doing("looking for a library")
}

/// Keeps a version, unless it is kept already.
pub(super) fn keep(
    transaction: Unit<'_>,
    tenant: &TenantId,
    version: LibraryVersion,
    body: &[u8],
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    desk::keep_pieces(&transaction, tenant, pieces)?;
    transaction
        .prepare_cached("INSERT INTO libraries VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
        .and_then(|mut insert| insert.execute(params![tenant.as_str(), Hash(version.0), body]))
        .doing("keeping a library")?;
    transaction.commit().doing("keeping a library")
}

/// A version, if it is kept.
pub(super) fn library(
    connection: &Connection,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<Option<Shelf>, StoreError> {
    let body: Option<Vec<u8>> = connection
        .prepare_cached("SELECT body FROM libraries WHERE tenant = ?1 AND version = ?2")
        .and_then(|mut find| {
            let key = params![tenant.as_str(), Hash(version.0)];
            find.query_row(key, |row| row.get(0)).optional()
        })
        .doing("reading a library")?;
    let what = || format!("library {version}");
    let Some(body) = body else { return Ok(None) };
    let listed = library_from(&body).reading(what)?;
    let mut books = Vec::with_capacity(listed.volumes.len());
    for (book, _) in &listed.volumes {
        let found = desk::book(connection, tenant, *book)?;
        books.push(found.ok_or_else(|| format!("its book {book} is missing")).reading(what)?);
    }
    let pieces = desk::pieces(connection, tenant, listed.notes.iter().copied())?;
    listed.shelf(books, &pieces).reading(what).map(Some)
}
