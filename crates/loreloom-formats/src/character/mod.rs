//! Characters: a card with its book, its picture and the file they came from.
//!
//! [`import_character`] reads any card. [`export_character`] writes one by patching the file it
//! came from, so that fields which the model does not know survive.

mod backyard;
mod portrait;

use loreloom_core::book::{Book, Container};

pub use self::portrait::{Portrait, media_type, portrait};
use crate::{
    card::{self, Card},
    detect::Format,
    error::FormatError,
    export::{ExportOptions, Exported, Loss, export},
    import::{ImportOptions, Imported, import},
    note::{ImportNote, Notes, Severity},
};

/// A character from a file.
#[derive(Clone, Debug)]
#[must_use]
pub struct ImportedCharacter {
    /// The card.
    pub card: Card,
    /// Its book; without entries if the card has none.
    pub book: Book,
    /// What the file was.
    pub format: Format,
    /// What was odd, repaired or left out.
    pub notes: Vec<ImportNote>,
}

/// A character to write.
#[derive(Clone, Copy, Debug)]
pub struct CharacterSource<'a> {
    /// The card.
    pub card: &'a Card,
    /// Its book, if it has one.
    pub book: Option<&'a Book>,
    /// The file that it came from.
    pub original: Option<&'a [u8]>,
    /// The picture, if it is another than that of the file.
    pub picture: Option<&'a [u8]>,
}

/// A card that has nothing but a name.
pub fn named_card(name: &str) -> Card {
    card::named(name)
}

/// Reads a character from a card of any format. A file without a character is an error.
pub fn import_character(
    bytes: &[u8],
    options: &ImportOptions,
) -> Result<ImportedCharacter, FormatError> {
    let Imported { book, card, format, mut notes } = import(bytes, options)?;
    let card = match (card, format) {
        (Some(card), _) => card,
        (None, Format::Byaf) => {
            // What the reader of books leaves out belongs to the character, and is read here.
            notes.retain(|note| note.entry.is_some() || note.severity == Severity::Warning);
            let mut own = Notes::default();
            let card = backyard::read(bytes, &options.limits, &mut own)?;
            notes.extend(own.finish());
            card
        }
        (None, Format::ByafCharacter) => {
            notes.retain(|note| note.entry.is_some() || note.severity == Severity::Warning);
            let source = book.origin.as_ref().and_then(|origin| origin.source.clone());
            backyard::read_alone(source.as_deref().unwrap_or_default())?
        }
        (None, _) => {
            return Err(FormatError::Unknown {
                looked_for: "a character card",
                found: format!("a book (`{}`)", format.as_str()),
            });
        }
    };
    Ok(ImportedCharacter { card, book, format, notes })
}

/// Writes a character as a card. What the format cannot say is reported.
pub fn export_character(
    source: &CharacterSource<'_>,
    format: Format,
) -> Result<Exported, FormatError> {
    let book = book_of(source, format);
    let CharacterSource { card, original, picture, .. } = *source;
    if format == Format::Byaf {
        let options = ExportOptions { original, ..ExportOptions::default() };
        let Exported { bytes, mut losses } = export(&book, format, &options)?;
        let (bytes, lost) = backyard::write(&bytes, card, &options.limits)?;
        losses.retain(|loss| loss.entry.is_some());
        losses.extend(lost);
        return Ok(Exported { bytes, losses });
    }
    if format.card().is_none() {
        return Err(FormatError::Unknown {
            looked_for: "a format of character cards",
            found: format!("`{}`", format.as_str()),
        });
    }
    // Only a PNG can carry a card.
    let fits = |picture: &&[u8]| media_type(picture) == Some("image/png");
    let is_lost = picture.is_some_and(|picture| !fits(&picture));
    let carrier = picture.filter(fits).or(original);
    let options = ExportOptions { card: Some(card), original: carrier, ..ExportOptions::default() };
    let mut exported = export(&book, format, &options)?;
    if is_lost || picture.is_some() && format.container() != Container::Png {
        let (field, value) = ("portrait".to_owned(), picture.and_then(media_type).into());
        exported.losses.push(Loss { entry: None, field, value });
    }
    Ok(exported)
}

/// The book to write. It carries the text of the file it came from, which is patched.
fn book_of(source: &CharacterSource<'_>, format: Format) -> Book {
    let id = source.book.map_or_else(|| "character".into(), |book| book.id.clone());
    let options = ImportOptions::new(id.clone());
    let from_file = source.original.and_then(|bytes| import(bytes, &options).ok());
    let from_file = from_file.filter(|file| file.format == format).map(|file| file.book);
    match (source.book, from_file) {
        (Some(book), Some(file)) => {
            let has_own = book.origin.as_ref().is_some_and(|own| own.format == format.as_str());
            let origin = if has_own { book.origin.clone() } else { file.origin };
            Book { origin, ..book.clone() }
        }
        (Some(book), None) => book.clone(),
        (None, Some(file)) => Book { entries: Vec::new(), ..file },
        (None, None) => Book::new(id, source.card.name.as_str()),
    }
}

#[cfg(test)]
mod tests;
