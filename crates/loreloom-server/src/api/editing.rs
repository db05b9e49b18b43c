//! Changes books, entry by entry or all at once, so that nothing is lost.
//!
//! A change reads the book, changes a copy and stores it only if nobody else changed anything
//! meanwhile; otherwise it is tried again on the new version. Every change is one revision, which
//! can be undone.

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    ids::{BookId, EntryId, TenantId},
    library::Volume,
};
use loreloom_ports::StoreError;
use serde::Serialize;

use super::{
    problem::{Code, Problem},
    tags::IfMatch,
};
use crate::{
    app::App,
    catalog,
    stored_books::{Contents, Maker, StoredBook, StoredBooks, StoredBooksError},
};

/// How often a change is tried when others change things too.
const TRIES: usize = 5;

/// What a write gives back.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct Wrote<T> {
    /// Takes the write back, as `POST /undo` takes it; none if nothing changed.
    pub(super) undo: Option<String>,
    /// The revision of the documents after it.
    pub(super) revision: u64,
    /// What was written, as it now is.
    pub(super) item: T,
}

/// A change that was made.
pub(super) struct Done<T> {
    pub(super) undo: Option<String>,
    pub(super) revision: u64,
    pub(super) made: T,
}

impl<T> Done<T> {
    /// What a write gives back, with the thing as it now is.
    pub(super) fn with<U>(self, item: U) -> Wrote<U> {
        Wrote { undo: self.undo, revision: self.revision, item }
    }
}

/// The id of a revision for `POST /undo`.
pub(super) fn undo_of(revision: u64) -> String {
    format!("desk.{revision}")
}

/// The books of one tenant, to be changed.
#[derive(Clone, Copy)]
pub(super) struct Editing<'a> {
    pub(super) app: &'a App,
    pub(super) tenant: &'a TenantId,
}

impl<'a> Editing<'a> {
    pub(super) fn case(&self) -> StoredBooks<'a> {
        StoredBooks { documents: self.app.store.as_ref(), tenant: self.tenant }
    }

    /// Changes books. `change` gets the books in the given order. It is called again if others
    /// changed them meanwhile.
    pub(super) async fn books<T>(
        &self,
        ids: &[BookId],
        change: impl FnMut(&mut [(StoredBook, Book)]) -> Result<T, Problem>,
    ) -> Result<Done<T>, Problem> {
        self.books_at(&IfMatch::default(), ids, change).await
    }

    /// The same, refused if the caller has not seen the last revision.
    pub(super) async fn books_at<T>(
        &self,
        seen: &IfMatch,
        ids: &[BookId],
        change: impl FnMut(&mut [(StoredBook, Book)]) -> Result<T, Problem>,
    ) -> Result<Done<T>, Problem> {
        self.books_by(Maker::Hand, seen, ids, change).await
    }

    /// The same, made by somebody else than a hand.
    pub(super) async fn books_by<T>(
        &self,
        by: Maker,
        seen: &IfMatch,
        ids: &[BookId],
        mut change: impl FnMut(&mut [(StoredBook, Book)]) -> Result<T, Problem>,
    ) -> Result<Done<T>, Problem> {
        let mut tries = 0;
        loop {
            tries += 1;
            let contents = self.case().contents().await?;
            seen.check(&contents.revision.to_string())?;
            let mut books = self.copies(&contents, ids).await?;
            let made = change(&mut books)?;
            let volumes = books.into_iter().map(|(StoredBook { shelved, .. }, book)| {
                let volume = Volume { book: Arc::new(book), dialect: shelved.dialect };
                (volume, shelved.bindings)
            });
            let seen = Some(contents.revision);
            let put = self.case().put(volumes.collect(), by, seen, self.app.clock.now()).await;
            match put {
                Err(StoreError::Outdated { .. }) if tries < TRIES => {}
                put => return self.done(contents.revision, put?, made).await,
            }
        }
    }

    /// What a change would make of books, which stay as they are.
    pub(super) async fn rehearsed<T>(
        &self,
        seen: &IfMatch,
        ids: &[BookId],
        change: impl FnOnce(&mut [(StoredBook, Book)]) -> Result<T, Problem>,
    ) -> Result<Done<T>, Problem> {
        let contents = self.case().contents().await?;
        seen.check(&contents.revision.to_string())?;
        let made = change(&mut self.copies(&contents, ids).await?)?;
        Ok(Done { undo: None, revision: contents.revision, made })
    }

    /// Books that can be changed, in the order named.
    async fn copies(
        &self,
        contents: &Contents,
        ids: &[BookId],
    ) -> Result<Vec<(StoredBook, Book)>, Problem> {
        let mut books = Vec::with_capacity(ids.len());
        for id in ids {
            if self.app.lore.is_mounted(id) {
                let detail = format!("book `{id}` was named at start and cannot be changed here");
                return Err(Problem::new(Code::Conflict, detail).with(id.to_string()));
            }
            let standing = contents.books.iter().find(|standing| standing.id == *id);
            let missing = || StoredBooksError::NoBook { id: id.clone() };
            let standing = standing.ok_or_else(missing)?.clone();
            let book = self.case().book(&standing).await?;
            books.push((standing, book));
        }
        Ok(books)
    }

    /// Changes one book.
    pub(super) async fn book<T>(
        &self,
        id: &BookId,
        mut change: impl FnMut(&mut Book) -> Result<T, Problem>,
    ) -> Result<Done<T>, Problem> {
        let ids = [id.clone()];
        self.books(&ids, |books| match books {
            [(_, book)] => change(book),
            _ => Err(Problem::missing("book", id.as_str())),
        })
        .await
    }

    /// Tells the rest of the server what was changed.
    pub(super) async fn done<T>(
        &self,
        before: u64,
        revision: u64,
        made: T,
    ) -> Result<Done<T>, Problem> {
        self.app.sync.take_up().await?;
        let undo = (revision != before).then(|| undo_of(revision));
        Ok(Done { undo, revision, made })
    }

    /// The book of an entry; notes of vaults have none.
    pub(super) async fn book_of(&self, entry: &EntryId) -> Result<BookId, Problem> {
        self.app.sync.take_up().await?;
        let lore = self.app.lore.current();
        let rows = catalog::rows(&lore);
        let row = rows.iter().find(|row| row.id == entry);
        let row = row.ok_or_else(|| Problem::missing("entry", entry.as_str()))?;
        if row.is_note() {
            let detail = format!("`{entry}` is a note of vault `{}`: change its file", row.book);
            return Err(Problem::new(Code::Conflict, detail).with(entry.to_string()));
        }
        Ok(BookId::from(row.book))
    }
}
