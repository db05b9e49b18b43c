//! Reads a book from a parsed file, the same way for every JSON format.

use loreloom_core::{
    book::{Book, Entry, Extensions, OriginalId},
    ids::{BookId, EntryId},
};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::{
    conversion,
    error::FormatError,
    import::ImportOptions,
    json::Node,
    keys,
    limits::{Limit, Limits},
    note::Notes,
    rows::{self, Row},
    schema::{Reading, Schema},
};

/// The node that these keys lead to.
pub(crate) fn at_path<'tree, 'text>(
    root: &'tree Node<'text>,
    path: &[&str],
) -> Option<&'tree Node<'text>> {
    path.iter().try_fold(root, |node, key| node.get(key))
}

/// Reads a book; `text` is what `root` was parsed from.
pub(crate) fn read(
    schema: &dyn Schema,
    root: &Node<'_>,
    text: &str,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Book, FormatError> {
    let name = options.name.as_deref().unwrap_or_default();
    let mut book = Book::new(options.book_id.clone(), name);
    let path = schema.path(root);
    check_outside(root, at_path(root, &path), &options.limits)?;
    schema.look_around(root, &path, notes);
    if let Some(holder) = schema.holder(&path)
        && let Some(node) = at_path(root, holder)
    {
        schema.read_book(node, &mut book, notes);
        conversion::restore_book(&mut book);
    }
    let Some(container) = at_path(root, &path).filter(|node| !node.is_null()) else {
        return Ok(book);
    };
    if !container.is_object() && !container.is_array() {
        let field = path.last().copied().unwrap_or("entries");
        let found = container.shown();
        notes.warn(field, format!("must be a list of entries, found {found}: read as empty"));
        return Ok(book);
    }
    book.entries = read_rows(schema, container, text, options, notes)?;
    schema.review(&book, notes);
    Ok(book)
}

fn read_rows(
    schema: &dyn Schema,
    container: &Node<'_>,
    text: &str,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Vec<Entry>, FormatError> {
    let rows = rows::in_file_order(container);
    let limit = options.limits.entries;
    if rows.len() > limit {
        return Err(FormatError::TooMany { which: Limit::Entries, limit, found: rows.len() });
    }
    let mut ids = Ids::new(options.book_id.as_str());
    let mut unknown = Unknown { found: 0, limit: options.limits.unknown_values };
    let mut read = Vec::with_capacity(rows.len());
    for row in rows {
        notes.at_entry(Some(&row.label));
        if !row.node.is_object() {
            let found = row.node.shown();
            notes.warn("", format!("an entry must be an object, found {found}: kept, not used"));
            read.push((row.rank, inert(&options.book_id, &row, text)));
            continue;
        }
        check_size(&row, options)?;
        let original = schema.original_id(&row, notes);
        let id = ids.next(original.as_ref(), || schema.missing_id(&row), notes);
        let mut reading = Reading {
            odd_values: options.odd_values,
            in_list: container.is_array(),
            notes: &mut *notes,
        };
        let mut entry = schema.read_entry(id, &row, &mut reading);
        conversion::restore_entry(&mut entry);
        if options.split_keys {
            split_keys(&mut entry, notes);
        }
        let (limit, found) = (options.limits.keys, entry.activation.keys.len());
        if found > limit {
            return Err(FormatError::TooMany { which: Limit::Keys, limit, found });
        }
        unknown.count(&entry.extensions)?;
        entry.original_id = original;
        entry.raw = Some(text[row.node.span.clone()].into());
        read.push((row.rank, entry));
    }
    notes.at_entry(None);
    read.sort_by_key(|(rank, _)| *rank);
    Ok(read.into_iter().map(|(_, entry)| entry).collect())
}

/// Splits keys that are lists in one text.
fn split_keys(entry: &mut Entry, notes: &mut Notes) {
    let when = &mut entry.activation;
    for list in [&mut when.keys, &mut when.secondary.keys] {
        let split = keys::split_further(list);
        if split.len() != list.len() {
            notes.info("keys", format!("{} keys were split into {}", list.len(), split.len()));
            *list = split;
        }
    }
}

fn check_outside(
    root: &Node<'_>,
    container: Option<&Node<'_>>,
    limits: &Limits,
) -> Result<(), FormatError> {
    let found = nodes_in(root) - container.map_or(0, nodes_in);
    let limit = limits.outside_values;
    if found > limit {
        return Err(FormatError::TooMany { which: Limit::OutsideValues, limit, found });
    }
    Ok(())
}

/// How many values a value is made of.
fn nodes_in(node: &Node<'_>) -> usize {
    let members = node.members().iter().map(|member| nodes_in(&member.value));
    1 + members.sum::<usize>() + node.items().iter().map(nodes_in).sum::<usize>()
}

/// Values of entries that are only carried along.
struct Unknown {
    found: usize,
    limit: usize,
}

impl Unknown {
    fn count(&mut self, extensions: &Extensions) -> Result<(), FormatError> {
        self.found += extensions.values().map(values_in).sum::<usize>();
        let Self { found, limit } = *self;
        if found > limit {
            return Err(FormatError::TooMany { which: Limit::UnknownValues, limit, found });
        }
        Ok(())
    }
}

/// How many values a value is made of.
fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values_in).sum(),
        Value::Object(members) => members.values().map(values_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn check_size(row: &Row<'_, '_>, options: &ImportOptions) -> Result<(), FormatError> {
    let (limit, found) = (options.limits.entry_bytes, row.node.span.len());
    if found > limit {
        return Err(FormatError::TooMany { which: Limit::Entry, limit, found });
    }
    let (limit, found) = (options.limits.entry_values, nodes_in(row.node));
    if found > limit {
        return Err(FormatError::TooMany { which: Limit::EntryValues, limit, found });
    }
    Ok(())
}

/// The entry of a row that cannot be read: it stays in its place and never fires.
fn inert(book: &BookId, row: &Row<'_, '_>, text: &str) -> Entry {
    let mut entry = Entry::new(inert_id(book.as_str(), row));
    entry.activation.enabled = false;
    entry.raw = Some(text[row.node.span.clone()].into());
    entry
}

fn inert_id(book: &str, row: &Row<'_, '_>) -> EntryId {
    EntryId(format!("{book}/#{}", row.label))
}

/// The rows of a book with the ids that reading gives to their entries.
pub(crate) fn identify<'tree, 'text>(
    schema: &dyn Schema,
    container: &'tree Node<'text>,
    book: &str,
) -> Vec<(Row<'tree, 'text>, EntryId)> {
    let mut ids = Ids::new(book);
    let mut silent = Notes::default();
    rows::in_file_order(container)
        .into_iter()
        .map(|row| {
            if !row.node.is_object() {
                let id = inert_id(book, &row);
                return (row, id);
            }
            let original = schema.original_id(&row, &mut silent);
            let id = ids.next(original.as_ref(), || schema.missing_id(&row), &mut silent);
            (row, id)
        })
        .collect()
}

/// Gives entries their ids: `<book>/<id>`, and `#2` for the second of an id, because files
/// may repeat ids and the engine must not.
pub(crate) struct Ids {
    book: String,
    seen: FxHashMap<String, u32>,
}

impl Ids {
    pub(crate) fn new(book: &str) -> Self {
        Self { book: book.to_owned(), seen: FxHashMap::default() }
    }

    pub(crate) fn next(
        &mut self,
        original: Option<&OriginalId>,
        missing: impl FnOnce() -> String,
        notes: &mut Notes,
    ) -> EntryId {
        let name = original.map_or_else(missing, ToString::to_string);
        let id = format!("{}/{name}", self.book);
        let count = self.seen.entry(name).or_default();
        *count += 1;
        if *count == 1 {
            return EntryId(id);
        }
        if original.is_some() {
            notes.warn("id", "another entry has the same: both were kept");
        }
        EntryId(format!("{id}#{count}"))
    }
}
