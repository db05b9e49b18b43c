//! What a library is compiled from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Dialect, Library, version};
use crate::{
    book::Book,
    dialects::vault::{Note, Vault},
    ids::LibraryVersion,
    rules::Rules,
};

/// Books side by side, each with the dialect it is read in, and the rules they are woven by.
/// Together with the turn, this decides what is woven.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredSource", into = "StoredSource")]
pub struct LibrarySource {
    /// The books, in order.
    pub volumes: Vec<Volume>,
    /// The notes of all vaults.
    pub notes: Vec<Arc<Note>>,
    /// The rules.
    pub rules: Rules,
}

/// A book, and how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// The book.
    pub book: Arc<Book>,
    /// How it is read.
    pub dialect: Dialect,
}

impl Volume {
    /// A book that is read as World Info.
    pub fn world_info(book: Arc<Book>) -> Self {
        Self { book, dialect: Dialect::WorldInfo }
    }
}

impl LibrarySource {
    /// Books that are read as World Info.
    pub fn world_info(books: impl IntoIterator<Item = Arc<Book>>, rules: Rules) -> Self {
        let volumes = books.into_iter().map(Volume::world_info).collect();
        Self { volumes, notes: Vec::new(), rules }
    }

    /// Its version. Equal versions make equal decisions.
    pub fn version(&self) -> LibraryVersion {
        version::of(&self.volumes, &self.notes, &self.rules)
    }

    /// Compiles it.
    pub fn compile(&self) -> Library {
        self.compile_after(None)
    }

    /// Compiles it and reuses what an earlier library knows about unchanged notes.
    pub fn compile_after(&self, before: Option<&Library>) -> Library {
        let volumes = self.volumes.iter();
        let books = volumes.map(|volume| (Arc::clone(&volume.book), volume.dialect));
        let library = Library::compile_dialects(books, &self.rules);
        if self.notes.is_empty() {
            return library;
        }
        let before = before.and_then(Library::vault);
        let vault =
            Vault::compile_after(before, self.notes.iter().cloned(), &self.rules.vault.rules);
        library.with_vault(Arc::new(vault), self.version())
    }
}

/// The stored form of a source. Dialects are a list of their own, which is left out where all
/// books are World Info.
#[derive(Serialize, Deserialize)]
struct StoredSource {
    books: Vec<Arc<Book>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Arc<Note>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dialects: Vec<Dialect>,
    rules: Rules,
}

impl From<StoredSource> for LibrarySource {
    fn from(written: StoredSource) -> Self {
        let dialects = written.dialects.into_iter().chain(std::iter::repeat(Dialect::default()));
        let volumes = written.books.into_iter().zip(dialects);
        let volumes = volumes.map(|(book, dialect)| Volume { book, dialect }).collect();
        Self { volumes, notes: written.notes, rules: written.rules }
    }
}

impl From<LibrarySource> for StoredSource {
    fn from(source: LibrarySource) -> Self {
        let (books, mut dialects): (Vec<_>, Vec<_>) =
            source.volumes.into_iter().map(|volume| (volume.book, volume.dialect)).unzip();
        if dialects.iter().all(|dialect| *dialect == Dialect::default()) {
            dialects.clear();
        }
        Self { books, notes: source.notes, dialects, rules: source.rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_part_of_the_version_and_survive_being_written() {
        let book = Arc::new(Book::new("b", "B"));
        let plain = LibrarySource::world_info([Arc::clone(&book)], Rules::default());
        let mut cards = plain.clone();
        cards.volumes[0].dialect = Dialect::Cards;
        assert_ne!(plain.version(), cards.version());
        for source in [plain, cards] {
            let written = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<LibrarySource>(&written).unwrap(), source);
            assert_eq!(source.compile().version(), source.version());
        }
    }

    #[test]
    fn what_was_written_before_there_were_dialects_is_world_info() {
        let book = serde_json::to_value(Book::new("b", "B")).unwrap();
        let written = serde_json::json!({ "books": [book], "rules": Rules::default() });
        let source: LibrarySource = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(source.volumes[0].dialect, Dialect::WorldInfo);
        assert_eq!(serde_json::to_value(&source).unwrap(), written);
    }
}
