//! `AgnAI` memory books.

use loreloom_core::{
    book::{Book, Entry, Key, RegexKey},
    ids::EntryId,
};
use serde_json::{Map, Value, json};

use crate::{
    json::{Node, layout::number},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONTENT, Fields, KEYS, NAME, ORDER},
};

/// `{"kind": "memory"}`.
pub(crate) struct MemoryBook;

const BOOK: [&str; 6] =
    ["name", "description", "entries", "scanDepth", "tokenBudget", "recursiveScanning"];
const ENTRY: [&str; 7] = ["name", "entry", "keywords", "priority", "weight", "enabled", "id"];

impl Schema for MemoryBook {
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
        let mut map = book.extensions.clone();
        map.insert("name".into(), json!(book.name));
        map.insert("description".into(), json!(book.description));
        for (name, value) in [("scanDepth", book.scan_depth), ("tokenBudget", book.token_budget)] {
            if let Some(value) = value {
                map.insert(name.into(), json!(value));
            }
        }
        if let Some(recursive) = book.recursive {
            map.insert("recursiveScanning".into(), json!(recursive));
        }
        map
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        let (name, content) = (fields.either("name", &NAME), fields.either("entry", &CONTENT));
        entry.name = fields.text(&[name]);
        entry.content = fields.text(&[content]);
        entry.activation.enabled = fields.enabled();
        let keys = fields.either("keywords", &KEYS);
        entry.activation.keys = fields.list(&[keys]).into_iter().map(keyword).collect();
        entry.activation.whole_words = Some(true);
        entry.activation.case_sensitive = Some(false);
        entry.budget.priority = Some(fields.number(&["priority"]).unwrap_or(0.0));
        let order = fields.either("weight", &ORDER);
        entry.placement.order = Some(fields.number(&[order]).unwrap_or(0.0));
        entry.extensions = fields.others(&ENTRY);
        entry
    }

    fn write_entry(&self, entry: &Entry, _row: Option<&Node<'_>>) -> Map<String, Value> {
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("name", json!(keys::only_name(entry)));
        put("entry", json!(entry.content));
        put("keywords", crate::sillytavern::raw_keys(&entry.activation.keys).into());
        let order = entry.placement.order.unwrap_or(0.0);
        put("priority", number(entry.budget.priority.unwrap_or(order)));
        put("weight", number(order));
        put("enabled", json!(entry.activation.enabled));
        map.extend(entry.extensions.clone());
        map
    }

    fn skeleton(&self) -> Value {
        json!({ "kind": "memory", "name": "", "description": "", "entries": [] })
    }
}

/// A keyword as the program matches it: `*` is any run of word characters, `?` is one,
/// and other special characters are removed.
fn keyword(raw: String) -> Key {
    const REMOVED: &str = "\\^$+.()|[]{}_";
    if !raw.contains(['*', '?']) && !raw.contains(|c| REMOVED.contains(c)) {
        return Key::Literal(raw);
    }
    if raw.chars().all(|character| REMOVED.contains(character)) {
        // Two word borders and nothing between them would be found in every text.
        let pattern = "[]".to_owned();
        return Key::Regex(Box::new(RegexKey { raw, pattern, flags: "i".to_owned() }));
    }
    let mut pattern = String::from("\\b");
    for character in raw.chars() {
        match character {
            '*' => pattern.push_str("\\w*"),
            '?' => pattern.push_str("\\w"),
            '/' => pattern.push_str("\\/"),
            _ if REMOVED.contains(character) => {}
            _ => pattern.push(character),
        }
    }
    pattern.push_str("\\b");
    Key::Regex(Box::new(RegexKey { raw, pattern, flags: "i".to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_become_patterns_and_keep_their_text() {
        for (raw, expected) in [
            ("harbor", None),
            ("har?or*", Some(r"\bhar\wor\w*\b")),
            ("*", Some(r"\b\w*\b")),
            ("a.b", Some(r"\bab\b")),
            ("...", Some("[]")),
            ("/bell/", None),
        ] {
            let key = keyword(raw.to_owned());
            assert_eq!(key.raw(), raw);
            let pattern = match &key {
                Key::Regex(regex) => Some(regex.pattern.as_str()),
                Key::Literal(_) => None,
            };
            assert_eq!(pattern, expected, "{raw}");
        }
    }
}
