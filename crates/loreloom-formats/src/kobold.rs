//! `KoboldAI`: saves of Lite and the older client, and the world info of United.

use loreloom_core::{
    book::{Book, Entry, Folder, OriginalId},
    ids::EntryId,
    number::whole,
};
use serde_json::{Map, Value, json};

use crate::{
    json::{Node, layout::number},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    sillytavern::raw_keys,
    tolerant::{CONSTANT, CONTENT, DISABLED, Fields, KEYS, NAME, Patterns},
};

/// Which program wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kobold {
    /// A save with `worldinfo`, or a bare list of its rows.
    Lite,
    /// `folders` and `entries` by uid, alone or as `worldinfo_v2` of a save.
    United,
}

/// Characters of the newest text that keys are looked for in; 0 is all of it.
const SEARCH_DEPTH: &str = "wisearchdepth";

const LITE: [&str; 9] = [
    "key",
    "keysecondary",
    "keyanti",
    "content",
    "comment",
    "selective",
    "constant",
    "probability",
    "widisabled",
];
const UNITED: [&str; 10] = [
    "uid",
    "title",
    "key",
    "keysecondary",
    "keyanti",
    "folder",
    "constant",
    "content",
    "comment",
    "selective",
];

impl Schema for Kobold {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        match self {
            Self::Lite if root.is_array() => Vec::new(),
            Self::Lite => vec!["worldinfo"],
            Self::United if root.get("worldinfo_v2").is_some() => vec!["worldinfo_v2", "entries"],
            Self::United => vec!["entries"],
        }
    }

    /// A save is a whole story; of it only the settings of the world info belong to the
    /// book.
    fn read_book(&self, node: &Node<'_>, book: &mut Book, _notes: &mut Notes) {
        let settings = [SEARCH_DEPTH, "wiinsertlocation", "wifolders_d", "wifolders_l"];
        for member in node.members() {
            let key = member.key.as_ref();
            if *self == Self::United && key != "entries" || settings.contains(&key) {
                book.extensions.insert(key.to_owned(), member.value.to_value());
            }
        }
        if *self == Self::United {
            for member in node.get("folders").map_or(&[][..], Node::members) {
                book.folders.push(Folder {
                    id: member.key.as_ref().to_owned(),
                    name: member.key.as_ref().to_owned(),
                    enabled: true,
                    extensions: Map::new(),
                });
            }
        }
        book.scan_characters = search_depth(book.extensions.get(SEARCH_DEPTH));
    }

    /// What the depth says and what the file had for it are the same, unless it was edited.
    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = book.extensions.clone();
        if search_depth(map.get(SEARCH_DEPTH)) != book.scan_characters {
            map.insert(SEARCH_DEPTH.to_owned(), json!(book.scan_characters.unwrap_or(0)));
        }
        map
    }

    fn original_id(&self, row: &Row<'_, '_>, _notes: &mut Notes) -> Option<OriginalId> {
        keys::original_id(row.node.get("uid"))
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        let selective = fields.flag(&["selective"]).unwrap_or(false);
        entry.activation.secondary.active = selective;
        let (keys, constant) = (fields.either("key", &KEYS), fields.either("constant", &CONSTANT));
        entry.activation.constant = fields.flag(&[constant]).unwrap_or(false);
        entry.activation.keys = fields.joined_keys(&[keys], Patterns::Unknown);
        entry.activation.secondary.keys = fields.joined_keys(&["keysecondary"], Patterns::Unknown);
        let anti = fields.joined_keys(&["keyanti"], Patterns::Unknown);
        if selective && !anti.is_empty() {
            entry.activation.exclude_any = vec![anti];
        }
        match self {
            Self::Lite => {
                let name = fields.either("comment", &NAME);
                let content = fields.either("content", &CONTENT);
                entry.name = fields.text(&[name]);
                entry.content = fields.text(&[content]);
                let disabled = fields.either("widisabled", &DISABLED);
                let is_off = fields.flag(&[disabled]);
                entry.activation.enabled = is_off.map_or_else(|| fields.enabled(), |off| !off);
                entry.activation.probability = fields.number(&["probability"]);
                entry.extensions = fields.others(&LITE);
                let label = fields.text(&["wigroup"]);
                entry.rest.folder = Some(label).filter(|label| !label.is_empty());
            }
            Self::United => {
                entry.name = fields.text(&["title"]);
                entry.comment = fields.text(&["comment"]);
                entry.content = united_content(&mut fields);
                entry.extensions = fields.others(&UNITED);
                entry.rest.folder = Some(fields.text(&["folder"])).filter(|id| !id.is_empty());
            }
        }
        if !selective && !keys_empty(row.node, "keyanti") {
            entry.extensions.insert("keyanti".into(), json!(fields.text(&["keyanti"])));
        }
        entry
    }

    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
        match self {
            Self::Lite => lite(entry, row),
            Self::United => united(entry),
        }
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        (*self == Self::United).then(|| ("uid", json!(next)))
    }

    fn skeleton(&self) -> Value {
        match self {
            Self::Lite => json!({
                "gamestarted": false,
                "prompt": "",
                "memory": "",
                "authorsnote": "",
                "actions": [],
                "worldinfo": [],
            }),
            Self::United => json!({ "folders": {}, "entries": {} }),
        }
    }
}

/// A search depth, unless it is all of the text. Numbers may be spelled as texts.
fn search_depth(spelled: Option<&Value>) -> Option<u32> {
    let spelled = spelled?;
    let number = spelled.as_f64().or_else(|| spelled.as_str()?.trim().parse().ok())?;
    Some(whole(number)).filter(|depth| *depth > 0)
}

fn keys_empty(row: &Node<'_>, name: &str) -> bool {
    row.get(name).and_then(Node::as_str).is_none_or(str::is_empty)
}

/// The text that the program sends: made from `manual_text` or from W++ attributes.
fn united_content(fields: &mut Fields<'_, '_, '_>) -> String {
    let content = fields.text(&["content"]);
    if !content.is_empty() {
        return content;
    }
    let other = fields.either("manual_text", &CONTENT[1..]);
    fields.text(&[other])
}

fn lite(entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
    let when = &entry.activation;
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    put("key", json!(keys::joined(&when.keys)));
    put("keysecondary", json!(keys::joined(&when.secondary.keys)));
    let anti: Vec<_> = when.exclude_any.iter().flatten().cloned().collect();
    put("keyanti", json!(keys::joined(&anti)));
    put("content", json!(entry.content));
    put("comment", json!(keys::only_name(entry)));
    put("folder", Value::Null);
    put("selective", json!(when.secondary.active || !anti.is_empty()));
    put("constant", json!(when.constant));
    let was_there = row.is_some_and(|row| row.get("probability").is_some());
    if was_there || when.probability.is_some() {
        put("probability", number(when.probability.unwrap_or(100.0)));
    }
    put("widisabled", json!(!when.enabled));
    map.extend(entry.extensions.clone());
    let had_label = row.is_some_and(|row| row.get("wigroup").is_some());
    if had_label || entry.rest.folder.is_some() {
        map.insert("wigroup".into(), json!(entry.rest.folder.as_deref().unwrap_or_default()));
    }
    map
}

fn united(entry: &Entry) -> Map<String, Value> {
    let when = &entry.activation;
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    put("title", json!(entry.name));
    put("key", raw_keys(&when.keys).into());
    put("keysecondary", raw_keys(&when.secondary.keys).into());
    let anti: Vec<_> = when.exclude_any.iter().flatten().cloned().collect();
    if !anti.is_empty() {
        put("keyanti", raw_keys(&anti).into());
    }
    put("folder", json!(entry.rest.folder.as_deref().unwrap_or("root")));
    put("constant", json!(when.constant));
    put("content", json!(entry.content));
    put("comment", json!(entry.comment));
    put("selective", json!(when.secondary.active || !anti.is_empty()));
    map.extend(entry.extensions.clone());
    // Empty where the text is made from attributes.
    if map.get("manual_text") != Some(&json!("")) {
        map.insert("manual_text".into(), json!(entry.content));
    }
    for (name, value) in
        [("use_wpp", json!(false)), ("wpp", json!({})), ("type", json!("constant"))]
    {
        map.entry(name).or_insert(value);
    }
    map
}

#[cfg(test)]
mod tests {
    use crate::{ExportOptions, Format, ImportOptions, export, import};

    #[test]
    fn the_search_depth_is_the_books_and_goes_back_as_it_was_spelled() {
        for (spelled, characters) in [
            ("500", Some(500)),
            ("\"500\"", Some(500)),
            ("500.0", Some(500)),
            ("0", None),
            ("null", None),
            ("\"deep\"", None),
            ("-3", None),
        ] {
            let file = format!(
                r#"{{"worldinfo":[{{"key":"a","content":"A"}}],"wisearchdepth":{spelled},"x":1}}"#
            );
            let mut book = import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book;
            assert_eq!(book.scan_characters, characters, "{spelled}");
            let options = ExportOptions::default();
            let same = export(&book, Format::KoboldLite, &options).unwrap().bytes;
            assert_eq!(String::from_utf8(same).unwrap(), file);
            book.scan_characters = Some(40);
            let edited = export(&book, Format::KoboldLite, &options).unwrap().bytes;
            let expected = file.replace(&format!("depth\":{spelled}"), "depth\":40");
            assert_eq!(String::from_utf8(edited).unwrap(), expected);
        }
    }
}
