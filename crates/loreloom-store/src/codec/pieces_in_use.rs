//! Which pieces of books are in use.
//!
//! A piece is in use if a stored library or a document names it, now or in the past, or if it is
//! part of a book in use. Any digest in a document counts as a name: it is better to keep too much
//! than too little.

use loreloom_core::ids::Digest;
use rustc_hash::FxHashSet;

use super::{BookManifest, StoredLibrary, piece_hash, unpack};

#[derive(Debug, Default)]
pub(crate) struct PiecesInUse(FxHashSet<Digest>);

impl PiecesInUse {
    /// Adds the pieces that a stored library names.
    pub(crate) fn library(&mut self, body: &[u8]) -> Result<(), String> {
        let library = StoredLibrary::read(body)?;
        self.0.extend(library.volumes.iter().map(|(version, _)| version.0));
        self.0.extend(library.notes);
        Ok(())
    }

    /// Adds the pieces that a document names.
    pub(crate) fn document(&mut self, json: &str) {
        self.0.extend(json.split('"').filter_map(|word| word.parse::<Digest>().ok()));
    }

    /// Whether a library or a document names a piece.
    pub(crate) fn is_named(&self, hash: &Digest) -> bool {
        self.0.contains(hash)
    }

    /// Adds the pieces that a named piece is made of: call it for each, one at a time, because files
    /// and pictures are pieces too. Fails if the piece cannot be read: nobody knows what it refers to.
    pub(crate) fn piece(&mut self, hash: &Digest, body: &[u8]) -> Result<(), String> {
        if piece_hash(&unpack(body)?) != *hash {
            return Err(format!("piece {hash} has another hash"));
        }
        // A run of notes is not a manifest and refers to nothing.
        if let Ok(manifest) = BookManifest::read(body) {
            self.0.extend(manifest.needs());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loreloom_core::{
        book::{Book, Entry},
        library::{Dialect, LibrarySource, Volume},
    };

    use super::*;
    use crate::codec::{split_book, split_library};

    fn book(id: &str) -> Book {
        let mut book = Book::new(id, id);
        book.entries.push(Entry::new(format!("{id}/0")));
        book
    }

    #[test]
    fn pieces_of_books_that_nothing_names_are_unused() {
        let dialect = Dialect::default();
        let volumes = vec![Volume { book: Arc::new(book("kept")), dialect }];
        let (library, mut all) =
            split_library(&LibrarySource { volumes, ..LibrarySource::default() }).unwrap();
        let (stored, pieces) = split_book(&book("stored")).unwrap();
        all.extend(pieces);
        let (_, gone) = split_book(&book("gone")).unwrap();
        let expected: Vec<Digest> = gone.iter().map(|piece| piece.hash).collect();
        all.extend(gone);
        let mut used = PiecesInUse::default();
        used.library(&library).unwrap();
        used.document(&serde_json::json!({ "version": stored, "name": "Stored" }).to_string());
        let named: Vec<_> = all.iter().filter(|piece| used.is_named(&piece.hash)).collect();
        for piece in named {
            used.piece(&piece.hash, piece.body()).unwrap();
        }
        let unused = all.iter().map(|piece| piece.hash).filter(|hash| !used.is_named(hash));
        assert_eq!(unused.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_named_piece_that_cannot_be_read_is_an_error() {
        let (version, _) = split_book(&book("b")).unwrap();
        let mut used = PiecesInUse::default();
        used.document(&format!("\"{}\"", version.0));
        assert!(used.is_named(&version.0));
        let read = used.piece(&version.0, &crate::codec::pack(b"[]"));
        assert_eq!(read, Err(format!("piece {} has another hash", version.0)));
    }
}
