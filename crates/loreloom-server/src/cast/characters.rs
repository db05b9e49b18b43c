//! Characters.

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    ids::{BookId, FileVersion, TenantId},
    library::Volume,
    units::Timestamp,
};
use loreloom_formats::{
    Card, CharacterSource, Exported, Format, FormatError, ImportNote, ImportOptions,
    ImportedCharacter, Limits, dialect_of, export_character, import_character, media_type,
    portrait,
};
use loreloom_ports::{Change, DocumentStore, StoreError};
use serde::{Deserialize, Serialize};

use super::kinds::{self, CastDocument, CastDocuments, Kept};
use crate::stored_books::{self, Maker, StoredBook, StoredBooks, StoredBooksError};

/// A picture that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPicture {
    /// Its bytes.
    pub file: FileVersion,
    /// Its media type.
    pub media_type: String,
}

/// A stored character.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptCharacter {
    /// The card.
    pub card: Card,
    /// Its book, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<BookId>,
    /// Its picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portrait: Option<KeptPicture>,
    /// The file that it came from; none if it was made here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<CharacterFile>,
}

/// The file of a character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CharacterFile {
    /// Its format.
    pub format: String,
    /// Its bytes.
    pub file: FileVersion,
}

impl CastDocument for KeptCharacter {
    const PREFIX: &'static str = "character/";
    const WHAT: &'static str = "character";
}

/// A character that was read from a file and is not stored yet.
#[derive(Debug)]
pub struct NewCharacter {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    options: ImportOptions,
    /// What was read.
    pub imported: ImportedCharacter,
}

/// Why a character could not be stored or written.
#[derive(Debug, thiserror::Error)]
pub enum CastError {
    /// There is none of that id.
    #[error("there is no {what} `{id}`")]
    Missing {
        /// What was asked for.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// Its file cannot be read or written.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Its book failed.
    #[error(transparent)]
    Book(#[from] StoredBooksError),
    /// The store failed, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NewCharacter {
    /// Reads a card.
    pub fn read(bytes: Vec<u8>, file_name: Option<&str>) -> Result<Self, FormatError> {
        let stem = file_name.map(|name| name.rsplit_once('.').map_or(name, |(stem, _)| stem));
        let mut options = ImportOptions::new("character").named(stem.unwrap_or("character"));
        options.file_name = file_name.map(str::to_owned);
        let imported = import_character(&bytes, &options)?;
        Ok(Self { bytes, options, imported })
    }

    /// The same with another id of its book, which the ids of entries begin with.
    fn with_book(self, id: BookId) -> Result<Self, FormatError> {
        let name = self.imported.card.name.clone();
        let options = ImportOptions { book_id: id, ..self.options }.named(name);
        let imported = import_character(&self.bytes, &options)?;
        Ok(Self { bytes: self.bytes, options, imported })
    }

    /// What was odd about the file.
    pub fn notes(&self) -> &[ImportNote] {
        &self.imported.notes
    }
}

/// The characters of a tenant.
#[derive(Clone, Copy)]
pub struct StoredCharacters<'a> {
    /// Where they are kept.
    pub documents: &'a dyn DocumentStore,
    /// The tenant.
    pub tenant: &'a TenantId,
}

impl<'a> StoredCharacters<'a> {
    fn kinds(&self) -> CastDocuments<'a> {
        CastDocuments { documents: self.documents, tenant: self.tenant }
    }

    fn books(&self) -> StoredBooks<'a> {
        StoredBooks { documents: self.documents, tenant: self.tenant }
    }

    /// All characters, by id.
    pub async fn all(&self) -> Result<Vec<Kept<KeptCharacter>>, StoreError> {
        self.kinds().all().await
    }

    /// One character.
    pub async fn find(&self, id: &str) -> Result<Kept<KeptCharacter>, CastError> {
        let found = self.kinds().find(id).await?;
        let missing = || CastError::Missing { what: KeptCharacter::WHAT, id: id.to_owned() };
        found.ok_or_else(missing)
    }

    /// Stores a character from a file with its book and picture, in one revision, which it
    /// returns. One with this id is replaced; its book keeps its id and what it is attached to.
    pub async fn put_file(
        &self,
        id: &str,
        new: NewCharacter,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, CastError> {
        let before = self.kinds().find::<KeptCharacter>(id).await?;
        let own_book = match &before {
            Some(before) => self.own_book(before).await?,
            None => None,
        };
        let old_book = before.and_then(|before| before.value.book);
        let new = new.with_book(self.book_id(id, old_book.as_ref()).await?)?;
        let NewCharacter { bytes, imported, .. } = new;
        let ImportedCharacter { card, book, format, .. } = imported;
        let file = self.documents.keep_file(self.tenant, &bytes).await?;
        let portrait = match portrait(&bytes, &card, &Limits::default()) {
            Some(found) => Some(self.keep_picture(&found.bytes, found.media_type).await?),
            None => None,
        };
        let mut changes = Vec::new();
        let book_id = if book.entries.is_empty() {
            None
        } else {
            changes = self.book_changes(&book, &card, old_book.as_ref()).await?;
            Some(book.id)
        };
        if let Some(old) = own_book.filter(|old| book_id.as_ref() != Some(old)) {
            changes.push(stored_books::change(&old, None)?);
        }
        let format = format.as_str().to_owned();
        let original = Some(CharacterFile { format, file });
        let kept = KeptCharacter { card, book: book_id, portrait, original };
        changes.push(kinds::change(id, Some(&kept))?);
        Ok(self.documents.change(self.tenant, &changes, seen, now).await?)
    }

    /// The id of a character's book: its own, or the character's if no other book has it.
    async fn book_id(&self, id: &str, old: Option<&BookId>) -> Result<BookId, StoreError> {
        if let Some(old) = old {
            return Ok(old.clone());
        }
        let there = self.books().contents().await?.books;
        let taken = |id: &str| there.iter().any(|book| book.id.as_str() == id);
        Ok(BookId::from(kinds::free(id, taken)))
    }

    /// The changes that store a character's book.
    async fn book_changes(
        &self,
        book: &Book,
        card: &Card,
        old: Option<&BookId>,
    ) -> Result<Vec<Change>, CastError> {
        let before: Option<StoredBook> = match old {
            Some(old) => self.books().find(old).await.ok(),
            None => None,
        };
        let bindings = before
            .as_ref()
            .map_or_else(|| card.own_bindings(), |before| before.shelved.bindings.clone());
        let dialect = before.map_or_else(|| dialect_of(book), |before| before.shelved.dialect);
        let volume = Volume { book: Arc::new(book.clone()), dialect };
        Ok(self.books().changes(vec![(volume, bindings)], Maker::Import).await?)
    }

    /// Stores a character that was made or changed here. If its name changes, its book follows.
    pub async fn put(
        &self,
        id: &str,
        kept: &KeptCharacter,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, CastError> {
        let mut changes = vec![kinds::change(id, Some(kept))?];
        let before = self.kinds().find::<KeptCharacter>(id).await?;
        let names =
            before.map(|before| (before.value.card.own_bindings(), kept.card.own_bindings()));
        if let (Some((old, new)), Some(book)) = (names.filter(|(old, new)| old != new), &kept.book)
            && let Ok(StoredBook { mut shelved, .. }) = self.books().find(book).await
            && let Some(at) = shelved.bindings.iter().position(|binding| old.contains(binding))
        {
            shelved.bindings.retain(|binding| !old.contains(binding));
            let at = at.min(shelved.bindings.len());
            shelved.bindings.splice(at..at, new);
            changes.push(stored_books::change(book, Some(&shelved))?);
        }
        Ok(self.documents.change(self.tenant, &changes, seen, now).await?)
    }

    /// The book that belongs to a character alone: no other character names it, and it is attached
    /// to nothing else.
    async fn own_book(
        &self,
        character: &Kept<KeptCharacter>,
    ) -> Result<Option<BookId>, StoreError> {
        let Some(id) = &character.value.book else { return Ok(None) };
        let others = self.all().await?;
        if others.iter().any(|one| one.id != character.id && one.value.book.as_ref() == Some(id)) {
            return Ok(None);
        }
        let books = self.books().contents().await?.books;
        let own = character.value.card.own_bindings();
        let book = books.into_iter().find(|book| book.id == *id && book.shelved.bindings == own);
        Ok(book.map(|book| book.id))
    }

    /// Removes a character, and its book unless something else uses it.
    pub async fn remove(
        &self,
        id: &str,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, CastError> {
        let found = self.find(id).await?;
        let mut changes = vec![Kept::<KeptCharacter>::removal(id)];
        if let Some(book) = self.own_book(&found).await? {
            changes.push(stored_books::change(&book, None)?);
        }
        Ok(self.documents.change(self.tenant, &changes, seen, now).await?)
    }

    /// Keeps a picture.
    pub async fn keep_picture(
        &self,
        bytes: &[u8],
        media_type: &str,
    ) -> Result<KeptPicture, StoreError> {
        let file = self.documents.keep_file(self.tenant, bytes).await?;
        Ok(KeptPicture { file, media_type: media_type.to_owned() })
    }

    /// The bytes of a kept file.
    pub async fn file(&self, version: FileVersion) -> Result<Vec<u8>, StoreError> {
        let file = self.documents.file(self.tenant, version).await?;
        file.ok_or_else(|| StoreError::Damaged {
            what: format!("file {version}"),
            reason: "it is missing".to_owned(),
        })
    }

    /// The book of a character.
    pub async fn book(&self, character: &KeptCharacter) -> Result<Option<Book>, CastError> {
        let Some(id) = &character.book else { return Ok(None) };
        match self.books().find(id).await {
            Ok(standing) => Ok(Some(self.books().book(&standing).await?)),
            // It was taken out since.
            Err(StoredBooksError::NoBook { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A character as a card; in the format of its file without another.
    pub async fn export(
        &self,
        character: &KeptCharacter,
        format: Option<Format>,
    ) -> Result<(Format, Exported), CastError> {
        let own = character.original.as_ref().and_then(|file| Format::from_name(&file.format));
        let has_picture = character.portrait.is_some();
        let usual = if has_picture { Format::CardV3Png } else { Format::CardV3 };
        let format = format.or(own).unwrap_or(usual);
        let book = self.book(character).await?;
        let original = match &character.original {
            Some(original) => Some(self.file(original.file).await?),
            None => None,
        };
        let mut picture = match &character.portrait {
            Some(picture) => Some(self.file(picture.file).await?),
            None => None,
        };
        if let (Some(file), Some(shown)) = (&original, &picture) {
            let own = portrait(file, &character.card, &Limits::default());
            let is_own = own.is_some_and(|own| own.bytes == *shown);
            let travels =
                format.as_str() == character.original.as_ref().map_or("", |one| &one.format);
            if is_own && (travels || media_type(file) == Some("image/png")) {
                picture = None;
            }
        }
        let source = CharacterSource {
            card: &character.card,
            book: book.as_ref(),
            original: original.as_deref(),
            picture: picture.as_deref(),
        };
        Ok((format, export_character(&source, format)?))
    }
}
