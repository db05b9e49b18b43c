//! What names a library: the hash of everything that decides.

use std::sync::Arc;

use memchr::memmem;
use serde::Serialize;

use super::{Dialect, Volume};
use crate::{
    book::{Book, Entry, Folder},
    dialects::vault::Note,
    digest::Hasher,
    ids::LibraryVersion,
    rules::Rules,
};

/// The version of these books under these rules: equal versions decide alike.
///
/// Books are hashed as they are serialised, without the copy of the file they were read
/// from, which decides nothing and is as long as all the rest.
pub(super) fn of(volumes: &[Volume], notes: &[Arc<Note>], rules: &Rules) -> LibraryVersion {
    let mut hash = HashedFields { hasher: Hasher::new("library"), buffer: Vec::new() };
    hash.add(rules);
    for Volume { book, .. } in volumes {
        hash.add(&Cover::of(book));
        for entry in &book.entries {
            hash.add_entry(entry);
        }
    }
    if !notes.is_empty() {
        hash.hasher = hash.hasher.field(b"notes");
    }
    for note in notes {
        // A note's hash covers its file; where it lies decides too.
        let hasher = hash.hasher.field(note.vault.as_bytes()).field(note.path.as_bytes());
        hash.hasher = hasher.field(&note.hash.0).number(u64::from(note.tokens.0));
    }
    let version = hash.hasher.finish();
    if volumes.iter().all(|volume| volume.dialect == Dialect::WorldInfo) {
        return LibraryVersion(version);
    }
    let marks: Vec<u8> = volumes.iter().map(|volume| mark(volume.dialect)).collect();
    LibraryVersion(Hasher::new("dialects").field(&version.0).field(&marks).finish())
}

/// A dialect's number in versions; never changes.
fn mark(dialect: Dialect) -> u8 {
    match dialect {
        Dialect::WorldInfo => 0,
        Dialect::Cards => 1,
        Dialect::CardV3 => 2,
        Dialect::Seed002 => 3,
        Dialect::Unorouter => 4,
        Dialect::Risu => 5,
        Dialect::Kobold => 6,
        Dialect::AiDungeon => 7,
        Dialect::Agnai => 8,
        Dialect::Janitor => 9,
        Dialect::Chub => 10,
        Dialect::Backyard => 11,
    }
}

/// What a book says besides its entries.
#[derive(Serialize)]
struct Cover<'book> {
    id: &'book str,
    name: &'book str,
    scan_depth: Option<u32>,
    token_budget: Option<u32>,
    recursive: Option<bool>,
    folders: &'book [Folder],
    entries: usize,
}

impl<'book> Cover<'book> {
    fn of(book: &'book Book) -> Self {
        Self {
            id: book.id.as_str(),
            name: &book.name,
            scan_depth: book.scan_depth,
            token_budget: book.token_budget,
            recursive: book.recursive,
            folders: &book.folders,
            entries: book.entries.len(),
        }
    }
}

struct HashedFields {
    hasher: Hasher,
    buffer: Vec<u8>,
}

/// A field that came later, between its neighbours: where it says nothing, entries are hashed
/// without it, so that libraries keep the versions that stored turns name. Texts cannot hold
/// these bytes, because their quotes are escaped.
const UNSAID: &[u8] = br#","use_regex":false,"case_sensitive":"#;
const UNSAID_FIELD: usize = br#","use_regex":false"#.len();

impl HashedFields {
    fn add(&mut self, value: &impl Serialize) {
        self.write(value);
        self.hasher = self.hasher.clone().field(&self.buffer);
    }

    fn add_entry(&mut self, entry: &Entry) {
        self.write(entry);
        if let Some(at) = memmem::find(&self.buffer, UNSAID) {
            self.buffer.drain(at..at + UNSAID_FIELD);
        }
        self.hasher = self.hasher.clone().field(&self.buffer);
    }

    fn write(&mut self, value: &impl Serialize) {
        self.buffer.clear();
        // Our own types have a JSON form, and a vector takes every byte.
        let _written = serde_json::to_writer(&mut self.buffer, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{book::Key, rules::Profile};

    fn book() -> Book {
        let mut book = Book::new("b", "B");
        let mut entry = Entry::new("b/0");
        entry.content = "The bell is cracked.".to_owned();
        entry.activation.keys = vec![Key::parse("bell")];
        book.entries.push(entry);
        book
    }

    #[test]
    fn everything_that_decides_changes_the_version_and_nothing_else_does() {
        let rules = Profile::Loreloom.rules();
        let volume = |book: Book| Volume::world_info(Arc::new(book));
        let version = |book: &Book| of(&[volume(book.clone())], &[], &rules);
        let same = version(&book());
        assert_eq!(version(&book()), same);
        let changes: [fn(&mut Book); 7] = [
            |book| book.entries[0].activation.use_regex = true,
            |book| book.entries[0].activation.keys.push(Key::parse("tower")),
            |book| book.entries[0].placement.order = Some(7.0),
            |book| book.entries[0].activation.timed.sticky = Some(3),
            |book| book.entries[0].activation.enabled = false,
            |book| book.name.push('!'),
            |book| book.entries.push(Entry::new("b/1")),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut changed = book();
            change(&mut changed);
            assert_ne!(version(&changed), same, "change {at}");
        }
        let mut described = book();
        described.description.push_str("For people.");
        assert_eq!(version(&described), same);
        let mut other = rules.clone();
        other.world_info.depth += 1;
        assert_ne!(of(&[volume(book())], &[], &other), same);
        assert_ne!(of(&[volume(book()), volume(book())], &[], &rules), same);
        assert_ne!(of(&[], &[], &rules), of(&[], &[], &other));
    }
}
