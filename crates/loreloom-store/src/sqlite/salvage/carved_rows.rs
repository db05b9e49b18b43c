//! Finding the table of a row by its shape.
//!
//! Each table and index has a shape of its own. Where two are alike, a hash in the row decides.
//! The index of chats is read too: it has the id of a chat whose row is lost.

use std::collections::{BTreeMap, BTreeSet};

use loreloom_core::ids::{Digest, MessageId, PrefixHash};

use super::{
    pages::PageReader,
    record::{self, CarvedValue},
};
use crate::codec::{MessageText, NodeColumns, piece_hash, text_hash, unpack, unpack_text};

/// A node's row.
#[derive(Clone, Debug)]
pub(super) struct CarvedNode {
    pub(super) prefix: PrefixHash,
    pub(super) id: MessageId,
    pub(super) message: i64,
    pub(super) columns: NodeColumns,
}

/// All rows of one chat.
#[derive(Debug, Default)]
pub(super) struct CarvedChat {
    /// The whole row, from `id` on.
    pub(super) chat: Option<Vec<CarvedValue>>,
    pub(super) messages: BTreeMap<i64, MessageText>,
    pub(super) branches: BTreeMap<i64, (Option<i64>, i64)>,
    pub(super) nodes: BTreeMap<(i64, i64), CarvedNode>,
    /// Places that have a node, by an index.
    pub(super) places: BTreeSet<(i64, i64)>,
    pub(super) turns: BTreeMap<i64, Vec<CarvedValue>>,
    pub(super) records: BTreeMap<i64, (Vec<u8>, Vec<u8>)>,
    pub(super) texts: BTreeMap<i64, (Digest, Vec<u8>)>,
    pub(super) writes: BTreeMap<i64, Vec<CarvedValue>>,
}

/// Everything that could be read.
#[derive(Debug, Default)]
pub(super) struct CarvedRows {
    pub(super) chats: BTreeMap<(String, i64), CarvedChat>,
    /// Possible ids of chats, from an index. Rows of other indexes look alike.
    pub(super) ids: BTreeMap<(String, i64), Vec<String>>,
    pub(super) libraries: BTreeMap<(String, Digest), Vec<u8>>,
    /// Pieces of books.
    pub(super) pieces: BTreeMap<(String, Digest), Vec<u8>>,
    /// Whole rows of the tables of documents, by table.
    pub(super) documents: BTreeMap<&'static str, BTreeMap<Vec<String>, Vec<CarvedValue>>>,
    /// Frames of the log that SQLite does not read.
    pub(super) unseen: usize,
}

impl CarvedRows {
    /// Reads every row of every page.
    pub(super) fn of(pages: &PageReader) -> Self {
        let mut carved = Self { unseen: pages.unseen, ..Self::default() };
        for page in 1..=pages.count() {
            for row in record::rows(pages, page) {
                // A row of no known shape is of another table, or damaged.
                let _known = carved.take(&row);
            }
        }
        carved
    }

    fn take(&mut self, row: &[CarvedValue]) -> Option<()> {
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
        if let Some(table) = document_table(row) {
            // Of several copies of a document the newest counts. Other rows never change.
            let rows = self.documents.entry(table).or_default();
            let key: Vec<String> =
                row.iter().take(key_width(table)).map(|part| format!("{part:?}")).collect();
            let newest = |row: &[CarvedValue]| row.last().and_then(CarvedValue::int);
            if rows.get(&key).is_none_or(|known| newest(known) < newest(row)) {
                rows.insert(key, row.to_vec());
            }
            return Some(());
        }
        let number = row.get(1)?.int()?;
        if row.len() == 13 && row[2].text().is_some() && digest(&row[4]).is_some() {
            self.chat(tenant, number).chat(&row[2..]);
            return Some(());
        }
        if let [_, _, prefix, CarvedValue::Int(branch), CarvedValue::Int(depth)] = row
            && digest(prefix).is_some()
        {
            self.chat(tenant, number).places.insert((*branch, *depth));
            return Some(());
        }
        let key = row.get(2)?.int()?;
        self.part(tenant, number, key, &row[3..])
    }

    fn chat(&mut self, tenant: &str, number: i64) -> &mut CarvedChat {
        self.chats.entry((tenant.to_owned(), number)).or_default()
    }

    /// A row of a table of chats, from the third column on.
    fn part(&mut self, tenant: &str, number: i64, key: i64, rest: &[CarvedValue]) -> Option<()> {
        match rest {
            [hash, role, CarvedValue::Text(text)] => {
                let message = MessageText::from_columns(role.int()?, text.clone()).ok()?;
                let sound = digest(hash)? == message.hash();
                sound.then(|| self.chat(tenant, number).messages.insert(key, message))?;
            }
            [parent @ (CarvedValue::Null | CarvedValue::Int(_)), CarvedValue::Int(depth)] => {
                let parent = (parent.int(), *depth);
                self.chat(tenant, number).branches.insert(key, parent);
            }
            [CarvedValue::Blob(first), CarvedValue::Blob(second)] => {
                let chat = self.chat(tenant, number);
                match text_of(first, second) {
                    Some(hash) => drop(chat.texts.insert(key, (hash, second.clone()))),
                    None => drop(chat.records.insert(key, (first.clone(), second.clone()))),
                }
            }
            [
                CarvedValue::Int(depth),
                prefix,
                id,
                CarvedValue::Int(message),
                name,
                CarvedValue::Int(hidden),
                more,
            ] => {
                let node = CarvedNode {
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
            [at @ CarvedValue::Blob(_), ..] if rest.len() == 8 => {
                digest(at)?;
                let turns = &mut self.chat(tenant, number).turns;
                // An older copy has no reply yet.
                let older = turns.get(&key).is_some_and(|known| known[4].blob().is_some());
                if !(older && rest[4].blob().is_none()) {
                    turns.insert(key, rest.to_vec());
                }
            }
            [CarvedValue::Int(_), _, _, CarvedValue::Blob(_), _, CarvedValue::Int(_)] => {
                self.chat(tenant, number).writes.insert(key, rest.to_vec());
            }
            _ => return None,
        }
        Some(())
    }
}

impl CarvedChat {
    /// Of several copies the newest counts.
    fn chat(&mut self, row: &[CarvedValue]) {
        let version = |row: &[CarvedValue]| row.get(5).and_then(CarvedValue::int);
        if self.chat.as_deref().is_none_or(|known| version(known) < version(row)) {
            self.chat = Some(row.to_vec());
        }
    }
}

/// The table of documents that a row is of. Rows of indexes look like revisions without a date.
fn document_table(row: &[CarvedValue]) -> Option<&'static str> {
    use CarvedValue::{Int, Null, Text};
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

/// The number of columns in the primary key.
fn key_width(table: &str) -> usize {
    match table {
        "document_heads" => 1,
        "document_changes" => 3,
        _ => 2,
    }
}

/// The hash of a text, if the two columns are a text.
fn text_of(hash: &[u8], body: &[u8]) -> Option<Digest> {
    let hash = Digest(hash.try_into().ok()?);
    let text = unpack_text(body).ok()?;
    (text_hash(&text) == hash).then_some(hash)
}

pub(super) fn digest(value: &CarvedValue) -> Option<Digest> {
    value.blob()?.try_into().ok().map(Digest)
}
