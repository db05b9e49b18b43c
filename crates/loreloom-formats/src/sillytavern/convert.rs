//! `SillyTavern`'s own conversions between book formats, exactly as the program does them.
//!
//! Reading a card's book into the model keeps more than these do. They exist for users
//! who want the file that the program itself would have made: what it drops or changes
//! here is dropped and changed as there.

use serde_json::{Map, Value, json};

use crate::json::js;

/// The fields of a new entry, in the program's order.
fn template() -> Map<String, Value> {
    let value = json!({
        "key": [],
        "keysecondary": [],
        "comment": "",
        "content": "",
        "constant": false,
        "vectorized": false,
        "selective": true,
        "selectiveLogic": 0,
        "addMemo": false,
        "order": 100,
        "position": 0,
        "disable": false,
        "ignoreBudget": false,
        "excludeRecursion": false,
        "preventRecursion": false,
        "matchPersonaDescription": false,
        "matchCharacterDescription": false,
        "matchCharacterPersonality": false,
        "matchCharacterDepthPrompt": false,
        "matchScenario": false,
        "matchCreatorNotes": false,
        "delayUntilRecursion": false,
        "probability": 100,
        "useProbability": true,
        "depth": 4,
        "outletName": "",
        "group": "",
        "groupOverride": false,
        "groupWeight": 100,
        "scanDepth": null,
        "caseSensitive": null,
        "matchWholeWords": null,
        "useGroupScoring": null,
        "automationId": "",
        "role": 0,
        "sticky": null,
        "cooldown": null,
        "delay": null,
        "triggers": [],
    });
    if let Value::Object(map) = value { map } else { Map::new() }
}

/// Names in a card's `extensions` and in World Info.
const NAMES: [(&str, &str); 29] = [
    ("exclude_recursion", "excludeRecursion"),
    ("prevent_recursion", "preventRecursion"),
    ("delay_until_recursion", "delayUntilRecursion"),
    ("probability", "probability"),
    ("useProbability", "useProbability"),
    ("depth", "depth"),
    ("selectiveLogic", "selectiveLogic"),
    ("outlet_name", "outletName"),
    ("group", "group"),
    ("group_override", "groupOverride"),
    ("group_weight", "groupWeight"),
    ("scan_depth", "scanDepth"),
    ("case_sensitive", "caseSensitive"),
    ("match_whole_words", "matchWholeWords"),
    ("use_group_scoring", "useGroupScoring"),
    ("automation_id", "automationId"),
    ("role", "role"),
    ("vectorized", "vectorized"),
    ("sticky", "sticky"),
    ("cooldown", "cooldown"),
    ("delay", "delay"),
    ("match_persona_description", "matchPersonaDescription"),
    ("match_character_description", "matchCharacterDescription"),
    ("match_character_personality", "matchCharacterPersonality"),
    ("match_character_depth_prompt", "matchCharacterDepthPrompt"),
    ("match_scenario", "matchScenario"),
    ("match_creator_notes", "matchCreatorNotes"),
    ("triggers", "triggers"),
    ("ignore_budget", "ignoreBudget"),
];

/// The value, unless missing or null.
fn given<'value>(value: &'value Value, key: &str) -> Option<&'value Value> {
    value.get(key).filter(|value| !value.is_null())
}

fn or(value: Option<&Value>, default: Value) -> Value {
    value.cloned().unwrap_or(default)
}

/// Whether JavaScript takes a value for true.
fn truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(_) | Value::Object(_)) => true,
    }
}

/// The value, unless JavaScript takes it for false.
fn true_value<'value>(value: &'value Value, key: &str) -> Option<&'value Value> {
    value.get(key).filter(|value| truthy(Some(value)))
}

/// Copies fields that the program has no default for: what is missing stays missing, and
/// `null` stays `null`.
fn copy(row: &Value, entry: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        match row.get(from) {
            Some(value) => entry.insert((*to).to_owned(), value.clone()),
            None => entry.shift_remove(*to),
        };
    }
}

fn rows<'value>(value: &'value Value, key: &str) -> &'value [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Entries by their ids as a JavaScript object has them: whole numbers first, ascending.
fn by_id(entries: Vec<(String, Value)>) -> Value {
    let mut map = Map::new();
    for (id, entry) in entries {
        map.insert(id, entry);
    }
    let (mut numbered, others): (Vec<_>, Vec<_>) =
        map.into_iter().partition(|(id, _)| id.parse::<u32>().is_ok());
    numbered.sort_by_key(|(id, _)| id.parse::<u32>().unwrap_or(u32::MAX));
    Value::Object(numbered.into_iter().chain(others).collect())
}

/// A card's book as World Info, the way the program imports an embedded book.
pub fn from_character_book(book: &Value) -> Value {
    let mut original = book.clone();
    let mut entries = Vec::new();
    for (at, row) in rows(book, "entries").iter().enumerate() {
        let id = row.get("id").cloned().unwrap_or_else(|| json!(at));
        if let Some(row) = original.pointer_mut(&format!("/entries/{at}")) {
            row["id"] = id.clone();
        }
        let key = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        entries.push((key, from_book_entry(row, &id, at)));
    }
    json!({ "entries": by_id(entries), "originalData": original })
}

fn from_book_entry(row: &Value, id: &Value, at: usize) -> Value {
    let empty = json!({});
    let extensions = given(row, "extensions").unwrap_or(&empty);
    let mut entry = template();
    let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    put("keysecondary", or(true_value(row, "secondary_keys"), json!([])));
    put("comment", or(true_value(row, "comment"), json!("")));
    put("constant", or(true_value(row, "constant"), json!(false)));
    put("selective", or(true_value(row, "selective"), json!(false)));
    let stated = u8::from(row.get("position") != Some(&json!("before_char")));
    put("position", or(given(extensions, "position"), json!(stated)));
    put("disable", json!(!truthy(row.get("enabled"))));
    put("addMemo", json!(truthy(row.get("comment"))));
    for (card_name, name) in NAMES {
        if let Some(value) = given(extensions, card_name) {
            put(name, value.clone());
        }
    }
    put("uid", id.clone());
    put("displayIndex", or(given(extensions, "display_index"), json!(at)));
    put("extensions", extensions.clone());
    let names = [("keys", "key"), ("content", "content"), ("insertion_order", "order")];
    copy(row, &mut entry, &names);
    Value::Object(entry)
}

/// World Info as a card's book, the way the program writes a linked book into a card.
///
/// Character filters are lost and `use_group_scoring` forgets that it was unset.
pub fn to_character_book(name: &str, world: &Value) -> Value {
    let entries = world.get("entries").and_then(Value::as_object);
    let mut rows: Vec<(&String, &Value)> = entries.into_iter().flatten().collect();
    rows.sort_by_key(|(id, _)| id.parse::<u32>().map_or((1, 0), |number| (0, number)));
    let rows: Vec<Value> = rows.into_iter().map(|(_, entry)| to_book_entry(entry)).collect();
    json!({ "entries": rows, "name": name })
}

fn to_book_entry(entry: &Value) -> Value {
    let get = |name: &str| entry.get(name).cloned();
    let mut row = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            row.insert(name.to_owned(), value);
        }
    };
    put("id", get("uid"));
    put("keys", get("key"));
    put("secondary_keys", get("keysecondary"));
    put("comment", get("comment"));
    put("content", get("content"));
    put("constant", get("constant"));
    put("selective", get("selective"));
    put("insertion_order", get("order"));
    put("enabled", Some(json!(!truthy(entry.get("disable")))));
    let is_before = entry.get("position") == Some(&json!(0));
    put("position", Some(json!(if is_before { "before_char" } else { "after_char" })));
    put("use_regex", Some(json!(true)));
    put("extensions", Some(book_extensions(entry)));
    Value::Object(row)
}

fn book_extensions(entry: &Value) -> Value {
    let mut extensions =
        given(entry, "extensions").and_then(Value::as_object).cloned().unwrap_or_default();
    for (card_name, name) in [
        ("position", "position"),
        ("exclude_recursion", "excludeRecursion"),
        ("display_index", "displayIndex"),
    ] {
        if let Some(value) = entry.get(name) {
            extensions.insert(card_name.to_owned(), value.clone());
        }
    }
    let defaults = template();
    for (card_name, name) in NAMES {
        let default = match card_name {
            "exclude_recursion" => continue,
            "probability" | "group_weight" => Value::Null,
            "useProbability" | "use_group_scoring" => json!(false),
            _ => defaults.get(name).cloned().unwrap_or_default(),
        };
        extensions.insert(card_name.to_owned(), or(given(entry, name), default));
    }
    Value::Object(extensions)
}

/// A file of another program as World Info, the way the program imports it; `None` for
/// files it does not convert.
pub fn from_other_program(file: &Value) -> Option<Value> {
    let convert: fn(&Value, &mut Map<String, Value>);
    let rows = if file.get("lorebookVersion").is_some() {
        convert = from_novelai;
        rows(file, "entries")
    } else if file.get("kind") == Some(&json!("memory")) {
        convert = from_agnai;
        rows(file, "entries")
    } else if file.get("type") == Some(&json!("risu")) {
        convert = from_risu;
        rows(file, "data")
    } else {
        return None;
    };
    let entries = rows.iter().enumerate().map(|(at, row)| {
        let mut entry = template();
        convert(row, &mut entry);
        entry.insert("uid".into(), json!(at));
        entry.insert("displayIndex".into(), json!(at));
        (at.to_string(), Value::Object(entry))
    });
    Some(json!({ "entries": by_id(entries.collect()) }))
}

fn from_novelai(row: &Value, entry: &mut Map<String, Value>) {
    let name = row.get("displayName").and_then(Value::as_str).unwrap_or_default();
    let priority = row.pointer("/contextConfig/budgetPriority").filter(|value| !value.is_null());
    copy(row, entry, &[("keys", "key"), ("text", "content")]);
    entry.insert("comment".into(), json!(name));
    entry.insert("selective".into(), json!(false));
    entry.insert("addMemo".into(), json!(!name.trim().is_empty()));
    entry.insert("order".into(), or(priority, json!(0)));
    entry.insert("disable".into(), json!(!truthy(row.get("enabled"))));
}

fn from_agnai(row: &Value, entry: &mut Map<String, Value>) {
    let names =
        [("keywords", "key"), ("name", "comment"), ("entry", "content"), ("weight", "order")];
    copy(row, entry, &names);
    entry.insert("selective".into(), json!(false));
    entry.insert("addMemo".into(), json!(truthy(row.get("name"))));
    entry.insert("disable".into(), json!(!truthy(row.get("enabled"))));
}

fn from_risu(row: &Value, entry: &mut Map<String, Value>) {
    let keys = |name: &str| {
        let text = row.get(name).and_then(Value::as_str)?;
        Some(text.split(',').map(|part| json!(js::trim(part))).collect::<Vec<_>>())
    };
    let percent = given(row, "activationPercent");
    // Without keys there is one empty key, but without second keys there are none.
    let second = keys("secondkey").filter(|_| truthy(row.get("secondkey")));
    entry.insert("key".into(), json!(keys("key").unwrap_or_default()));
    entry.insert("keysecondary".into(), json!(second.unwrap_or_default()));
    let names = [
        ("comment", "comment"),
        ("content", "content"),
        ("alwaysActive", "constant"),
        ("selective", "selective"),
        ("insertorder", "order"),
    ];
    copy(row, entry, &names);
    entry.insert("addMemo".into(), json!(true));
    entry.insert("probability".into(), or(percent, json!(100)));
    entry.insert("useProbability".into(), or(percent, json!(true)));
}

/// Keys typed into the program's editor, split at their commas. The first slash of a term that
/// is not escaped opens a pattern and the next one closes it for good; commas between the two
/// do not split. What begins with a slash and is no pattern is split after all, unless it comes
/// last. The first letter behind a comma is not looked at, so that `a,,b` has the key `,b` and
/// a pattern must follow its comma after a blank. `is_pattern` says whether a text is a valid
/// regular expression.
pub fn split_typed_keys(typed: &str, is_pattern: impl Fn(&str) -> bool) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut rest, mut unseen) = (typed, 0);
    while let Some((term, after)) = split_term(rest, unseen) {
        let key = js::trim(term);
        if key.starts_with('/') && !is_pattern(key) {
            keys.extend(key.split(',').map(|part| js::trim(part).to_owned()));
        } else if !key.is_empty() {
            keys.push(key.to_owned());
        }
        (rest, unseen) = (after, 1);
    }
    let last = js::trim(rest);
    keys.extend((!last.is_empty()).then(|| last.to_owned()));
    keys
}

/// Splits at the first comma that is in no open pattern, without looking at the first
/// characters.
fn split_term(text: &str, unseen: usize) -> Option<(&str, &str)> {
    let (mut opened, mut closed) = (false, false);
    for (at, character) in text.char_indices().skip(unseen) {
        match character {
            '/' if !text[..at].ends_with('\\') => {
                closed |= opened;
                opened = true;
            }
            ',' if closed || !opened => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::Key;

    use super::*;

    #[test]
    fn typed_keys_are_split_as_the_editor_splits_them() {
        let is_pattern = |key: &str| matches!(Key::parse(key), Key::Regex(regex) if !regex.pattern.contains('('));
        for (typed, keys) in [
            ("a, b", vec!["a", "b"]),
            ("a/b, c/d", vec!["a/b, c/d"]),
            ("a, /b,c/, d", vec!["a", "/b,c/", "d"]),
            // Right behind a comma a slash opens nothing.
            ("a,/b,c/", vec!["a", "/b", "c/"]),
            ("a,,b", vec!["a", ",b"]),
            (",a", vec!["a"]),
            ("/a/ /b, c", vec!["/a/ /b", "c"]),
            ("/a,b/x, c", vec!["/a", "b/x", "c"]),
            ("/bad(,x/, c", vec!["/bad(", "x/", "c"]),
            ("/bad(,x/", vec!["/bad(,x/"]),
            ("a\\/b, c", vec!["a\\/b", "c"]),
            (" , ", vec![]),
        ] {
            assert_eq!(split_typed_keys(typed, is_pattern), keys, "{typed}");
        }
    }

    #[test]
    fn what_has_no_default_stays_missing_and_no_key_is_one_empty_key() {
        let book = json!({ "entries": [
            { "comment": 0, "constant": null },
            { "keys": null, "content": "x", "insertion_order": 7 },
        ] });
        let world = from_character_book(&book);
        let field = |at: &str, name: &str| world.pointer(&format!("/entries/{at}/{name}")).cloned();
        for name in ["key", "content", "order"] {
            assert_eq!(field("0", name), None, "{name}");
        }
        assert_eq!(
            (field("0", "comment"), field("0", "constant")),
            (Some(json!("")), Some(json!(false)))
        );
        let given = ["key", "content", "order"].map(|name| field("1", name));
        assert_eq!(given, [Some(json!(null)), Some(json!("x")), Some(json!(7))]);

        let agnai = from_other_program(&json!({ "kind": "memory", "entries": [{}] })).unwrap();
        for name in ["key", "comment", "content", "order"] {
            assert_eq!(agnai.pointer(&format!("/entries/0/{name}")), None, "{name}");
        }
        let risu = json!({ "type": "risu", "data": [{ "key": "", "secondkey": "" }] });
        let risu = from_other_program(&risu).unwrap();
        assert_eq!(risu.pointer("/entries/0/key"), Some(&json!([""])));
        assert_eq!(risu.pointer("/entries/0/keysecondary"), Some(&json!([])));
        assert_eq!(risu.pointer("/entries/0/order"), None);
    }
}
