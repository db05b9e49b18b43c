//! Writes a book in any known format.
//!
//! A book that goes back to the format it came from is written by patching its own file:
//! nothing that was not edited changes, not even a blank. A book that crosses to another
//! format is written anew, and what the format cannot say is carried in its `extensions`
//! or reported as lost.

mod container;
mod fresh;
mod patched;
mod row;

use loreloom_core::{
    book::{Book, Indent, TextStyle},
    ids::EntryId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    card::Card,
    detect::Format,
    document::{self, Document, Part},
    error::FormatError,
    import::{ImportOptions, OddValues},
    limits::Limits,
    note::Notes,
    perchance, text,
};

/// What a writer must be told.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'a> {
    /// The character, for formats that are cards. Without one the book's name is used.
    pub card: Option<&'a Card>,
    /// The file that the book came from, or the picture that a card should travel in.
    /// Text formats do not need it: a book keeps its own text.
    pub original: Option<&'a [u8]>,
    /// How odd values were read, so that they are found unchanged.
    pub odd_values: OddValues,
    /// How much of the original is read.
    pub limits: Limits,
}

/// A file, and what it could not say.
#[derive(Clone, Debug)]
#[must_use]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// What is not in it.
    pub losses: Vec<Loss>,
}

/// Something that a format has no place for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The entry; `None` for the book as a whole.
    pub entry: Option<EntryId>,
    /// The field of the model, with dots.
    pub field: String,
    /// What it was.
    pub value: Value,
}

/// Writes a book.
pub fn export(
    book: &Book,
    format: Format,
    options: &ExportOptions<'_>,
) -> Result<Exported, FormatError> {
    let reading = reading(book, options);
    if let Some(document) = own_document(book, format, options, &reading)? {
        return patched(book, format, options, &document, &reading);
    }
    let mut losses = Vec::new();
    let bytes = if format == Format::Perchance {
        fresh::plain_losses(book, &mut losses);
        perchance::write(book, "\n").into_bytes()
    } else {
        let root = fresh::document(book, format, options.card, &mut losses)?;
        container::wrap_fresh(&root, format, book, options)?
    };
    Ok(Exported { bytes, losses })
}

/// How the book's own file is read again.
fn reading(book: &Book, options: &ExportOptions<'_>) -> ImportOptions {
    ImportOptions {
        book_id: book.id.clone(),
        name: Some(book.name.clone()),
        file_name: None,
        odd_values: options.odd_values,
        limits: options.limits,
    }
}

/// The file that the book came from, if it is of this format and at hand.
fn own_document<'a>(
    book: &'a Book,
    format: Format,
    options: &ExportOptions<'a>,
    reading: &ImportOptions,
) -> Result<Option<Document<'a>>, FormatError> {
    let Some(origin) = book.origin.as_ref().filter(|origin| origin.format == format.as_str())
    else {
        return Ok(None);
    };
    if let Some(original) = options.original {
        let document = document::open(original, reading, &mut Notes::default())?;
        let is_same = match document.format {
            Some(found) => found == format,
            None => document.part == Part::Whole && format.schema().is_some(),
        };
        if is_same || format == Format::Perchance {
            return Ok(Some(document));
        }
    }
    let is_text = format.container() == loreloom_core::book::Container::Text;
    let source = origin.source.as_deref().filter(|_| is_text);
    Ok(source.map(|source| Document {
        format: Some(format),
        text: source.into(),
        part: Part::Whole,
        card: None,
    }))
}

fn patched(
    book: &Book,
    format: Format,
    options: &ExportOptions<'_>,
    document: &Document<'_>,
    reading: &ImportOptions,
) -> Result<Exported, FormatError> {
    let was = crate::import::read(document, reading, &mut Notes::default())?;
    let same_card = options.card.is_none_or(|card| was.card.as_ref() == Some(card));
    let mut losses = Vec::new();
    if same_book(&was.book, book) && same_card {
        let bytes = match options.original {
            Some(original) => original.to_vec(),
            None => document.text.as_bytes().to_vec(),
        };
        return Ok(Exported { bytes, losses });
    }
    if format == Format::Perchance {
        let newline = crate::json::layout::newline(&text::style(&document.text));
        let bytes = perchance::write(book, newline).into_bytes();
        fresh::plain_losses(book, &mut losses);
        return Ok(Exported { bytes, losses });
    }
    let text = patched::book(&was, book, document, reading, &mut losses)?;
    let (text, card_text) = match options.card.zip(was.card.as_ref()) {
        Some((card, was)) if card != was => patched::card(text, document, was, card)?,
        _ => (text, document.card.clone()),
    };
    let bytes = container::wrap_patched(&text, card_text.as_deref(), format, document, options)?;
    Ok(Exported { bytes, losses })
}

/// Whether nothing was edited.
fn same_book(was: &Book, book: &Book) -> bool {
    was.entries == book.entries
        && was.extensions == book.extensions
        && crate::crossing::book_meaning(was) == crate::crossing::book_meaning(book)
}

/// The layout of files that are written anew.
fn fresh_style() -> TextStyle {
    TextStyle { indent: Indent::Spaces(2), final_newline: true, ..TextStyle::default() }
}
