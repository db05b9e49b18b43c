//! Writes a book in a format that it did not come from.

use std::borrow::Cow;

use loreloom_core::{
    book::{Book, Entry, OriginalId, Position, TextStyle},
    ids::EntryId,
};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use super::{
    Decorators, ExportOptions, Loss, container,
    row::{self, RowPlace},
};
use crate::{
    card::{self, Card, CardVersion},
    conversion::{self, Way},
    decorators,
    detect::Format,
    error::FormatError,
    import::OddValues,
    json::layout,
    perchance,
    schema::Schema,
    tree,
};

/// The whole file as text in this style. Rows are written one by one: the trees of a large book
/// would take many times the memory of its text.
pub(super) fn text(
    book: &Book,
    format: Format,
    options: &ExportOptions<'_>,
    style: &TextStyle,
    losses: &mut Vec<Loss>,
) -> Result<String, FormatError> {
    let Some(schema) = format.schema() else {
        return Err(FormatError::Unknown { looked_for: "JSON", found: format.to_string() });
    };
    let reads_decorators =
        matches!(format, Format::Risu | Format::RisuModule | Format::RisuModuleJson);
    let lowers = reads_decorators && options.decorators == Decorators::Lower;
    let rows = CrossedRows { schema, book, format: format.as_str(), lowers };
    let mut of_book = Vec::new();
    let (root, path) = match format.card() {
        Some(version) => card_document(&rows, options.card, version, &mut of_book),
        None => book_document(schema, book, format, &mut of_book),
    };
    let text = layout::to_text(&root, style, 0);
    let text = match path {
        Some(path) => with_rows(&text, &path, &rows, style, losses)?,
        None => text,
    };
    losses.extend(of_book);
    Ok(text)
}

/// The text with rows in the empty container that the path leads to.
fn with_rows(
    text: &str,
    path: &[&str],
    rows: &CrossedRows<'_>,
    style: &TextStyle,
    losses: &mut Vec<Loss>,
) -> Result<String, FormatError> {
    let parsed = crate::json::parse(text, usize::MAX)?;
    let container = tree::at_path(&parsed.root, path).filter(|_| !rows.book.entries.is_empty());
    let Some(container) = container else { return Ok(text.to_owned()) };
    let (is_map, level) = (container.is_object(), path.len());
    let (head, tail) = text.split_at(container.span.start + 1);
    let mut out = String::from(head);
    for (at, (number, row)) in rows.written(losses).enumerate() {
        if at > 0 {
            out.push(',');
        }
        layout::break_line(&mut out, style, level + 1);
        if is_map {
            out.extend(["\"", &number.to_string(), layout::colon(style)]);
        }
        out.push_str(&layout::to_text(&Value::Object(row), style, level + 1));
    }
    layout::break_line(&mut out, style, level);
    out.push_str(tail);
    Ok(out)
}

/// A book file without its rows, and the path to them.
fn book_document(
    schema: &dyn Schema,
    book: &Book,
    format: Format,
    losses: &mut Vec<Loss>,
) -> (Value, Option<Vec<&'static str>>) {
    let mut root = schema.skeleton();
    let text = root.to_string();
    let path = crate::json::parse(&text, usize::MAX)
        .map(|parsed| schema.path(&parsed.root))
        .unwrap_or_default();
    let Some((last, parents)) = path.split_last() else {
        whole_book_losses(book, losses);
        return (root, Some(path));
    };
    let place = parents.iter().try_fold(&mut root, |node, key| node.get_mut(*key));
    if let Some(Value::Object(place)) = place {
        let fields = book_fields(schema, book, format.as_str(), losses);
        let home = || Way::of_book(book, origin_of(book), format.as_str()).home;
        if matches!(format, Format::Novelai | Format::NovelaiPng) && home().is_some() {
            // What a book of an older version has not does not come from a new file.
            place.retain(|key, _| key == last || fields.contains_key(key));
        }
        place.extend(fields);
        // Behind the fields of the book, where readers of the file expect the long part.
        let rows = place.shift_remove(*last).unwrap_or_default();
        place.insert((*last).to_owned(), rows);
    }
    if format == Format::Byaf {
        container::complete_character(&mut root, book);
    }
    (root, Some(path))
}

/// A card file without the rows of its book, and the path to them if it has a book.
fn card_document(
    rows: &CrossedRows<'_>,
    card: Option<&Card>,
    version: CardVersion,
    losses: &mut Vec<Loss>,
) -> (Value, Option<Vec<&'static str>>) {
    let CrossedRows { schema, book, format, .. } = *rows;
    let nameless = card::named(&book.name);
    let card = card.unwrap_or(&nameless);
    // In YAML any standard can be written: one with a book where there is one.
    let version = match version {
        CardVersion::Webui if !book.entries.is_empty() => CardVersion::V3,
        CardVersion::V1
        | CardVersion::V2
        | CardVersion::V3
        | CardVersion::Pygmalion
        | CardVersion::Webui => version,
    };
    let (mut data, lost) = card::write_whole(card, version);
    losses.extend(lost.into_iter().map(card_loss));
    let spec = match version {
        CardVersion::V1 | CardVersion::Pygmalion | CardVersion::Webui => {
            let lost = |entry: &Entry| Loss {
                entry: Some(entry.id.clone()),
                field: "entry".to_owned(),
                value: json!(entry.title()),
            };
            losses.extend(book.entries.iter().map(lost));
            return (Value::Object(data), None);
        }
        CardVersion::V2 => json!({ "spec": "chara_card_v2", "spec_version": "2.0" }),
        CardVersion::V3 => json!({ "spec": "chara_card_v3", "spec_version": "3.0" }),
    };
    if !book.entries.is_empty() {
        let mut inner = book_fields(schema, book, format, losses);
        inner.insert("entries".into(), json!([]));
        data.insert("character_book".into(), Value::Object(inner));
    }
    let mut root = spec;
    let beside = card::root_members(card, &data);
    root["data"] = Value::Object(data);
    if let Value::Object(root) = &mut root {
        root.extend(beside);
    }
    (root, Some(vec!["data", "character_book", "entries"]))
}

/// What a format that is not a card loses about a character: everything.
pub(super) fn card_losses(card: &Card, losses: &mut Vec<Loss>) {
    losses.extend(card::fields(card).into_iter().map(card_loss));
}

fn card_loss((field, value): (String, Value)) -> Loss {
    Loss { entry: None, field: format!("card.{field}"), value }
}

/// What the file says about the book as a whole.
fn book_fields(
    schema: &dyn Schema,
    book: &Book,
    format: &str,
    losses: &mut Vec<Loss>,
) -> Map<String, Value> {
    let mut shell = Book { entries: Vec::new(), origin: None, ..book.clone() };
    let assumed = book.origin.as_ref().and_then(|origin| origin.assumed_name.as_ref());
    if assumed == Some(&book.name) {
        shell.name.clear();
    }
    let way = Way::of_book(book, origin_of(book), format);
    let from = way.carried;
    shell.extensions = way.keys;
    let mut map = schema.write_book(&shell);
    let text = Value::Object(map.clone()).to_string();
    let mut found = Book::new(book.id.clone(), "");
    if let Ok(parsed) = crate::json::parse(&text, usize::MAX) {
        schema.read_book(&parsed.root, &mut found, &mut crate::note::Notes::default());
    }
    let (said, heard) = (conversion::book_meaning(&shell), conversion::book_meaning(&found));
    let rest = conversion::difference(&said, &heard);
    if schema.has_extensions() {
        conversion::carry(&mut map, rest, from);
    } else {
        lost(None, &rest, losses);
        lost_keys(None, from.as_ref(), losses);
    }
    map
}

/// What a bare list of entries cannot say: everything about the book as a whole.
fn whole_book_losses(book: &Book, losses: &mut Vec<Loss>) {
    let assumed = book.origin.as_ref().and_then(|origin| origin.assumed_name.as_deref());
    let nothing = Book::new(book.id.clone(), assumed.unwrap_or_default());
    let (said, unsaid) = (conversion::book_meaning(book), conversion::book_meaning(&nothing));
    lost(None, &conversion::difference(&said, &unsaid), losses);
    lost_keys(None, Way::of_book(book, origin_of(book), "").carried.as_ref(), losses);
}

fn origin_of(book: &Book) -> &str {
    book.origin.as_ref().map_or("", |origin| origin.format.as_str())
}

/// All entries as the rows of a file of their own format.
pub(super) fn rows(
    schema: &dyn Schema,
    book: &Book,
    format: &str,
    losses: &mut Vec<Loss>,
) -> Value {
    let text = schema.skeleton().to_string();
    let is_map = crate::json::parse(&text, usize::MAX).is_ok_and(|parsed| {
        let path = schema.path(&parsed.root);
        tree::at_path(&parsed.root, &path).is_some_and(crate::json::Node::is_object)
    });
    let rows = CrossedRows { schema, book, format, lowers: false };
    let written = rows.written(losses).map(|(number, row)| (number, Value::Object(row)));
    if is_map {
        return Value::Object(written.map(|(number, row)| (number.to_string(), row)).collect());
    }
    Value::Array(written.map(|(_, row)| row).collect())
}

/// The entries of a book on their way to a format.
struct CrossedRows<'a> {
    schema: &'a dyn Schema,
    book: &'a Book,
    format: &'a str,
    /// Fields without a word become decorators.
    lowers: bool,
}

impl CrossedRows<'_> {
    /// Each row with its number.
    fn written(&self, losses: &mut Vec<Loss>) -> impl Iterator<Item = (u64, Map<String, Value>)> {
        let Self { schema, book, format, lowers } = *self;
        let entries = book.entries.iter().zip(new_numbers(&book.entries));
        let mut said: FxHashMap<String, usize> = FxHashMap::default();
        entries.enumerate().map(move |(at, (entry, number))| {
            let crossed = CrossedEntry { origin: origin_of(book), format, number, at, lowers };
            let mut row = crossed.row(schema, entry, losses);
            let distinct = schema.distinct().and_then(|field| row.get_mut(field));
            if let Some(Value::String(text)) = distinct {
                let before = said.entry(text.clone()).or_default();
                text.extend(std::iter::repeat_n(',', *before));
                *before += 1;
            }
            (number, row)
        })
    }
}

/// Numbers for entries in a file of another format: their own where those rise, because
/// objects are read in the order of their keys; else counted from 0.
fn new_numbers(entries: &[Entry]) -> Vec<u64> {
    let own: Vec<u64> = numbers(entries).collect();
    if own.len() == entries.len() && own.is_sorted_by(|a, b| a < b) {
        return own;
    }
    (0..entries.len() as u64).collect()
}

/// The numbers that entries have as ids.
pub(super) fn numbers(entries: &[Entry]) -> impl Iterator<Item = u64> {
    entries.iter().filter_map(|entry| match &entry.original_id {
        Some(OriginalId::Number(number)) => u64::try_from(*number).ok(),
        _ => None,
    })
}

/// A new entry as a row of a file of its own format, with its number and place there.
pub(super) fn row(
    schema: &dyn Schema,
    entry: &Entry,
    format: &str,
    (number, at): (u64, usize),
    losses: &mut Vec<Loss>,
) -> Map<String, Value> {
    CrossedEntry { origin: format, format, number, at, lowers: false }.row(schema, entry, losses)
}

struct CrossedEntry<'a> {
    origin: &'a str,
    format: &'a str,
    number: u64,
    at: usize,
    /// Fields without a word become decorators.
    lowers: bool,
}

impl CrossedEntry<'_> {
    fn row(
        &self,
        schema: &dyn Schema,
        entry: &Entry,
        losses: &mut Vec<Loss>,
    ) -> Map<String, Value> {
        let way = Way::of_entry(entry, self.origin, self.format);
        let conversion = Entry { extensions: way.keys.clone(), ..entry.clone() };
        let said = self.with_position(&conversion, entry);
        let place = RowPlace { node: None, at: self.at, odd_values: OddValues::AsSillyTavern };
        let mut written = row::write_as(schema, &said, &conversion, place);
        if self.lowers {
            let (lowered, rest) = decorators::lower(&conversion, &written.rest);
            written = row::write(schema, &lowered, place);
            written.rest = rest;
        }
        let mut map = Map::new();
        if let Some((name, fresh)) = schema.fresh_id(self.number) {
            map.insert(name.to_owned(), way.id().unwrap_or(fresh));
        }
        map.extend(written.row);
        if let Some(home) = &way.home {
            conversion::respell(&mut map, home);
        }
        if schema.has_extensions() {
            conversion::set_from(&mut map, way.carried);
        } else {
            lost_keys(Some(&entry.id), way.carried.as_ref(), losses);
        }
        report(&entry.id, &written.rest, losses);
        map
    }
}

impl CrossedEntry<'_> {
    /// World Info has no position that is not stated: what the program makes of none when it
    /// takes the book out of a card is written.
    fn with_position<'entry>(
        &self,
        conversion: &'entry Entry,
        entry: &Entry,
    ) -> Cow<'entry, Entry> {
        let is_unstated = entry.placement.position == Position::Default
            && self.format == Format::Sillytavern.as_str()
            && entry.unstated_is_after(self.origin);
        if !is_unstated {
            return Cow::Borrowed(conversion);
        }
        let mut stated = conversion.clone();
        stated.placement.position = Position::AfterCharacter;
        Cow::Owned(stated)
    }
}

/// Reports what an entry lost, leaving out what changes nothing.
pub(crate) fn report(entry: &EntryId, rest: &Map<String, Value>, losses: &mut Vec<Loss>) {
    lost(Some(entry), rest, losses);
}

fn lost(entry: Option<&EntryId>, rest: &Map<String, Value>, losses: &mut Vec<Loss>) {
    for (field, value) in rest {
        collect(field, value, &mut |field, value| {
            if !means_nothing(field, value) {
                losses.push(Loss {
                    entry: entry.cloned(),
                    field: field.to_owned(),
                    value: value.clone(),
                });
            }
        });
    }
}

fn lost_keys(entry: Option<&EntryId>, from: Option<&Value>, losses: &mut Vec<Loss>) {
    let keys = from.and_then(|from| from.get("keys")).and_then(Value::as_object);
    // A place for what others say, with nothing in it.
    let is_empty = |key: &str, value: &Value| key == "extensions" && *value == json!({});
    let said = keys.into_iter().flatten().filter(|(key, value)| !is_empty(key, value));
    for (key, value) in said {
        losses.push(Loss {
            entry: entry.cloned(),
            field: format!("extensions.{key}"),
            value: value.clone(),
        });
    }
}

/// Walks into the groups of the model, not into single values.
fn collect(field: &str, value: &Value, found: &mut dyn FnMut(&str, &Value)) {
    const GROUPS: [&str; 13] = [
        "activation",
        "activation.secondary",
        "activation.scan",
        "activation.sources",
        "activation.gates",
        "activation.filters",
        "activation.timed",
        "recursion",
        "group",
        "placement",
        "budget",
        "rest",
        "inject",
    ];
    let Value::Object(inner) = value else { return found(field, value) };
    if !GROUPS.contains(&field) {
        return found(field, value);
    }
    for (key, value) in inner {
        collect(&format!("{field}.{key}"), value, found);
    }
}

/// Values that a format without the field has anyway.
fn means_nothing(field: &str, value: &Value) -> bool {
    let is_nothing = match value {
        Value::Null => true,
        Value::Bool(value) => !value && field != "activation.enabled",
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(_) | Value::Object(_) => false,
    };
    let default = match field {
        "activation.probability" | "group.weight" => value.as_f64() == Some(100.0),
        "placement.depth" | "activation.secondary.active" => true,
        "placement.role" => value == "system",
        "placement.position" => value == "default",
        "activation.enabled" => value == &Value::Bool(true),
        "recursion.delay_level" => value.as_f64() == Some(0.0),
        "budget.max_tokens" | "budget.reserved_tokens" | "budget.trim" => value.is_null(),
        _ => field.starts_with("rest."),
    };
    is_nothing || default
}

/// What plain text cannot say.
pub(super) fn plain_losses(book: &Book, losses: &mut Vec<Loss>) {
    for entry in &book.entries {
        let plain = Entry {
            content: entry.content.clone(),
            activation: loreloom_core::book::Activation {
                vectorized: true,
                ..loreloom_core::book::Activation::default()
            },
            ..Entry::new(entry.id.clone())
        };
        let mut rest = conversion::unsaid(entry, &plain);
        if let Some(Value::Object(placement)) = rest.get_mut("placement") {
            placement.remove("order");
        }
        report(&entry.id, &rest, losses);
        // After a blank line another entry begins, and an empty entry is not read back.
        let written = perchance::paragraph(entry, "\n");
        let (field, value) = match written.trim() {
            "" => ("entry", entry.title()),
            text if text == entry.content.trim().replace("\r\n", "\n") => continue,
            _ => ("content", entry.content.as_str()),
        };
        losses.push(Loss {
            entry: Some(entry.id.clone()),
            field: field.to_owned(),
            value: json!(value),
        });
    }
}
