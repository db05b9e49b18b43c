//! Which pieces of books something refers to.
//!
//! A piece is used if a kept library or the desk names it, now or in its past, or if a book
//! that is used is put together from it. Any digest in a value of the desk counts as a name:
//! too much is kept rather than too little.

use loreloom_core::ids::Digest;
use rustc_hash::FxHashSet;

use super::{Binding, library_from, piece_hash, unpack};

/// Pieces that something refers to.
#[derive(Debug, Default)]
pub(crate) struct PiecesInUse(FxHashSet<Digest>);

impl PiecesInUse {
    /// A library, as it is stored.
    pub(crate) fn library(&mut self, body: &[u8]) -> Result<(), String> {
        let library = library_from(body)?;
        self.0.extend(library.volumes.iter().map(|(version, _)| version.0));
        self.0.extend(library.notes);
        Ok(())
    }

    /// A value of the desk, as it is stored.
    pub(crate) fn value(&mut self, json: &str) {
        self.0.extend(json.split('"').filter_map(|word| word.parse::<Digest>().ok()));
    }

    /// Those of `all` pieces that are not used, with their sizes.
    ///
    /// Fails if a piece that is used cannot be read: what it refers to is not known.
    pub(crate) fn unused(
        mut self,
        all: &[(Digest, Vec<u8>)],
    ) -> Result<Vec<(Digest, u64)>, String> {
        let mut needed = FxHashSet::default();
        for (hash, body) in all.iter().filter(|(hash, _)| self.0.contains(hash)) {
            if piece_hash(&unpack(body)?) != *hash {
                return Err(format!("piece {hash} was changed"));
            }
            // A run of notes is no binding, and refers to nothing.
            if let Ok(binding) = Binding::read(body) {
                needed.extend(binding.needs());
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
        library::{Dialect, Shelf, Volume},
    };

    use super::*;
    use crate::codec::{library_parts, take_apart};

    fn book(id: &str) -> Book {
        let mut book = Book::new(id, id);
        book.entries.push(Entry::new(format!("{id}/0")));
        book
    }

    #[test]
    fn pieces_of_books_that_nothing_names_are_unused() {
        let dialect = Dialect::default();
        let volumes = vec![Volume { book: Arc::new(book("kept")), dialect }];
        let (library, mut all) = library_parts(&Shelf { volumes, ..Shelf::default() }).unwrap();
        let (standing, pieces) = take_apart(&book("standing")).unwrap();
        all.extend(pieces);
        let (_, gone) = take_apart(&book("gone")).unwrap();
        let expected: Vec<(Digest, u64)> =
            gone.iter().map(|piece| (piece.hash, piece.body().len() as u64)).collect();
        all.extend(gone);
        let all: Vec<_> =
            all.into_iter().map(|piece| (piece.hash, piece.body().to_vec())).collect();
        let mut used = PiecesInUse::default();
        used.library(&library).unwrap();
        used.value(&serde_json::json!({ "version": standing, "name": "Standing" }).to_string());
        assert_eq!(used.unused(&all).unwrap(), expected);
    }

    #[test]
    fn nothing_is_unused_as_long_as_a_used_piece_cannot_be_read() {
        let (version, pieces) = take_apart(&book("b")).unwrap();
        let mut all: Vec<_> =
            pieces.into_iter().map(|piece| (piece.hash, piece.body().to_vec())).collect();
        let (_, body) = all.last_mut().unwrap();
        *body = crate::codec::pack(b"[]");
        let mut used = PiecesInUse::default();
        used.value(&format!("\"{}\"", version.0));
        assert_eq!(used.unused(&all), Err(format!("piece {} was changed", version.0)));
    }
}
