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

    /// The pieces of `all` that are not in use, with their sizes.
    ///
    /// Fails if a piece in use cannot be read: nobody knows what it refers to.
    pub(crate) fn unused(
        mut self,
        all: &[(Digest, Vec<u8>)],
    ) -> Result<Vec<(Digest, u64)>, String> {
        let mut needed = FxHashSet::default();
        for (hash, body) in all.iter().filter(|(hash, _)| self.0.contains(hash)) {
            if piece_hash(&unpack(body)?) != *hash {
                return Err(format!("piece {hash} has another hash"));
            }
            // A run of notes is no manifest, and refers to nothing.
            if let Ok(manifest) = BookManifest::read(body) {
                needed.extend(manifest.needs());
            }
        }
        self.0.extend(needed);
        let unused = all.iter().filter(|(hash, _)| !self.0.contains(hash));
        Ok(unused.map(|(hash, body)| (*hash, body.len() as u64)).collect())
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
        let (standing, pieces) = split_book(&book("standing")).unwrap();
        all.extend(pieces);
        let (_, gone) = split_book(&book("gone")).unwrap();
        let expected: Vec<(Digest, u64)> =
            gone.iter().map(|piece| (piece.hash, piece.body().len() as u64)).collect();
        all.extend(gone);
        let all: Vec<_> =
            all.into_iter().map(|piece| (piece.hash, piece.body().to_vec())).collect();
        let mut used = PiecesInUse::default();
        used.library(&library).unwrap();
        used.document(&serde_json::json!({ "version": standing, "name": "Standing" }).to_string());
        assert_eq!(used.unused(&all).unwrap(), expected);
    }

    #[test]
    fn nothing_is_unused_if_a_used_piece_cannot_be_read() {
        let (version, pieces) = split_book(&book("b")).unwrap();
        let mut all: Vec<_> =
            pieces.into_iter().map(|piece| (piece.hash, piece.body().to_vec())).collect();
        let (_, body) = all.last_mut().unwrap();
        *body = crate::codec::pack(b"[]");
        let mut used = PiecesInUse::default();
        used.document(&format!("\"{}\"", version.0));
        assert_eq!(used.unused(&all), Err(format!("piece {} has another hash", version.0)));
    }
}
