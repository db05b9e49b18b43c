//! What a file cannot say about a book, and how it is carried all the same.
//!
//! After an entry was put into the words of a format, those words are read again; what
//! comes back different is what the format has no word for. Formats with an `extensions`
//! object carry the difference there under `loreloom`, and reading applies it, so that a
//! book crosses a format and comes back whole. For the others it is the loss report. No
//! list of who supports what has to be kept.

use loreloom_core::book::{Book, Entry, Extensions};
use serde_json::{Map, Value, json};

/// The key under `extensions`.
const OURS: &str = "loreloom";
const EXTENSIONS: &str = "extensions";
/// The version of what stands there.
const VERSION: u64 = 1;
/// Parts of an entry that are not its meaning.
const NOT_MEANING: [&str; 4] = ["id", "original_id", "raw", "extensions"];
/// Parts of a book that are not its own meaning.
const NOT_BOOK: [&str; 4] = ["id", "entries", "origin", "extensions"];

/// What an entry means, as a tree.
pub(crate) fn meaning(entry: &Entry) -> Map<String, Value> {
    without(serde_json::to_value(entry).unwrap_or_default(), &NOT_MEANING)
}

/// What a book says as a whole.
pub(crate) fn book_meaning(book: &Book) -> Map<String, Value> {
    let shell = Book { entries: Vec::new(), origin: None, ..book.clone() };
    without(serde_json::to_value(shell).unwrap_or_default(), &NOT_BOOK)
}

fn without(value: Value, keys: &[&str]) -> Map<String, Value> {
    let Value::Object(mut map) = value else { return Map::new() };
    map.retain(|key, _| !keys.contains(&key.as_str()));
    map
}

/// The parts of `wanted` that differ in `found`, objects compared member by member.
pub(crate) fn difference(
    wanted: &Map<String, Value>,
    found: &Map<String, Value>,
) -> Map<String, Value> {
    let mut rest = Map::new();
    for (key, value) in wanted {
        match (value, found.get(key)) {
            (value, Some(same)) if value == same => {}
            (Value::Object(wanted), Some(Value::Object(found)))
                if !wanted.is_empty() && wanted.keys().eq(found.keys()) =>
            {
                rest.insert(key.clone(), Value::Object(difference(wanted, found)));
            }
            _ => {
                rest.insert(key.clone(), value.clone());
            }
        }
    }
    rest
}

/// Puts the rest of an entry or book into the `extensions` of what was written.
pub(crate) fn carry(row: &mut Map<String, Value>, rest: Map<String, Value>, from: Option<Value>) {
    if rest.is_empty() && from.is_none() {
        return;
    }
    let ours = ours_in(row);
    if !rest.is_empty() {
        ours["model"] = Value::Object(rest);
    }
    if let Some(from) = from {
        ours["from"] = from;
    }
}

/// Notes where an entry came from and what that format said about it.
pub(crate) fn set_from(row: &mut Map<String, Value>, from: Option<Value>) {
    if let Some(from) = from {
        ours_in(row)["from"] = from;
    }
}

/// Our object in a row, made where there is none.
fn ours_in(row: &mut Map<String, Value>) -> &mut Value {
    let extensions = row.entry(EXTENSIONS).or_insert_with(|| json!({}));
    if !extensions.is_object() {
        *extensions = json!({});
    }
    let ours = &mut extensions[OURS];
    if !ours.is_object() {
        *ours = json!({ "version": VERSION });
    }
    ours
}

/// Takes our object out of a row.
pub(crate) fn remove_ours(row: &mut Map<String, Value>) {
    if let Some(Value::Object(extensions)) = row.get_mut(EXTENSIONS) {
        extensions.shift_remove(OURS);
    }
}

/// Where an entry or book first came from: format, id and keys.
pub(crate) fn from(extensions: &Extensions) -> Option<&Value> {
    ours(extensions)?.get("from")
}

/// Where an entry comes from, for a copy of it in a format of another kind: its id and the
/// keys that only its own format has. What already crossed keeps its first home.
pub(crate) fn home_of(entry: &Entry, format: &str) -> Option<Value> {
    if let Some(from) = from(&entry.extensions) {
        return Some(from.clone());
    }
    let keys = (!entry.extensions.is_empty()).then(|| json!(entry.extensions));
    let id = entry.original_id.as_ref().map(|id| json!(id));
    if keys.is_none() && id.is_none() {
        return None;
    }
    let mut home = json!({ "format": format });
    home["id"] = id.unwrap_or_default();
    if let Some(keys) = keys {
        home["keys"] = keys;
    }
    Some(home)
}

/// The id that an entry had in a format it came from.
pub(crate) fn id_in(from: &Value, format: &str) -> Option<Value> {
    let id = from.get("id").filter(|id| !id.is_null())?;
    (from.get("format")?.as_str()? == format).then(|| id.clone())
}

fn ours(extensions: &Extensions) -> Option<&Value> {
    let ours = extensions.get(EXTENSIONS)?.get(OURS)?;
    (ours.get("version")?.as_u64()? == VERSION).then_some(ours)
}

/// The keys of another format that a file carries for its way back.
pub(crate) fn carried_keys<'ext>(
    extensions: &'ext Extensions,
    format: &str,
) -> Option<&'ext Map<String, Value>> {
    let from = from(extensions)?;
    (from.get("format")?.as_str()? == format).then(|| from.get("keys")?.as_object()).flatten()
}

/// Applies what a file carries for an entry.
pub(crate) fn restore_entry(entry: &mut Entry) {
    let carried = ours(&entry.extensions).and_then(|ours| ours.get("model"));
    if let Some(Value::Object(rest)) = carried.cloned() {
        apply(entry, &rest);
    }
}

/// Applies to an entry what could not be said about it.
pub(crate) fn apply(entry: &mut Entry, rest: &Map<String, Value>) {
    let Ok(mut value) = serde_json::to_value(&*entry) else { return };
    merge(&mut value, &without(Value::Object(rest.clone()), &NOT_MEANING));
    if let Ok(restored) = serde_json::from_value(value) {
        *entry = restored;
    }
}

/// Applies what a file carries for a book.
pub(crate) fn restore_book(book: &mut Book) {
    let Some(Value::Object(rest)) = ours(&book.extensions).and_then(|ours| ours.get("model"))
    else {
        return;
    };
    let Ok(mut value) = serde_json::to_value(&*book) else { return };
    merge(&mut value, &without(Value::Object(rest.clone()), &NOT_BOOK));
    if let Ok(restored) = serde_json::from_value(value) {
        *book = restored;
    }
}

fn merge(target: &mut Value, rest: &Map<String, Value>) {
    for (key, value) in rest {
        match (target.get_mut(key), value) {
            (Some(inner @ Value::Object(_)), Value::Object(rest)) if same_shape(inner, rest) => {
                merge(inner, rest);
            }
            _ => target[key.as_str()] = value.clone(),
        }
    }
}

/// Whether an object only lacks members of the other, rather than being another variant.
fn same_shape(target: &Value, rest: &Map<String, Value>) -> bool {
    rest.keys().all(|key| target.get(key).is_some())
}
