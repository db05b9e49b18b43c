//! What the format that a book came from calls the things that another has no place for.
//!
//! No list of names has to be kept: a field's word is the key of the row that changes when
//! the field does.

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use rustc_hash::FxHashMap;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::Loss;
use crate::detect::Format;

/// The words of the book's own format for what is lost, in the same order.
pub fn own_words(book: &Book, losses: &[Loss]) -> Vec<String> {
    // A format calls a field the same in every entry.
    let mut known: FxHashMap<(bool, &str), String> = FxHashMap::default();
    let sentences = losses.iter().map(|loss| {
        let key = (loss.entry.is_some(), loss.field.as_str());
        let word = || own_word(book, loss.entry.as_ref(), &loss.field);
        known.entry(key).or_insert_with(word).clone()
    });
    sentences.collect()
}

/// The word of the book's own format for a field of an entry, or of the book. Without such a
/// word, the model's name.
pub fn own_word(book: &Book, entry: Option<&EntryId>, field: &str) -> String {
    found_word(book, entry, field).unwrap_or_else(|| {
        let name = field.rsplit_once('.').map_or(field, |(_, name)| name);
        name.replace('_', " ")
    })
}

fn found_word(book: &Book, entry: Option<&EntryId>, field: &str) -> Option<String> {
    if let Some(key) = field.strip_prefix("extensions.") {
        return Some(key.to_owned());
    }
    if let Some(name) = field.strip_prefix("files.") {
        return Some(format!("file {name}"));
    }
    let format = book.origin.as_ref().and_then(|origin| Format::from_name(&origin.format))?;
    let schema = format.schema()?;
    let Some(id) = entry else {
        let shell = Book { entries: Vec::new(), origin: None, ..book.clone() };
        let own = schema.write_book(&shell);
        let mut others = with_others(&shell, &Book::new("", ""), field);
        return others.find_map(|other| changed(&own, &schema.write_book(&other)));
    };
    let entry = book.entries.iter().find(|entry| entry.id == *id)?;
    let own = schema.write_entry(entry, None);
    let mut others = with_others(entry, &Entry::new(""), field);
    others.find_map(|other| changed(&own, &schema.write_entry(&other, None)))
}

/// The same with other values of one field: what a new one has, and one near to it.
fn with_others<T: Serialize + DeserializeOwned>(
    of: &T,
    new: &T,
    field: &str,
) -> impl Iterator<Item = T> + use<T> {
    let path = format!("/{}", field.replace('.', "/"));
    let tree = |value: &T| serde_json::to_value(value).unwrap_or_default();
    let (own, new) = (tree(of), tree(new));
    let near = own.pointer(&path).and_then(|old| match old {
        Value::Bool(old) => Some(Value::from(!old)),
        Value::Number(old) => Some(Value::from(old.as_f64()? + 1.0)),
        Value::String(old) => Some(Value::from(format!("{old}."))),
        Value::Array(_) => Some(Value::from(vec!["."])),
        Value::Null | Value::Object(_) => None,
    });
    // What is left out of a new one is nothing there.
    let new = new.pointer(&path).cloned().unwrap_or_default();
    [Some(new), near].into_iter().flatten().filter_map(move |value| {
        let mut other = own.clone();
        *other.pointer_mut(&path)? = value;
        serde_json::from_value(other).ok()
    })
}

/// The keys that differ, with dots where they lie in others.
fn changed(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<String> {
    let mut names = Vec::new();
    let missing = other.keys().filter(|name| !one.contains_key(*name));
    for name in one.keys().chain(missing) {
        let values = (one.get(name), other.get(name));
        if values.0 == values.1 {
            continue;
        }
        let inner = match values {
            (Some(Value::Object(one)), Some(Value::Object(other))) => changed(one, other),
            _ => None,
        };
        names.push(inner.map_or_else(|| name.clone(), |inner| format!("{name}.{inner}")));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExportOptions, ImportOptions, export, import};

    #[test]
    fn what_is_lost_is_called_as_in_its_own_format() {
        for (file, target, expected) in [
            (
                r#"{"entries":{"0":{"uid":0,"key":["a"],"content":"x","probability":40,"useProbability":true,"sticky":2,
                    "scanDepth":3,"role":1,"position":4,"preventRecursion":true,"vendor":5}}}"#,
                Format::Aidungeon,
                vec![
                    "probability, useProbability",
                    "scanDepth",
                    "sticky",
                    "preventRecursion",
                    "position",
                    "role",
                    "vendor",
                ],
            ),
            (
                r#"{"lorebookVersion":6,"entries":[{"text":"x","keys":["a"],"displayName":"A",
                    "searchRange":50,"contextConfig":{"prefix":"<","budgetPriority":7}}]}"#,
                Format::Aidungeon,
                vec!["contextConfig.prefix", "searchRange", "contextConfig.budgetPriority"],
            ),
            (
                r#"{"worldinfo":[{"key":"a","content":"x"}],"wisearchdepth":40}"#,
                Format::Risu,
                vec!["wisearchdepth"],
            ),
        ] {
            let book = import(file.as_bytes(), &ImportOptions::new("b")).unwrap().book;
            let losses = export(&book, target, &ExportOptions::default()).unwrap().losses;
            let words = own_words(&book, &losses);
            for word in expected {
                assert!(words.iter().any(|one| one == word), "{word}: {words:?} of {losses:?}");
            }
            let inner = words.iter().find(|word| word.starts_with("activation."));
            assert_eq!(inner, None, "{words:?}");
        }
        let book = Book::new("b", "B");
        for (field, word) in [("activation.whole_words", "whole words"), ("entry", "entry")] {
            assert_eq!(own_word(&book, None, field), word);
        }
    }
}
