//! Running statements, and SQLite's rows and errors as ours.

use loreloom_ports::StoreError;
use rusqlite::{CachedStatement, Connection, ErrorCode, Params, Row};

use crate::{
    errors::{DatabaseResult, DecodeResult as _, Decoded},
    rows::StoredRow,
};

impl<T> DatabaseResult<T> for rusqlite::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| failed(doing, error))
    }
}

/// An error of SQLite as ours.
pub(super) fn failed(doing: &'static str, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { doing },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            what: "the database".to_owned(),
            reason: format!("a part of the file could not be read while {doing}"),
        },
        Some(_) | None => StoreError::Database { doing, source: error.into() },
    }
}

/// Whether the disk is full.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

impl StoredRow for Row<'_> {
    fn optional_number(&self, at: usize) -> Decoded<Option<i64>> {
        self.get_ref(at)
            .and_then(|value| Ok(value.as_i64_or_null()?))
            .map_err(|error| error.to_string())
    }

    fn optional_str(&self, at: usize) -> Decoded<Option<&str>> {
        self.get_ref(at)
            .and_then(|value| Ok(value.as_str_or_null()?))
            .map_err(|error| error.to_string())
    }

    fn optional_bytes(&self, at: usize) -> Decoded<Option<&[u8]>> {
        self.get_ref(at)
            .and_then(|value| Ok(value.as_blob_or_null()?))
            .map_err(|error| error.to_string())
    }
}

/// Prepares a statement. Shared statements write parameters as PostgreSQL does, `$1`. SQLite
/// takes that for a name, and would number parameters by first appearance.
pub(super) fn prepare<'connection>(
    connection: &'connection Connection,
    sql: &str,
) -> rusqlite::Result<CachedStatement<'connection>> {
    connection.prepare_cached(&sql.replace('$', "?"))
}

/// All rows of a query.
pub(super) fn query<T>(
    connection: &Connection,
    doing: &'static str,
    sql: &str,
    parameters: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Decoded<T>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = prepare(connection, sql).doing(doing)?;
    let mut rows = statement.query(parameters).doing(doing)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().doing(doing)? {
        all.push(read(row).row_while(doing)?);
    }
    Ok(all)
}

/// The first row of a query, if there is one.
pub(super) fn query_first<T>(
    connection: &Connection,
    doing: &'static str,
    sql: &str,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> Decoded<T>,
) -> Result<Option<T>, StoreError> {
    let mut statement = prepare(connection, sql).doing(doing)?;
    let mut rows = statement.query(parameters).doing(doing)?;
    rows.next().doing(doing)?.map(|row| read(row).row_while(doing)).transpose()
}

/// Runs a statement. Returns how many rows it changed.
pub(super) fn execute(
    connection: &Connection,
    doing: &'static str,
    sql: &str,
    parameters: impl Params,
) -> Result<usize, StoreError> {
    let statement = prepare(connection, sql);
    statement.and_then(|mut statement| statement.execute(parameters)).doing(doing)
}
