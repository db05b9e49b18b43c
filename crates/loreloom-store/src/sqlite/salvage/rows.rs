//! Which table a row belongs to, told by its shape alone.
//!
//! Each of our tables and indexes has a shape of its own; where two are alike, what they hold
//! proves itself by a hash. The index of chats is read too: it knows the name of a chat whose
//! row is lost.

use std::collections::{BTreeMap, BTreeSet};

use loreloom_core::ids::{Digest, MessageId, PrefixHash};

use super::{
    pages::Pages,
    record::{self, Value},
};
use crate::codec::{NodeColumns, Told, piece_hash, text_hash, told_hash, unpack};

/// A node's row.
#[derive(Clone, Debug)]
pub(super) struct NodeRow {
    pub(super) prefix: PrefixHash,
    pub(super) id: MessageId,
    pub(super) message: i64,
    pub(super) columns: NodeColumns,
}

/// All rows of one chat.
#[derive(Debug, Default)]
pub(super) struct ChatRows {
    /// The whole row, from `id` on.
    pub(super) chat: Option<Vec<Value>>,
    pub(super) messages: BTreeMap<i64, Told>,
    pub(super) branches: BTreeMap<i64, (Option<i64>, i64)>,
    pub(super) nodes: BTreeMap<(i64, i64), NodeRow>,
    /// Places that an index says have a node.
    pub(super) places: BTreeSet<(i64, i64)>,
    pub(super) turns: BTreeMap<i64, Vec<Value>>,
    pub(super) records: BTreeMap<i64, (Vec<u8>, Vec<u8>)>,
    pub(super) texts: BTreeMap<i64, (Digest, Vec<u8>)>,
    pub(super) writes: BTreeMap<i64, Vec<Value>>,
}

/// Everything that could be read.
#[derive(Debug, Default)]
pub(super) struct Carved {
    pub(super) chats: BTreeMap<(String, i64), ChatRows>,
    /// What an index may say the ids of chats are; other names look alike.
    pub(super) ids: BTreeMap<(String, i64), Vec<String>>,
    pub(super) libraries: BTreeMap<(String, Digest), Vec<u8>>,
    /// Pieces of books.
    pub(super) pieces: BTreeMap<(String, Digest), Vec<u8>>,
    /// Tables of the desk, by name: whole rows.
    pub(super) desk: BTreeMap<&'static str, BTreeMap<Vec<String>, Vec<Value>>>,
    /// Frames of the log that SQLite does not get to see.
    pub(super) unseen: usize,
}

impl Carved {
    /// Reads every row of every page.
    pub(super) fn of(pages: &Pages) -> Self {
        let mut carved = Self { unseen: pages.unseen, ..Self::default() };
        for page in 1..=pages.count() {
            for row in record::rows(pages, page) {
                // A row of no known shape is somebody else's, or damaged.
                let _known = carved.take(&row);
            }
        }
        carved
    }

    fn take(&mut self, row: &[Value]) -> Option<()> {
        let tenant = row.first()?.text()?;
        if let [_, version, body] = row
            && let (Some(version), Some(body)) = (digest(version), body.blob())
        {
            let key = (tenant.to_owned(), version);
            let is_piece = unpack(body).is_ok_and(|plain| piece_hash(&plain) == version);
            let table = if is_piece { &mut self.pieces } else { &mut self.libraries };
            table.insert(key, body.to_vec());
            return Some(());
        }
        if let [_, id, number] = row
            && let (Some(id), Some(number)) = (id.text(), number.int())
        {
            self.ids.entry((tenant.to_owned(), number)).or_default().push(id.to_owned());
            return Some(());
        }
        if let Some(table) = desk_table(row) {
            // Of several copies of a value the newest counts; other rows never change.
            let rows = self.desk.entry(table).or_default();
            let key: Vec<String> =
                row.iter().take(width(table)).map(|part| format!("{part:?}")).collect();
            let newest = |row: &[Value]| row.last().and_then(Value::int);
            if rows.get(&key).is_none_or(|known| newest(known) < newest(row)) {
                rows.insert(key, row.to_vec());
            }
            return Some(());
        }
        let number = row.get(1)?.int()?;
        if row.len() == 12 && row[2].text().is_some() && digest(&row[4]).is_some() {
            self.chat(tenant, number).chat(&row[2..]);
            return Some(());
        }
        if let [_, _, prefix, Value::Int(branch), Value::Int(depth)] = row
            && digest(prefix).is_some()
        {
            self.chat(tenant, number).places.insert((*branch, *depth));
            return Some(());
        }
        let key = row.get(2)?.int()?;
        self.part(tenant, number, key, &row[3..])
    }

    fn chat(&mut self, tenant: &str, number: i64) -> &mut ChatRows {
        self.chats.entry((tenant.to_owned(), number)).or_default()
    }

    /// A row of a chat's table, from the third column on.
    fn part(&mut self, tenant: &str, number: i64, key: i64, rest: &[Value]) -> Option<()> {
        match rest {
            [hash, role, Value::Text(text)] => {
                let told = Told::from_columns(role.int()?, text.clone()).ok()?;
                let sound = digest(hash)? == told_hash(told.role, &told.text);
                sound.then(|| self.chat(tenant, number).messages.insert(key, told))?;
            }
            [parent @ (Value::Null | Value::Int(_)), Value::Int(depth)] => {
                let parent = (parent.int(), *depth);
                self.chat(tenant, number).branches.insert(key, parent);
            }
            [Value::Blob(first), Value::Blob(second)] => {
                let chat = self.chat(tenant, number);
                match text_of(first, second) {
                    Some(hash) => drop(chat.texts.insert(key, (hash, second.clone()))),
                    None => drop(chat.records.insert(key, (first.clone(), second.clone()))),
                }
            }
            [
                Value::Int(depth),
                prefix,
                id,
                Value::Int(message),
                name,
                Value::Int(hidden),
                more,
            ] => {
                let node = NodeRow {
                    prefix: PrefixHash(digest(prefix)?),
                    id: MessageId(digest(id)?),
                    message: *message,
                    columns: NodeColumns {
                        name: name.text().map(str::to_owned),
                        hidden: *hidden != 0,
                        extensions: more.text().map(str::to_owned),
                    },
                };
                self.chat(tenant, number).nodes.insert((key, *depth), node);
            }
            [at @ Value::Blob(_), ..] if rest.len() == 8 => {
                digest(at)?;
                let turns = &mut self.chat(tenant, number).turns;
                // An older copy has no reply yet.
                let older = turns.get(&key).is_some_and(|known| known[4].blob().is_some());
                if !(older && rest[4].blob().is_none()) {
                    turns.insert(key, rest.to_vec());
                }
            }
            [Value::Int(_), _, _, Value::Blob(_), _, Value::Int(_)] => {
                self.chat(tenant, number).writes.insert(key, rest.to_vec());
            }
            _ => return None,
        }
        Some(())
    }
}

impl ChatRows {
    /// Of several copies the newest counts.
    fn chat(&mut self, row: &[Value]) {
        let version = |row: &[Value]| row.get(5).and_then(Value::int);
        if self.chat.as_deref().is_none_or(|known| version(known) < version(row)) {
            self.chat = Some(row.to_vec());
        }
    }
}

/// The table of the desk that a row is of. Indexes look like revisions, but for the dates.
fn desk_table(row: &[Value]) -> Option<&'static str> {
    use Value::{Int, Null, Text};
    match row {
        [_, Int(_)] => Some("document_heads"),
        [_, Text(_), Text(_), Int(_)] => Some("documents"),
        [_, Int(_), Int(_), Null] => Some("document_revisions"),
        [_, Int(_), Int(created), Int(_)] if *created > 100_000_000_000 => {
            Some("document_revisions")
        }
        [_, Int(_), Int(_), Text(_), Text(_) | Null, Text(_) | Null] => Some("document_changes"),
        _ => None,
    }
}

/// How many first columns name a row.
fn width(table: &str) -> usize {
    match table {
        "document_heads" => 1,
        "document_changes" => 3,
        _ => 2,
    }
}

/// The hash of a text, if that is what the two columns hold.
fn text_of(hash: &[u8], body: &[u8]) -> Option<Digest> {
    let hash = Digest(hash.try_into().ok()?);
    let text = String::from_utf8(unpack(body).ok()?).ok()?;
    (text_hash(&text) == hash).then_some(hash)
}

pub(super) fn digest(value: &Value) -> Option<Digest> {
    value.blob()?.try_into().ok().map(Digest)
}
