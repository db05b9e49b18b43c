//! Reading: each function sees one snapshot of the database.

use loreloom_core::{
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    ChatRecord, ChatSummary, StoreError, TurnId, TurnRecord, TurnSummary, WriteId,
};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::rows::{ChatRow, Doing, Hash, Reading};
use crate::{
    codec::{
        Body, ChosenDeltas, Restored, Told, Wanted, delta_from, generation_from, report_from,
        unpack,
    },
    fold::Candidate,
};

/// A chat inside one snapshot.
pub(super) struct Snapshot<'connection> {
    pub(super) transaction: Transaction<'connection>,
    pub(super) tenant: &'connection TenantId,
    pub(super) row: ChatRow,
}

/// All chats of a tenant.
pub(super) fn chats(
    connection: &Connection,
    tenant: &TenantId,
) -> Result<Vec<ChatSummary>, StoreError> {
    const SQL: &str = "SELECT c.chat, c.id, c.title, c.tip, c.created, c.updated, c.version, \
         c.last_branch, c.last_message, c.last_text, c.last_turn, \
         (SELECT depth FROM nodes n \
          WHERE n.tenant = c.tenant AND n.chat = c.chat AND n.prefix = c.tip) \
         FROM chats c WHERE c.tenant = ?1 ORDER BY c.updated DESC, c.id";
    let read = || {
        let mut all = connection.prepare_cached(SQL)?;
        let summary = |row: &Row<'_>| {
            let chat = ChatRow::of(row)?;
            Ok(ChatSummary {
                messages: row.get::<_, Option<i64>>(11)?.unwrap_or(0).unsigned_abs(),
                turns: chat.last_turn.unsigned_abs(),
                chat: chat.record,
            })
        };
        all.query_map([tenant.as_str()], summary)?.collect::<rusqlite::Result<_>>()
    };
    read().doing("listing chats")
}

/// One chat.
pub(super) fn chat(
    connection: &Connection,
    tenant: &TenantId,
    chat: &ChatId,
) -> Result<Option<ChatRecord>, StoreError> {
    let row = ChatRow::find(connection, tenant, chat).doing("reading a chat")?;
    Ok(row.map(|row| row.record))
}

impl<'connection> Snapshot<'connection> {
    /// Begins reading a chat.
    pub(super) fn of(
        connection: &'connection mut Connection,
        tenant: &'connection TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let transaction = connection.transaction().doing("beginning to read")?;
        let row = ChatRow::get(&transaction, tenant, chat)?;
        Ok(Self { transaction, tenant, row })
    }

    /// One turn.
    pub(super) fn turn(&self, turn: TurnId) -> Result<Option<TurnRecord>, StoreError> {
        let Ok(number) = i64::try_from(turn.0) else { return Ok(None) };
        let Some(row) = self.turn_row(number).doing("reading a turn")? else { return Ok(None) };
        let what = || self.what(&format!("turn {number}"));
        let body = Body::from_bytes(&row.body).reading(what)?;
        let wanted = self.wanted(&body)?;
        let (answers, library) = (body.answers, body.library);
        let Restored { injections, prompt, given } = body.restore(&wanted).reading(what)?;
        Ok(Some(TurnRecord {
            chat: self.row.record.id.clone(),
            at: row.at,
            answers,
            generation: generation_from(row.generation).reading(what)?,
            library,
            delta: delta_from(row.delta.as_deref()).reading(what)?,
            injections,
            prompt,
            report: report_from(&row.report).reading(what)?,
            created: row.created,
            given,
        }))
    }

    fn turn_row(&self, turn: i64) -> rusqlite::Result<Option<TurnRow>> {
        let mut select = self.transaction.prepare_cached(
            "SELECT t.at, t.generation, t.created, t.delta, r.body, r.report \
             FROM turns t JOIN turn_records r USING (tenant, chat, turn) \
             WHERE t.tenant = ?1 AND t.chat = ?2 AND t.turn = ?3",
        )?;
        let read = |row: &Row<'_>| {
            Ok(TurnRow {
                at: PrefixHash(row.get::<_, Hash>(0)?.0),
                generation: row.get(1)?,
                created: Timestamp(row.get(2)?),
                delta: row.get(3)?,
                body: row.get(4)?,
                report: row.get(5)?,
            })
        };
        select.query_row(params![self.tenant.as_str(), self.row.number, turn], read).optional()
    }

    /// What a turn's body refers to.
    fn wanted(&self, body: &Body) -> Result<Wanted, StoreError> {
        let doing = "reading a turn's texts";
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        let mut wanted = Wanted::default();
        for (first, last) in body.message_ranges() {
            self.told(
                first,
                last,
                |_| true,
                |number, told| {
                    wanted.told.insert(number, told);
                },
            )?;
        }
        let mut texts = self
            .transaction
            .prepare_cached("SELECT body FROM texts WHERE tenant = ?1 AND chat = ?2 AND text = ?3")
            .doing(doing)?;
        for &number in &body.texts {
            let found = texts.query_row(params![tenant, chat, number], |row| row.get(0));
            let packed: Vec<u8> = found.doing(doing)?;
            let text = unpack(&packed)
                .and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string()));
            wanted.texts.push(text.reading(|| self.what(&format!("text {number}")))?);
        }
        Ok(wanted)
    }

    /// Calls `take` with the messages `first..=last` that are `wanted`, in order.
    pub(super) fn told(
        &self,
        first: i64,
        last: i64,
        mut wanted: impl FnMut(i64) -> bool,
        mut take: impl FnMut(i64, Told),
    ) -> Result<(), StoreError> {
        let doing = "reading messages";
        let mut select = self
            .transaction
            .prepare_cached(
                "SELECT message, role, text FROM messages \
                 WHERE tenant = ?1 AND chat = ?2 AND message BETWEEN ?3 AND ?4 ORDER BY message",
            )
            .doing(doing)?;
        let key = params![self.tenant.as_str(), self.row.number, first, last];
        let mut rows = select.query(key).doing(doing)?;
        while let Some(row) = rows.next().doing(doing)? {
            let number: i64 = row.get(0).doing(doing)?;
            if wanted(number) {
                let (role, text) = (row.get(1).doing(doing)?, row.get(2).doing(doing)?);
                let told = Told::from_columns(role, text);
                take(number, told.reading(|| self.what(&format!("message {number}")))?);
            }
        }
        Ok(())
    }

    pub(super) fn what(&self, part: &str) -> String {
        format!("{part} of chat `{}`", self.row.record.id)
    }
}

/// The last write to a chat.
pub(super) fn last_write(
    connection: &Connection,
    tenant: &TenantId,
    chat: &ChatId,
) -> Result<Option<WriteId>, StoreError> {
    const SQL: &str = "SELECT version FROM chats WHERE tenant = ?1 AND id = ?2";
    let read = || {
        let mut select = connection.prepare_cached(SQL)?;
        let key = params![tenant.as_str(), chat.as_str()];
        select.query_row(key, |row| write_id(row, 0)).optional()
    };
    read().doing("reading a chat")
}

/// Offers all turns of a chat, newest first. One statement sees one snapshot, and every turn
/// waits for this one.
pub(super) fn choose(
    connection: &Connection,
    tenant: &TenantId,
    chat: &ChatId,
    mut choice: ChosenDeltas,
) -> Result<(WriteId, ChosenDeltas), StoreError> {
    let doing = "reading a chat's state";
    let mut select = connection
        .prepare_cached(
            "SELECT t.at, t.at_message, t.generation, t.delta, c.version FROM chats c \
             LEFT JOIN turns t ON t.tenant = c.tenant AND t.chat = c.chat AND t.undone = 0 \
             WHERE c.tenant = ?1 AND c.id = ?2 ORDER BY t.turn DESC",
        )
        .doing(doing)?;
    let mut rows = select.query(params![tenant.as_str(), chat.as_str()]).doing(doing)?;
    let mut last = None;
    while let Some(row) = rows.next().doing(doing)? {
        last = Some(write_id(row, 4).doing(doing)?);
        // A chat without turns has one row of nothing.
        let Some(at) = row.get::<_, Option<Hash>>(0).doing(doing)? else { break };
        let message = row.get::<_, Option<Hash>>(1).doing(doing)?;
        let generation = generation_from(row.get(2).doing(doing)?);
        let turn = Candidate {
            at: PrefixHash(at.0),
            message: message.map(|hash| MessageId(hash.0)),
            generation: generation.reading(|| format!("a turn of chat `{chat}`"))?,
        };
        choice.offer(turn, || row.get(3).doing(doing))?;
    }
    let last = last.ok_or_else(|| StoreError::NoChat { chat: chat.clone() })?;
    Ok((last, choice))
}

fn write_id(row: &Row<'_>, column: usize) -> rusqlite::Result<WriteId> {
    row.get(column).map(|version: i64| WriteId(version.unsigned_abs()))
}

/// All turns.
pub(super) fn turns(snapshot: &Snapshot<'_>) -> Result<Vec<TurnSummary>, StoreError> {
    let read = || {
        let mut select = snapshot.transaction.prepare_cached(
            "SELECT turn, at, generation, created, reply, undone, trimmed FROM turns \
             WHERE tenant = ?1 AND chat = ?2 ORDER BY turn",
        )?;
        let turn = |row: &Row<'_>| {
            let reply = row.get::<_, Option<Hash>>(4)?.map(|hash| PrefixHash(hash.0));
            let at = PrefixHash(row.get::<_, Hash>(1)?.0);
            let created = Timestamp(row.get(3)?);
            Ok((
                TurnId(row.get::<_, i64>(0)?.unsigned_abs()),
                at,
                row.get::<_, i64>(2)?,
                created,
                reply,
                (row.get(5)?, row.get(6)?),
            ))
        };
        let key = params![snapshot.tenant.as_str(), snapshot.row.number];
        select.query_map(key, turn)?.collect::<rusqlite::Result<Vec<_>>>()
    };
    let rows = read().doing("listing turns")?;
    let summary = |(id, at, generation, created, reply, (undone, trimmed))| {
        let generation = generation_from(generation).reading(|| snapshot.what("a turn"))?;
        Ok(TurnSummary { id, at, generation, created, reply, undone, trimmed })
    };
    rows.into_iter().map(summary).collect()
}

struct TurnRow {
    at: PrefixHash,
    generation: i64,
    created: Timestamp,
    delta: Option<String>,
    body: Vec<u8>,
    report: Vec<u8>,
}
