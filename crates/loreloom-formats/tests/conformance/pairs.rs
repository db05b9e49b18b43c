//! Every format crosses to every other and back: nothing is lost where the other keeps
//! `extensions`, and what is lost elsewhere is named.

#![expect(clippy::unwrap_used, reason = "a file that cannot be made is a failed test")]

use std::fmt::Write as _;

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use loreloom_formats::{
    CardVersion, ExportOptions, Exported, Format, ImportOptions, Imported, export, import,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::crossing::KEEPING;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-zA-Z ,.]{1,20}",
        Just("Line one\n\nLine {{user}} two: \"é\" \\ 海 {{char}}".to_owned()),
        Just("@@depth 2\n@@@role user\nText".to_owned()),
    ]
}

fn keys() -> impl Strategy<Value = Value> {
    let key = prop_oneof!["[a-z]{2,6}( [a-z]{2,5})?", Just("/quay(s|side)?/i".to_owned())];
    prop::collection::vec(key, 0..4).prop_map(Value::from)
}

fn flag() -> impl Strategy<Value = Value> {
    any::<bool>().prop_map(Value::from)
}

fn number(range: std::ops::Range<i64>) -> impl Strategy<Value = Value> {
    range.prop_map(Value::from)
}

fn maybe<S: Strategy<Value = Value> + 'static>(value: S) -> BoxedStrategy<Value> {
    prop_oneof![Just(Value::Null), value].boxed()
}

/// World Info's fields with values of their own type, which is all that the model can say
/// and more than any other format can.
fn field() -> Vec<(&'static str, BoxedStrategy<Value>)> {
    let words = || text().prop_map(Value::from).boxed();
    vec![
        ("key", keys().boxed()),
        ("keysecondary", keys().boxed()),
        ("comment", "[A-Z][a-z]{2,8}".prop_map(Value::from).boxed()),
        ("content", words()),
        ("constant", flag().boxed()),
        ("vectorized", flag().boxed()),
        ("selective", flag().boxed()),
        ("selectiveLogic", number(0..4).boxed()),
        ("order", number(-3..300).boxed()),
        ("position", number(0..8).boxed()),
        ("outletName", "[a-z]{0,5}".prop_map(Value::from).boxed()),
        ("depth", number(0..9).boxed()),
        ("role", maybe(number(0..3))),
        ("disable", flag().boxed()),
        ("ignoreBudget", flag().boxed()),
        ("probability", number(0..101).boxed()),
        ("useProbability", flag().boxed()),
        ("group", "(a|b|a,b)?".prop_map(Value::from).boxed()),
        ("groupOverride", flag().boxed()),
        ("groupWeight", number(1..200).boxed()),
        ("useGroupScoring", maybe(flag())),
        ("scanDepth", maybe(number(0..12))),
        ("caseSensitive", maybe(flag())),
        ("matchWholeWords", maybe(flag())),
        ("sticky", maybe(number(0..5))),
        ("cooldown", maybe(number(0..5))),
        ("delay", maybe(number(0..5))),
        ("excludeRecursion", flag().boxed()),
        ("preventRecursion", flag().boxed()),
        ("delayUntilRecursion", number(0..4).boxed()),
        ("matchPersonaDescription", flag().boxed()),
        ("matchScenario", flag().boxed()),
        ("triggers", Just(json!(["swipe"])).boxed()),
        (
            "characterFilter",
            Just(json!({"isExclude": true, "names": ["Orla"], "tags": []})).boxed(),
        ),
        ("automationId", "[a-z]{0,3}".prop_map(Value::from).boxed()),
        ("vendor", Just(json!({"b": [1, null], "a": "x"})).boxed()),
    ]
}

fn entry() -> impl Strategy<Value = Value> {
    let (names, values): (Vec<_>, Vec<_>) = field().into_iter().unzip();
    let present = prop::collection::vec(any::<bool>(), names.len());
    (values, present).prop_map(move |(values, present)| {
        let fields = names.iter().zip(values).zip(present);
        let kept = fields.filter(|((name, _), present)| *present || **name == "comment");
        Value::Object(kept.map(|((name, value), _)| ((*name).to_owned(), value)).collect())
    })
}

fn read(bytes: &[u8], format: Format) -> Imported {
    let options = ImportOptions {
        file_name: Some(format!("book.{}", format.file_extension())),
        ..ImportOptions::new("book").named("Harbour")
    };
    import(bytes, &options).unwrap()
}

fn write(imported: &Imported, format: Format) -> Exported {
    let options = ExportOptions { card: imported.card.as_ref(), ..ExportOptions::default() };
    export(&imported.book, format, &options).unwrap()
}

/// A member that no program knows, in every entry of a file that is JSON.
fn with_strange_keys(bytes: Vec<u8>, book: &Book) -> Vec<u8> {
    let Ok(text) = String::from_utf8(bytes.clone()) else { return bytes };
    let Some(first) = book.entries.first().and_then(|entry| entry.raw.as_deref()) else {
        return bytes;
    };
    if !text.starts_with(['{', '[']) || !text.contains(first) {
        return bytes;
    }
    let mut out = text;
    for entry in &book.entries {
        let Some(raw) = entry.raw.as_deref().filter(|raw| raw.starts_with('{')) else { continue };
        let strange = format!("{{\"strange\": {{\"z\": [1.50, null], \"y\": \"é\"}},{}", &raw[1..]);
        out = out.replacen(raw, &strange, 1);
    }
    out.into_bytes()
}

fn has_no_book(format: Format) -> bool {
    matches!(format.card(), Some(CardVersion::V1 | CardVersion::Pygmalion))
}

/// All formats but plain text, whose paragraphs are its entries: it has cases of its own.
fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|format| *format != Format::Perchance)
}

/// What an entry of a format means, as a tree. In one format a higher order comes earlier.
fn meaning(entry: &Entry, format: Format) -> Map<String, Value> {
    let mut entry = super::editing::meaning(entry);
    if format == Format::Seed002 {
        entry.placement.order = entry.placement.order.map(|order| 0.0 - order);
    }
    let Value::Object(mut map) = serde_json::to_value(entry).unwrap() else { unreachable!() };
    for key in ["id", "original_id", "raw", "extensions"] {
        map.remove(key);
    }
    map
}

/// The paths at which two trees differ.
fn differences(wanted: &Value, found: &Value, path: &str, out: &mut Vec<(String, Value)>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) if wanted.keys().eq(found.keys()) => {
            for (key, value) in wanted {
                let dot = if path.is_empty() { "" } else { "." };
                differences(value, &found[key], &format!("{path}{dot}{key}"), out);
            }
        }
        (wanted, found) if wanted == found => {}
        _ => out.push((path.to_owned(), wanted.clone())),
    }
}

/// Values that a file without the field means anyway.
fn says_nothing(path: &str, value: &Value) -> bool {
    let empty = [json!(null), json!(""), json!([]), json!(false)].contains(value);
    let ignored = path.starts_with("rest.")
        || ["placement.depth", "activation.secondary.active"].contains(&path);
    let default = match path {
        "activation.enabled" => value == true,
        "activation.probability" | "group.weight" => value.as_f64() == Some(100.0),
        "placement.role" => value == "system",
        "placement.position" => value == "default",
        "recursion.delay_level" => value.as_f64() == Some(0.0),
        _ => false,
    };
    (empty && path != "activation.enabled") || ignored || default
}

/// A tree without notes on where something was that say no more than its number: they are
/// for the way back, and at home nobody needs them.
fn without_bare_links(mut tree: Value) -> Value {
    match &mut tree {
        Value::Object(members) => {
            let is_bare = |link: &Value| {
                ["keys", "spelled", "before"].iter().all(|part| link.get(part).is_none())
            };
            members.retain(|name, value| {
                !(name == "from" && value.get("format").is_some() && is_bare(value))
            });
            for value in members.values_mut() {
                *value = without_bare_links(value.take());
            }
            members.retain(|name, value| {
                !(name == "loreloom" && *value == json!({ "version": 1 })
                    || name == "extensions" && *value == json!({}))
            });
        }
        Value::Array(items) => {
            for item in items {
                *item = without_bare_links(item.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    tree
}

/// Whether everything that `wanted` says stands in `found` too.
fn holds(found: &Value, wanted: &Value, path: &str, missing: &mut String) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (key, value) in wanted {
                match found.get(key) {
                    Some(inner) => holds(inner, value, &format!("{path}.{key}"), missing),
                    None => writeln!(missing, "{path}.{key} = {value} is gone").unwrap(),
                }
            }
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (at, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                holds(found, wanted, &format!("{path}[{at}]"), missing);
            }
        }
        (wanted, found) if wanted == found => {}
        _ => writeln!(missing, "{path} was {wanted}, is {found}").unwrap(),
    }
}

/// What came back of a book through a format that keeps `extensions`.
fn nothing_is_lost(home: &Imported, file: &[u8], abroad: Format) -> Result<(), TestCaseError> {
    let away = write(home, abroad);
    let lost: Vec<_> = away.losses.iter().filter(|loss| loss.entry.is_some()).collect();
    prop_assert!(lost.is_empty(), "{} to {abroad}: {lost:?}", home.format);
    let back = write(&read(&away.bytes, abroad), home.format);
    let again = read(&back.bytes, home.format);
    let way = format!("{} to {abroad} and back", home.format);
    prop_assert_eq!(again.book.entries.len(), home.book.entries.len(), "{}", &way);
    for (found, wanted) in again.book.entries.iter().zip(&home.book.entries) {
        prop_assert_eq!(meaning(found, home.format), meaning(wanted, home.format), "{}", &way);
        let unknown = |entry: &Entry| without_bare_links(Value::Object(entry.extensions.clone()));
        prop_assert_eq!(unknown(found), unknown(wanted), "{}", &way);
        prop_assert_eq!(&found.original_id, &wanted.original_id, "{}", &way);
        let row = |entry: &Entry| serde_json::from_str(entry.raw.as_deref().unwrap_or_default());
        if let (Ok(found), Ok(wanted)) = (row(found), row(wanted)) {
            let mut missing = String::new();
            holds(&found, &without_bare_links(wanted), "", &mut missing);
            prop_assert!(missing.is_empty(), "{way}:\n{missing}");
        }
    }
    // A bare list has no place for the book as a whole, which is reported.
    if abroad == Format::Janitor {
        return Ok(());
    }
    let trees = (serde_json::from_slice(file), serde_json::from_slice(&back.bytes));
    if let (Ok(wanted), Ok(found)) = trees {
        let mut missing = String::new();
        holds(&found, &without_bare_links(wanted), "", &mut missing);
        prop_assert!(missing.is_empty(), "{way}:\n{missing}");
    }
    Ok(())
}

/// What did not come back through any other format was named.
fn losses_are_named(home: &Imported, abroad: Format) -> Result<(), TestCaseError> {
    let away = write(home, abroad);
    let lost_at = |entry: &EntryId, path: &str| {
        away.losses.iter().any(|loss| {
            loss.entry.as_ref() == Some(entry)
                && (loss.field == "entry"
                    || path.starts_with(&loss.field)
                    || loss.field.starts_with(path))
        })
    };
    if has_no_book(abroad) {
        for entry in &home.book.entries {
            prop_assert!(lost_at(&entry.id, "entry"), "{} to {abroad}", home.format);
        }
        return Ok(());
    }
    let away_book = read(&away.bytes, abroad).book;
    prop_assert_eq!(
        away_book.entries.len(),
        home.book.entries.len(),
        "{} to {}",
        home.format,
        abroad
    );
    for (found, wanted) in away_book.entries.iter().zip(&home.book.entries) {
        let mut changed = Vec::new();
        let wanted_tree = meaning(wanted, home.format).into();
        let found_tree = meaning(found, abroad).into();
        differences(&wanted_tree, &found_tree, "", &mut changed);
        for (path, value) in changed {
            prop_assert!(
                lost_at(&wanted.id, &path) || says_nothing(&path, &value),
                "{} to {abroad}: {path} = {value} went without a word",
                home.format
            );
        }
    }
    Ok(())
}

/// A book as a file of a format, with keys of its own.
fn file_of(entries: Vec<Value>, format: Format) -> (Vec<u8>, Imported) {
    let row = |(uid, mut row): (usize, Value)| {
        row["uid"] = json!(uid);
        (uid.to_string(), row)
    };
    let rows: Map<String, Value> = entries.into_iter().enumerate().map(row).collect();
    let first = json!({"name": "Harbour", "entries": rows}).to_string();
    let written = write(&read(first.as_bytes(), Format::Sillytavern), format).bytes;
    let plain = read(&written, format);
    let file = with_strange_keys(written, &plain.book);
    let imported = read(&file, format);
    (file, imported)
}

fn crosses(entries: Vec<Value>, home: Format, abroad: Format) -> Result<(), TestCaseError> {
    let (file, home) = file_of(entries, home);
    if KEEPING.contains(&abroad) {
        nothing_is_lost(&home, &file, abroad)
    } else {
        losses_are_named(&home, abroad)
    }
}

/// All pairs of a format with a book and another.
fn pairs() -> Vec<(Format, Format)> {
    let homes = formats().filter(|format| !has_no_book(*format));
    let others = |home| formats().filter(move |abroad| *abroad != home);
    homes.flat_map(|home| others(home).map(move |abroad| (home, abroad))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1) })]

    #[test]
    fn every_pair_of_formats_loses_nothing_or_says_what(
        entries in prop::collection::vec(entry(), 1..3),
    ) {
        for (home, abroad) in pairs() {
            crosses(entries.clone(), home, abroad)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_pair_of_formats_loses_nothing_or_says_what(
        entries in prop::collection::vec(entry(), 1..4),
        pair in prop::sample::select(pairs()),
    ) {
        crosses(entries, pair.0, pair.1)?;
    }
}
