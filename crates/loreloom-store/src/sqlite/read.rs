//! Reading a chat in one snapshot of the database.

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{ChangeMark, ChangedChats, StoreError, TurnId, TurnRecord, WriteId};
use rusqlite::{Connection, Transaction, params};

use super::statement::{prepare, query, query_first};
use crate::{
    codec::{ChosenDeltas, MessageText, ReferencedTexts, TurnBody, unpack_text},
    errors::{DatabaseResult as _, DecodeResult as _},
    rows::{
        StoredRow as _,
        chat::{self, ChatRow},
        node, signed,
        turn::{self, TurnRow},
    },
};

/// The row of a chat that must exist.
pub(super) fn find_chat(
    connection: &Connection,
    tenant: &TenantId,
    id: &ChatId,
) -> Result<ChatRow, StoreError> {
    let found = find_chat_if_any(connection, tenant, id)?;
    found.ok_or_else(|| StoreError::NoChat { chat: id.clone() })
}

/// The row of a chat, if there is one.
pub(super) fn find_chat_if_any(
    connection: &Connection,
    tenant: &TenantId,
    id: &ChatId,
) -> Result<Option<ChatRow>, StoreError> {
    let key = (tenant.as_str(), id.as_str());
    query_first(connection, "reading a chat", chat::FIND, key, |row| ChatRow::of(row))
}

/// The chats that were written to since a mark.
pub(super) fn changed_chats(
    connection: &Connection,
    tenant: &TenantId,
    mark: ChangeMark,
) -> Result<ChangedChats, StoreError> {
    const FIND: &str = "SELECT id, version, changed FROM chats \
         WHERE tenant = $1 AND changed > $2 ORDER BY changed";
    let key = params![tenant.as_str(), signed(mark.0)];
    let mut last = mark;
    let found = query(connection, "looking for changes", FIND, key, |row| {
        let (id, version, changed) = (ChatId(row.text(0)?), row.unsigned(1)?, row.unsigned(2)?);
        Ok((id, version, ChangeMark(changed)))
    })?;
    let chats = found.into_iter().map(|(id, version, changed)| {
        last = changed;
        (id, version)
    });
    Ok(ChangedChats { chats: chats.collect(), mark: last })
}

/// The last write to a chat.
pub(super) fn last_write(
    connection: &Connection,
    tenant: &TenantId,
    id: &ChatId,
) -> Result<Option<WriteId>, StoreError> {
    let key = (tenant.as_str(), id.as_str());
    query_first(connection, "reading a chat", chat::LAST_WRITE, key, |row| chat::last_write(row))
}

/// Offers all turns of a chat, newest first. Returns the last write as well.
pub(super) fn choose_deltas(
    connection: &Connection,
    tenant: &TenantId,
    id: &ChatId,
    mut choice: ChosenDeltas,
) -> Result<(WriteId, ChosenDeltas), StoreError> {
    let doing = "reading a chat's state";
    let mut statement = prepare(connection, turn::FOR_STATE).doing(doing)?;
    let mut rows = statement.query((tenant.as_str(), id.as_str())).doing(doing)?;
    let mut last = None;
    while let Some(row) = rows.next().doing(doing)? {
        last = Some(turn::offer(&mut choice, row).row_while(doing)?);
    }
    let last = last.ok_or_else(|| StoreError::NoChat { chat: id.clone() })?;
    Ok((last, choice))
}

/// A chat inside one snapshot.
pub(super) struct ChatSnapshot<'connection> {
    pub(super) transaction: Transaction<'connection>,
    pub(super) tenant: &'connection TenantId,
    pub(super) row: ChatRow,
}

impl<'connection> ChatSnapshot<'connection> {
    /// Begins to read a chat.
    pub(super) fn begin(
        connection: &'connection mut Connection,
        tenant: &'connection TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let transaction = connection.transaction().doing("beginning to read")?;
        let row = find_chat(&transaction, tenant, chat)?;
        Ok(Self { transaction, tenant, row })
    }

    /// The parameters `$1` and `$2` of most statements.
    pub(super) fn key(&self) -> (&str, i64) {
        (self.tenant.as_str(), self.row.number)
    }

    /// Names a part of the chat.
    pub(super) fn part(&self, part: &str) -> String {
        format!("{part} of chat `{}`", self.row.record.id)
    }

    pub(super) fn turn(&self, turn: TurnId) -> Result<Option<TurnRecord>, StoreError> {
        let (tenant, chat) = self.key();
        let number = signed(turn.0);
        let key = params![tenant, chat, number];
        let row = query_first(&self.transaction, "reading a turn", turn::FIND, key, |row| {
            TurnRow::of(row)
        })?;
        let Some(row) = row else { return Ok(None) };
        let what = || self.part(&format!("turn {number}"));
        let body = row.body().reading(what)?;
        let texts = self.texts_of(&body)?;
        row.record(&self.row.record.id, body, &texts).reading(what).map(Some)
    }

    fn texts_of(&self, body: &TurnBody) -> Result<ReferencedTexts, StoreError> {
        let mut found = ReferencedTexts::default();
        for range in body.message_ranges() {
            self.messages(
                range,
                |_| true,
                |number, message| {
                    found.messages.insert(number, message);
                },
            )?;
        }
        let (tenant, chat) = self.key();
        let find = "SELECT body FROM texts WHERE tenant = $1 AND chat = $2 AND text = $3";
        for &number in &body.texts {
            let key = params![tenant, chat, number];
            let what = || self.part(&format!("text {number}"));
            let packed =
                query_first(&self.transaction, "reading a turn's texts", find, key, |row| {
                    Ok(unpack_text(row.bytes(0)?))
                })?;
            let text = packed.unwrap_or_else(|| Err("it is missing".to_owned()));
            found.texts.push(text.reading(what)?);
        }
        Ok(found)
    }

    /// Calls `take` with the messages of a range that are `wanted`, in order.
    pub(super) fn messages(
        &self,
        (first, last): (i64, i64),
        mut wanted: impl FnMut(i64) -> bool,
        mut take: impl FnMut(i64, MessageText),
    ) -> Result<(), StoreError> {
        const FIND: &str = "SELECT message, role, text FROM messages \
             WHERE tenant = $1 AND chat = $2 AND message BETWEEN $3 AND $4 ORDER BY message";
        let doing = "reading messages";
        let (tenant, chat) = self.key();
        let mut statement = prepare(&self.transaction, FIND).doing(doing)?;
        let mut rows = statement.query(params![tenant, chat, first, last]).doing(doing)?;
        while let Some(row) = rows.next().doing(doing)? {
            let number = row.number(0).row_while(doing)?;
            if wanted(number) {
                let message = node::message_text(row, 1);
                take(number, message.reading(|| self.part(&format!("message {number}")))?);
            }
        }
        Ok(())
    }
}
