//! Columns and errors of PostgreSQL as ours.

use deadpool_postgres::{Client, GenericClient, Pool};
use loreloom_core::{
    ids::{ChatId, Digest, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{ChatRecord, StoreError};
use tokio_postgres::Row;

/// Says what was being done when the database failed.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError>;
}

impl<T> Doing<T> for Result<T, tokio_postgres::Error> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Database { doing, source: source.into() })
    }
}

/// A connection.
pub(super) async fn client(pool: &Pool) -> Result<Client, StoreError> {
    let doing = "connecting to the database";
    pool.get().await.map_err(|error| StoreError::Database { doing, source: error.into() })
}

/// A stored value cannot be read.
pub(super) fn damaged(what: impl Into<String>, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { what: what.into(), reason: reason.into() }
}

/// The digest in a column of 16 bytes.
pub(super) fn digest(row: &Row, at: usize) -> Result<Digest, StoreError> {
    optional_digest(row, at)?.ok_or_else(|| damaged("a digest", "it is missing"))
}

/// The digest in a column that may be empty.
pub(super) fn optional_digest(row: &Row, at: usize) -> Result<Option<Digest>, StoreError> {
    let bytes: Option<&[u8]> = row.try_get(at).doing("reading a digest")?;
    let read = |bytes: &[u8]| {
        let wrong = |_| damaged("a digest", format!("it has {} bytes", bytes.len()));
        bytes.try_into().map(Digest).map_err(wrong)
    };
    bytes.map(read).transpose()
}

/// The text in a column of bytes.
pub(super) fn text(row: &Row, at: usize) -> Result<Option<String>, StoreError> {
    let bytes: Option<Vec<u8>> = row.try_get(at).doing("reading a text")?;
    let read =
        |bytes| String::from_utf8(bytes).map_err(|error| damaged("a text", error.to_string()));
    bytes.map(read).transpose()
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

/// The beginning of a query whose rows [`ChatRow::of`] reads.
macro_rules! select_chat {
    ($rest:literal) => {
        concat!(
            "SELECT c.chat, c.id, c.title, c.tip, c.created, c.updated, c.version, ",
            "c.last_branch, c.last_message, c.last_text, c.last_turn",
            $rest
        )
    };
}
pub(super) use select_chat;

const FIND: &str = select_chat!(" FROM chats c WHERE c.tenant = $1 AND c.id = $2");
const LOCK: &str = select_chat!(" FROM chats c WHERE c.tenant = $1 AND c.id = $2 FOR UPDATE");

impl ChatRow {
    pub(super) fn of(row: &Row) -> Result<Self, StoreError> {
        let doing = "reading a chat";
        let number = |at| row.try_get::<_, i64>(at).doing(doing);
        Ok(Self {
            number: number(0)?,
            record: ChatRecord {
                id: ChatId(row.try_get(1).doing(doing)?),
                title: text(row, 2)?.unwrap_or_default(),
                tip: PrefixHash(digest(row, 3)?),
                created: Timestamp(number(4)?),
                updated: Timestamp(number(5)?),
                version: number(6)?.unsigned_abs(),
            },
            last_branch: number(7)?,
            last_message: number(8)?,
            last_text: number(9)?,
            last_turn: number(10)?,
        })
    }

    /// The row of a chat, if there is one.
    pub(super) async fn find(
        client: &impl GenericClient,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<Row>, tokio_postgres::Error> {
        let find = client.prepare_cached(FIND).await?;
        client.query_opt(&find, &[&tenant.as_str(), &chat.as_str()]).await
    }

    /// The row of a chat that must exist, locked until the transaction ends if it is to be
    /// written.
    pub(super) async fn get(
        client: &impl GenericClient,
        tenant: &TenantId,
        chat: &ChatId,
        purpose: Purpose,
    ) -> Result<Self, StoreError> {
        let doing = "reading a chat";
        let sql = match purpose {
            Purpose::Read => FIND,
            Purpose::Write => LOCK,
        };
        let find = client.prepare_cached(sql).await.doing(doing)?;
        let row =
            client.query_opt(&find, &[&tenant.as_str(), &chat.as_str()]).await.doing(doing)?;
        Self::of(&row.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })?)
    }
}

/// What a chat's row is read for.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Read,
    Write,
}
