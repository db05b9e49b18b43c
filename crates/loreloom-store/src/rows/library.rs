//! Libraries of past turns, and pieces of books.

use loreloom_core::ids::Digest;

use super::StoredRow;
use crate::errors::Decoded;

/// The body of a library by tenant and version.
pub(crate) const FIND: &str = "SELECT body FROM libraries WHERE tenant = $1 AND version = $2";

/// One row if a library is stored.
pub(crate) const EXISTS: &str = "SELECT 1 FROM libraries WHERE tenant = $1 AND version = $2";

/// Adds a library: tenant, version, body.
pub(crate) const INSERT: &str = "INSERT INTO libraries VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/// The bodies of all libraries of a tenant.
pub(crate) const ALL_BODIES: &str = "SELECT body FROM libraries WHERE tenant = $1";

/// All pieces of a tenant with their sizes, for [`piece_size`].
pub(crate) const ALL_PIECES: &str =
    "SELECT hash, CAST(length(body) AS BIGINT) FROM book_pieces WHERE tenant = $1";

/// The body of a piece by tenant and hash.
pub(crate) const PIECE: &str = "SELECT body FROM book_pieces WHERE tenant = $1 AND hash = $2";

/// All values that may name a book: documents, now and in the past.
pub(crate) const ALL_REFERENCES: &str = "SELECT value FROM documents WHERE tenant = $1 \
     UNION ALL SELECT before FROM document_changes WHERE tenant = $1 AND before IS NOT NULL \
     UNION ALL SELECT after FROM document_changes WHERE tenant = $1 AND after IS NOT NULL";

/// A row of [`ALL_PIECES`].
pub(crate) fn piece_size(row: &impl StoredRow) -> Decoded<(Digest, u64)> {
    Ok((row.digest(0)?, row.unsigned(1)?))
}

/// A row with the hash and the body of a piece.
#[cfg(feature = "postgres")]
pub(crate) fn piece(row: &impl StoredRow) -> Decoded<(Digest, Vec<u8>)> {
    Ok((row.digest(0)?, row.bytes(1)?.to_vec()))
}
