//! Writing to a chat. Each function is one unit of a transaction that takes the database's only
//! write lock before it reads: the version that is checked is the version that is replaced,
//! whichever process writes.

use loreloom_core::{
    chat::{Message, PathItem},
    ids::{ChatId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{ChatRecord, Node, Reply, StoreError, StoredTurn, TurnId, WriteId, WriteKind};
use rusqlite::{Row, params};

use super::{
    read::{find_chat, find_chat_if_any},
    statement::{execute, query, query_first},
    unit_of_work::UnitOfWork,
};
use crate::{
    checks,
    codec::{DraftedRows, NodeColumns, TurnDraft, message_hash, pack, role_number, text_hash},
    errors::{DatabaseResult as _, not_json},
    recent_paths::DraftOutcome,
    rows::{
        StoredRow as _,
        chat::{self, ChatRow, update_chat},
        node::TreePosition,
        signed, turn, write_log,
    },
    undo::{self, LoggedWrite},
};

/// Creates a chat if there is none.
pub(super) fn open_chat(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    id: &ChatId,
    title: &str,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    let doing = "creating a chat";
    if let Some(row) = find_chat_if_any(&unit, tenant, id)? {
        return Ok(row.record);
    }
    let tip = PrefixHash::default();
    let row = params![tenant.as_str(), id.as_str(), title, tip.0.0, now.0];
    execute(&unit, doing, chat::INSERT, row)?;
    let row = find_chat(&unit, tenant, id)?;
    unit.commit().doing(doing)?;
    Ok(row.record)
}

const DOING: &str = "writing to a chat";

/// One transaction writes at a time, so the marks of writes are in the order of commits.
const UPDATE: &str =
    update_chat!("(SELECT coalesce(max(changed), 0) + 1 FROM chats WHERE tenant = $1)");

/// Writes to one chat.
pub(super) struct ChatWriter<'unit> {
    unit: UnitOfWork<'unit>,
    tenant: &'unit TenantId,
    row: ChatRow,
}

impl<'unit> ChatWriter<'unit> {
    /// Begins to write to a chat. `seen` is the version that the caller has seen, if it matters.
    pub(super) fn begin(
        unit: UnitOfWork<'unit>,
        tenant: &'unit TenantId,
        chat: &ChatId,
        seen: Option<u64>,
    ) -> Result<Self, StoreError> {
        let row = find_chat(&unit, tenant, chat)?;
        checks::version_was_seen(&row.record, seen)?;
        Ok(Self { unit, tenant, row })
    }

    pub(super) fn commit_turn(mut self, draft: TurnDraft) -> Result<DraftOutcome, StoreError> {
        let outcome = self.turn(draft)?;
        self.unit.commit().doing(DOING)?;
        Ok(outcome)
    }

    /// Stores a reply. Returns the number of its message as well.
    pub(super) fn commit_reply(mut self, reply: &Reply) -> Result<(WriteId, i64), StoreError> {
        let stored = self.reply(reply)?;
        self.unit.commit().doing(DOING)?;
        Ok(stored)
    }

    /// Stores a drafted turn and its reply. Returns the number of the reply's message as well, or
    /// nothing of the reply if the draft is stale.
    pub(super) fn commit_answered(
        mut self,
        draft: TurnDraft,
        node: Node,
        created: Timestamp,
    ) -> Result<(DraftOutcome, Option<(WriteId, i64)>), StoreError> {
        let outcome = self.turn(draft)?;
        let DraftOutcome::Stored(stored, _) = &outcome else { return Ok((outcome, None)) };
        let reply = self.reply(&Reply { turn: stored.id, node, created })?;
        self.unit.commit().doing(DOING)?;
        Ok((outcome, Some(reply)))
    }

    /// Stores the nodes of a draft without a turn.
    pub(super) fn commit_path(mut self, draft: &TurnDraft) -> Result<ChatRecord, StoreError> {
        self.path(draft)?;
        let (tip, created) = (draft.columns.at, draft.columns.created);
        self.commit(tip, LoggedWrite::new(WriteKind::Path), created)
    }

    /// Moves the tip to a stored node.
    pub(super) fn move_tip(
        self,
        tip: PrefixHash,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.stored_position(tip)?;
        self.commit(tip, LoggedWrite::new(WriteKind::Tip), now)
    }

    pub(super) fn undo(self, write: WriteId, now: Timestamp) -> Result<ChatRecord, StoreError> {
        let key = (self.tenant.as_str(), self.row.number);
        let log = query(&self.unit, DOING, write_log::LIST, key, |row| write_log::record(row))?;
        let plan = undo::plan(&self.row.record.id, &log, write)?;
        let mut logged = plan.logged();
        match plan.write.kind {
            WriteKind::Turn(turn) => {
                self.update_turn(turn::SET_UNDONE, signed(turn.0), plan.undone)?;
            }
            WriteKind::Reply(turn) => {
                let turn = signed(turn.0);
                logged.reply = self.node_and_reply(turn)?.and_then(|(_, reply)| reply);
                self.update_turn(turn::SET_REPLY, turn, plan.write.reply.map(|reply| reply.0.0))?;
            }
            WriteKind::Path | WriteKind::Tip => (),
        }
        self.commit(plan.write.tip, logged, now)
    }

    fn turn(&mut self, draft: TurnDraft) -> Result<DraftOutcome, StoreError> {
        let Some(numbers) = self.path(&draft)? else { return Ok(DraftOutcome::Stale) };
        let texts = draft.texts.iter().map(|text| self.text(text));
        let texts = texts.collect::<Result<_, _>>()?;
        let rows = draft.finish(&numbers, texts)?;
        let id = self.insert_turn(&rows)?;
        let (tip, created) = (rows.columns.tip_after(self.row.record.tip), rows.columns.created);
        let write = self.log(tip, LoggedWrite::new(WriteKind::Turn(id)), created)?;
        Ok(DraftOutcome::Stored(StoredTurn { id, write }, rows.path))
    }

    fn reply(&mut self, reply: &Reply) -> Result<(WriteId, i64), StoreError> {
        let turn = signed(reply.turn.0);
        let no_turn = || StoreError::NoTurn { chat: self.row.record.id.clone(), turn: reply.turn };
        let (at, before) = self.node_and_reply(turn)?.ok_or_else(no_turn)?;
        let node = &reply.node;
        let parent = self.stored_position(node.parent)?;
        let number = self.message(&node.message)?;
        if self.position(node.prefix)?.is_none() {
            let (id, prefix) = (node.message_id, node.prefix);
            let item = PathItem { id, prefix, message: node.message.clone() };
            let place = self.place_below(parent)?;
            self.node(place, &item, number)?;
        }
        self.update_turn(turn::SET_REPLY, turn, Some(node.prefix.0.0))?;
        let tip = self.row.record.tip;
        let tip = if tip == at { node.prefix } else { tip };
        let logged =
            LoggedWrite { reply: before, ..LoggedWrite::new(WriteKind::Reply(reply.turn)) };
        Ok((self.log(tip, logged, reply.created)?, number))
    }

    fn position(&self, prefix: PrefixHash) -> Result<Option<TreePosition>, StoreError> {
        const FIND: &str =
            "SELECT branch, depth FROM nodes WHERE tenant = $1 AND chat = $2 AND prefix = $3";
        if let Some(root) = TreePosition::if_root(prefix) {
            return Ok(Some(root));
        }
        let key = params![self.tenant.as_str(), self.row.number, prefix.0.0];
        query_first(&self.unit, DOING, FIND, key, |row| TreePosition::of(row, 0))
    }

    fn stored_position(&self, prefix: PrefixHash) -> Result<TreePosition, StoreError> {
        let missing = || StoreError::NoNode { chat: self.row.record.id.clone(), node: prefix };
        self.position(prefix)?.ok_or_else(missing)
    }

    /// The index on the path at which new nodes start, and the position of their parent. The
    /// ancestors of a stored node are stored, so a binary search finds it. `None` if the base of
    /// the draft is not stored.
    fn junction(&self, draft: &TurnDraft) -> Result<Option<(usize, TreePosition)>, StoreError> {
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

    /// Stores the new nodes of a draft. Returns the numbers of its messages, or `None` if its base
    /// is not stored.
    fn path(&mut self, draft: &TurnDraft) -> Result<Option<Vec<(usize, i64)>>, StoreError> {
        let Some((new, parent)) = self.junction(draft)? else { return Ok(None) };
        let mut numbers = Vec::new();
        for (at, item) in draft.messages(new) {
            numbers.push((at, self.message(&item.message)?));
        }
        let mut place = None;
        for (item, number) in draft.new_nodes(new, &numbers) {
            let next = match place {
                Some((branch, depth)) => (branch, depth + 1),
                None => self.place_below(parent)?,
            };
            self.node(next, item, number)?;
            place = Some(next);
        }
        Ok(Some(numbers))
    }

    /// The branch and depth of a child of `parent`: the same branch for the first child, else a
    /// new one.
    fn place_below(&mut self, parent: TreePosition) -> Result<(i64, i64), StoreError> {
        const TAKEN: &str = "SELECT 1 FROM nodes \
             WHERE tenant = $1 AND chat = $2 AND branch = $3 AND depth = $4";
        let depth = parent.depth + 1;
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        if let Some(branch) = parent.branch {
            let key = params![tenant, chat, branch, depth];
            if query_first(&self.unit, DOING, TAKEN, key, |_| Ok(()))?.is_none() {
                return Ok((branch, depth));
            }
        }
        self.row.last_branch += 1;
        let branch = self.row.last_branch;
        let row = params![tenant, chat, branch, parent.branch, parent.depth];
        execute(&self.unit, DOING, "INSERT INTO branches VALUES ($1, $2, $3, $4, $5)", row)?;
        Ok((branch, depth))
    }

    fn node(
        &self,
        (branch, depth): (i64, i64),
        item: &PathItem,
        number: i64,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO nodes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let columns = NodeColumns::of(&item.message).map_err(|error| not_json(&error))?;
        let row = params![
            self.tenant.as_str(),
            self.row.number,
            branch,
            depth,
            item.prefix.0.0,
            item.id.0.0,
            number,
            columns.name,
            columns.hidden,
            columns.extensions,
        ];
        execute(&self.unit, DOING, INSERT, row).map(drop)
    }

    /// The number of a message, which is stored if it is new.
    fn message(&mut self, message: &Message) -> Result<i64, StoreError> {
        const FIND: &str =
            "SELECT message FROM messages WHERE tenant = $1 AND chat = $2 AND hash = $3";
        let hash = message_hash(message.role, &message.text).0;
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        let key = params![tenant, chat, hash];
        if let Some(number) = query_first(&self.unit, DOING, FIND, key, first_number)? {
            return Ok(number);
        }
        self.row.last_message += 1;
        let number = self.row.last_message;
        let insert = "INSERT INTO messages VALUES ($1, $2, $3, $4, $5, $6)";
        let role = role_number(message.role);
        let row = params![tenant, chat, number, hash, role, message.text.as_str()];
        execute(&self.unit, DOING, insert, row)?;
        Ok(number)
    }

    /// The number of a text, which is stored if it is new.
    fn text(&mut self, text: &str) -> Result<i64, StoreError> {
        const FIND: &str = "SELECT text FROM texts WHERE tenant = $1 AND chat = $2 AND hash = $3";
        let hash = text_hash(text).0;
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        let key = params![tenant, chat, hash];
        if let Some(number) = query_first(&self.unit, DOING, FIND, key, first_number)? {
            return Ok(number);
        }
        self.row.last_text += 1;
        let number = self.row.last_text;
        let insert = "INSERT INTO texts VALUES ($1, $2, $3, $4, $5)";
        let row = params![tenant, chat, number, hash, pack(text.as_bytes())];
        execute(&self.unit, DOING, insert, row)?;
        Ok(number)
    }

    fn insert_turn(&mut self, rows: &DraftedRows) -> Result<TurnId, StoreError> {
        self.row.last_turn += 1;
        let (tenant, chat, number) = (self.tenant.as_str(), self.row.number, self.row.last_turn);
        let columns = &rows.columns;
        let row = params![
            tenant,
            chat,
            number,
            columns.at.0.0,
            columns.at_message.map(|id| id.0.0),
            columns.generation,
            columns.created.0,
            columns.delta,
        ];
        execute(&self.unit, DOING, turn::INSERT, row)?;
        let row = params![tenant, chat, number, rows.body, columns.report];
        execute(&self.unit, DOING, turn::INSERT_RECORD, row)?;
        Ok(TurnId(number.unsigned_abs()))
    }

    /// The node that a turn was computed on, and its reply.
    fn node_and_reply(
        &self,
        turn: i64,
    ) -> Result<Option<(PrefixHash, Option<PrefixHash>)>, StoreError> {
        let key = params![self.tenant.as_str(), self.row.number, turn];
        query_first(&self.unit, DOING, turn::NODE_AND_REPLY, key, |row| turn::node_and_reply(row))
    }

    /// Sets a column of a turn.
    fn update_turn(
        &self,
        sql: &str,
        turn: i64,
        value: impl rusqlite::ToSql,
    ) -> Result<(), StoreError> {
        let row = params![self.tenant.as_str(), self.row.number, turn, value];
        execute(&self.unit, DOING, sql, row).map(drop)
    }

    /// Moves the tip, and writes the chat's row and the log.
    fn log(
        &mut self,
        tip: PrefixHash,
        logged: LoggedWrite,
        now: Timestamp,
    ) -> Result<WriteId, StoreError> {
        let before = std::mem::replace(&mut self.row.record.tip, tip);
        self.row.record.version += 1;
        self.row.record.updated = now;
        let (tenant, row) = (self.tenant.as_str(), &self.row);
        let values = params![
            tenant,
            row.number,
            tip.0.0,
            now.0,
            row.last_branch,
            row.last_message,
            row.last_text,
            row.last_turn,
        ];
        execute(&self.unit, DOING, UPDATE, values)?;
        let (kind, turn) = write_log::kind_columns(logged.kind);
        let values = params![
            tenant,
            row.number,
            signed(row.record.version),
            kind,
            turn,
            logged.undoes.map(|write| signed(write.0)),
            before.0.0,
            logged.reply.map(|reply| reply.0.0),
            now.0,
        ];
        execute(&self.unit, DOING, write_log::INSERT, values)?;
        Ok(self.row.record.last_write())
    }

    fn commit(
        mut self,
        tip: PrefixHash,
        logged: LoggedWrite,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        self.log(tip, logged, now)?;
        self.unit.commit().doing(DOING)?;
        Ok(self.row.record)
    }
}

fn first_number(row: &Row<'_>) -> crate::errors::Decoded<i64> {
    row.number(0)
}
