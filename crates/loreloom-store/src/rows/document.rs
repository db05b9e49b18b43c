//! Documents: named values, and every change of them.

use loreloom_ports::{Changed, Item, Revision};
use serde_json::Value;

use super::StoredRow;
use crate::errors::Decoded;

/// The last revision of a tenant.
pub(crate) const REVISION: &str = "SELECT revision FROM document_heads WHERE tenant = $1";

/// Documents whose keys start with a prefix, for [`document`].
pub(crate) const LIST: &str = "SELECT revision, key, value FROM documents \
     WHERE tenant = $1 AND substr(key, 1, length(CAST($2 AS TEXT))) = $2";

/// The value of a key.
pub(crate) const FIND: &str = "SELECT value FROM documents WHERE tenant = $1 AND key = $2";

/// Stores a value: tenant, key, value, revision.
pub(crate) const PUT: &str = "INSERT INTO documents VALUES ($1, $2, $3, $4) \
     ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, revision = excluded.revision";

pub(crate) const DELETE: &str = "DELETE FROM documents WHERE tenant = $1 AND key = $2";

/// The last revision that changed a key.
pub(crate) const LAST_CHANGE: &str = "SELECT coalesce(max(revision), 0) FROM document_changes \
     WHERE tenant = $1 AND key = $2";

/// The changes of a revision, for [`changed`].
pub(crate) const CHANGES: &str = "SELECT key, before, after FROM document_changes \
     WHERE tenant = $1 AND revision = $2 ORDER BY place";

/// Revisions before one, newest first, for [`revision`].
pub(crate) const REVISIONS: &str = "SELECT revision, created, undoes FROM document_revisions \
     WHERE tenant = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3";

/// Sets the last revision: tenant, revision.
pub(crate) const SET_REVISION: &str = "INSERT INTO document_heads VALUES ($1, $2) \
     ON CONFLICT (tenant) DO UPDATE SET revision = excluded.revision";

/// Adds a revision: tenant, revision, time, the revision it undoes.
pub(crate) const INSERT_REVISION: &str = "INSERT INTO document_revisions VALUES ($1, $2, $3, $4)";

/// Adds a change: tenant, revision, place, key, value before and after.
pub(crate) const INSERT_CHANGE: &str =
    "INSERT INTO document_changes VALUES ($1, $2, $3, $4, $5, $6)";

/// A row of [`LIST`].
pub(crate) fn document(row: &impl StoredRow) -> Decoded<Item> {
    let (revision, key) = (row.unsigned(0)?, row.text(1)?);
    let value = value(row, 2, &key)?.unwrap_or_default();
    Ok(Item { key, value, revision })
}

/// A row of [`CHANGES`].
pub(crate) fn changed(row: &impl StoredRow) -> Decoded<Changed> {
    let key = row.text(0)?;
    let (before, after) = (value(row, 1, &key)?, value(row, 2, &key)?);
    Ok(Changed { key, before, after })
}

/// A row of [`REVISIONS`], still without its changes.
pub(crate) fn revision(row: &impl StoredRow) -> Decoded<Revision> {
    Ok(Revision {
        number: row.unsigned(0)?,
        created: row.time(1)?,
        undoes: row.optional_number(2)?.map(i64::unsigned_abs),
        changes: Vec::new(),
    })
}

/// The value of a key in a column.
pub(crate) fn value(row: &impl StoredRow, at: usize, key: &str) -> Decoded<Option<Value>> {
    let read = |text: &str| {
        serde_json::from_slice(text.as_bytes())
            .map_err(|error| format!("the value of `{key}` is no JSON: {error}"))
    };
    row.optional_str(at)?.map(read).transpose()
}
