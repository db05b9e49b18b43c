//! `SillyTavern` World Info (`worlds/<name>.json`, version 1.19).
//!
//! Files come from people, converters and every release of the program, so real books have missing
//! fields and wrong types. The model gets what the program makes of such a value at scan time; the
//! raw text is kept beside it.

pub mod convert;
mod entry;
mod fields;
#[cfg(test)]
mod tests;
mod values;
mod write;

use loreloom_core::{
    book::{Book, Entry, OriginalId},
    ids::EntryId,
    number::whole,
};
use serde_json::{Map, Value, json};

use self::entry::Shape;
pub(crate) use self::write::{
    logic_number, outlet_name, position_number, raw as raw_keys, role_number,
};
use crate::{
    json::{Json, Node},
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
};

pub(crate) struct WorldInfo;

/// The names of book settings; the program itself keeps them in its settings and ignores
/// them here, but sites that export for it write them.
const SCAN_DEPTH: [&str; 2] = ["scan_depth", "scanDepth"];
const TOKEN_BUDGET: [&str; 2] = ["token_budget", "tokenBudget"];
const RECURSIVE: [&str; 2] = ["recursive_scanning", "recursiveScanning"];

impl Schema for WorldInfo {
    fn path(&self, _root: &Node<'_>) -> Vec<&'static str> {
        vec!["entries"]
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        for member in node.members() {
            let value = &member.value;
            let number = || crate::json::js::number(value);
            match (member.key.as_ref(), &value.value) {
                ("entries", _) => {}
                ("name", Json::String(name)) if !name.is_empty() => {
                    name.as_ref().clone_into(&mut book.name);
                }
                ("description", Json::String(text)) => {
                    text.as_ref().clone_into(&mut book.description);
                }
                (key, Json::Number(_)) if SCAN_DEPTH.contains(&key) => {
                    book.scan_depth = Some(whole(number()));
                }
                (key, Json::Number(_)) if TOKEN_BUDGET.contains(&key) => {
                    book.token_budget = Some(whole(number()));
                }
                (key, Json::Bool(on)) if RECURSIVE.contains(&key) => book.recursive = Some(*on),
                (key, _) => {
                    book.extensions.insert(key.to_owned(), value.to_value());
                }
            }
        }
        let ignored = [("scan depth", book.scan_depth), ("token budget", book.token_budget)];
        for (what, _) in ignored.iter().filter(|(_, value)| value.is_some()) {
            notes.info("", format!("the book's own {what}: SillyTavern has it in its settings"));
        }
    }

    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = book.extensions.clone();
        if !book.name.is_empty() {
            map.insert("name".into(), json!(book.name));
        }
        if !book.description.is_empty() {
            map.insert("description".into(), json!(book.description));
        }
        for (names, value) in [(SCAN_DEPTH, book.scan_depth), (TOKEN_BUDGET, book.token_budget)] {
            if let Some(value) = value {
                map.insert(names[0].into(), json!(value));
            }
        }
        if let Some(recursive) = book.recursive {
            map.insert(RECURSIVE[0].into(), json!(recursive));
        }
        map
    }

    fn original_id(&self, row: &Row<'_, '_>, notes: &mut Notes) -> Option<OriginalId> {
        entry::uid(row.node, notes)
    }

    /// The program identifies an entry by its uid, and by `undefined` without one.
    fn missing_id(&self, _row: &Row<'_, '_>) -> String {
        "undefined".to_owned()
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let shape = if reading.in_list { Shape::List } else { Shape::Map };
        entry::read(id, row.node, shape, reading.odd_values, reading.notes)
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        write::entry(entry, row)
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        Some(("uid", json!(next)))
    }

    fn has_extensions(&self) -> bool {
        true
    }

    fn skeleton(&self) -> Value {
        json!({ "entries": {} })
    }
}
