//! A library: its rules, and the versions of its books.

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    ids::{BookVersion, Digest},
    library::{Dialect, LibrarySource, Volume},
    rules::Rules,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{
    book::{BookPiece, join_list, split_book, split_list},
    pack::{pack, unpack},
};

/// A library as it is stored: its books are pieces of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredLibrary {
    pub(crate) volumes: Vec<(BookVersion, Dialect)>,
    /// Runs of vault notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<Digest>,
    rules: Rules,
}

/// Splits a library into its stored form and the pieces of its books.
pub(crate) fn split_library(
    shelf: &LibrarySource,
) -> Result<(Vec<u8>, Vec<BookPiece>), serde_json::Error> {
    let mut all = Vec::new();
    let notes = split_list(&shelf.notes, &mut all)?;
    let mut stored = StoredLibrary { volumes: Vec::new(), notes, rules: shelf.rules.clone() };
    for volume in &shelf.volumes {
        let (version, pieces) = split_book(&volume.book)?;
        stored.volumes.push((version, volume.dialect));
        all.extend(pieces);
    }
    Ok((pack(&serde_json::to_vec(&stored)?), all))
}

impl StoredLibrary {
    /// Reads the stored form.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(&unpack(bytes)?).map_err(|error| error.to_string())
    }

    /// Joins the library, given its books in order and the pieces of its notes.
    pub(crate) fn join(
        self,
        books: Vec<Book>,
        pieces: &FxHashMap<Digest, Vec<u8>>,
    ) -> Result<LibrarySource, String> {
        let notes = join_list(&self.notes, pieces)?;
        let dialects = self.volumes.into_iter().map(|(_, dialect)| dialect);
        let volumes = books.into_iter().zip(dialects);
        let volumes = volumes.map(|(book, dialect)| Volume { book: Arc::new(book), dialect });
        Ok(LibrarySource { volumes: volumes.collect(), notes, rules: self.rules })
    }
}
