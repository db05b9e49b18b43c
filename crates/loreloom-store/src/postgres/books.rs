//! Books in pieces, and the libraries of past turns.

use deadpool_postgres::{Client, GenericClient};
use loreloom_core::{
    book::Book,
    ids::{BookVersion, Digest, FileVersion, LibraryVersion, TenantId},
    library::LibrarySource,
};
use loreloom_ports::StoreError;
use rustc_hash::{FxHashMap, FxHashSet};

use super::statement::{decode_all, execute, query, query_first};
use crate::{
    codec::{BookManifest, BookPiece, StoredLibrary, file_content},
    errors::{DatabaseResult as _, DecodeResult as _},
    rows::{StoredRow as _, library},
};

/// Stores the pieces of a book.
pub(super) async fn store_pieces(
    client: &impl GenericClient,
    tenant: &TenantId,
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    // The lock waits for a transaction that deletes unused pieces, and then does not find them.
    const FIND: &str =
        "SELECT hash FROM book_pieces WHERE tenant = $1 AND hash = ANY($2::bytea[]) FOR KEY SHARE";
    const INSERT: &str = "INSERT INTO book_pieces \
         SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING";
    let doing = "storing a book";
    let all: Vec<&[u8]> = pieces.iter().map(|piece| piece.hash.0.as_slice()).collect();
    let found = query(client, doing, FIND, &[&tenant.as_str(), &all]).await?;
    let found: FxHashSet<Digest> =
        decode_all(&found, doing, |row| row.digest(0))?.into_iter().collect();
    let missing = || pieces.iter().filter(|piece| !found.contains(&piece.hash));
    let hashes: Vec<&[u8]> = missing().map(|piece| piece.hash.0.as_slice()).collect();
    let bodies: Vec<&[u8]> = missing().map(BookPiece::body).collect();
    execute(client, doing, INSERT, &[&tenant.as_str(), &hashes, &bodies]).await.map(drop)
}

/// A stored book.
pub(super) async fn find_book(
    client: &Client,
    tenant: &TenantId,
    version: BookVersion,
) -> Result<Option<Book>, StoreError> {
    let what = || format!("book {version}");
    let found = find_pieces(client, tenant, &[version.0]).await?;
    let Some(body) = found.get(&version.0) else { return Ok(None) };
    let manifest = BookManifest::read(body).reading(what)?;
    let needs: Vec<Digest> = manifest.needs().collect();
    let pieces = find_pieces(client, tenant, &needs).await?;
    manifest.join(&pieces).reading(what).map(Some)
}

/// A stored file.
pub(super) async fn find_file(
    client: &Client,
    tenant: &TenantId,
    version: FileVersion,
) -> Result<Option<Vec<u8>>, StoreError> {
    let found = find_pieces(client, tenant, &[version.0]).await?;
    let Some(body) = found.get(&version.0) else { return Ok(None) };
    file_content(version, body).reading(|| format!("file {version}")).map(Some)
}

/// The stored ones of some pieces.
async fn find_pieces(
    client: &Client,
    tenant: &TenantId,
    wanted: &[Digest],
) -> Result<FxHashMap<Digest, Vec<u8>>, StoreError> {
    const FIND: &str = "SELECT hash, body FROM book_pieces WHERE tenant = $1 AND hash = ANY($2)";
    let doing = "reading a book";
    let wanted: Vec<&[u8]> = wanted.iter().map(|hash| hash.0.as_slice()).collect();
    let rows = query(client, doing, FIND, &[&tenant.as_str(), &wanted]).await?;
    Ok(decode_all(&rows, doing, library::piece)?.into_iter().collect())
}

/// Whether a library is stored.
pub(super) async fn has_library(
    client: &Client,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<bool, StoreError> {
    let name = version.0.0.as_slice();
    let doing = "looking for a library";
    let found = query_first(client, doing, library::EXISTS, &[&tenant.as_str(), &name]).await?;
    Ok(found.is_some())
}

/// Stores a library, unless it is stored already.
pub(super) async fn store_library(
    client: &mut Client,
    tenant: &TenantId,
    version: LibraryVersion,
    body: &[u8],
    pieces: &[BookPiece],
) -> Result<(), StoreError> {
    let doing = "storing a library";
    let transaction = client.transaction().await.doing(doing)?;
    store_pieces(&transaction, tenant, pieces).await?;
    let name = version.0.0.as_slice();
    execute(&transaction, doing, library::INSERT, &[&tenant.as_str(), &name, &body]).await?;
    transaction.commit().await.doing(doing)
}

/// A stored library.
pub(super) async fn find_library(
    client: &Client,
    tenant: &TenantId,
    version: LibraryVersion,
) -> Result<Option<LibrarySource>, StoreError> {
    let name = version.0.0.as_slice();
    let doing = "reading a library";
    let row = query_first(client, doing, library::FIND, &[&tenant.as_str(), &name]).await?;
    let Some(row) = row else { return Ok(None) };
    let what = || format!("library {version}");
    let stored = row.bytes(0).and_then(StoredLibrary::read).reading(what)?;
    let mut books = Vec::with_capacity(stored.volumes.len());
    for (book, _) in &stored.volumes {
        let found = find_book(client, tenant, *book).await?;
        books.push(found.ok_or_else(|| format!("book {book} is missing")).reading(what)?);
    }
    let pieces = find_pieces(client, tenant, &stored.notes).await?;
    stored.join(books, &pieces).reading(what).map(Some)
}
