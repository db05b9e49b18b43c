//! `RisuAI` lorebooks and modules.

use loreloom_core::{
    book::{Book, Entry, Folder, Key, OriginalId},
    ids::EntryId,
};
use serde_json::{Map, Value, json};

use crate::{
    json::{Node, layout::number},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONSTANT, CONTENT, Fields, KEYS, NAME, ORDER, Patterns},
};

/// Where the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Risu {
    /// `{"type": "risu", "data": []}`.
    Lorebook,
    /// `{"type": "risuModule", "module": {"lorebook": []}}`.
    Module,
}

/// Marks the key of a folder's row.
const FOLDER_MARK: char = '\u{f000}';
const ENTRY: [&str; 11] = [
    "key",
    "secondkey",
    "insertorder",
    "comment",
    "content",
    "alwaysActive",
    "selective",
    "activationPercent",
    "extentions",
    "id",
    "folder",
];
/// The mode of a row that continues the row with its id.
const CHILD: &str = "child";
/// The program spells it so.
const EXTENSIONS: &str = "extentions";
const CASE_SENSITIVE: &str = "risu_case_sensitive";

impl Schema for Risu {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        match self {
            // A character's own list in a save has nothing around it.
            Self::Lorebook if root.is_array() => Vec::new(),
            Self::Lorebook => vec!["data"],
            Self::Module if root.get("module").is_some() => vec!["module", "lorebook"],
            Self::Module => vec!["lorebook"],
        }
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        let mut fields = Fields::of(node, notes);
        if *self == Self::Lorebook {
            book.extensions = fields.others(&["type", "data"]);
        } else {
            let name = fields.text(&["name"]);
            if !name.is_empty() {
                book.name = name;
            }
            book.description = fields.text(&["description"]);
            book.extensions = fields.others(&["type", "name", "description", "lorebook"]);
        }
        let rows = node.get(if *self == Self::Lorebook { "data" } else { "lorebook" });
        for row in rows.map_or(&[][..], Node::items).iter().filter(|row| is_folder(row)) {
            let mut fields = Fields::of(row, notes);
            book.folders.push(Folder {
                id: fields.text(&["key"]),
                name: fields.text(&["comment"]),
                enabled: true,
                extensions: Map::new(),
            });
        }
    }

    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = book.extensions.clone();
        if *self == Self::Module {
            map.insert("name".into(), json!(book.name));
            map.insert("description".into(), json!(book.description));
        }
        map
    }

    /// A child row bears the id of its parent, not its own.
    fn original_id(&self, row: &Row<'_, '_>, _notes: &mut Notes) -> Option<OriginalId> {
        keys::original_id(row.node.get("id")).filter(|_| !is_child(row.node))
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        let (name, content) = (fields.either("comment", &NAME), fields.either("content", &CONTENT));
        entry.name = fields.text(&[name]);
        entry.content = fields.text(&[content]);
        let keys = fields.either("key", &KEYS);
        let patterns = match fields.flag(&["useRegex"]) {
            Some(true) => Patterns::Slashed,
            Some(false) | None => Patterns::Unknown,
        };
        entry.activation.keys = fields.joined_keys(&[keys], patterns);
        entry.activation.secondary.keys = fields.joined_keys(&["secondkey"], patterns);
        entry.activation.secondary.active = fields.flag(&["selective"]).unwrap_or(false);
        let is_constant = row.node.get("mode").and_then(Node::as_str) == Some("constant");
        let constant = fields.either("alwaysActive", &CONSTANT);
        entry.activation.constant = fields.flag(&[constant]).unwrap_or(is_constant);
        entry.activation.probability = fields.number(&["activationPercent"]);
        entry.activation.case_sensitive =
            fields.inside(EXTENSIONS).and_then(|mut inner| inner.flag(&[CASE_SENSITIVE]));
        let order = fields.either("insertorder", &ORDER);
        entry.placement.order = Some(fields.number(&[order]).unwrap_or(100.0));
        entry.budget.priority = entry.placement.order;
        entry.rest.folder = Some(fields.text(&["folder"])).filter(|id| !id.is_empty());
        entry.extensions = fields.others(&ENTRY);
        if let Some(inner) = fields.inside(EXTENSIONS) {
            let others = inner.others(&[CASE_SENSITIVE]);
            if !others.is_empty() {
                entry.extensions.insert(EXTENSIONS.to_owned(), Value::Object(others));
            }
        }
        if is_child(row.node) {
            // Rows with neither keys nor constancy never do anything.
            let is_used = entry.activation.constant || !entry.activation.keys.is_empty();
            let of = keys::original_id(row.node.get("id"));
            entry.activation.enabled = is_used;
            entry.copy_of = of.or_else(|| Some(OriginalId::Text(String::new())));
        }
        if is_folder(row.node) {
            // An organiser's row: kept in its place, never active.
            entry.activation.enabled = false;
            entry.activation.keys = vec![Key::Literal(fields.text(&["key"]))];
        }
        entry
    }

    fn write_entry(&self, entry: &Entry, _row: Option<&Node<'_>>) -> Map<String, Value> {
        let when = &entry.activation;
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("key", json!(keys::joined(&when.keys)));
        put("secondkey", json!(keys::joined(&when.secondary.keys)));
        put("insertorder", number(entry.placement.order.unwrap_or(100.0)));
        put("comment", json!(keys::only_name(entry)));
        put("content", json!(entry.content));
        put("alwaysActive", json!(when.constant));
        put("selective", json!(when.secondary.active));
        if let Some(probability) = when.probability {
            put("activationPercent", number(probability));
        }
        if let Some(folder) = &entry.rest.folder {
            put("folder", json!(folder));
        }
        map.extend(entry.extensions.clone());
        if let Some(case_sensitive) = when.case_sensitive {
            let inner = map.entry(EXTENSIONS).or_insert_with(|| json!({}));
            inner[CASE_SENSITIVE] = json!(case_sensitive);
        }
        map.entry("mode").or_insert_with(|| json!("normal"));
        if let Some(of) = &entry.copy_of {
            map.insert("mode".into(), json!(CHILD));
            if *of != OriginalId::Text(String::new()) {
                map.insert("id".into(), json!(of));
            }
        }
        let all_keys = when.keys.iter().chain(&when.secondary.keys);
        if all_keys.into_iter().any(|key| matches!(key, Key::Regex(_))) {
            map.insert("useRegex".into(), json!(true));
        }
        map
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        Some(("id", json!(keys::uuid("risu", next))))
    }

    fn skeleton(&self) -> Value {
        match self {
            Self::Lorebook => json!({ "type": "risu", "ver": 1, "data": [] }),
            Self::Module => json!({
                "type": "risuModule",
                "module": { "name": "", "description": "", "id": keys::uuid("module", 0), "lorebook": [] },
            }),
        }
    }
}

fn is_child(row: &Node<'_>) -> bool {
    row.get("mode").and_then(Node::as_str) == Some(CHILD)
}

fn is_folder(row: &Node<'_>) -> bool {
    row.get("mode").and_then(Node::as_str) == Some("folder")
        || row.get("key").and_then(Node::as_str).is_some_and(|key| key.starts_with(FOLDER_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExportOptions, Format, ImportOptions, dialect_of, export, import};
    use loreloom_core::library::Dialect;

    #[test]
    fn a_bare_list_of_a_character_is_read_as_risu_and_written_back_as_a_list() {
        let file = r#"[{"key":"v","secondkey":"engine","insertorder":3,"comment":"V","content":"A motor.",
            "mode":"normal","alwaysActive":false,"selective":true},
            {"key":"f1","secondkey":"","insertorder":1,"comment":"Cars","content":"","mode":"folder",
            "alwaysActive":false,"selective":false}]"#;
        let imported = import(file.as_bytes(), &ImportOptions::new("b")).unwrap();
        assert_eq!((imported.format, dialect_of(&imported.book)), (Format::Risu, Dialect::Risu));
        let entry = &imported.book.entries[0];
        assert!(entry.activation.secondary.active);
        assert_eq!(entry.activation.secondary.keys, [Key::Literal("engine".to_owned())]);
        assert!(!imported.book.entries[1].activation.enabled, "a folder is no lore");
        let back = export(&imported.book, Format::Risu, &ExportOptions::default()).unwrap();
        assert_eq!(String::from_utf8(back.bytes).unwrap(), file);
    }

    #[test]
    fn a_child_row_is_a_copy_and_crosses_other_formats() {
        let row = |id: &str, key: &str, mode: &str| {
            json!({
                "key": key, "secondkey": "", "insertorder": 100, "comment": "", "content": "",
                "mode": mode, "alwaysActive": false, "selective": false, "id": id,
            })
        };
        let rows = [row("p", "gong", "normal"), row("p", "k", "child"), row("p", "", "child")];
        let file = json!({ "type": "risu", "ver": 1, "data": rows }).to_string();
        let book = import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book;
        assert_eq!(dialect_of(&book), Dialect::Risu);
        let parent = Some(OriginalId::Text("p".to_owned()));
        let told = |book: &Book| -> Vec<(Option<OriginalId>, bool)> {
            let entries = book.entries.iter();
            entries.map(|entry| (entry.copy_of.clone(), entry.activation.enabled)).collect()
        };
        let expected = [(None, true), (parent.clone(), true), (parent, false)];
        assert_eq!(told(&book), expected);
        let options = ExportOptions::default();
        let there = export(&book, Format::Sillytavern, &options).unwrap().bytes;
        let there = import(&there, &ImportOptions::new("b")).unwrap().book;
        assert_eq!(told(&there), expected);
        // What a copy is of is known by the id it had here.
        assert_eq!(there.entries[0].former_id().as_deref(), Some("p"));
        let back = export(&there, Format::Risu, &options).unwrap();
        assert!(back.losses.iter().all(|loss| loss.entry.is_none()));
        let back: Value = serde_json::from_slice(&back.bytes).unwrap();
        let ids: Vec<&Value> =
            back["data"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, ["p", "p", "p"]);
        assert_eq!(back["data"][1]["mode"], "child");
    }
}
