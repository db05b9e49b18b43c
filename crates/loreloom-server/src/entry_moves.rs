//! Moves entries from one book to another.
//!
//! An entry keeps its whole meaning: a book in the store can hold more than its file format.
//! Fields of its old file are converted as in an export to the other format: into `extensions` if
//! there are any, so that they come back on the way back. What a file of the other format cannot
//! store is reported; it is lost only when the book is written as such a file.

use loreloom_core::{
    book::{Book, Entry, Folder},
    ids::EntryId,
};
use loreloom_formats::{ExportOptions, Format, Loss, export};

/// Entries as they are in another book.
#[derive(Debug)]
pub(crate) struct Crossed {
    /// In the order they had.
    pub(crate) entries: Vec<Entry>,
    /// The folders that they stand in.
    pub(crate) folders: Vec<Folder>,
    /// What a file of the other book's format has no place for.
    pub(crate) losses: Vec<Loss>,
}

/// The format of the file that a book came from; none if it was made here.
fn origin(book: &Book) -> &str {
    book.origin.as_ref().map_or("", |origin| origin.format.as_str())
}

/// Entries of one book as they would be in another.
pub(crate) fn crossed(from: &Book, entries: Vec<Entry>, into: &Book) -> Crossed {
    let (old, new) = (origin(from), origin(into));
    let holds_any = |folder: &&Folder| {
        entries.iter().any(|entry| entry.rest.folder.as_deref() == Some(folder.id.as_str()))
    };
    let folders: Vec<Folder> = from.folders.iter().filter(holds_any).cloned().collect();
    if old == new {
        return Crossed { entries, folders, losses: Vec::new() };
    }
    let few = Book { entries, folders: folders.clone(), ..from.clone() };
    let losses = losses(&few, new);
    let entries = few.entries.iter().map(|entry| loreloom_formats::crossed(entry, old, new));
    Crossed { entries: entries.collect(), folders, losses }
}

/// What a file of that format could not say about entries.
fn losses(few: &Book, format: &str) -> Vec<Loss> {
    let Some(format) = Format::from_name(format) else { return Vec::new() };
    // A picture is not needed to ask what a card's book has words for.
    let format = if format.card().is_some() { Format::CharacterBook } else { format };
    // A format that is never written loses nothing.
    let Ok(written) = export(few, format, &ExportOptions::default()) else { return Vec::new() };
    // What is said of the whole book stays with the book.
    written.losses.into_iter().filter(|loss| loss.entry.is_some()).collect()
}

/// Puts an entry at the end of a book under an id that is free there.
pub(crate) fn put(book: &mut Book, mut entry: Entry, id: EntryId) {
    let is_taken = |one: &Entry| one.original_id.is_some() && one.original_id == entry.original_id;
    // Two entries of a file must not have one number.
    if book.entries.iter().any(is_taken) {
        entry.original_id = None;
    }
    entry.id = id;
    book.entries.push(entry);
}

/// Puts folders beside those that a book has.
pub(crate) fn put_folders(book: &mut Book, folders: Vec<Folder>) {
    for folder in folders {
        if book.folders.iter().all(|one| one.id != folder.id) {
            book.folders.push(folder);
        }
    }
}
