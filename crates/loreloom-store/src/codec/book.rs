//! A book as pieces, each named by the hash of its content.
//!
//! An edit of one entry must not store a large book again. So the list of entries is cut into
//! runs, and the hash of an entry decides whether a run ends with it: an edit changes one run and
//! the list of runs. The source text of the book is a piece of its own.

use std::sync::{Arc, OnceLock};

use loreloom_core::{
    book::Book,
    digest::Hasher,
    ids::{BookVersion, Digest, FileVersion},
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::pack::{pack, unpack};

/// Entries of a run, on average and at most.
const USUAL_RUN: u8 = 32;
const LONGEST_RUN: usize = 128;

/// Bytes, named by their hash.
#[derive(Clone, Debug)]
pub(crate) struct BookPiece {
    pub(crate) hash: Digest,
    plain: Vec<u8>,
    packed: OnceLock<Vec<u8>>,
}

impl BookPiece {
    fn of(plain: Vec<u8>) -> Self {
        Self { hash: piece_hash(&plain), plain, packed: OnceLock::new() }
    }

    /// The compressed bytes. Most pieces of an edited book are stored already, and compressing
    /// takes longer than everything else, so only this call does it.
    pub(crate) fn body(&self) -> &[u8] {
        self.packed.get_or_init(|| pack(&self.plain))
    }
}

/// A file as one piece.
pub(crate) fn file_piece(bytes: &[u8]) -> (FileVersion, BookPiece) {
    let piece = BookPiece::of(bytes.to_vec());
    (FileVersion(piece.hash), piece)
}

/// The bytes of a file from its piece.
pub(crate) fn file_content(version: FileVersion, body: &[u8]) -> Result<Vec<u8>, String> {
    checked(&version.0, body)
}

/// The name of a piece.
pub(crate) fn piece_hash(plain: &[u8]) -> Digest {
    Hasher::new("piece").field(plain).finish()
}

/// What a book consists of.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BookManifest {
    /// The book without its entries and its source text.
    head: Book,
    runs: Vec<Digest>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    source: Option<Digest>,
}

/// Splits a book. The last piece is the [`BookManifest`], whose hash is the version of the book.
pub(crate) fn split_book(book: &Book) -> Result<(BookVersion, Vec<BookPiece>), serde_json::Error> {
    let mut pieces = Vec::new();
    let runs = split_list(&book.entries, &mut pieces)?;
    let mut manifest = BookManifest { head: head(book), runs, source: None };
    if let Some(source) = book.origin.as_ref().and_then(|origin| origin.source.as_deref()) {
        let piece = BookPiece::of(source.as_bytes().to_vec());
        manifest.source = Some(piece.hash);
        pieces.push(piece);
    }
    let last = BookPiece::of(serde_json::to_vec(&manifest)?);
    let version = BookVersion(last.hash);
    pieces.push(last);
    Ok((version, pieces))
}

/// Splits a list into runs. The hash of an item decides whether a run ends with it.
pub(super) fn split_list<T: Serialize>(
    items: &[T],
    pieces: &mut Vec<BookPiece>,
) -> Result<Vec<Digest>, serde_json::Error> {
    let mut names = Vec::new();
    // A JSON list, written item by item.
    let (mut run, mut length) = (Vec::new(), 0);
    for (at, item) in items.iter().enumerate() {
        run.push(if length == 0 { b'[' } else { b',' });
        let begin = run.len();
        serde_json::to_writer(&mut run, item)?;
        length += 1;
        let ends = Hasher::new("cut").field(&run[begin..]).finish().0[0] % USUAL_RUN;
        if ends == 0 || length == LONGEST_RUN || at + 1 == items.len() {
            run.push(b']');
            let piece = BookPiece::of(std::mem::take(&mut run));
            length = 0;
            names.push(piece.hash);
            pieces.push(piece);
        }
    }
    Ok(names)
}

/// The bytes of a piece, if it exists and its hash is right.
fn content(hash: &Digest, pieces: &FxHashMap<Digest, Vec<u8>>) -> Result<Vec<u8>, String> {
    checked(hash, pieces.get(hash).ok_or_else(|| format!("piece {hash} is missing"))?)
}

/// The bytes of a compressed piece, if its hash is right.
fn checked(hash: &Digest, body: &[u8]) -> Result<Vec<u8>, String> {
    let plain = unpack(body)?;
    let found = piece_hash(&plain);
    if found == *hash { Ok(plain) } else { Err(format!("piece {hash} has another hash")) }
}

/// Joins a list that was split into runs.
pub(super) fn join_list<T: for<'de> Deserialize<'de>>(
    runs: &[Digest],
    pieces: &FxHashMap<Digest, Vec<u8>>,
) -> Result<Vec<T>, String> {
    let mut items = Vec::new();
    for hash in runs {
        let run: Vec<T> =
            serde_json::from_slice(&content(hash, pieces)?).map_err(|error| error.to_string())?;
        items.extend(run);
    }
    Ok(items)
}

fn head(book: &Book) -> Book {
    let mut origin = book.origin.clone();
    if let Some(origin) = &mut origin {
        origin.source = None;
    }
    Book {
        entries: Vec::new(),
        origin,
        id: book.id.clone(),
        name: book.name.clone(),
        description: book.description.clone(),
        folders: book.folders.clone(),
        extensions: book.extensions.clone(),
        ..*book
    }
}

impl BookManifest {
    /// Reads a compressed piece.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(&unpack(body)?).map_err(|error| error.to_string())
    }

    /// The other pieces of the book.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Digest> {
        self.runs.iter().chain(&self.source).copied()
    }

    /// Joins the compressed pieces to a book.
    pub(crate) fn join(self, pieces: &FxHashMap<Digest, Vec<u8>>) -> Result<Book, String> {
        let mut book = self.head;
        book.entries = join_list(&self.runs, pieces)?;
        if let (Some(hash), Some(origin)) = (&self.source, &mut book.origin) {
            let text =
                String::from_utf8(content(hash, pieces)?).map_err(|error| error.to_string())?;
            origin.source = Some(Arc::from(text));
        }
        book.share_source();
        Ok(book)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use loreloom_core::book::{Container, Entry, Key, Origin, TextStyle};

    use super::*;

    fn book(entries: usize) -> Book {
        let mut book = Book::new("b", "B");
        for at in 0..entries {
            let mut entry = Entry::new(format!("b/{at}"));
            entry.activation.keys = vec![Key::parse(&format!("key {at}"))];
            entry.content = format!("What is known of number {at}.");
            book.entries.push(entry);
        }
        book.origin = Some(Origin {
            format: "sillytavern".to_owned(),
            version: None,
            container: Container::Text,
            style: TextStyle::default(),
            source: Some(Arc::from("{\"entries\":{}}")),
            program: None,
            assumed_name: None,
        });
        book
    }

    fn joined(pieces: &[BookPiece]) -> Book {
        let bodies = pieces.iter().map(|piece| (piece.hash, piece.body().to_vec())).collect();
        let manifest = BookManifest::read(pieces.last().unwrap().body()).unwrap();
        assert_eq!(manifest.needs().count(), pieces.len() - 1);
        manifest.join(&bodies).unwrap()
    }

    #[test]
    fn a_book_is_joined_as_it_was() {
        for entries in [0, 1, 500] {
            let book = book(entries);
            let (_, pieces) = split_book(&book).unwrap();
            assert_eq!(joined(&pieces), book);
        }
    }

    #[test]
    fn a_run_is_a_json_list() {
        let mut pieces = Vec::new();
        split_list(&["a", "b"], &mut pieces).unwrap();
        let all: Vec<String> = join_list(
            &pieces.iter().map(|piece| piece.hash).collect::<Vec<_>>(),
            &pieces.iter().map(|piece| (piece.hash, piece.body().to_vec())).collect(),
        )
        .unwrap();
        assert_eq!(all, ["a", "b"]);
        let mut one = Vec::new();
        split_list(&book(1).entries, &mut one).unwrap();
        assert_eq!(one[0].plain, serde_json::to_vec(&book(1).entries).unwrap());
    }

    #[test]
    fn an_edit_stores_one_run_again() {
        let before = book(2_000);
        let mut after = before.clone();
        after.entries[700].content.push_str(" And more.");
        after.entries.insert(3, Entry::new("b/new"));
        let (old, pieces) = split_book(&before).unwrap();
        let (new, edited) = split_book(&after).unwrap();
        assert_ne!(old, new);
        let known: BTreeSet<Digest> = pieces.iter().map(|piece| piece.hash).collect();
        let fresh = edited.iter().filter(|piece| !known.contains(&piece.hash));
        let fresh: Vec<usize> = fresh.map(|piece| piece.body().len()).collect();
        assert!(fresh.len() <= 5, "two runs and the manifest, perhaps split: {fresh:?}");
        assert_eq!(split_book(&before).unwrap().0, old);
    }

    #[test]
    fn a_missing_or_changed_piece_is_named() {
        let (_, pieces) = split_book(&book(3)).unwrap();
        let manifest = || BookManifest::read(pieces.last().unwrap().body()).unwrap();
        let missing = manifest().join(&FxHashMap::default()).unwrap_err();
        assert!(missing.ends_with("is missing"), "{missing}");
        let wrong = pieces.iter().map(|piece| (piece.hash, pack(b"[]"))).collect();
        let changed = manifest().join(&wrong).unwrap_err();
        assert!(changed.ends_with("has another hash"), "{changed}");
    }
}
