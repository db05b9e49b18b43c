//! Lists of keywords and texts, as miku.gg and `SpicyChat` have them.

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use serde_json::{Map, Value, json};

use crate::{
    decorators,
    json::Node,
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONSTANT, CONTENT, Fields, KEYS, Patterns},
};

/// A list of entries, alone or under `entries`.
pub(crate) struct KeywordList;

const BOOK: [&str; 3] = ["name", "description", "entries"];
const ENTRY: [&str; 5] = ["id", "name", "title", "keywords", "content"];

impl Schema for KeywordList {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        if root.is_object() { vec!["entries"] } else { Vec::new() }
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        if !node.is_object() {
            return;
        }
        let mut fields = Fields::of(node, notes);
        fields.name_and_description(book);
        book.extensions = fields.others(&BOOK);
    }

    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = book.extensions.clone();
        map.insert("name".into(), json!(book.name));
        map.insert("description".into(), json!(book.description));
        map
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        entry.name = fields.text(&["name", "title"]);
        let content = fields.either("content", &CONTENT);
        entry.content = fields.text(&[content]);
        let (keys, constant) =
            (fields.either("keywords", &KEYS), fields.either("constant", &CONSTANT));
        entry.activation.keys = fields.keys(&[keys], Patterns::Slashed);
        entry.activation.enabled = fields.enabled();
        entry.activation.constant = fields.flag(&[constant]).unwrap_or(false);
        entry.extensions = fields.others(&ENTRY);
        entry
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        let mut map = Map::new();
        // The programs would send decorators of other programs to the model.
        let content = if row.is_some() { &entry.content } else { decorators::body(&entry.content) };
        let raw: Vec<&str> = entry.activation.keys.iter().map(keys::raw).collect();
        let says = |row: &Node<'_>, name| row.get(name).is_some_and(|value| !value.is_null());
        let is_title = row.is_some_and(|row| says(row, "title") && !says(row, "name"));
        let name = if is_title { "title" } else { "name" };
        map.insert(name.into(), json!(keys::only_name(entry)));
        map.insert("keywords".into(), json!(raw));
        map.insert("content".into(), json!(content));
        map.extend(entry.extensions.clone());
        map
    }

    fn skeleton(&self) -> Value {
        json!([])
    }
}
