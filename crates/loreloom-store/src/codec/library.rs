//! A library as a list of books and the rules.

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    ids::{BookVersion, Digest},
    library::{Dialect, Shelf, Volume},
    rules::Rules,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{
    book::{BookPiece, cut_into_runs, join_runs, take_apart},
    pack::{pack, unpack},
};

/// A library in its column: its books are stored in pieces and named by their versions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredLibrary {
    pub(crate) volumes: Vec<(BookVersion, Dialect)>,
    /// Runs of notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<Digest>,
    rules: Rules,
}

/// A library as a column, and the pieces of its books.
pub(crate) fn library_parts(shelf: &Shelf) -> Result<(Vec<u8>, Vec<BookPiece>), serde_json::Error> {
    let mut all = Vec::new();
    let notes = cut_into_runs(&shelf.notes, &mut all)?;
    let mut stored = StoredLibrary { volumes: Vec::new(), notes, rules: shelf.rules.clone() };
    for volume in &shelf.volumes {
        let (version, pieces) = take_apart(&volume.book)?;
        stored.volumes.push((version, volume.dialect));
        all.extend(pieces);
    }
    Ok((pack(&serde_json::to_vec(&stored)?), all))
}

/// A library from its column.
pub(crate) fn library_from(bytes: &[u8]) -> Result<StoredLibrary, String> {
    serde_json::from_slice(&unpack(bytes)?).map_err(|error| error.to_string())
}

impl StoredLibrary {
    /// The library of these books, which are in order, and the pieces of its notes.
    pub(crate) fn shelf(
        self,
        books: Vec<Book>,
        pieces: &FxHashMap<Digest, Vec<u8>>,
    ) -> Result<Shelf, String> {
        let notes = join_runs(&self.notes, pieces)?;
        let dialects = self.volumes.into_iter().map(|(_, dialect)| dialect);
        let volumes = books.into_iter().zip(dialects);
        let volumes = volumes.map(|(book, dialect)| Volume { book: Arc::new(book), dialect });
        Ok(Shelf { volumes: volumes.collect(), notes, rules: self.rules })
    }
}
