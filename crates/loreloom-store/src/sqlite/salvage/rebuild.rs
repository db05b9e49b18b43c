//! Writing carved rows to a new database.
//!
//! Messages and texts keep their numbers, because prompts refer to them. Paths are stored as usual:
//! a lost message is left out, as if a person had deleted it. Turns keep their numbers. A missing
//! turn leaves a gap, and a row in the table of losses.

use std::collections::BTreeSet;

use loreloom_core::{
    chat::{
        Message, Path,
        identity::{extend, message_id, without_speaker},
    },
    ids::{ChatId, Digest, MessageId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{StoreError, TurnId};
use rusqlite::{
    Connection, params, params_from_iter,
    types::{ToSqlOutput, Value, ValueRef},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Salvage,
    carved_rows::{CarvedChat, CarvedNode, CarvedRows, digest},
    record::CarvedValue,
};
use crate::{
    codec::{MessageText, TurnDraft, role_number},
    doctor::DamageFinding,
    errors::DatabaseResult as _,
    sqlite::{
        connect::{DatabaseLocation, connect, prepare},
        read::ChatSnapshot,
        unit_of_work::UnitOfWork,
        write::ChatWriter,
    },
};

const DOING: &str = "writing what could be read";

/// Makes a new database of the carved rows.
pub(super) fn rebuild(
    carved: &CarvedRows,
    location: &DatabaseLocation,
) -> Result<Salvage, StoreError> {
    let mut connection = connect(location)?;
    prepare(&mut connection)?;
    connection.pragma_update(None, "foreign_keys", false).doing(DOING)?;
    // The file is renamed once all of it is on disk.
    connection.pragma_update(None, "synchronous", "OFF").doing(DOING)?;
    let mut salvage = Salvage::default();
    books_and_documents(&connection, carved).doing(DOING)?;
    for ((tenant, number), rows) in &carved.chats {
        let known = salvage.lost.len();
        let tenant = TenantId(tenant.clone());
        let id = chat_id(carved, &tenant, *number, rows);
        let mut chat = SalvagedChat::new(&tenant, (*number, id), rows, &mut salvage.lost);
        chat.write(&mut connection)?;
        let id = chat.id.clone();
        salvage.turns += rows.turns.len() as u64;
        salvage.chats += 1;
        delete_unreadable(&mut connection, &tenant, &id, rows, &mut salvage.lost)?;
        add_losses(&connection, &tenant, &salvage.lost[known..]).doing(DOING)?;
    }
    if carved.unseen > 0 {
        let reason = format!("it is damaged; {} pages behind the damage are saved", carved.unseen);
        salvage.lost.push(DamageFinding {
            chat: None,
            what: "the write-ahead log".to_owned(),
            reason,
        });
    }
    connection.pragma_update(None, "foreign_keys", true).doing(DOING)?;
    connection.close().map_err(|(_, error)| error).doing(DOING)?;
    Ok(salvage)
}

fn books_and_documents(connection: &Connection, carved: &CarvedRows) -> rusqlite::Result<()> {
    for (table, rows) in [("libraries", &carved.libraries), ("book_pieces", &carved.pieces)] {
        let sql = format!("INSERT INTO {table} VALUES (?1, ?2, ?3)");
        let mut insert = connection.prepare(&sql)?;
        for ((tenant, hash), body) in rows {
            insert.execute(params![tenant, hash.0, body])?;
        }
    }
    for (table, rows) in &carved.documents {
        for row in rows.values() {
            let places = (1..=row.len()).map(|place| format!("?{place}"));
            let sql =
                format!("INSERT INTO {table} VALUES ({})", places.collect::<Vec<_>>().join(", "));
            connection.prepare_cached(&sql)?.execute(params_from_iter(row.iter().map(column)))?;
        }
    }
    Ok(())
}

fn column(value: &CarvedValue) -> ToSqlOutput<'_> {
    match value {
        CarvedValue::Null => ToSqlOutput::Owned(Value::Null),
        CarvedValue::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
        CarvedValue::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        CarvedValue::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
    }
}

/// The id of a chat: from its row, or from an index if it fits the ids of messages.
fn chat_id(carved: &CarvedRows, tenant: &TenantId, number: i64, rows: &CarvedChat) -> ChatId {
    if let Some(id) = rows.chat.as_ref().and_then(|chat| chat[0].text()) {
        return ChatId::from(id);
    }
    let agrees = |id: &&String| {
        let chat = ChatId::from(id.as_str());
        rows.nodes.values().any(|node| {
            rows.messages.get(&node.message).is_some_and(|message| {
                let text = without_speaker(&message.text, node.columns.name.as_deref());
                message_id(&chat, message.role, text, 0) == node.id
            })
        })
    };
    let named = carved.ids.get(&(tenant.as_str().to_owned(), number));
    let named = named.and_then(|ids| ids.iter().find(agrees));
    named.map_or_else(|| ChatId(format!("recovered-{number}")), |id| ChatId(id.clone()))
}

/// Deletes the records of turns that cannot be read, and names them.
fn delete_unreadable(
    connection: &mut Connection,
    tenant: &TenantId,
    chat: &ChatId,
    rows: &CarvedChat,
    lost: &mut Vec<DamageFinding>,
) -> Result<(), StoreError> {
    let mut gone = Vec::new();
    {
        let snapshot = ChatSnapshot::begin(connection, tenant, chat)?;
        for turn in rows.turns.keys().filter(|turn| rows.records.contains_key(turn)) {
            if let Err(error) = snapshot.turn(TurnId(turn.unsigned_abs())) {
                let what = format!("turn {turn}");
                let reason = format!("its prompt and report could not be read: {error}");
                lost.push(DamageFinding { chat: Some(chat.clone()), what, reason });
                gone.push((snapshot.row.number, *turn));
            }
        }
    }
    for (number, turn) in gone {
        let sql = "DELETE FROM turn_records WHERE tenant = ?1 AND chat = ?2 AND turn = ?3";
        connection.execute(sql, params![tenant.as_str(), number, turn]).doing(DOING)?;
    }
    Ok(())
}

fn add_losses(
    connection: &Connection,
    tenant: &TenantId,
    lost: &[DamageFinding],
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO losses SELECT ?1, coalesce(max(loss), 0) + 1, ?2, ?3, ?4 \
         FROM losses WHERE tenant = ?1";
    let mut insert = connection.prepare(sql)?;
    for DamageFinding { chat, what, reason } in lost {
        let chat = chat.as_ref().map(ChatId::as_str);
        insert.execute(params![tenant.as_str(), chat, what, reason])?;
    }
    Ok(())
}

/// A node whose text is known.
struct SalvagedNode {
    parent: Option<usize>,
    old: PrefixHash,
    message: Message,
}

struct SalvagedChat<'a> {
    tenant: &'a TenantId,
    number: i64,
    id: ChatId,
    rows: &'a CarvedChat,
    lost: &'a mut Vec<DamageFinding>,
    nodes: Vec<SalvagedNode>,
    /// The new place of each stored node: its own, or that of the one before if it is lost.
    places: FxHashMap<(i64, i64), Option<usize>>,
    /// New hashes of old nodes.
    names: FxHashMap<PrefixHash, (PrefixHash, Option<MessageId>)>,
}

impl<'a> SalvagedChat<'a> {
    fn new(
        tenant: &'a TenantId,
        (number, id): (i64, ChatId),
        rows: &'a CarvedChat,
        lost: &'a mut Vec<DamageFinding>,
    ) -> Self {
        let root = PrefixHash::default();
        Self {
            tenant,
            number,
            id,
            rows,
            lost,
            nodes: Vec::new(),
            places: FxHashMap::default(),
            names: [(root, (root, None))].into_iter().collect(),
        }
    }

    fn lose(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        let chat = Some(self.id.clone());
        self.lost.push(DamageFinding { chat, what: what.into(), reason: reason.into() });
    }

    fn write(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        self.place_nodes();
        self.chat(connection).doing(DOING)?;
        self.texts(connection).doing(DOING)?;
        self.paths(connection)?;
        self.turns(connection).doing(DOING)?;
        self.end(connection).doing(DOING)
    }

    /// The chat's row. Its last numbers are at least those of its other rows.
    fn chat(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let row = self.rows.chat.as_deref();
        let int = |at: usize| row.and_then(|row| row.get(at)).and_then(CarvedValue::int);
        let title = row.and_then(|row| row[1].text()).unwrap_or_default();
        let last = |at: usize, seen: Option<i64>| int(at).unwrap_or(0).max(seen.unwrap_or(0));
        connection.execute(
            "INSERT INTO chats VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0, 0, ?7, ?8, ?9, 0)",
            params![
                self.tenant.as_str(),
                self.number,
                self.id.as_str(),
                title,
                Digest::default().0,
                int(3).unwrap_or(0),
                last(7, self.rows.messages.keys().last().copied()),
                last(8, self.rows.texts.keys().last().copied()),
                last(9, self.rows.turns.keys().last().copied()),
            ],
        )?;
        if self.rows.chat.is_none() {
            self.lose("chat", "its title, dates and position could not be read");
        }
        Ok(())
    }

    fn texts(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (tenant, chat) = (self.tenant.as_str(), self.number);
        let mut insert =
            connection.prepare("INSERT OR IGNORE INTO messages VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for (number, message) in &self.rows.messages {
            let MessageText { role, text } = message;
            let (hash, role) = (message.hash().0, role_number(*role));
            insert.execute(params![tenant, chat, number, hash, role, text])?;
        }
        let mut insert =
            connection.prepare("INSERT OR IGNORE INTO texts VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for (number, (hash, body)) in &self.rows.texts {
            insert.execute(params![tenant, chat, number, hash.0, body])?;
        }
        Ok(())
    }

    /// Finds the parent and the message of each node.
    fn place_nodes(&mut self) {
        let rows = self.rows;
        for (&(branch, depth), node) in &rows.nodes {
            let parent = self.parent_of(branch, depth, node);
            let text = rows.messages.get(&node.message).cloned();
            let message = text.and_then(|text| node.columns.clone().message(text).ok());
            let place = if let Some(message) = message {
                self.nodes.push(SalvagedNode { parent, old: node.prefix, message });
                Some(self.nodes.len() - 1)
            } else {
                self.lose(format!("node {}", node.prefix), "its text could not be read");
                parent
            };
            self.places.insert((branch, depth), place);
        }
        for (branch, depth) in self.gaps() {
            let what = format!("message {depth} of branch {branch}");
            self.lose(what, "it could not be read");
        }
    }

    /// The parent of a node: proven by its hash, or else the one before its place.
    fn parent_of(&self, branch: i64, depth: i64, node: &CarvedNode) -> Option<usize> {
        let follows = |parent: PrefixHash| extend(parent, node.id) == node.prefix;
        if follows(PrefixHash::default()) {
            return None;
        }
        let fork =
            self.rows.branches.get(&branch).and_then(|(parent, depth)| Some(((*parent)?, *depth)));
        let row = |place: (i64, i64)| self.rows.nodes.get(&place);
        let likely = [Some((branch, depth - 1)), fork].into_iter().flatten();
        let proven =
            likely.clone().find(|place| row(*place).is_some_and(|node| follows(node.prefix)));
        let searched = || {
            let mut all = self.rows.nodes.iter();
            all.find(|(_, node)| follows(node.prefix)).map(|(place, _)| *place)
        };
        if let Some(place) = proven.or_else(searched)
            && let Some(found) = self.places.get(&place)
        {
            return *found;
        }
        let before = |branch: i64, depth: i64| {
            let mut earlier = self.rows.nodes.range((branch, i64::MIN)..(branch, depth));
            earlier.next_back().and_then(|(place, _)| self.places.get(place).copied())
        };
        let nearest = before(branch, depth)
            .or_else(|| fork.and_then(|(branch, depth)| before(branch, depth.saturating_add(1))));
        nearest.flatten()
    }

    /// Places that must have had a node and have none: those in an index, those between others,
    /// and the first of each branch.
    fn gaps(&self) -> BTreeSet<(i64, i64)> {
        let rows = self.rows;
        let mut due = rows.places.clone();
        due.extend(
            rows.branches.iter().map(|(branch, (_, fork))| (*branch, fork.saturating_add(1))),
        );
        let mut before: Option<(i64, i64)> = None;
        for &(branch, depth) in rows.nodes.keys() {
            if let Some((same, last)) = before
                && same == branch
            {
                // A damaged depth must not look like a million lost messages.
                let between = last.saturating_add(1)..depth;
                due.extend(between.take(10_000).map(|depth| (branch, depth)));
            }
            before = Some((branch, depth));
        }
        due.retain(|place| !rows.nodes.contains_key(place));
        due
    }

    /// Stores the paths to all ends.
    fn paths(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        let parents: FxHashSet<usize> = self.nodes.iter().filter_map(|node| node.parent).collect();
        for end in (0..self.nodes.len()).filter(|node| !parents.contains(node)) {
            let mut line = Vec::new();
            let mut next = Some(end);
            while let Some(at) = next {
                line.push(at);
                next = self.nodes[at].parent;
            }
            line.reverse();
            let messages = line.iter().map(|at| self.nodes[*at].message.clone());
            let path = Path::of(self.id.clone(), messages);
            for (at, item) in line.iter().zip(path.items()) {
                self.names.insert(self.nodes[*at].old, (item.prefix, Some(item.id)));
            }
            let draft = TurnDraft::of_path(&path, Timestamp(0));
            let unit = UnitOfWork::after_others(connection).doing(DOING)?;
            ChatWriter::begin(unit, self.tenant, &self.id, None)?.commit_path(&draft)?;
        }
        Ok(())
    }

    fn turns(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let rows = self.rows;
        for (&turn, columns) in &rows.turns {
            let what = format!("turn {turn}");
            let old = digest(&columns[0]).map(PrefixHash).unwrap_or_default();
            let at = self.names.get(&old).copied();
            if at.is_none() {
                self.lose(&*what, format!("the message it was computed on, {old}, is lost"));
            }
            let (at, message) = at.unwrap_or((old, digest(&columns[1]).map(MessageId)));
            let reply = digest(&columns[4]).map(PrefixHash);
            let reply = reply.and_then(|reply| self.names.get(&reply)).map(|name| name.0);
            let int = |at: usize| columns.get(at).and_then(CarvedValue::int).unwrap_or(0);
            connection.execute(
                "INSERT INTO turns VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    self.tenant.as_str(),
                    self.number,
                    turn,
                    at.0.0,
                    message.map(|id| id.0.0),
                    int(2),
                    int(3),
                    reply.map(|reply| reply.0.0),
                    columns[5].text(),
                    int(6),
                    int(7),
                ],
            )?;
            match rows.records.get(&turn) {
                Some((body, report)) => {
                    let sql = "INSERT INTO turn_records VALUES (?1, ?2, ?3, ?4, ?5)";
                    let key = params![self.tenant.as_str(), self.number, turn, body, report];
                    connection.execute(sql, key)?;
                }
                None => self.lose(what, "its prompt and report could not be read"),
            }
        }
        let last = rows.chat.as_ref().and_then(|chat| chat[9].int()).unwrap_or(0);
        let last = last.min(1 << 20).max(rows.turns.keys().last().copied().unwrap_or(0));
        for turn in (1..=last).filter(|turn| !rows.turns.contains_key(turn)) {
            self.lose(format!("turn {turn}"), "it could not be read");
        }
        Ok(())
    }

    /// The tip of the chat, and its log of writes.
    fn end(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let rows = self.rows;
        let (tenant, chat) = (self.tenant.as_str(), self.number);
        connection
            .execute("DELETE FROM writes WHERE tenant = ?1 AND chat = ?2", params![tenant, chat])?;
        let same = self.names.iter().all(|(old, new)| *old == new.0);
        for (version, columns) in rows.writes.iter().filter(|_| same) {
            let int = |at: usize| columns.get(at).and_then(CarvedValue::int);
            connection.execute(
                "INSERT INTO writes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    tenant,
                    chat,
                    version,
                    int(0),
                    int(1),
                    int(2),
                    digest(&columns[3]).map(|tip| tip.0),
                    digest(&columns[4]).map(|reply| reply.0),
                    int(5),
                ],
            )?;
        }
        let row = rows.chat.as_deref();
        let stated = row.and_then(|row| digest(&row[2])).map(PrefixHash);
        let stated = stated.and_then(|tip| self.names.get(&tip)).map(|name| name.0);
        let newest = || {
            let replies = rows.turns.values().rev().flat_map(|turn| [&turn[4], &turn[0]]);
            let mut known = replies.filter_map(digest).map(PrefixHash);
            known.find_map(|node| self.names.get(&node)).map(|name| name.0)
        };
        let tip = stated.or_else(newest).unwrap_or_default();
        let int = |at: usize| row.and_then(|row| row.get(at)).and_then(CarvedValue::int);
        let version = int(5).or(rows.writes.keys().last().copied()).unwrap_or(0);
        connection.execute(
            "UPDATE chats SET tip = ?3, updated = ?4, version = ?5 WHERE tenant = ?1 AND chat = ?2",
            params![tenant, chat, tip.0.0, int(4).unwrap_or(0), version],
        )?;
        if stated.is_none() && row.is_some() {
            self.lose("tip", "the message at the tip is lost");
        }
        Ok(())
    }
}
