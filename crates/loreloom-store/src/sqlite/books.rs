//! Books in pieces, and the libraries of past turns.

use loreloom_core::{
    book::Book,
    ids::{BookVersion, Digest, FileVersion, LibraryVersion, TenantId},
    library::LibrarySource,
};
use loreloom_ports::StoreError;
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::{
    statement::{execute, query_first},
    unit_of_work::UnitOfWork,
};
use crate::{
    codec::{BookManifest, BookPiece, StoredLibrary, file_content},
    errors::{DatabaseResult as _, DecodeResult as _},
    rows::{StoredRow as _, library},
};

/// Stores the pieces of a book.
pub(super) fn store_book(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    store_pieces(&unit, tenant, pieces)?;
    unit.commit().doing("storing a book")
}

fn store_pieces(
    connection: &Connection,
    tenant: &TenantId,
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    let insert = "INSERT INTO book_pieces VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    for piece in missing_pieces(connection, tenant, pieces)? {
        let row = params![tenant.as_str(), piece.hash.0, piece.body()];
        execute(connection, "storing a book", insert, row)?;
    }
    Ok(())
}

/// The pieces that are not stored yet.
pub(super) fn missing_pieces<'pieces>(
    connection: &Connection,
    tenant: &TenantId,
    pieces: &'pieces [BookPiece],
) -> Result<Vec<&'pieces BookPiece>, StoreError> {
    let find = "SELECT 1 FROM book_pieces WHERE tenant = $1 AND hash = $2";
    let mut missing = Vec::new();
    for piece in pieces {
        let key = params![tenant.as_str(), piece.hash.0];
        if query_first(connection, "looking for a book", find, key, |_| Ok(()))?.is_none() {
            missing.push(piece);
        }
    }
    Ok(missing)
}

/// A stored book.
pub(super) fn find_book(
    connection: &Connection,
    tenant: &TenantId,
    version: BookVersion,
) -> Result<Option<Book>, StoreError> {
    let what = || format!("book {version}");
    let found = find_pieces(connection, tenant, [version.0].into_iter())?;
    let Some(body) = found.get(&version.0) else { return Ok(None) };
    let manifest = BookManifest::read(body).reading(what)?;
    let pieces = find_pieces(connection, tenant, manifest.needs())?;
    manifest.join(&pieces).reading(what).map(Some)
}

/// A stored file.
pub(super) fn find_file(
    connection: &Connection,
    tenant: &TenantId,
    version: FileVersion,
) -> Result<Option<Vec<u8>>, StoreError> {
    let found = find_pieces(connection, tenant, [version.0].into_iter())?;
    let Some(body) = found.get(&version.0) else { return Ok(None) };
    file_content(version, body).reading(|| format!("file {version}")).map(Some)
}

/// The stored ones of some pieces.
fn find_pieces(
    connection: &Connection,
    tenant: &TenantId,
    wanted: impl Iterator<Item = Digest>,
) -> Result<FxHashMap<Digest, Vec<u8>>, StoreError> {
    let find = "SELECT body FROM book_pieces WHERE tenant = $1 AND hash = $2";
    let mut pieces = FxHashMap::default();
    for hash in wanted {
        let key = params![tenant.as_str(), hash.0];
        let body =
            query_first(connection, "reading a book", find, key, |row| Ok(row.bytes(0)?.to_vec()))?;
        pieces.extend(body.map(|body| (hash, body)));
    }
    Ok(pieces)
}

/// Whether a library is stored.
pub(super) fn has_library(
    connection: &Connection,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<bool, StoreError> {
    let key = params![tenant.as_str(), version.0.0];
    let found = query_first(connection, "looking for a library", library::EXISTS, key, |_| Ok(()))?;
    Ok(found.is_some())
}

/// Stores a library, unless it is stored already.
pub(super) fn store_library(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    version: LibraryVersion,
    body: &[u8],
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    let doing = "storing a library";
    store_pieces(&unit, tenant, pieces)?;
    execute(&unit, doing, library::INSERT, params![tenant.as_str(), version.0.0, body])?;
    unit.commit().doing(doing)
}

/// A stored library.
pub(super) fn find_library(
    connection: &Connection,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<Option<LibrarySource>, StoreError> {
    let key = params![tenant.as_str(), version.0.0];
    let stored = query_first(connection, "reading a library", library::FIND, key, |row| {
        StoredLibrary::read(row.bytes(0)?)
    })?;
    let what = || format!("library {version}");
    let Some(stored) = stored else { return Ok(None) };
    let mut books = Vec::with_capacity(stored.volumes.len());
    for (book, _) in &stored.volumes {
        let found = find_book(connection, tenant, *book)?;
        books.push(found.ok_or_else(|| format!("book {book} is missing")).reading(what)?);
    }
    let pieces = find_pieces(connection, tenant, stored.notes.iter().copied())?;
    stored.join(books, &pieces).reading(what).map(Some)
}
