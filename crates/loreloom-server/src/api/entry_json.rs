//! An entry in the JSON of the API.
//!
//! Keys are plain texts, as in every format. Slashes mark a regular expression, by one rule
//! ([`Key::parse`]). Some formats also have expressions without slashes: a key that the entry
//! already has stays what it is. Fields that only the entry's file knows stay with the entry and
//! are not shown.

use loreloom_core::book::{Entry, Key};
use serde_json::{Map, Value};

use super::{extract::read_value, problem::Problem};

/// Where keys are: lists of them.
const KEYS: [&str; 2] = ["/activation/keys", "/activation/secondary/keys"];
/// Lists of lists of them.
const KEY_LISTS: [&str; 3] =
    ["/activation/require", "/activation/exclude_any", "/activation/exclude_all"];
/// What only we need.
const OWN: &str = "raw";

pub(super) fn shown(entry: &Entry) -> Value {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    each_key_list(&mut value, |keys| {
        for key in keys {
            if let Ok(read) = serde_json::from_value::<Key>(key.take()) {
                *key = Value::from(read.raw());
            }
        }
    });
    if let Some(entry) = value.as_object_mut() {
        entry.remove(OWN);
    }
    value
}

/// Reads an entry that was shown, back into what `before` was; refuses unknown fields by
/// name.
pub(super) fn read(mut value: Value, before: &Entry) -> Result<Entry, Problem> {
    if value.get(OWN).is_some() {
        return Err(Problem::unknown_field(OWN));
    }
    let mut wrong = None;
    each_key_list(&mut value, |keys| {
        for key in keys {
            match key.as_str() {
                Some(text) => *key = serde_json::to_value(key_of(text, before)).unwrap_or_default(),
                None => wrong = Some(key.clone()),
            }
        }
    });
    if let Some(found) = wrong {
        return Err(Problem::value("activation.keys", "must be a list of texts", found));
    }
    let mut entry: Entry = read_value(&value)?;
    entry.raw.clone_from(&before.raw);
    Ok(entry)
}

/// The key of an entry that is written like this, else a new one.
pub(super) fn key_of(text: &str, before: &Entry) -> Key {
    let activation = &before.activation;
    let lists = [&activation.require, &activation.exclude_any, &activation.exclude_all];
    let all = lists.into_iter().flatten().flatten();
    let mut all = activation.keys.iter().chain(&activation.secondary.keys).chain(all);
    all.find(|key| key.raw() == text).cloned().unwrap_or_else(|| Key::parse(text))
}

/// Changes an entry: fields that are given replace those it has, `null` takes them away
/// (RFC 7396).
pub(super) fn patched(entry: &Entry, patch: &Map<String, Value>) -> Result<Entry, Problem> {
    let mut value = shown(entry);
    // A position is one value: the parts of another one do not stay.
    let is_moved = patch.get("placement").and_then(|one| one.get("position")).is_some();
    if let Some(position) = value.pointer_mut("/placement/position").filter(|_| is_moved) {
        *position = Value::Null;
    }
    merge(&mut value, &Value::Object(patch.clone()));
    let patched = read(value, entry)?;
    if patched.id != entry.id {
        return Err(Problem::value("id", "stays as it is", patched.id.0));
    }
    Ok(patched)
}

pub(super) fn merge(value: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(fields) = value.as_object_mut() else { return };
    for (name, change) in patch {
        if change.is_null() {
            // `null` empties a field that may be empty. Reading refuses it for others.
            fields.insert(name.clone(), Value::Null);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

/// What of a value is different in another, as [`merge`] takes it.
pub(super) fn difference(before: &Value, after: &Value) -> Map<String, Value> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return Map::new();
    };
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let mut found: Map<String, Value> = gone.map(|name| (name.clone(), Value::Null)).collect();
    for (name, value) in new {
        let was = old.get(name).unwrap_or(&Value::Null);
        if was == value {
            continue;
        }
        let change = if was.is_object() && value.is_object() {
            Value::Object(difference(was, value))
        } else {
            value.clone()
        };
        found.insert(name.clone(), change);
    }
    found
}

fn each_key_list(value: &mut Value, mut change: impl FnMut(&mut Vec<Value>)) {
    for pointer in KEYS {
        if let Some(Value::Array(keys)) = value.pointer_mut(pointer) {
            change(keys);
        }
    }
    for pointer in KEY_LISTS {
        if let Some(Value::Array(lists)) = value.pointer_mut(pointer) {
            for list in lists {
                if let Value::Array(keys) = list {
                    change(keys);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::{Position, RegexKey};
    use serde_json::json;

    use super::*;

    fn patch(value: Value) -> Result<Entry, String> {
        let mut entry = Entry::new("b/0");
        entry.activation.keys = vec![Key::parse("bell"), Key::parse("/gongs?/i")];
        entry.raw = Some("{}".into());
        let Value::Object(patch) = value else { return Err("no patch".to_owned()) };
        patched(&entry, &patch).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn a_patch_changes_what_it_names_and_keeps_the_rest() {
        let changed = patch(json!({"content": "x", "activation": {"keys": ["/a/", "b"]}})).unwrap();
        assert_eq!(changed.content, "x");
        assert_eq!(changed.activation.keys, [Key::parse("/a/"), Key::parse("b")]);
        assert_eq!(changed.raw.as_deref(), Some("{}"));
        let same = patch(json!({})).unwrap();
        assert_eq!(same.activation.keys, [Key::parse("bell"), Key::parse("/gongs?/i")]);
        let none = patch(json!({"activation": {"probability": null}})).unwrap();
        assert_eq!(none.activation.probability, None);
    }

    #[test]
    fn a_position_replaces_one_with_other_parts() {
        let deep = json!({"placement": {"position": {"at_depth": {"from": "newest"}}}});
        let deep = patched(&Entry::new("b/0"), deep.as_object().unwrap()).unwrap();
        let outlet = json!({"placement": {"position": {"outlet": "map"}}});
        let moved = patched(&deep, outlet.as_object().unwrap()).unwrap();
        assert_eq!(moved.placement.position, Position::Outlet("map".to_owned()));
        assert_eq!(moved.placement.order, Some(100.0));
    }

    #[test]
    fn a_difference_makes_one_value_of_another() {
        let before = json!({"a": 1, "b": {"c": [1], "d": 2}, "gone": 3});
        let after = json!({"a": 1, "b": {"c": [1, 2], "d": 2}, "new": 4});
        let change = Value::Object(difference(&before, &after));
        assert_eq!(change, json!({"b": {"c": [1, 2]}, "gone": null, "new": 4}));
    }

    #[test]
    fn a_regular_expression_without_slashes_stays_one() {
        let mut entry = Entry::new("b/0");
        let (raw, pattern) = ("dragon*".to_owned(), "dragon.*".to_owned());
        let wild = Key::Regex(Box::new(RegexKey { raw, pattern, flags: "i".to_owned() }));
        entry.activation.keys = vec![wild.clone()];
        let patch = json!({"content": "x", "activation": {"keys": ["dragon*", "wyrm*"]}});
        let changed = patched(&entry, patch.as_object().unwrap()).unwrap();
        assert_eq!(changed.activation.keys, [wild, Key::Literal("wyrm*".to_owned())]);
    }

    #[test]
    fn what_an_entry_does_not_have_is_refused_by_name() {
        for (value, detail) in [
            (json!({"colour": 1}), "there is no field `colour`"),
            (json!({"activation": {"kes": []}}), "there is no field `activation.kes`"),
            (json!({"raw": "x"}), "there is no field `raw`"),
            (json!({"id": "b/1"}), "`id` stays as it is, found `b/1`"),
            (
                json!({"activation": {"keys": [1]}}),
                "`activation.keys` must be a list of texts, found `1`",
            ),
        ] {
            assert_eq!(patch(value).unwrap_err(), detail);
        }
    }
}
