//! What differs between two versions of a book, in the words of the model.
//!
//! A comparison of files shows moved commas and reordered keys. Here entries are paired
//! by identity, keys are compared as sets and texts by line, so that only what changes
//! the lore is shown.

mod around;
mod lines;
mod merge;
mod pairing;
mod version;

use loreloom_core::{
    book::{Book, Extensions},
    ids::EntryId,
};
use serde::Serialize;
use serde_json::{Map, Value};

pub use self::{
    around::{Around, diff_around, merge_around},
    lines::{LineChange, changes as line_changes},
    merge::{Conflict, Merged, mark_conflicts, marked_conflicts, merge},
    version::as_versions_of,
};
use self::{lines::changes, pairing::pairs};
use crate::conversion;

/// What differs between two versions of a book.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BookDiff {
    /// Changes to the book as a whole.
    pub fields: Vec<FieldChange>,
    /// Entries only in the newer version.
    pub added: Vec<EntryId>,
    /// Entries only in the older version.
    pub removed: Vec<EntryId>,
    /// Entries in both that differ.
    pub changed: Vec<EntryDiff>,
    /// Entries in both whose order among each other changed.
    pub reordered: bool,
    /// What the files say besides their books, where somebody compared that too
    /// ([`diff_around`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file: Vec<FieldChange>,
}

impl BookDiff {
    /// Whether both versions say the same.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What differs between two versions of an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntryDiff {
    /// The entry in the older version.
    pub old: EntryId,
    /// The entry in the newer version.
    pub new: EntryId,
    /// What people call it now.
    pub title: String,
    /// The fields that differ.
    pub fields: Vec<FieldChange>,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// The field of the model, with dots.
    pub field: String,
    /// How it differs.
    #[serde(flatten)]
    pub change: Change,
}

/// How a field differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// One value became another.
    Value {
        /// What it was.
        old: Value,
        /// What it is.
        new: Value,
    },
    /// A set of keys or names gained or lost members.
    Set {
        /// New members.
        added: Vec<String>,
        /// Members that are gone.
        removed: Vec<String>,
    },
    /// Lines of a text changed.
    Lines(Vec<LineChange>),
}

/// Compares two versions of a book.
pub fn diff(old: &Book, new: &Book) -> BookDiff {
    let pairs = pairs(old, new);
    let mut found = BookDiff {
        fields: compare(&conversion::book_meaning(old), &conversion::book_meaning(new)),
        ..BookDiff::default()
    };
    // What one format says about books besides its entries, another does not know.
    let format = |book: &Book| book.origin.as_ref().map(|origin| origin.format.clone());
    if format(old) == format(new) {
        let foreign = (foreign(&old.extensions), foreign(&new.extensions));
        found.fields.extend(foreign_changes(&foreign.0, &foreign.1));
    }
    let paired_old: Vec<usize> = pairs.iter().map(|(old, _)| *old).collect();
    let paired_new: Vec<usize> = pairs.iter().map(|(_, new)| *new).collect();
    found.reordered = !paired_old.is_sorted();
    found.removed = unpaired(old, &paired_old);
    found.added = unpaired(new, &paired_new);
    for (old, new) in pairs.iter().map(|(o, n)| (&old.entries[*o], &new.entries[*n])) {
        let mut fields = compare(&conversion::meaning(old), &conversion::meaning(new));
        fields.extend(foreign_changes(&foreign(&old.extensions), &foreign(&new.extensions)));
        if !fields.is_empty() {
            found.changed.push(EntryDiff {
                old: old.id.clone(),
                new: new.id.clone(),
                title: new.title().to_owned(),
                fields,
            });
        }
    }
    found
}

fn foreign_changes(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<FieldChange> {
    let changes = compare(old, new).into_iter();
    let inside = |change: FieldChange| FieldChange {
        field: format!("extensions.{}", change.field),
        ..change
    };
    changes.map(inside).collect()
}

/// Fields of an entry or book that we do not interpret. Our own note about a conversion says where
/// it came from, so it does not count.
fn foreign(extensions: &Extensions) -> Map<String, Value> {
    let mut foreign = extensions.clone();
    conversion::remove_ours(&mut foreign);
    foreign.retain(|_, value| value.as_object().is_none_or(|object| !object.is_empty()));
    foreign
}

fn unpaired(book: &Book, paired: &[usize]) -> Vec<EntryId> {
    let mut is_paired = vec![false; book.entries.len()];
    for at in paired {
        is_paired[*at] = true;
    }
    let alone = book.entries.iter().zip(is_paired).filter(|(_, is_paired)| !is_paired);
    alone.map(|(entry, _)| entry.id.clone()).collect()
}

/// Fields whose order does not matter.
pub(crate) const SETS: [&str; 8] = [
    "activation.keys",
    "activation.secondary.keys",
    "activation.filters.characters",
    "activation.filters.tags",
    "activation.filters.triggers",
    "rest.tags",
    "rest.hide_prompts",
    "folders",
];
/// Fields that are compared by line.
pub(crate) const TEXTS: [&str; 3] = ["content", "description", "comment"];

fn compare(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<FieldChange> {
    let mut found = Vec::new();
    walk("", old, new, &mut found);
    found
}

fn walk(
    prefix: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    found: &mut Vec<FieldChange>,
) {
    let gone = old.iter().filter(|(key, _)| !new.contains_key(*key)).map(|(key, _)| key);
    for key in gone.chain(new.keys()) {
        let field = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let (was, is) = (old.get(key), new.get(key));
        if was == is {
            continue;
        }
        match (was, is) {
            (Some(Value::Object(was)), Some(Value::Object(is))) => walk(&field, was, is, found),
            (was, is) => {
                let null = Value::Null;
                let change = change(&field, was.unwrap_or(&null), is.unwrap_or(&null));
                found.extend(change.map(|change| FieldChange { field, change }));
            }
        }
    }
}

/// How a field differs; `None` where only the order of a set does.
fn change(field: &str, old: &Value, new: &Value) -> Option<Change> {
    match (old, new) {
        (Value::Array(was), Value::Array(is)) if SETS.contains(&field) => {
            let only_in = |these: &[Value], those: &[Value]| -> Vec<String> {
                these.iter().filter(|item| !those.contains(item)).map(shown).collect()
            };
            let (added, removed) = (only_in(is, was), only_in(was, is));
            (!added.is_empty() || !removed.is_empty()).then_some(Change::Set { added, removed })
        }
        (Value::String(was), Value::String(is)) if TEXTS.contains(&field) => {
            Some(Change::Lines(changes(was, is)))
        }
        _ => Some(Change::Value { old: old.clone(), new: new.clone() }),
    }
}

/// A member of a set as people write it.
pub(crate) fn shown(item: &Value) -> String {
    if let Some(text) = item.as_str().or_else(|| item.get("literal")?.as_str()) {
        return text.to_owned();
    }
    let part = |name: &str| item.get("regex")?.get(name)?.as_str();
    match (part("raw"), part("pattern"), part("flags")) {
        (Some(raw), ..) if raw.starts_with('/') => raw.to_owned(),
        // Without its slashes it would look like the plain key that it may have been.
        (_, Some(pattern), Some(flags)) => format!("/{pattern}/{flags}"),
        _ => item.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ExportOptions, Format, ImportOptions, export, import};

    #[test]
    fn a_copy_in_another_format_says_the_same() {
        let file = json!({"spec": "lorebook_v3", "data": {"name": "B", "extensions": {}, "entries":
            [{"keys": ["a"], "content": "x", "enabled": true, "insertion_order": 3, "id": 1,
              "extensions": {}}]}});
        let options = ImportOptions::new("b");
        let home = import(file.to_string().as_bytes(), &options).unwrap().book;
        let away = export(&home, Format::Sillytavern, &ExportOptions::default()).unwrap();
        let away = import(&away.bytes, &options.clone().named("B")).unwrap().book;
        assert_eq!(diff(&home, &away), BookDiff::default());
    }

    pub(super) fn book(entries: &Value) -> Book {
        let file = json!({ "entries": entries }).to_string();
        import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book
    }

    #[test]
    fn keys_are_sets_texts_are_lines_and_layout_is_nothing() {
        let old = book(&json!({
            "0": {"uid": 0, "key": ["a", "b"], "content": "one\ntwo\nthree", "order": 1},
            "1": {"uid": 1, "key": ["x"], "content": "gone"},
            "2": {"uid": 2, "key": ["y", "z"], "content": "same"},
        }));
        let new = book(&json!({
            "0": {"order": 2, "uid": 0, "content": "one\n2\nthree", "key": ["c", "a"]},
            "2": {"uid": 2, "key": ["z", "y"], "content": "same"},
            "3": {"uid": 3, "key": [], "content": "new"},
        }));
        let found = diff(&old, &new);
        assert_eq!(found.added, ["b/3".into()]);
        assert_eq!(found.removed, ["b/1".into()]);
        assert_eq!(found.changed.len(), 1);
        assert_eq!(
            json!(found.changed[0].fields),
            json!([
                {"field": "content", "lines": [
                    {"at": 1, "removed": ["two"], "added": ["2"]},
                ]},
                {"field": "activation.keys", "set": {"added": ["c"], "removed": ["b"]}},
                {"field": "placement.order", "value": {"old": 1.0, "new": 2.0}},
            ])
        );
        assert!(diff(&old, &old).is_empty());
    }

    #[test]
    fn a_key_that_became_a_pattern_is_shown_as_one() {
        let version = |use_regex: bool| {
            let entry =
                json!({"keys": ["fog|mist", "/a,b/i"], "content": "x", "use_regex": use_regex});
            let file = json!({ "entries": [entry] }).to_string();
            import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book
        };
        let found = diff(&version(false), &version(true));
        assert_eq!(
            json!(found.changed[0].fields),
            json!([
                {"field": "activation.keys", "set": {"added": ["/fog|mist/"], "removed": ["fog|mist"]}},
                {"field": "activation.use_regex", "value": {"old": false, "new": true}},
            ])
        );
    }

    #[test]
    fn an_entry_that_got_a_new_id_is_still_the_same() {
        let old = book(&json!({"0": {"uid": 0, "comment": "Harbor", "key": ["quay"]}}));
        let new = book(&json!({"7": {"uid": 7, "comment": "Harbor", "key": ["quay", "pier"]}}));
        let found = diff(&old, &new);
        assert_eq!((found.added.len(), found.removed.len()), (0, 0));
        assert_eq!(found.changed[0].old.as_str(), "b/0");
        assert_eq!(found.changed[0].new.as_str(), "b/7");
    }
}
