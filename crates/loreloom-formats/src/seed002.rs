//! Lorebooks with the field names of the written rules: `scanDepth`, `tokenBudget` and
//! `recursiveScanning`, and entries in which a higher `order` comes earlier.

use loreloom_core::{
    book::{Book, Entry, OriginalId},
    chat::Role,
    ids::EntryId,
};
use serde_json::{Map, Value, json};

use crate::{
    json::{Node, layout::number},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONSTANT, CONTENT, Fields, KEYS, Patterns},
};

/// A book.
pub(crate) struct WrittenBook;

/// The settings of a book. A file with one of them and `entries` is such a book.
pub(crate) const BOOK_SETTINGS: [&str; 3] = ["scanDepth", "tokenBudget", "recursiveScanning"];
const BOOK: [&str; 6] =
    ["name", "description", "entries", "scanDepth", "tokenBudget", "recursiveScanning"];
const SECONDARY: [&str; 3] = ["secondaryKeys", "secondary_keys", "keysecondary"];
const WHOLE_WORDS: [&str; 4] =
    ["matchWholeWords", "match_whole_words", "wholeWords", "whole_words"];
const ORDER: [&str; 3] = ["order", "insertionOrder", "insertion_order"];
const ENTRY: [&str; 22] = [
    "id",
    "name",
    "comment",
    "keys",
    "key",
    "content",
    "secondaryKeys",
    "secondary_keys",
    "keysecondary",
    "selective",
    "constant",
    "enabled",
    "disabled",
    "matchWholeWords",
    "match_whole_words",
    "wholeWords",
    "whole_words",
    "priority",
    "order",
    "insertionOrder",
    "insertion_order",
    "role",
];

impl Schema for WrittenBook {
    fn path(&self, _root: &Node<'_>) -> Vec<&'static str> {
        vec!["entries"]
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        let mut fields = Fields::of(node, notes);
        fields.name_and_description(book);
        book.scan_depth = fields.count(&["scanDepth"]);
        book.token_budget = fields.count(&["tokenBudget"]);
        book.recursive = fields.flag(&["recursiveScanning"]);
        book.extensions = fields.others(&BOOK);
    }

    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("name".into(), json!(book.name));
        if !book.description.is_empty() {
            map.insert("description".into(), json!(book.description));
        }
        for (name, value) in [("scanDepth", book.scan_depth), ("tokenBudget", book.token_budget)] {
            if let Some(value) = value {
                map.insert(name.into(), json!(value));
            }
        }
        if let Some(recursive) = book.recursive {
            map.insert("recursiveScanning".into(), json!(recursive));
        }
        map.extend(book.extensions.clone());
        map
    }

    /// Values outside the ranges are kept and used as the nearest value inside.
    fn review(&self, book: &Book, notes: &mut Notes) {
        let depth = book.scan_depth.filter(|depth| *depth > 100);
        if let Some(depth) = depth {
            notes.warn("scanDepth", format!("must be 0 to 100, found {depth}: used as 100"));
        }
        let budget = book.token_budget.filter(|budget| !(100..=32_000).contains(budget));
        if let Some(budget) = budget {
            let used = budget.clamp(100, 32_000);
            let text = format!("must be 100 to 32000, found {budget}: used as {used}");
            notes.warn("tokenBudget", text);
        }
    }

    fn original_id(&self, row: &Row<'_, '_>, _notes: &mut Notes) -> Option<OriginalId> {
        keys::original_id(row.node.get("id"))
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        entry.name = fields.text(&["name"]);
        entry.comment = fields.text(&["comment"]);
        let content = fields.either("content", &CONTENT);
        entry.content = fields.text(&[content]);
        let keys = fields.either("keys", &KEYS);
        let when = &mut entry.activation;
        when.keys = fields.joined_keys(&[keys], Patterns::Slashed);
        when.secondary.keys = fields.joined_keys(&SECONDARY, Patterns::Slashed);
        when.secondary.active = fields.flag(&["selective"]).unwrap_or(false);
        let constant = fields.either("constant", &CONSTANT);
        when.constant = fields.flag(&[constant]).unwrap_or(false);
        when.enabled = fields.enabled();
        when.whole_words = fields.flag(&WHOLE_WORDS);
        entry.budget.priority = fields.number(&["priority"]);
        entry.placement.order = fields.number(&ORDER);
        entry.placement.role = role(&mut fields);
        entry.extensions = fields.others(&ENTRY);
        entry
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        let when = &entry.activation;
        let mut map = Map::new();
        let had = |name: &str| row.is_some_and(|row| row.get(name).is_some());
        let own = |names: &[&'static str]| {
            names.iter().copied().find(|name| had(name)).unwrap_or(names[0])
        };
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        let is_text = |name: &str| {
            row.and_then(|row| row.get(name)).is_none_or(|keys| keys.as_str().is_some())
        };
        let written = |name: &str, keys: &[loreloom_core::book::Key]| {
            if is_text(name) {
                json!(keys::joined(keys))
            } else {
                crate::sillytavern::raw_keys(keys).into()
            }
        };
        let keys = own(&["keys", "key"]);
        put(keys, written(keys, &when.keys));
        let second = own(&SECONDARY);
        if had(second) || !when.secondary.keys.is_empty() {
            put(second, written(second, &when.secondary.keys));
        }
        if had("name") || row.is_none() && !entry.name.is_empty() && !entry.comment.is_empty() {
            put("name", json!(entry.name));
        }
        let comment = if had("name") { &entry.comment } else { keys::only_name(entry) };
        put("comment", json!(comment));
        put("content", json!(entry.content));
        put("selective", json!(when.secondary.active));
        put("constant", json!(when.constant));
        if had("disabled") {
            put("disabled", json!(!when.enabled));
        } else {
            put("enabled", json!(when.enabled));
        }
        if let Some(whole_words) = when.whole_words {
            put(own(&WHOLE_WORDS), json!(whole_words));
        }
        if let Some(priority) = entry.budget.priority {
            put("priority", number(priority));
        }
        if let Some(order) = entry.placement.order {
            put(own(&ORDER), number(order));
        }
        if let Some(role) = entry.placement.role {
            put("role", json!(role));
        }
        map.extend(entry.extensions.clone());
        map
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        Some(("id", json!(next)))
    }

    fn skeleton(&self) -> Value {
        json!({ "name": "", "scanDepth": 4, "tokenBudget": 1500, "recursiveScanning": false,
            "entries": [] })
    }
}

fn role(fields: &mut Fields<'_, '_, '_>) -> Option<Role> {
    let name = fields.text(&["role"]);
    match name.trim().to_lowercase().as_str() {
        "" => None,
        "system" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => {
            let text = format!("must be `system`, `user` or `assistant`, found `{name}`: not used");
            fields.notes().warn("role", text);
            None
        }
    }
}
