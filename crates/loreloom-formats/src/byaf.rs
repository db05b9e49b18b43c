//! Lore of a Backyard character (`character.json` of a `.byaf` archive).

use loreloom_core::{
    book::{Book, Entry, OriginalId},
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
    tolerant::{CONTENT, Fields, KEYS, Patterns},
};

/// `loreItems` of a character.
pub(crate) struct LoreItems;

/// The character of a picture is in an object of this name.
pub(crate) const IN_PICTURE: &str = "character";

/// Whether this is what Backyard writes into the pictures of its characters.
pub(crate) fn is_picture(root: &Node<'_>) -> bool {
    root.get(IN_PICTURE).is_some_and(|character| {
        character.get("loreItems").is_some_and(Node::is_array)
            && character.get("aiPersona").is_some_and(|text| text.as_str().is_some())
    })
}

/// Texts of a character that say nothing about it.
const ABOUT_FILE: [&str; 11] = [
    "id",
    "name",
    "displayName",
    "aiName",
    "aiDisplayName",
    "createdAt",
    "updatedAt",
    "$schema",
    "model",
    "grammar",
    "promptTemplate",
];

/// Placeholders of the program and ours. The forms with `#` start a line of dialogue.
const PLACEHOLDERS: [(&str, &str); 4] = [
    ("#{user}:", "{{user}}:"),
    ("#{character}:", "{{char}}:"),
    ("{user}", "{{user}}"),
    ("{character}", "{{char}}"),
];

impl Schema for LoreItems {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        if is_picture(root) { vec![IN_PICTURE, "loreItems"] } else { vec!["loreItems"] }
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        let mut fields = Fields::of(node, notes);
        let name = fields.text(&["displayName", "aiDisplayName", "name", "aiName"]);
        if !name.is_empty() {
            book.name = name;
        }
        book.extensions = fields.others(&["loreItems"]);
        for (name, value) in &book.extensions {
            let says = value.as_str().is_some_and(|text| !text.trim().is_empty());
            if says && !ABOUT_FILE.contains(&name.as_str()) {
                notes.info(name, "belongs to the character, not to its book: kept, not used");
            }
        }
    }

    /// The name belongs to the character, so it is not changed; neither is anything else that the
    /// file says about it. A new file still needs it.
    fn write_book(&self, book: &Book) -> Map<String, Value> {
        book.extensions.clone()
    }

    fn original_id(&self, _row: &Row<'_, '_>, _notes: &mut Notes) -> Option<OriginalId> {
        None
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        let (keys, content) = (fields.either("key", &KEYS), fields.either("value", &CONTENT));
        entry.activation.keys = fields.joined_keys(&[keys], Patterns::Unknown);
        entry.content = to_macros(&fields.text(&[content]));
        #[expect(clippy::cast_precision_loss, reason = "a place in a file of limited size")]
        let order = row.at as f64;
        entry.placement.order = Some(order);
        entry.extensions = fields.others(&["key", "value"]);
        entry
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        let mut map = Map::new();
        let content = if row.is_some() { &entry.content } else { decorators::body(&entry.content) };
        map.insert("key".into(), json!(keys::joined(&entry.activation.keys)));
        map.insert("value".into(), json!(from_macros(content)));
        map.extend(entry.extensions.clone());
        map
    }

    fn distinct(&self) -> Option<&'static str> {
        Some("key")
    }

    fn skeleton(&self) -> Value {
        json!({ "schemaVersion": 1, "loreItems": [] })
    }
}

/// The program's placeholders as macros; what is already a macro stays.
pub(crate) fn to_macros(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("{{") {
            out.push_str("{{");
            rest = after;
            continue;
        }
        let found = PLACEHOLDERS.iter().find(|(theirs, _)| rest.starts_with(theirs));
        if let Some((theirs, ours)) = found {
            out.push_str(ours);
            rest = &rest[theirs.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Our macros as the program's placeholders.
pub(crate) fn from_macros(text: &str) -> String {
    text.replace("{{user}}", "{user}").replace("{{char}}", "{character}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_book_does_not_take_of_a_character_is_said() {
        let file = br#"{"displayName":"Orla","persona":"Kind.","isNSFW":false,
            "loreItems":[{"key":"a","value":"b"}]}"#;
        let imported = crate::import(file, &crate::ImportOptions::new("b")).unwrap();
        let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
        let expected = "`persona`: belongs to the character, not to its book: kept, not used";
        assert_eq!(notes, [expected]);
    }

    #[test]
    fn placeholders_become_macros() {
        for (theirs, ours) in [
            ("{user} meets {character}.", "{{user}} meets {{char}}."),
            ("#{character}: hm\n#{user}: ah", "{{char}}: hm\n{{user}}: ah"),
            ("{{user}} {x} {", "{{user}} {x} {"),
        ] {
            assert_eq!(to_macros(theirs), ours);
        }
        assert_eq!(from_macros("{{user}} and {{char}}"), "{user} and {character}");
    }
}
