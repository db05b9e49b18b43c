//! `AI Dungeon`: story cards, and the older world info.

use loreloom_core::{book::Entry, ids::EntryId};
use serde_json::{Map, Value, json};

use crate::{
    decorators,
    json::Node,
    keys,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONTENT, Fields, KEYS, Patterns},
};

/// A list of cards.
pub(crate) struct StoryCards;

/// The type of a card that is of no particular one.
const UNTYPED: &str = "Custom";
const ENTRY: [&str; 8] = ["keys", "value", "entry", "title", "type", "description", "isNot", "id"];

impl Schema for StoryCards {
    fn path(&self, _root: &Node<'_>) -> Vec<&'static str> {
        Vec::new()
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        entry.name = fields.text(&["title"]);
        entry.comment = fields.text(&["description"]);
        let content = if fields.get("entry").is_some() { "entry" } else { "value" };
        let content = if fields.get("value").is_some() { "value" } else { content };
        let content = fields.either(content, &CONTENT);
        entry.content = fields.text(&[content]);
        entry.activation.enabled = fields.enabled();
        let kind = fields.text(&["type"]);
        let is_named = !kind.is_empty() && !kind.eq_ignore_ascii_case(UNTYPED);
        entry.rest.tags = if is_named { vec![kind] } else { Vec::new() };
        let keys = fields.either("keys", &KEYS);
        let keys = fields.joined_keys(&[keys], Patterns::Unknown);
        if fields.flag(&["isNot"]).unwrap_or(false) {
            entry.activation.constant = true;
            entry.activation.exclude_any = vec![keys];
        } else {
            entry.activation.keys = keys;
        }
        entry.extensions = fields.others(&ENTRY);
        entry
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        let when = &entry.activation;
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        // The program would send decorators of other programs to the model.
        let content = if row.is_some() { &entry.content } else { decorators::body(&entry.content) };
        let says = |row: &Node<'_>, name| row.get(name).is_some_and(|value| !value.is_null());
        let is_legacy = row.is_some_and(|row| says(row, "entry") && !says(row, "value"));
        let (is_not, keys) = match when.exclude_any.as_slice() {
            [excluded] if when.constant && when.keys.is_empty() => (true, excluded),
            _ => (false, &when.keys),
        };
        put("keys", json!(keys::joined(keys)));
        if is_legacy {
            put("entry", json!(content));
        } else {
            put("value", json!(content));
            put("type", json!(entry.rest.tags.first().map_or(UNTYPED, String::as_str)));
            put("title", json!(entry.name));
            put("description", json!(entry.comment));
        }
        if is_legacy || is_not {
            put("isNot", json!(is_not));
        }
        map.extend(entry.extensions.clone());
        map
    }

    fn skeleton(&self) -> Value {
        json!([])
    }
}
