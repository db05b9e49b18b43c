//! `SillyTavern` World Info (`worlds/<name>.json`, version 1.19).
//!
//! Files are written by hand, by converters and by every release of the program, so
//! fields are missing or of the wrong type in real books. What the program does with
//! such a value at scan time is its meaning, and that is what the model gets; the raw
//! text stays beside it.

mod entry;
mod fields;
mod order;
#[cfg(test)]
mod tests;
mod values;

use loreloom_core::{
    book::{Book, OriginalId},
    ids::{BookId, EntryId},
};
use rustc_hash::FxHashMap;

use self::entry::Shape;
use crate::{
    error::FormatError,
    import::ImportOptions,
    json::{Json, Node, js},
    note::Notes,
};

/// Reads a book; `text` is what `root` was parsed from.
pub(crate) fn read(
    root: &Node<'_>,
    text: &str,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Book, FormatError> {
    let mut book = Book::new(options.book_id.clone(), options.name.as_deref().unwrap_or_default());
    for member in root.members() {
        let value = &member.value;
        match (member.key.as_ref(), &value.value) {
            ("entries", _) => {}
            ("name", Json::String(name)) if !name.is_empty() => {
                name.as_ref().clone_into(&mut book.name);
            }
            ("description", Json::String(text)) => text.as_ref().clone_into(&mut book.description),
            ("scan_depth" | "scanDepth", Json::Number(_)) => book.scan_depth = count(value),
            ("token_budget" | "tokenBudget", Json::Number(_)) => book.token_budget = count(value),
            ("recursive_scanning" | "recursiveScanning", Json::Bool(on)) => {
                book.recursive = Some(*on);
            }
            (key, _) => {
                book.extensions.insert(key.to_owned(), value.to_value());
            }
        }
    }
    let Some(entries) = root.get("entries") else { return Ok(book) };
    read_entries(entries, text, options, notes, &mut book)?;
    Ok(book)
}

fn read_entries(
    entries: &Node<'_>,
    text: &str,
    options: &ImportOptions,
    notes: &mut Notes,
    book: &mut Book,
) -> Result<(), FormatError> {
    let rows = order::in_file_order(entries);
    let limit = options.limits.entries;
    if rows.len() > limit {
        return Err(FormatError::TooMany { what: "entries", limit, found: rows.len() });
    }
    let shape = if entries.is_array() { Shape::List } else { Shape::Map };
    let mut seen: FxHashMap<String, u32> = FxHashMap::default();
    let mut read = Vec::with_capacity(rows.len());
    for row in rows {
        notes.at_entry(Some(&row.label));
        if !row.node.is_object() {
            notes.warn("", format!("an entry must be an object, found {}", row.node.shown()));
            continue;
        }
        let uid = entry::uid(row.node, notes);
        let id = unique_id(&book.id, uid.as_ref(), &mut seen, notes);
        let mut entry = entry::read(id, row.node, shape, options.odd_values, notes);
        entry.original_id = uid;
        entry.raw = Some(text[row.node.span.clone()].into());
        read.push((row.rank, entry));
    }
    notes.at_entry(None);
    read.sort_by_key(|(rank, _)| *rank);
    book.entries = read.into_iter().map(|(_, entry)| entry).collect();
    Ok(())
}

/// `<book>/<uid>`, and `#2` for the second entry of a uid: the file may repeat uids, the
/// engine must not.
fn unique_id(
    book: &BookId,
    uid: Option<&OriginalId>,
    seen: &mut FxHashMap<String, u32>,
    notes: &mut Notes,
) -> EntryId {
    let uid = uid.map_or_else(|| "undefined".to_owned(), ToString::to_string);
    let id = format!("{book}/{uid}");
    let count = seen.entry(uid).or_default();
    *count += 1;
    if *count == 1 {
        return EntryId(id);
    }
    notes.warn("uid", "another entry has the same: both were kept");
    EntryId(format!("{id}#{count}"))
}

/// A number as a count; negative ones are 0.
fn count(node: &Node<'_>) -> Option<u32> {
    let number = js::number(node);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is what a count out of range should do"
    )]
    number.is_finite().then_some(number as u32)
}
