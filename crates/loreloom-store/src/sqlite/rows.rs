//! Columns and errors of SQLite as ours.

use loreloom_core::{
    ids::{ChatId, Digest, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{ChatRecord, StoreError};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Row,
    types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef},
};

/// Says what was being done when the database failed.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError>;
}

impl<T> Doing<T> for rusqlite::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| failed(doing, error))
    }
}

/// What SQLite says, in our words.
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

/// Says what was read when a stored value turned out to be damaged.
pub(super) trait Reading<T> {
    fn reading(self, what: impl FnOnce() -> String) -> Result<T, StoreError>;
}

impl<T> Reading<T> for Result<T, String> {
    fn reading(self, what: impl FnOnce() -> String) -> Result<T, StoreError> {
        self.map_err(|reason| StoreError::Damaged { what: what(), reason })
    }
}

/// A digest as a column of 16 bytes.
pub(super) struct Hash(pub(super) Digest);

impl ToSql for Hash {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0.0)))
    }
}

impl FromSql for Hash {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let bytes = value.as_blob()?;
        let found = bytes.len();
        let wrong = |_| FromSqlError::InvalidBlobSize { expected_size: 16, blob_size: found };
        bytes.try_into().map(|bytes| Self(Digest(bytes))).map_err(wrong)
    }
}

/// A chat's row.
#[derive(Clone, Debug)]
pub(super) struct ChatRow {
    /// The chat's number inside its tenant.
    pub(super) number: i64,
    pub(super) record: ChatRecord,
    pub(super) last_branch: i64,
    pub(super) last_message: i64,
    pub(super) last_text: i64,
    pub(super) last_turn: i64,
}

impl ChatRow {
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            record: ChatRecord {
                id: ChatId(row.get(1)?),
                title: row.get(2)?,
                tip: PrefixHash(row.get::<_, Hash>(3)?.0),
                created: Timestamp(row.get(4)?),
                updated: Timestamp(row.get(5)?),
                version: row.get::<_, i64>(6)?.unsigned_abs(),
            },
            last_branch: row.get(7)?,
            last_message: row.get(8)?,
            last_text: row.get(9)?,
            last_turn: row.get(10)?,
        })
    }

    /// The row of a chat, if there is one.
    pub(super) fn find(
        connection: &Connection,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> rusqlite::Result<Option<Self>> {
        const SQL: &str = concat!(
            "SELECT c.chat, c.id, c.title, c.tip, c.created, c.updated, c.version, ",
            "c.last_branch, c.last_message, c.last_text, c.last_turn ",
            "FROM chats c WHERE c.tenant = ?1 AND c.id = ?2"
        );
        let mut find = connection.prepare_cached(SQL)?;
        find.query_row((tenant.as_str(), chat.as_str()), Self::of).optional()
    }

    /// The row of a chat that must exist.
    pub(super) fn get(
        connection: &Connection,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let found = Self::find(connection, tenant, chat).doing("reading a chat")?;
        found.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })
    }
}
