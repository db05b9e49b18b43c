//! Reads a file of any known format.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "JSON has six kinds of values and will have no more"
)]

use loreloom_core::{
    book::{Book, Container, Origin},
    ids::BookId,
};

use crate::{
    detect::{self, Format},
    error::FormatError,
    json::{self, Node, Oddity, OddityKind},
    limits::Limits,
    note::{ImportNote, Notes},
    sillytavern, text,
};

/// What a reader must be told.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The id of the new book.
    pub book_id: BookId,
    /// The book's name where the file has none, for example the file's own name.
    pub name: Option<String>,
    /// How values of the wrong type are read.
    pub odd_values: OddValues,
    /// How much is read.
    pub limits: Limits,
}

impl ImportOptions {
    /// The defaults, for a book of this id.
    pub fn new(book_id: impl Into<BookId>) -> Self {
        Self {
            book_id: book_id.into(),
            name: None,
            odd_values: OddValues::default(),
            limits: Limits::default(),
        }
    }

    /// The same with a name for books whose file has none.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

/// How `SillyTavern` files with values of the wrong type are read.
///
/// Both report the value as a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OddValues {
    /// As `SillyTavern` itself treats them at scan time: `"false"` is true, a `key` that
    /// is no list never matches. Lore behaves here as it does there.
    #[default]
    AsSillyTavern,
    /// As their author must have meant them: `"false"` is false, `"a, b"` is two keys.
    Repair,
}

/// A book, and what its reader has to say.
#[derive(Clone, Debug)]
#[must_use]
pub struct Imported {
    /// The book.
    pub book: Book,
    /// What the file was.
    pub format: Format,
    /// What was odd, repaired or left out.
    pub notes: Vec<ImportNote>,
}

/// Reads a file of any known format.
pub fn import(bytes: &[u8], options: &ImportOptions) -> Result<Imported, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let mut notes = Notes::default();
    text_file(bytes, options, &mut notes).map(|(format, book)| Imported {
        book,
        format,
        notes: notes.finish(),
    })
}

fn text_file(
    bytes: &[u8],
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<(Format, Book), FormatError> {
    let limit = options.limits.text_bytes;
    if bytes.len() > limit {
        return Err(FormatError::TooLarge { limit, found: bytes.len() });
    }
    let text = text::decode(bytes, notes);
    let body = text::without_bom(&text);
    let parsed = json::parse(body, options.limits.nesting)?;
    let format = detect::of_json(&parsed.root)?;
    note_oddities(&parsed.root, &parsed.oddities, notes);
    let mut book = match format {
        Format::Sillytavern => sillytavern::read(&parsed.root, body, options, notes)?,
    };
    book.origin = Some(Origin {
        format: format.as_str().to_owned(),
        version: None,
        container: Container::Text,
        style: text::style(&text),
        source: Some(text.as_ref().into()),
    });
    Ok((format, book))
}

/// Reports what the parser repaired, each with the path to it.
fn note_oddities(root: &Node<'_>, oddities: &[Oddity], notes: &mut Notes) {
    for odd in oddities {
        let path = path_to(root, odd.at);
        match odd.kind {
            OddityKind::DuplicateKey => {
                notes.warn(&path, "the same key stands here twice: the last one was used");
            }
            OddityKind::LoneSurrogate => {
                notes.warn(&path, "half of a surrogate pair was read as U+FFFD");
            }
            OddityKind::Nul => notes.warn(&path, "the character U+0000 was read as U+FFFD"),
            OddityKind::Control => notes.warn(&path, "a control character was kept as it is"),
        }
    }
}

/// The keys that lead to a byte of the text, separated by dots.
fn path_to(root: &Node<'_>, at: usize) -> String {
    let mut path = String::new();
    let mut node = root;
    loop {
        let step = match &node.value {
            json::Json::Object(members) => members
                .iter()
                .find(|member| (member.start..member.value.span.end).contains(&at))
                .map(|member| (member.key.as_ref().to_owned(), &member.value)),
            json::Json::Array(items) => items
                .iter()
                .enumerate()
                .find(|(_, item)| item.span.contains(&at))
                .map(|(index, item)| (index.to_string(), item)),
            _ => None,
        };
        let Some((name, next)) = step else { return path };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&name);
        node = next;
    }
}
