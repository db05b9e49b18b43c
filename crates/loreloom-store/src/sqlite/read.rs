//! Reading: each function sees one snapshot of the database.

use loreloom_core::{
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_memory::ports::{
    ChatRecord, ChatSummary, Node, StoreError, TurnId, TurnRecord, TurnSummary,
};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::rows::{ChatRow, Doing, Hash, Reading};
use crate::codec::{
    Body, Deltas, NodeColumns, Told, Wanted, delta_from, generation_from, report_from, unpack,
};

/// A chat inside one snapshot.
pub(super) struct Snapshot<'connection> {
    transaction: Transaction<'connection>,
    tenant: &'connection TenantId,
    row: ChatRow,
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

    /// The nodes from the first message to `tip`.
    pub(super) fn path(&self, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
        if tip == PrefixHash::default() {
            return Ok(Vec::new());
        }
        let runs = self.runs(tip).doing("reading a path")?;
        let runs =
            runs.ok_or_else(|| StoreError::NoNode { chat: self.row.record.id.clone(), node: tip })?;
        let mut nodes = Vec::new();
        let mut parent = PrefixHash::default();
        for run in runs {
            self.run(&run, &mut parent, &mut nodes)?;
        }
        Ok(nodes)
    }

    /// The runs of nodes that make up the path to `tip`, oldest first.
    fn runs(&self, tip: PrefixHash) -> rusqlite::Result<Option<Vec<Run>>> {
        let (tenant, chat) = (self.tenant.as_str(), self.row.number);
        let mut find = self.transaction.prepare_cached(
            "SELECT branch, depth FROM nodes WHERE tenant = ?1 AND chat = ?2 AND prefix = ?3",
        )?;
        let key = params![tenant, chat, Hash(tip.0)];
        let end = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let Some((mut branch, mut last)) = find.query_row(key, end).optional()? else {
            return Ok(None);
        };
        let mut above = self.transaction.prepare_cached(
            "SELECT parent_branch, parent_depth FROM branches \
             WHERE tenant = ?1 AND chat = ?2 AND branch = ?3",
        )?;
        let mut runs = Vec::new();
        loop {
            let key = params![tenant, chat, branch];
            let (parent, depth): (Option<i64>, i64) =
                above.query_row(key, |row| Ok((row.get(0)?, row.get(1)?)))?;
            runs.push(Run { branch, last });
            let Some(parent) = parent else { break };
            (branch, last) = (parent, depth);
        }
        runs.reverse();
        Ok(Some(runs))
    }

    fn run(
        &self,
        run: &Run,
        parent: &mut PrefixHash,
        nodes: &mut Vec<Node>,
    ) -> Result<(), StoreError> {
        let doing = "reading a path";
        let mut select = self
            .transaction
            .prepare_cached(
                "SELECT n.prefix, n.message_id, n.name, n.hidden, n.extensions, m.role, m.text \
                 FROM nodes n JOIN messages m USING (tenant, chat, message) \
                 WHERE n.tenant = ?1 AND n.chat = ?2 AND n.branch = ?3 AND n.depth <= ?4 \
                 ORDER BY n.depth",
            )
            .doing(doing)?;
        let key = params![self.tenant.as_str(), self.row.number, run.branch, run.last];
        let mut rows = select.query(key).doing(doing)?;
        while let Some(row) = rows.next().doing(doing)? {
            let node = node(row, 0, *parent)?;
            *parent = node.prefix;
            nodes.push(node);
        }
        Ok(())
    }

    /// One turn.
    pub(super) fn turn(&self, turn: TurnId) -> Result<Option<TurnRecord>, StoreError> {
        let Ok(number) = i64::try_from(turn.0) else { return Ok(None) };
        let Some(row) = self.turn_row(number).doing("reading a turn")? else { return Ok(None) };
        let what = || self.what(&format!("turn {number}"));
        let body = Body::from_bytes(&row.body).reading(what)?;
        let wanted = self.wanted(&body)?;
        let (answers, library) = (body.answers, body.library);
        let (injections, prompt) = body.restore(&wanted).reading(what)?;
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
        let mut messages = self
            .transaction
            .prepare_cached(
                "SELECT message, role, text FROM messages \
                 WHERE tenant = ?1 AND chat = ?2 AND message BETWEEN ?3 AND ?4",
            )
            .doing(doing)?;
        for (first, last) in body.message_ranges() {
            let mut rows = messages.query(params![tenant, chat, first, last]).doing(doing)?;
            while let Some(row) = rows.next().doing(doing)? {
                let number: i64 = row.get(0).doing(doing)?;
                let (role, text) = (row.get(1).doing(doing)?, row.get(2).doing(doing)?);
                let told = Told::from_columns(role, text).reading(|| self.what("a message"))?;
                wanted.told.insert(number, told);
            }
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

    fn what(&self, part: &str) -> String {
        format!("{part} of chat `{}`", self.row.record.id)
    }
}

/// All nodes, branch by branch: a branch hangs on an older one.
pub(super) fn tree(snapshot: &Snapshot<'_>) -> Result<Vec<Node>, StoreError> {
    let doing = "reading a chat's tree";
    let mut select = snapshot
        .transaction
        .prepare_cached(
            "SELECT n.branch, p.prefix, \
             n.prefix, n.message_id, n.name, n.hidden, n.extensions, m.role, m.text \
             FROM nodes n JOIN messages m USING (tenant, chat, message) \
             JOIN branches b USING (tenant, chat, branch) \
             LEFT JOIN nodes p ON p.tenant = b.tenant AND p.chat = b.chat \
             AND p.branch = b.parent_branch AND p.depth = b.parent_depth \
             WHERE n.tenant = ?1 AND n.chat = ?2 ORDER BY n.branch, n.depth",
        )
        .doing(doing)?;
    let mut rows =
        select.query(params![snapshot.tenant.as_str(), snapshot.row.number]).doing(doing)?;
    let mut nodes: Vec<Node> = Vec::new();
    let mut last_branch = None;
    while let Some(row) = rows.next().doing(doing)? {
        let branch: i64 = row.get(0).doing(doing)?;
        let fork: Option<Hash> = row.get(1).doing(doing)?;
        let parent = match nodes.last().filter(|_| last_branch == Some(branch)) {
            Some(before) => before.prefix,
            None => fork.map_or_else(PrefixHash::default, |hash| PrefixHash(hash.0)),
        };
        nodes.push(node(row, 2, parent)?);
        last_branch = Some(branch);
    }
    Ok(nodes)
}

/// The deltas of all turns.
pub(super) fn deltas(snapshot: &Snapshot<'_>) -> Result<Deltas, StoreError> {
    let read = || {
        let mut select = snapshot.transaction.prepare_cached(
            "SELECT at, at_message, generation, delta FROM turns \
             WHERE tenant = ?1 AND chat = ?2 ORDER BY turn",
        )?;
        let turn = |row: &Row<'_>| {
            let message = row.get::<_, Option<Hash>>(1)?.map(|hash| MessageId(hash.0));
            let at = PrefixHash(row.get::<_, Hash>(0)?.0);
            Ok((at, message, row.get(2)?, row.get(3)?))
        };
        let key = params![snapshot.tenant.as_str(), snapshot.row.number];
        select.query_map(key, turn)?.collect::<rusqlite::Result<_>>()
    };
    Ok(Deltas { turns: read().doing("reading a chat's state")? })
}

/// All turns.
pub(super) fn turns(snapshot: &Snapshot<'_>) -> Result<Vec<TurnSummary>, StoreError> {
    let read = || {
        let mut select = snapshot.transaction.prepare_cached(
            "SELECT turn, at, generation, created, reply FROM turns \
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
            ))
        };
        let key = params![snapshot.tenant.as_str(), snapshot.row.number];
        select.query_map(key, turn)?.collect::<rusqlite::Result<Vec<_>>>()
    };
    let rows = read().doing("listing turns")?;
    let summary = |(id, at, generation, created, reply)| {
        let generation = generation_from(generation).reading(|| snapshot.what("a turn"))?;
        Ok(TurnSummary { id, at, generation, created, reply })
    };
    rows.into_iter().map(summary).collect()
}

/// Nodes of one branch, up to a depth.
struct Run {
    branch: i64,
    last: i64,
}

struct TurnRow {
    at: PrefixHash,
    generation: i64,
    created: Timestamp,
    delta: Option<String>,
    body: Vec<u8>,
    report: Vec<u8>,
}

/// The node in the seven columns from `first` on.
fn node(row: &Row<'_>, first: usize, parent: PrefixHash) -> Result<Node, StoreError> {
    let columns = || -> rusqlite::Result<_> {
        let prefix = PrefixHash(row.get::<_, Hash>(first)?.0);
        let id = MessageId(row.get::<_, Hash>(first + 1)?.0);
        let columns = NodeColumns {
            name: row.get(first + 2)?,
            hidden: row.get(first + 3)?,
            extensions: row.get(first + 4)?,
        };
        Ok((prefix, id, columns, row.get(first + 5)?, row.get(first + 6)?))
    };
    let (prefix, message_id, columns, role, text) = columns().doing("reading a node")?;
    let told = Told::from_columns(role, text);
    let message = told.and_then(|told| columns.message(told));
    Ok(Node { prefix, parent, message_id, message: message.reading(|| format!("node {prefix}"))? })
}
