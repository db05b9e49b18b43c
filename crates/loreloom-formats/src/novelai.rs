//! `NovelAI` lorebooks (versions 1 to 6), alone or inside a story or scenario.

use loreloom_core::{
    book::{Book, DepthFrom, Entry, Folder, Key, Position, RegexKey, Trim, TrimSide, TrimUnit},
    ids::EntryId,
    number::whole,
    units::Depth,
};
use serde_json::{Map, Value, json};

use crate::{
    json::{Json, Node, layout::number},
    keys,
    note::Notes,
    rows::Row,
    schema::{Reading, Schema},
    tolerant::{CONSTANT, CONTENT, Fields, KEYS, NAME},
};

/// `{"lorebookVersion": 6}`.
pub(crate) struct Lorebook;

const ENTRY: [&str; 11] = [
    "text",
    "displayName",
    "id",
    "keys",
    "searchRange",
    "enabled",
    "forceActivation",
    "nonStoryActivatable",
    "category",
    "lastUpdatedAt",
    "contextConfig",
];
const CONFIG: [&str; 9] = [
    "prefix",
    "suffix",
    "tokenBudget",
    "reservedTokens",
    "budgetPriority",
    "trimDirection",
    "insertionType",
    "maximumTrimType",
    "insertionPosition",
];
const SIDES: [(&str, TrimSide); 3] =
    [("trimBottom", TrimSide::Bottom), ("trimTop", TrimSide::Top), ("doNotTrim", TrimSide::None)];
const UNITS: [(&str, TrimUnit); 3] =
    [("sentence", TrimUnit::Sentence), ("newline", TrimUnit::Line), ("token", TrimUnit::Token)];

impl Schema for Lorebook {
    fn path(&self, root: &Node<'_>) -> Vec<&'static str> {
        if root.get("entries").is_some() {
            vec!["entries"]
        } else if root.get("content").is_some_and(|content| content.get("lorebook").is_some()) {
            vec!["content", "lorebook", "entries"]
        } else if root.get("lorebook").is_some() {
            vec!["lorebook", "entries"]
        } else {
            vec!["entries"]
        }
    }

    fn read_book(&self, node: &Node<'_>, book: &mut Book, notes: &mut Notes) {
        let categories = node.get("categories").map_or(&[][..], Node::items);
        for category in categories.iter().filter(|category| category.is_object()) {
            let mut fields = Fields::of(category, notes);
            book.folders.push(Folder {
                id: fields.text(&["id"]),
                name: fields.text(&["name"]),
                enabled: fields.flag(&["enabled"]).unwrap_or(true),
                extensions: fields.others(&["id", "name", "enabled"]),
            });
        }
        book.extensions = Fields::of(node, notes).others(&["entries", "categories"]);
    }

    fn write_book(&self, book: &Book) -> Map<String, Value> {
        let mut map = book.extensions.clone();
        let categories: Vec<Value> = book
            .folders
            .iter()
            .map(|folder| {
                let mut category = Map::new();
                category.insert("name".into(), json!(folder.name));
                category.insert("id".into(), json!(folder.id));
                category.insert("enabled".into(), json!(folder.enabled));
                category.extend(folder.extensions.clone());
                Value::Object(category)
            })
            .collect();
        map.insert("categories".into(), Value::Array(categories));
        map
    }

    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry {
        let mut fields = Fields::of(row.node, reading.notes);
        let mut entry = Entry::new(id);
        let (name, content) =
            (fields.either("displayName", &NAME), fields.either("text", &CONTENT));
        entry.name = fields.text(&[name]);
        entry.content = fields.text(&[content]);
        let keys = fields.either("keys", &KEYS);
        entry.activation.keys = fields.list(&[keys]).into_iter().map(key).collect();
        entry.activation.enabled = fields.enabled();
        let constant = fields.either("forceActivation", &CONSTANT);
        entry.activation.constant = fields.flag(&[constant]).unwrap_or(false);
        entry.activation.whole_words = Some(true);
        entry.activation.case_sensitive = Some(false);
        entry.activation.scan.characters = Some(fields.count(&["searchRange"]).unwrap_or(1000));
        entry.recursion.scan_lore = Some(fields.flag(&["nonStoryActivatable"]).unwrap_or(false));
        entry.rest.folder = Some(fields.text(&["category"])).filter(|id| !id.is_empty());
        entry.rest.last_updated =
            row.node.get("lastUpdatedAt").map(|node| Box::new(node.to_value()));
        entry.extensions = fields.others(&ENTRY);
        if fields.get("advancedConditions").is_some_and(|node| !node.items().is_empty()) {
            let text = "conditions are kept but not run";
            fields.notes().info("advancedConditions", text);
        }
        let none = Node { span: 0..0, value: Json::Object(Vec::new()) };
        let config = row.node.get("contextConfig").filter(|config| config.is_object());
        let config = config.unwrap_or(&none);
        read_config(&mut Fields::of(config, reading.notes), &mut entry);
        entry
    }

    fn write_entry(&self, entry: &Entry, _row: Option<&Node<'_>>) -> Map<String, Value> {
        let when = &entry.activation;
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("text", json!(entry.content));
        put("contextConfig", Value::Object(config(entry)));
        put(
            "lastUpdatedAt",
            entry.rest.last_updated.as_deref().cloned().unwrap_or_else(|| json!(0)),
        );
        put("displayName", json!(keys::only_name(entry)));
        put("keys", crate::sillytavern::raw_keys(&when.keys).into());
        put("searchRange", json!(when.scan.characters.unwrap_or(1000)));
        put("enabled", json!(when.enabled));
        put("forceActivation", json!(when.constant));
        put("nonStoryActivatable", json!(entry.recursion.scan_lore.unwrap_or(false)));
        put("category", json!(entry.rest.folder.as_deref().unwrap_or_default()));
        for (name, value) in &entry.extensions {
            if name != "contextConfig" {
                map.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in
            [("keyRelative", json!(false)), ("loreBiasGroups", json!([])), ("hidden", json!(false))]
        {
            map.entry(name).or_insert(value);
        }
        map
    }

    fn fresh_id(&self, next: u64) -> Option<(&'static str, Value)> {
        Some(("id", json!(keys::uuid("novelai", next))))
    }

    fn skeleton(&self) -> Value {
        json!({
            "lorebookVersion": 6,
            "entries": [],
            "settings": { "orderByKeyLocations": false },
            "categories": [],
            "order": [],
        })
    }
}

/// A key as the program matches it: parts joined by `&` must all be found.
fn key(raw: String) -> Key {
    let parts: Vec<&str> =
        raw.split(" & ").map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 || raw.trim_start().starts_with('/') {
        return Key::parse(&raw);
    }
    let mut pattern = String::from("^");
    for part in parts {
        pattern.push_str("(?=[\\s\\S]*");
        pattern.push_str(&as_word(part));
        pattern.push(')');
    }
    Key::Regex(Box::new(RegexKey { pattern, flags: "i".to_owned(), raw }))
}

/// A pattern for the text as a whole word; ends that are no letters need no border.
fn as_word(text: &str) -> String {
    const SPECIAL: &str = "\\^$.|?*+()[]{}/";
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let border = |c: Option<char>| if is_word(c) { "\\b" } else { "" };
    let mut pattern = border(text.chars().next()).to_owned();
    for character in text.chars() {
        if SPECIAL.contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern + border(text.chars().last())
}

/// What a missing part of the configuration means is what the program puts there.
fn read_config(config: &mut Fields<'_, '_, '_>, entry: &mut Entry) {
    entry.prefix = config.text(&["prefix"]);
    entry.suffix = match config.get("suffix") {
        Some(_) => config.text(&["suffix"]),
        None => "\n".to_owned(),
    };
    entry.budget.max_tokens = config.number(&["tokenBudget"]);
    entry.budget.reserved_tokens = config.number(&["reservedTokens"]);
    entry.budget.priority = Some(config.number(&["budgetPriority"]).unwrap_or(400.0));
    // What is processed first is also what ends up first among equals.
    entry.placement.order = entry.budget.priority;
    let side = known(config, "trimDirection", &SIDES);
    let unit = known(config, "maximumTrimType", &UNITS);
    entry.budget.trim = Some(Trim { side, unit });
    let at = config.number(&["insertionPosition"]).unwrap_or(-1.0);
    let insertion = config.text(&["insertionType"]);
    if at < 0.0 && matches!(insertion.as_str(), "newline" | "") {
        entry.placement.position = Position::AtDepth { from: DepthFrom::Newest };
        entry.placement.depth = Some(Depth(whole(-at - 1.0)));
    } else {
        entry.placement.position = Position::Slot(format!("{insertion}:{at}"));
    }
    let others = config.others(&CONFIG);
    if !others.is_empty() {
        entry.extensions.insert("contextConfig".to_owned(), Value::Object(others));
    }
}

/// The value of that name; what nobody knows is the first, which is the default.
fn known<T: Copy>(fields: &mut Fields<'_, '_, '_>, field: &str, values: &[(&str, T); 3]) -> T {
    let name = fields.text(&[field]);
    let found = values.iter().find(|(known, _)| *known == name);
    if found.is_none() && !name.is_empty() {
        fields.notes().warn(field, format!("`{name}` is not known: read as `{}`", values[0].0));
    }
    found.unwrap_or(&values[0]).1
}

fn config(entry: &Entry) -> Map<String, Value> {
    let budget = &entry.budget;
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    put("prefix", json!(entry.prefix));
    put("suffix", json!(entry.suffix));
    put("tokenBudget", number(budget.max_tokens.unwrap_or(1.0)));
    put("reservedTokens", number(budget.reserved_tokens.unwrap_or(0.0)));
    put("budgetPriority", number(budget.priority.or(entry.placement.order).unwrap_or(400.0)));
    let trim = budget.trim.unwrap_or(Trim { side: TrimSide::Bottom, unit: TrimUnit::Sentence });
    let side = SIDES.iter().find(|(_, side)| *side == trim.side).map_or("trimBottom", |row| row.0);
    let unit = UNITS.iter().find(|(_, unit)| *unit == trim.unit).map_or("sentence", |row| row.0);
    put("trimDirection", json!(side));
    let (insertion, at) = insertion(entry);
    put("insertionType", json!(insertion));
    put("maximumTrimType", json!(unit));
    put("insertionPosition", at);
    if let Some(Value::Object(others)) = entry.extensions.get("contextConfig") {
        map.extend(others.clone());
    }
    map
}

/// Unit and place of the insertion.
fn insertion(entry: &Entry) -> (String, Value) {
    let bottom = json!(-1);
    let line = "newline".to_owned();
    if entry.placement.position == (Position::AtDepth { from: DepthFrom::Newest }) {
        let depth = i64::from(entry.placement.depth.map_or(0, |depth| depth.0));
        return (line, json!(-depth - 1));
    }
    let Position::Slot(name) = &entry.placement.position else { return (line, bottom) };
    match name.split_once(':').map(|(unit, at)| (unit, at.parse())) {
        Some((unit, Ok(at))) => (unit.to_owned(), number(at)),
        _ => (line, bottom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportOptions, import};

    #[test]
    fn keys_joined_by_an_ampersand_must_all_be_found() {
        for (raw, expected) in [
            ("wall", None),
            ("R&D", None),
            ("wall & names", Some(r"^(?=[\s\S]*\bwall\b)(?=[\s\S]*\bnames\b)")),
            ("a.b & (c)", Some(r"^(?=[\s\S]*\ba\.b\b)(?=[\s\S]*\(c\))")),
        ] {
            let key = key(raw.to_owned());
            assert_eq!(key.raw(), raw);
            let pattern = match &key {
                Key::Regex(regex) => Some(regex.pattern.as_str()),
                Key::Literal(_) => None,
            };
            assert_eq!(pattern, expected, "{raw}");
        }
    }

    #[test]
    fn the_place_of_insertion_is_read_and_written() {
        for (unit, at, position, depth) in [
            ("newline", -1, Position::AtDepth { from: DepthFrom::Newest }, Some(Depth(0))),
            ("newline", -4, Position::AtDepth { from: DepthFrom::Newest }, Some(Depth(3))),
            ("newline", 0, Position::Slot("newline:0".into()), None),
            ("token", -100, Position::Slot("token:-100".into()), None),
        ] {
            let file = json!({"lorebookVersion": 6, "entries": [{
                "text": "x", "keys": ["a", "/b/i"],
                "contextConfig": {"insertionType": unit, "insertionPosition": at},
            }]});
            let book = import(file.to_string().as_bytes(), &ImportOptions::new("b")).unwrap().book;
            let entry = &book.entries[0];
            assert_eq!((&entry.placement.position, entry.placement.depth), (&position, depth));
            assert!(matches!(entry.activation.keys[1], Key::Regex(_)));
            assert_eq!(insertion(entry), (unit.to_owned(), json!(at)));
        }
    }
}
