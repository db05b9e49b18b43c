//! Chats.

use loreloom_core::ids::{ChatId, PrefixHash};
use loreloom_ports::{ChatRecord, ChatSummary, WriteId};

use super::StoredRow;
use crate::errors::Decoded;

/// A chat's row.
#[derive(Clone, Debug)]
pub(crate) struct ChatRow {
    /// The chat's number inside its tenant.
    pub(crate) number: i64,
    pub(crate) record: ChatRecord,
    pub(crate) last_branch: i64,
    pub(crate) last_message: i64,
    pub(crate) last_text: i64,
    pub(crate) last_turn: i64,
}

/// A query whose rows [`ChatRow::of`] reads.
macro_rules! select_chat {
    ($rest:literal) => {
        concat!(
            "SELECT c.chat, c.id, c.title, c.tip, c.created, c.updated, c.version, ",
            "c.last_branch, c.last_message, c.last_text, c.last_turn",
            $rest
        )
    };
}

/// A chat by tenant and id.
pub(crate) const FIND: &str = select_chat!(" FROM chats c WHERE c.tenant = $1 AND c.id = $2");

/// The same, locked until the transaction ends. SQLite has one lock for all writers instead.
#[cfg(feature = "postgres")]
pub(crate) const LOCK: &str =
    select_chat!(" FROM chats c WHERE c.tenant = $1 AND c.id = $2 FOR UPDATE");

/// All chats of a tenant, for [`summaries`].
pub(crate) const LIST: &str = select_chat!(
    ", (SELECT depth FROM nodes n \
     WHERE n.tenant = c.tenant AND n.chat = c.chat AND n.prefix = c.tip) \
     FROM chats c WHERE c.tenant = $1"
);

/// The last write to a chat.
pub(crate) const LAST_WRITE: &str = "SELECT version FROM chats WHERE tenant = $1 AND id = $2";

/// Adds a chat: tenant, id, title, tip, time.
pub(crate) const INSERT: &str = "INSERT INTO chats \
     (tenant, chat, id, title, tip, created, updated, version) \
     SELECT $1, coalesce(max(chat), 0) + 1, $2, $3, $4, $5, $5, 0 FROM chats WHERE tenant = $1";

/// Writes what a write changes in a chat: tenant, chat, tip, time, last numbers. `$changed` is the
/// mark of the write.
macro_rules! update_chat {
    ($changed:literal) => {
        concat!(
            "UPDATE chats SET tip = $3, updated = $4, version = version + 1, last_branch = $5, ",
            "last_message = $6, last_text = $7, last_turn = $8, changed = ",
            $changed,
            " WHERE tenant = $1 AND chat = $2"
        )
    };
}
pub(crate) use update_chat;

impl ChatRow {
    pub(crate) fn of(row: &impl StoredRow) -> Decoded<Self> {
        Ok(Self {
            number: row.number(0)?,
            record: ChatRecord {
                id: ChatId(row.text(1)?),
                title: row.text(2)?,
                tip: PrefixHash(row.digest(3)?),
                created: row.time(4)?,
                updated: row.time(5)?,
                version: row.unsigned(6)?,
            },
            last_branch: row.number(7)?,
            last_message: row.number(8)?,
            last_text: row.number(9)?,
            last_turn: row.number(10)?,
        })
    }
}

/// A row of [`LIST`].
pub(crate) fn summary(row: &impl StoredRow) -> Decoded<ChatSummary> {
    let chat = ChatRow::of(row)?;
    Ok(ChatSummary {
        messages: row.optional_number(11)?.unwrap_or(0).unsigned_abs(),
        turns: chat.last_turn.unsigned_abs(),
        chat: chat.record,
    })
}

/// Sorts chats as they are listed: last changed first. Databases sort texts in different orders.
pub(crate) fn sort(chats: &mut [ChatSummary]) {
    chats.sort_by(|a, b| b.chat.updated.cmp(&a.chat.updated).then(a.chat.id.cmp(&b.chat.id)));
}

/// A row of [`LAST_WRITE`].
pub(crate) fn last_write(row: &impl StoredRow) -> Decoded<WriteId> {
    row.unsigned(0).map(WriteId)
}
