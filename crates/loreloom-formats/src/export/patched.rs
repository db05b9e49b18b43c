//! Writes a book back into its own file.

use std::ops::Range;

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::{
    Loss, fresh,
    row::{self, RowPlace},
};
use crate::{
    card::{self, Card},
    document::Document,
    error::FormatError,
    import::{ImportOptions, ReadBook, card_version, schema_of},
    json::{
        self, Node,
        patch::{Patch, level_of},
    },
    rows::Row,
    schema::Schema,
    text, tree,
};

/// The text of the document with the book's edits.
pub(super) fn book(
    was: &ReadBook,
    book: &Book,
    document: &Document<'_>,
    reading: &ImportOptions,
    losses: &mut Vec<Loss>,
) -> Result<String, FormatError> {
    let Some(schema) = schema_of(was.format, &document.part) else {
        return Ok(document.text.as_ref().to_owned());
    };
    let body = text::without_bom(&document.text);
    let bom = &document.text[..document.text.len() - body.len()];
    let parsed = json::parse(body, &reading.limits)?;
    let path = schema.path(&parsed.root);
    let edit = JsonEdit { schema, was: &was.book, book, reading, format: was.format.as_str() };
    let mut patch = Patch::new(body, text::style(&document.text));
    let text = match tree::at_path(&parsed.root, &path).filter(|node| !node.is_null()) {
        None => {
            edit.add_book(&parsed.root, &path, &mut patch, losses);
            patch.apply()
        }
        Some(container) => {
            edit.book_fields(&parsed.root, &path, &mut patch);
            let order = edit.rows(&parsed.root, container, &mut patch, losses);
            let text = patch.apply();
            if container.is_array() { edit.reordered(text, &path, &order)? } else { text }
        }
    };
    Ok(format!("{bom}{text}"))
}

struct JsonEdit<'a> {
    schema: &'a dyn Schema,
    was: &'a Book,
    book: &'a Book,
    reading: &'a ImportOptions,
    format: &'a str,
}

impl JsonEdit<'_> {
    /// Gives a file that has no book one.
    fn add_book(
        &self,
        root: &Node<'_>,
        path: &[&str],
        patch: &mut Patch<'_>,
        losses: &mut Vec<Loss>,
    ) {
        if self.book.entries.is_empty() {
            return;
        }
        let Some((last, parents)) = path.split_last() else { return };
        let rows = fresh::rows(self.schema, self.book, self.format, losses);
        let mut value = Map::new();
        let exists = tree::at_path(root, parents).is_some();
        if !exists {
            value = self.schema.write_book(self.book);
        }
        value.insert((*last).to_owned(), rows);
        let mut depth = parents.len();
        while depth > 0 && tree::at_path(root, &path[..depth]).is_none() {
            depth -= 1;
            let inner = std::mem::take(&mut value);
            value.insert(path[depth].to_owned(), Value::Object(inner));
        }
        if let Some(node) = tree::at_path(root, &path[..depth]) {
            patch.object(node, &Map::new(), &value, depth);
        }
    }

    fn book_fields(&self, root: &Node<'_>, path: &[&'static str], patch: &mut Patch<'_>) {
        let Some(parents) = self.schema.holder(path) else { return };
        let Some(node) = tree::at_path(root, parents) else { return };
        let old = self.schema.write_book(self.was);
        let new = self.schema.write_book(self.book);
        patch.object(node, &old, &new, parents.len());
    }

    /// Edits, removes and adds rows; returns the ids in the order of the new file.
    fn rows(
        &self,
        root: &Node<'_>,
        container: &Node<'_>,
        patch: &mut Patch<'_>,
        losses: &mut Vec<Loss>,
    ) -> Vec<EntryId> {
        let rows = tree::identify(self.schema, container, self.book.id.as_str());
        let level = level_of(root, &container.span);
        let by_id = |entries: &'_ [Entry]| -> FxHashMap<EntryId, usize> {
            entries.iter().enumerate().map(|(at, entry)| (entry.id.clone(), at)).collect()
        };
        let (was, now) = (by_id(&self.was.entries), by_id(&self.book.entries));
        let survives: FxHashMap<&str, bool> =
            rows.iter().map(|(row, id)| (row.label.as_str(), now.contains_key(id))).collect();
        let (spans, kept) = places(container, &survives);
        patch.remove(container, &spans, &kept);
        for (row, id) in &rows {
            if let (Some(was), Some(now)) = (was.get(id), now.get(id)) {
                let pair = (&self.was.entries[*was], &self.book.entries[*now]);
                self.row(row, pair, patch, level + 1, losses);
            }
        }
        let last = spans.iter().zip(&kept).rev().find(|(_, kept)| **kept).map(|(span, _)| span);
        let added: Vec<&Entry> =
            self.book.entries.iter().filter(|entry| !was.contains_key(&entry.id)).collect();
        let texts = self.added(&rows, &added, losses).into_iter().map(|(number, value)| {
            if container.is_object() {
                patch.member_text(&number.to_string(), &value, level + 1)
            } else {
                patch.value_text(&value, level + 1)
            }
        });
        let texts: Vec<String> = texts.collect();
        patch.insert_after(container, last, &texts, level);
        let survivors = rows.into_iter().map(|(_, id)| id).filter(|id| now.contains_key(id));
        survivors.chain(added.iter().map(|entry| entry.id.clone())).collect()
    }

    /// Edits one row.
    fn row(
        &self,
        row: &Row<'_, '_>,
        (was, now): (&Entry, &Entry),
        patch: &mut Patch<'_>,
        level: usize,
        losses: &mut Vec<Loss>,
    ) {
        if was == now {
            return;
        }
        let place = RowPlace { node: None, at: row.at, odd_values: self.reading.odd_values };
        if !row.node.is_object() {
            let fresh = row::write(self.schema, now, place);
            patch.replace(row.node, &Value::Object(fresh.row), level);
            fresh::report(&now.id, &fresh.rest, losses);
            return;
        }
        let place = RowPlace { node: Some(row.node), ..place };
        let old = row::write(self.schema, was, place);
        let new = row::write(self.schema, now, place);
        patch.object(row.node, &old.row, &new.row, level);
        let rest = crate::conversion::difference(&new.rest, &old.rest);
        fresh::report(&now.id, &rest, losses);
    }

    /// New rows, with the numbers that are their keys in an object.
    fn added(
        &self,
        rows: &[(Row<'_, '_>, EntryId)],
        added: &[&Entry],
        losses: &mut Vec<Loss>,
    ) -> Vec<(u64, Value)> {
        let labels = rows.iter().filter_map(|(row, _)| row.label.parse::<u64>().ok());
        let ids = fresh::numbers(&self.was.entries);
        let first = labels.chain(ids).max().map_or(0, |highest| highest + 1);
        let numbered = (first..).zip(added).enumerate();
        numbered
            .map(|(at, (number, entry))| {
                let place = (number, rows.len() + at);
                let row = fresh::row(self.schema, entry, self.format, place, losses);
                (number, Value::Object(row))
            })
            .collect()
    }

    /// The text with its rows in the order of the book.
    fn reordered(
        &self,
        text: String,
        path: &[&str],
        order: &[EntryId],
    ) -> Result<String, FormatError> {
        let place: FxHashMap<&EntryId, usize> =
            self.book.entries.iter().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
        let wanted = |id: &EntryId| place.get(id).copied();
        let present: Vec<usize> = order.iter().filter_map(wanted).collect();
        if present.is_sorted() {
            return Ok(text);
        }
        let parsed = json::parse(&text, &self.reading.limits)?;
        let Some(container) = tree::at_path(&parsed.root, path) else { return Ok(text.clone()) };
        let spans: Vec<_> = container.items().iter().map(|item| item.span.clone()).collect();
        let mut ranked: Vec<(usize, usize)> = order
            .iter()
            .enumerate()
            .map(|(at, id)| (wanted(id).unwrap_or(usize::MAX), at))
            .collect();
        ranked.sort_unstable();
        let rows: Vec<String> = ranked
            .iter()
            .filter_map(|(_, at)| spans.get(*at))
            .map(|span| text[span.clone()].to_owned())
            .collect();
        let mut patch = Patch::new(&text, text::style(&text));
        patch.reorder(&spans, &rows);
        Ok(patch.apply())
    }
}

/// The ranges of the rows of a container, and which are kept. Of a duplicate key both rows go;
/// otherwise the first would replace the second.
fn places(
    container: &Node<'_>,
    survives: &FxHashMap<&str, bool>,
) -> (Vec<Range<usize>>, Vec<bool>) {
    let stays = |label: &str| survives.get(label).copied().unwrap_or(true);
    let members = container.members().iter();
    let members = members.map(|member| (member.start..member.value.span.end, stays(&member.key)));
    let items = container.items().iter().enumerate();
    let items = items.map(|(at, item)| (item.span.clone(), stays(&at.to_string())));
    members.chain(items).unzip()
}

/// The texts of book and card with the card's edits.
pub(super) fn card(
    book_text: String,
    document: &Document<'_>,
    was: &Card,
    card: &Card,
) -> Result<(String, Option<String>), FormatError> {
    let text = document.card.as_deref().unwrap_or(&book_text);
    let body = text::without_bom(text);
    let parsed = json::parse(body, usize::MAX)?;
    let root = &parsed.root;
    let version =
        document.format.and_then(|format| card_version(format, root)).unwrap_or(was.version);
    let (old, new) = (card::write(was, version), card::write(card, version));
    let mut patch = Patch::new(body, text::style(text));
    match root.get("data").filter(|data| data.is_object()) {
        Some(data) => {
            patch.object(data, &old, &new, 1);
            patch.object(root, &card::mirrors(root, &old), &card::mirrors(root, &new), 0);
        }
        None => patch.object(root, &old, &new, 0),
    }
    let bom = &text[..text.len() - body.len()];
    let edited = format!("{bom}{}", patch.apply());
    Ok(match document.card {
        Some(_) => (book_text, Some(edited)),
        None => (edited, None),
    })
}
