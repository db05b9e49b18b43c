//! Writes a book in any known format.
//!
//! A book that goes back to its own format is written by patching its file: nothing that was not
//! edited changes, not even a blank, except comments and extra commas, which JSON does not allow.
//! A book that goes to another format is written from scratch. What the format cannot store goes
//! into its `extensions`, or is reported as lost.

mod container;
mod fresh;
mod left_behind;
mod patched;
mod row;
mod words;

pub(crate) use fresh::report;
pub use words::{own_word, own_words};

use std::borrow::Cow;

use loreloom_core::{
    book::{Book, Container, Entry, Indent, TextStyle},
    ids::EntryId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    card::Card,
    decorators,
    detect::Format,
    document::{self, Document, Part},
    error::FormatError,
    import::{ImportOptions, OddValues},
    json,
    limits::Limits,
    note::Notes,
    perchance, text,
};

/// Options of an export.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'a> {
    /// The character, for formats that are cards. Without one the book's name is used.
    pub card: Option<&'a Card>,
    /// The file that the book came from, or the picture that a card should travel in.
    /// Text formats do not need it: a book keeps its own text.
    pub original: Option<&'a [u8]>,
    /// What becomes of decorators when the book crosses to another format.
    pub decorators: Decorators,
    /// How odd values were read, so that they are found unchanged.
    pub odd_values: OddValues,
    /// How much of the original is read.
    pub limits: Limits,
}

/// What becomes of decorators when a book crosses to another format. Saving a book in its
/// own format never touches them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decorators {
    /// They stay in the text.
    #[default]
    Keep,
    /// They become fields, for programs that do not read them.
    Lift,
    /// Fields that the format has no word for become decorators, where its programs read
    /// them (Risu).
    Lower,
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
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    let reading = reading(book, format, options);
    if let Some(own) = own_document(book, format, options, &reading) {
        let mut exported = patched(book, format, options, &own, &reading)?;
        if own.bytes.is_none() && options.original.is_some() {
            exported.losses.extend(left_behind::losses(options, format));
        }
        return Ok(exported);
    }
    let mut losses = Vec::new();
    if let Some(card) = options.card.filter(|_| format.card().is_none()) {
        fresh::card_losses(card, &mut losses);
    }
    losses.extend(left_behind::losses(options, format));
    let bytes = if format == Format::Perchance {
        fresh::plain_losses(book, &mut losses);
        perchance::write(book, "\n", None).into_bytes()
    } else {
        let lifts = options.decorators == Decorators::Lift;
        let lifted = lifts.then(|| lifted(book, &mut losses));
        let book = lifted.as_ref().unwrap_or(book);
        let turned = turned(book, format);
        let book = turned.as_ref().unwrap_or(book);
        let style = container::style_of(format);
        let text = fresh::text(book, format, options, &style, &mut losses)?;
        container::wrap_fresh(text, format, options)?
    };
    Ok(Exported { bytes, losses })
}

/// What a format that is not a card loses about a character: everything it has.
pub fn card_losses(card: &Card) -> Vec<Loss> {
    let mut losses = Vec::new();
    fresh::card_losses(card, &mut losses);
    losses
}

/// The book with its decorators as fields.
fn lifted(book: &Book, losses: &mut Vec<Loss>) -> Book {
    let lift = |entry: &Entry| {
        let decorators::Lifted { entry: lifted, ignored } = decorators::lift(entry);
        losses.extend(ignored.into_iter().map(|line| Loss {
            entry: Some(entry.id.clone()),
            field: "decorators".to_owned(),
            value: line.into(),
        }));
        lifted
    };
    Book { entries: book.entries.iter().map(lift).collect(), ..book.clone() }
}

/// The book with its order turned round, if a higher order comes earlier in only one of its own
/// format and the other one.
fn turned(book: &Book, format: Format) -> Option<Book> {
    let own = book.origin.as_ref().map(|origin| origin.format.as_str());
    let descends = own == Some(Format::Seed002.as_str());
    if descends == (format == Format::Seed002) {
        return None;
    }
    let mut turned = book.clone();
    for entry in &mut turned.entries {
        entry.placement.order = entry.placement.order.map(|order| 0.0 - order);
    }
    Some(turned)
}

/// How the book's own file is read again.
fn reading(book: &Book, format: Format, options: &ExportOptions<'_>) -> ImportOptions {
    // A name that the file has not given is an edit once it is another.
    let assumed = book.origin.as_ref().and_then(|origin| origin.assumed_name.clone());
    ImportOptions {
        book_id: book.id.clone(),
        name: assumed.or_else(|| Some(book.name.clone())),
        // Some formats are known by their name alone.
        file_name: Some(format!("book.{}", format.file_extension())),
        odd_values: options.odd_values,
        // Keys that were split are an edit; what was overlooked then is overlooked now.
        split_keys: false,
        // A plain text has no comments that could be overlooked.
        relaxed: format != Format::Perchance,
        plain_text: format == Format::Perchance,
        limits: options.limits,
    }
}

/// The file that a book came from.
struct Own<'a> {
    document: Document<'a>,
    /// The file itself; `None` where only the text inside is at hand.
    bytes: Option<&'a [u8]>,
}

impl Own<'_> {
    /// The original text if it has comments or extra commas, which JSON does not allow: its
    /// readers may not accept them.
    fn by_hand(&self, format: Format) -> Option<Cow<'_, str>> {
        let is_json = self.document.part == Part::Whole && format != Format::Perchance;
        let bytes = self.bytes.filter(|_| is_json)?;
        let text = text::decode(bytes, &mut Notes::default());
        (text != self.document.text).then_some(text)
    }
}

/// The file that the book came from, if it is of this format.
fn own_document<'a>(
    book: &'a Book,
    format: Format,
    options: &ExportOptions<'a>,
    reading: &ImportOptions,
) -> Option<Own<'a>> {
    let origin = book.origin.as_ref().filter(|origin| origin.format == format.as_str())?;
    if let Some(original) = options.original
        && let Ok(document) = document::open(original, reading, &mut Notes::default())
    {
        let is_same = match document.format {
            // A card inside a picture is not a file of its own: only its text is written.
            Some(_) if matches!(document.part, Part::Comment(_)) => false,
            Some(found) => found == format,
            None => document.part == Part::Whole && format.container() == Container::Text,
        };
        if is_same {
            return Some(Own { document, bytes: Some(original) });
        }
    }
    let part = match format.container() {
        Container::Text if format == Format::CardYaml => Part::Yaml,
        Container::Text => Part::Whole,
        Container::Png => Part::Chunk,
        Container::Risum => Part::Module(None),
        // The other files of an archive cannot be made up.
        Container::Zip | Container::Jpeg | Container::Webp | Container::Vault => return None,
    };
    let text = origin.source.as_deref()?.into();
    Some(Own { document: Document { format: Some(format), text, part, card: None }, bytes: None })
}

/// A file with other texts of its book and card.
pub(crate) fn put_back(
    document: Document<'_>,
    bytes: &[u8],
    format: Format,
    (text, card): (&str, Option<&str>),
    limits: Limits,
) -> Result<Vec<u8>, FormatError> {
    let own = Own { document, bytes: Some(bytes) };
    let options = ExportOptions { original: Some(bytes), limits, ..ExportOptions::default() };
    container::wrap_patched(text, card, format, &own, &options)
}

fn patched(
    book: &Book,
    format: Format,
    options: &ExportOptions<'_>,
    own: &Own<'_>,
    reading: &ImportOptions,
) -> Result<Exported, FormatError> {
    let document = &own.document;
    let was = crate::import::read(document, reading, &mut Notes::default())?;
    let same_card = options.card.is_none_or(|card| was.card.as_ref() == Some(card));
    let mut losses = Vec::new();
    let is_unedited = same_book(&was.book, book) && same_card;
    let by_hand = own.by_hand(format);
    if let Some(text) = &by_hand {
        let comments = json::comments(text);
        if !comments.is_empty() {
            losses.push(Loss { entry: None, field: "comments".to_owned(), value: comments.into() });
        }
    } else if let Some(bytes) = own.bytes.filter(|_| is_unedited) {
        return Ok(Exported { bytes: bytes.to_vec(), losses });
    }
    let (text, card_text) = if is_unedited {
        (document.text.as_ref().to_owned(), None)
    } else if format == Format::Perchance {
        fresh::plain_losses(book, &mut losses);
        let newline = crate::json::layout::newline(&text::style(&document.text));
        let body = text::without_bom(&document.text);
        let bom = &document.text[..document.text.len() - body.len()];
        (format!("{bom}{}", perchance::write(book, newline, Some(body))), None)
    } else {
        let text = patched::book(&was, book, document, reading, &mut losses)?;
        match options.card.zip(was.card.as_ref()) {
            Some((card, was)) if card != was => patched::card(text, document, was, card)?,
            _ => (text, document.card.clone()),
        }
    };
    let bytes = container::wrap_patched(&text, card_text.as_deref(), format, own, options)?;
    Ok(Exported { bytes, losses })
}

/// Whether nothing was edited.
fn same_book(was: &Book, book: &Book) -> bool {
    was.entries == book.entries
        && was.extensions == book.extensions
        && crate::conversion::book_meaning(was) == crate::conversion::book_meaning(book)
}

/// The layout of new files.
fn fresh_style() -> TextStyle {
    TextStyle { indent: Indent::Spaces(2), final_newline: true, ..TextStyle::default() }
}
