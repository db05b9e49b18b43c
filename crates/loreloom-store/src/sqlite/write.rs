//! Writing: each function is one unit of a transaction that has the database's only
//! write lock before anything is read, so the version that is checked is the version that is
//! written over, whichever process writes.

use loreloom_core::{
    chat::{Message, PathItem},
    ids::{ChatId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    ChatRecord, Node, Reply, StoreError, StoredTurn, TurnId, WriteId, WriteKind, WriteRecord,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    rows::{ChatRow, Doing, Hash, Reading},
    unit::Unit,
};
use crate::{
    checks,
    codec::{Committed, Draft, Finished, NodeColumns, Told, not_json, pack, text_hash, told_hash},
    undo::{self, Did},
};

/// Makes a chat if there is none.
pub(super) fn open_chat(
    transaction: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    title: &str,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    const INSERT: &str = "INSERT INTO chats \
         (tenant, chat, id, title, tip, created, updated, version) \
         SELECT ?1, coalesce(max(chat), 0) + 1, ?2, ?3, ?4, ?5, ?5, 0 FROM chats WHERE tenant = ?1";
    let doing = "making a chat";
    if let Some(row) = ChatRow::find(&transaction, tenant, chat).doing(doing)? {
        return Ok(row.record);
    }
    let tip = Hash(PrefixHash::default().0);
    transaction
        .prepare_cached(INSERT)
        .and_then(|mut insert| {
            insert.execute(params![tenant.as_str(), chat.as_str(), title, tip, now.0])
        })
        .doing(doing)?;
    let row = ChatRow::get(&transaction, tenant, chat)?;
    transaction.commit().doing(doing)?;
    Ok(row.record)
}

/// Stores a drafted turn.
pub(super) fn commit_turn(
    unit: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    draft: Draft,
    seen: Option<u64>,
) -> Result<Committed, StoreError> {
    let committed = turn(&unit, tenant, chat, draft, seen)?;
    unit.commit().doing("storing a turn")?;
    Ok(committed)
}

/// Stores a reply; returns the number of its message as well.
pub(super) fn commit_reply(
    unit: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    given: &Reply,
) -> Result<(WriteId, i64), StoreError> {
    let stored = reply(&unit, tenant, chat, given)?;
    unit.commit().doing("storing a reply")?;
    Ok(stored)
}

/// Stores a drafted turn and the reply to it; returns the number of the reply's message as well,
/// or nothing of it where the draft was stale.
pub(super) fn commit_answered(
    unit: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    draft: Draft,
    (node, created): (Node, Timestamp),
) -> Result<(Committed, Option<(WriteId, i64)>), StoreError> {
    let committed = turn(&unit, tenant, chat, draft, None)?;
    let Committed::Stored(stored, _) = &committed else { return Ok((committed, None)) };
    let answer = Reply { turn: stored.id, node, created };
    let replied = reply(&unit, tenant, chat, &answer)?;
    unit.commit().doing("storing a turn with its reply")?;
    Ok((committed, Some(replied)))
}

fn turn(
    connection: &Connection,
    tenant: &TenantId,
    chat: &ChatId,
    draft: Draft,
    seen: Option<u64>,
) -> Result<Committed, StoreError> {
    let doing = "storing a turn";
    let row = ChatRow::get(connection, tenant, chat)?;
    checks::version_was_seen(&row.record, seen)?;
    let mut writer = Writer::new(connection, tenant, row);
    let Some(numbers) = writer.path(&draft)? else { return Ok(Committed::Stale) };
    let texts = draft.texts.iter().map(|text| writer.text(text));
    let texts = texts.collect::<rusqlite::Result<_>>().doing(doing)?;
    let finished = draft.finish(&numbers, texts)?;
    writer.turn(&finished).doing(doing)?;
    writer.row.record.tip = finished.columns.tip_after(writer.tip);
    let id = TurnId(writer.row.last_turn.unsigned_abs());
    let did = Did::new(WriteKind::Turn(id));
    let record = writer.finish(did, finished.columns.created).doing(doing)?;
    let stored = StoredTurn { id, write: record.last_write() };
    Ok(Committed::Stored(stored, finished.path))
}

/// Stores the nodes of a draft without a turn.
pub(super) fn commit_path(
    unit: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    draft: &Draft,
    seen: Option<u64>,
) -> Result<ChatRecord, StoreError> {
    let doing = "storing a path";
    let row = ChatRow::get(&unit, tenant, chat)?;
    checks::version_was_seen(&row.record, seen)?;
    let mut writer = Writer::new(&unit, tenant, row);
    writer.path(draft)?;
    writer.row.record.tip = draft.columns.at;
    let record = writer.finish(Did::new(WriteKind::Path), draft.columns.created).doing(doing)?;
    unit.commit().doing(doing)?;
    Ok(record)
}

fn reply(
    connection: &Connection,
    tenant: &TenantId,
    chat: &ChatId,
    reply: &Reply,
) -> Result<(WriteId, i64), StoreError> {
    let doing = "storing a reply";
    let row = ChatRow::get(connection, tenant, chat)?;
    let mut writer = Writer::new(connection, tenant, row);
    let no_turn = || StoreError::NoTurn { chat: chat.clone(), turn: reply.turn };
    let turn = i64::try_from(reply.turn.0).map_err(|_| no_turn())?;
    let (at, before) = writer.turn_at(turn).doing(doing)?.ok_or_else(no_turn)?;
    let node = &reply.node;
    let parent = writer.position(node.parent).doing(doing)?;
    let parent =
        parent.ok_or_else(|| StoreError::NoNode { chat: chat.clone(), node: node.parent })?;
    let number = writer.message(&node.message).doing(doing)?;
    if writer.position(node.prefix).doing(doing)?.is_none() {
        let (id, prefix) = (node.message_id, node.prefix);
        let item = PathItem { id, prefix, message: node.message.clone() };
        let place = writer.next_place(parent).doing(doing)?;
        writer.node(place, &item, number)?;
    }
    writer.set_reply(turn, Some(node.prefix)).doing(doing)?;
    if writer.row.record.tip == at {
        writer.row.record.tip = node.prefix;
    }
    let did = Did { reply: before, ..Did::new(WriteKind::Reply(reply.turn)) };
    let record = writer.finish(did, reply.created).doing(doing)?;
    Ok((record.last_write(), number))
}

/// Moves the tip to a stored node.
pub(super) fn move_tip(
    unit: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    tip: PrefixHash,
    seen: Option<u64>,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    let doing = "moving a chat's tip";
    let row = ChatRow::get(&unit, tenant, chat)?;
    checks::version_was_seen(&row.record, seen)?;
    let mut writer = Writer::new(&unit, tenant, row);
    if writer.position(tip).doing(doing)?.is_none() {
        return Err(StoreError::NoNode { chat: chat.clone(), node: tip });
    }
    writer.row.record.tip = tip;
    let record = writer.finish(Did::new(WriteKind::Tip), now).doing(doing)?;
    unit.commit().doing(doing)?;
    Ok(record)
}

/// Takes a write back.
pub(super) fn undo(
    unit: Unit<'_>,
    tenant: &TenantId,
    chat: &ChatId,
    write: WriteId,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    let doing = "taking a write back";
    let row = ChatRow::get(&unit, tenant, chat)?;
    let log = writes(&unit, tenant, &row)?;
    let undo = undo::plan(chat, &log, write)?;
    let mut writer = Writer::new(&unit, tenant, row);
    let mut did = Did { undoes: Some(undo.write.id), ..Did::new(undo.write.kind) };
    match undo.write.kind {
        WriteKind::Turn(turn) => writer.set_undone(turn, undo.undone).doing(doing)?,
        WriteKind::Reply(turn) => {
            let number = turn.0.cast_signed();
            did.reply = writer.turn_at(number).doing(doing)?.and_then(|(_, reply)| reply);
            writer.set_reply(number, undo.write.reply).doing(doing)?;
        }
        WriteKind::Path | WriteKind::Tip => (),
    }
    writer.row.record.tip = undo.write.tip;
    let record = writer.finish(did, now).doing(doing)?;
    unit.commit().doing(doing)?;
    Ok(record)
}

/// The log of a chat's writes.
pub(super) fn writes(
    connection: &Connection,
    tenant: &TenantId,
    row: &ChatRow,
) -> Result<Vec<WriteRecord>, StoreError> {
    let doing = "reading the log of writes";
    let mut select = connection
        .prepare_cached(
            "SELECT version, kind, turn, undoes, tip, reply, created FROM writes \
             WHERE tenant = ?1 AND chat = ?2 ORDER BY version",
        )
        .doing(doing)?;
    let mut rows = select.query(params![tenant.as_str(), row.number]).doing(doing)?;
    let mut log = Vec::new();
    while let Some(line) = rows.next().doing(doing)? {
        let kind = undo::kind_from(line.get(1).doing(doing)?, line.get(2).doing(doing)?);
        let undoes: Option<i64> = line.get(3).doing(doing)?;
        let reply: Option<Hash> = line.get(5).doing(doing)?;
        log.push(WriteRecord {
            id: WriteId(line.get::<_, i64>(0).doing(doing)?.unsigned_abs()),
            kind: kind.reading(|| format!("the log of chat `{}`", row.record.id))?,
            undoes: undoes.map(|version| WriteId(version.unsigned_abs())),
            tip: PrefixHash(line.get::<_, Hash>(4).doing(doing)?.0),
            reply: reply.map(|hash| PrefixHash(hash.0)),
            created: Timestamp(line.get(6).doing(doing)?),
        });
    }
    Ok(log)
}

/// Where a node is: its branch, `None` above the first message, and its depth.
#[derive(Clone, Copy, Debug)]
struct Position {
    branch: Option<i64>,
    depth: i64,
}

struct Writer<'connection> {
    connection: &'connection Connection,
    tenant: &'connection TenantId,
    row: ChatRow,
    /// The tip before.
    tip: PrefixHash,
}

impl<'connection> Writer<'connection> {
    fn new(
        connection: &'connection Connection,
        tenant: &'connection TenantId,
        row: ChatRow,
    ) -> Self {
        let tip = row.record.tip;
        Self { connection, tenant, row, tip }
    }

    fn position(&self, prefix: PrefixHash) -> rusqlite::Result<Option<Position>> {
        if prefix == PrefixHash::default() {
            return Ok(Some(Position { branch: None, depth: 0 }));
        }
        let mut find = self.connection.prepare_cached(
            "SELECT branch, depth FROM nodes WHERE tenant = ?1 AND chat = ?2 AND prefix = ?3",
        )?;
        let key = params![self.tenant.as_str(), self.row.number, Hash(prefix.0)];
        let place = |row: &rusqlite::Row<'_>| {
            Ok(Position { branch: Some(row.get(0)?), depth: row.get(1)? })
        };
        find.query_row(key, place).optional()
    }

    /// The place on the path at which new nodes begin, and where their parent is. A stored
    /// node's ancestors are stored, so a binary search finds it. `None` if the draft's base
    /// is not stored.
    fn junction(&self, draft: &Draft) -> rusqlite::Result<Option<(usize, Position)>> {
        let Some(mut parent) = self.position(draft.base)? else { return Ok(None) };
        let (mut stored, mut missing) = (0, draft.rest.len() + 1);
        let mut probe = missing - 1;
        while stored + 1 < missing {
            match self.position(draft.rest[probe - 1].prefix)? {
                Some(position) => (stored, parent) = (probe, position),
                None => missing = probe,
            }
            probe = usize::midpoint(stored, missing);
        }
        Ok(Some((draft.known() + stored, parent)))
    }

    /// Stores the nodes of a draft that are new. The numbers of the messages it asks for, or
    /// `None` if its base is not stored.
    fn path(&mut self, draft: &Draft) -> Result<Option<Vec<(usize, i64)>>, StoreError> {
        let doing = "storing a path";
        let Some((new, parent)) = self.junction(draft).doing(doing)? else { return Ok(None) };
        let mut numbers = Vec::new();
        for (at, item) in draft.messages(new) {
            numbers.push((at, self.message(&item.message).doing(doing)?));
        }
        self.nodes(draft, new, parent, &numbers)?;
        Ok(Some(numbers))
    }

    fn nodes(
        &mut self,
        draft: &Draft,
        new: usize,
        parent: Position,
        numbers: &[(usize, i64)],
    ) -> Result<(), StoreError> {
        let mut place = None;
        // Numbers are in path order and end with those of all new nodes.
        let first = numbers.partition_point(|(at, _)| *at < new);
        let items = &draft.rest[new - draft.known()..];
        for (item, (_, number)) in items.iter().zip(&numbers[first..]) {
            let next = match place {
                Some((branch, depth)) => (branch, depth + 1),
                None => self.next_place(parent).doing("storing a node")?,
            };
            self.node(next, item, *number)?;
            place = Some(next);
        }
        Ok(())
    }

    /// Where a child of `parent` goes: on the same branch if it is the first child, else on
    /// a new branch.
    fn next_place(&mut self, parent: Position) -> rusqlite::Result<(i64, i64)> {
        let depth = parent.depth + 1;
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        if let Some(branch) = parent.branch {
            let mut taken = self.connection.prepare_cached(
                "SELECT 1 FROM nodes \
                 WHERE tenant = ?1 AND chat = ?2 AND branch = ?3 AND depth = ?4",
            )?;
            if !taken.exists(params![tenant, chat, branch, depth])? {
                return Ok((branch, depth));
            }
        }
        self.row.last_branch += 1;
        self.connection
            .prepare_cached("INSERT INTO branches VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![tenant, chat, self.row.last_branch, parent.branch, parent.depth])?;
        Ok((self.row.last_branch, depth))
    }

    fn node(
        &mut self,
        (branch, depth): (i64, i64),
        item: &PathItem,
        number: i64,
    ) -> Result<(), StoreError> {
        let columns = NodeColumns::of(&item.message).map_err(|error| not_json(&error))?;
        let values = params![
            self.tenant.as_str(),
            self.row.number,
            branch,
            depth,
            Hash(item.prefix.0),
            Hash(item.id.0),
            number,
            columns.name,
            columns.hidden,
            columns.extensions,
        ];
        self.connection
            .prepare_cached("INSERT INTO nodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")
            .and_then(|mut insert| insert.execute(values))
            .doing("storing a node")?;
        Ok(())
    }

    /// The number of what `message` says, stored if it is new.
    fn message(&mut self, message: &Message) -> rusqlite::Result<i64> {
        let hash = Hash(told_hash(message.role, &message.text));
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        let mut find = self.connection.prepare_cached(
            "SELECT message FROM messages WHERE tenant = ?1 AND chat = ?2 AND hash = ?3",
        )?;
        let found = find.query_row(params![tenant, chat, hash], |row| row.get(0)).optional()?;
        if let Some(number) = found {
            return Ok(number);
        }
        self.row.last_message += 1;
        let number = self.row.last_message;
        let role = Told::role_number(message.role);
        self.connection
            .prepare_cached("INSERT INTO messages VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![tenant, chat, number, hash, role, message.text.as_str()])?;
        Ok(number)
    }

    /// The number of a text, stored if it is new.
    fn text(&mut self, text: &str) -> rusqlite::Result<i64> {
        let hash = Hash(text_hash(text));
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        let mut find = self.connection.prepare_cached(
            "SELECT text FROM texts WHERE tenant = ?1 AND chat = ?2 AND hash = ?3",
        )?;
        let found = find.query_row(params![tenant, chat, hash], |row| row.get(0)).optional()?;
        if let Some(number) = found {
            return Ok(number);
        }
        self.row.last_text += 1;
        let number = self.row.last_text;
        self.connection
            .prepare_cached("INSERT INTO texts VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![tenant, chat, number, hash, pack(text.as_bytes())])?;
        Ok(number)
    }

    fn turn(&mut self, turn: &Finished) -> rusqlite::Result<()> {
        self.row.last_turn += 1;
        let (tenant, chat, number) = (self.tenant.as_str(), self.row.number, self.row.last_turn);
        let columns = &turn.columns;
        self.connection
            .prepare_cached(
                "INSERT INTO turns VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, 0, 0)",
            )?
            .execute(params![
                tenant,
                chat,
                number,
                Hash(columns.at.0),
                columns.at_message.map(|id| Hash(id.0)),
                columns.generation,
                columns.created.0,
                columns.delta,
            ])?;
        self.connection
            .prepare_cached("INSERT INTO turn_records VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![tenant, chat, number, turn.body, columns.report])?;
        Ok(())
    }

    /// The node a turn was computed on, and its reply.
    fn turn_at(&self, turn: i64) -> rusqlite::Result<Option<(PrefixHash, Option<PrefixHash>)>> {
        let mut find = self.connection.prepare_cached(
            "SELECT at, reply FROM turns WHERE tenant = ?1 AND chat = ?2 AND turn = ?3",
        )?;
        let key = params![self.tenant.as_str(), self.row.number, turn];
        let read = |row: &rusqlite::Row<'_>| {
            let reply = row.get::<_, Option<Hash>>(1)?.map(|hash| PrefixHash(hash.0));
            Ok((PrefixHash(row.get::<_, Hash>(0)?.0), reply))
        };
        find.query_row(key, read).optional()
    }

    fn set_undone(&self, turn: TurnId, undone: bool) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE turns SET undone = ?4 WHERE tenant = ?1 AND chat = ?2 AND turn = ?3",
            )?
            .execute(params![
                self.tenant.as_str(),
                self.row.number,
                turn.0.cast_signed(),
                undone
            ])?;
        Ok(())
    }

    fn set_reply(&self, turn: i64, reply: Option<PrefixHash>) -> rusqlite::Result<()> {
        let reply = reply.map(|reply| Hash(reply.0));
        self.connection
            .prepare_cached(
                "UPDATE turns SET reply = ?4 WHERE tenant = ?1 AND chat = ?2 AND turn = ?3",
            )?
            .execute(params![self.tenant.as_str(), self.row.number, turn, reply])?;
        Ok(())
    }

    /// Writes the chat's row and the log. The chat as it now is.
    fn finish(self, did: Did, now: Timestamp) -> rusqlite::Result<ChatRecord> {
        const UPDATE: &str = "UPDATE chats SET tip = ?3, updated = ?4, version = version + 1, \
             last_branch = ?5, last_message = ?6, last_text = ?7, last_turn = ?8 \
             WHERE tenant = ?1 AND chat = ?2";
        let row = &self.row;
        self.connection.prepare_cached(UPDATE)?.execute(params![
            self.tenant.as_str(),
            row.number,
            Hash(row.record.tip.0),
            now.0,
            row.last_branch,
            row.last_message,
            row.last_text,
            row.last_turn,
        ])?;
        let version = row.record.version + 1;
        let (kind, turn) = did.columns();
        self.connection
            .prepare_cached("INSERT INTO writes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute(params![
                self.tenant.as_str(),
                row.number,
                version.cast_signed(),
                kind,
                turn,
                did.undoes.map(|write| write.0.cast_signed()),
                Hash(self.tip.0),
                did.reply.map(|reply| Hash(reply.0)),
                now.0,
            ])?;
        Ok(ChatRecord { updated: now, version, ..self.row.record })
    }
}
