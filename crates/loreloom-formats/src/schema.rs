//! What a JSON format must define: where its entries are, and what their fields mean.
//!
//! A format only maps one entry to the model and back. Reading whole books, writing them without
//! touching other bytes, and finding what a format cannot store are done once, with these two
//! functions.

use loreloom_core::{
    book::{Book, Entry, OriginalId},
    ids::EntryId,
};
use serde_json::{Map, Value};

use crate::{import::OddValues, json::Node, keys, note::Notes, rows::Row};

/// A JSON format.
pub(crate) trait Schema: Sync {
    /// The keys that lead from the root to the rows of the book. Where the rows do not
    /// exist, the keys under which a new file would have them.
    fn path(&self, root: &Node<'_>) -> Vec<&'static str>;

    /// The path to the fields about the book as a whole; `None` if the file has none.
    fn holder<'path>(&self, path: &'path [&'static str]) -> Option<&'path [&'static str]> {
        path.split_last().map(|(_, parents)| parents)
    }

    /// Reports a book that is in the wrong place, or is not a book.
    fn look_around(&self, _root: &Node<'_>, _path: &[&str], _notes: &mut Notes) {}

    /// Reads what the file says about the book as a whole.
    fn read_book(&self, _node: &Node<'_>, _book: &mut Book, _notes: &mut Notes) {}

    /// The book as a whole in the words of the file, without its rows.
    fn write_book(&self, _book: &Book) -> Map<String, Value> {
        Map::new()
    }

    /// The id that the file gives to a row.
    fn original_id(&self, row: &Row<'_, '_>, _notes: &mut Notes) -> Option<OriginalId> {
        keys::original_id(row.node.get("id"))
    }

    /// Replaces a missing id in the entry's own id.
    fn missing_id(&self, row: &Row<'_, '_>) -> String {
        row.at.to_string()
    }

    /// Reads a row.
    fn read_entry(&self, id: EntryId, row: &Row<'_, '_>, reading: &mut Reading<'_>) -> Entry;

    /// Looks at all entries together, for faults that one alone does not show.
    fn review(&self, _book: &Book, _notes: &mut Notes) {}

    /// An entry in the words of the file. `row` is what the file said before, for
    /// formats whose files may say one thing under two names.
    fn write_entry(&self, entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value>;

    /// The id that an entry of another format gets.
    fn fresh_id(&self, _next: u64) -> Option<(&'static str, Value)> {
        None
    }

    /// A field that must be another in every row of a new file; commas at its end mean nothing.
    fn distinct(&self) -> Option<&'static str> {
        None
    }

    /// Whether entries and books have an `extensions` object that programs keep.
    fn has_extensions(&self) -> bool {
        false
    }

    /// A file without entries.
    fn skeleton(&self) -> Value;
}

/// What reading a row needs besides the row.
pub(crate) struct Reading<'a> {
    pub(crate) odd_values: OddValues,
    /// The rows are in a list, not in an object.
    pub(crate) in_list: bool,
    pub(crate) notes: &'a mut Notes,
}
