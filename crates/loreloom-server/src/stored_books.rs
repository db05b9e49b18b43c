//! The books and rules of a tenant, as documents.

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    ids::{BookId, BookVersion, TenantId},
    library::{Binding, Dialect, Volume},
    units::Timestamp,
};
use loreloom_ports::{Change, DocumentStore, Item, StoreError};
use loreloom_settings::Changes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runtime_settings::{SETTINGS, read_stored};

/// Names of documents of books begin so.
pub(crate) const BOOKS: &str = "book/";

/// Who made a book say what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    /// Somebody, on the page or over the API.
    Hand,
    /// A file that was read, on the page, over the API or by `loreloom books add`.
    Import,
}

/// A stored book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shelved {
    /// The book as it was kept.
    pub version: BookVersion,
    /// Its name.
    pub name: String,
    /// How many entries it has.
    pub entries: usize,
    /// How it is read.
    #[serde(default)]
    pub dialect: Dialect,
    /// What it is attached to; nothing if it is only stored.
    #[serde(default)]
    pub bindings: Vec<Binding>,
    /// Books are woven in this order.
    #[serde(default)]
    pub place: u32,
    /// Who made this version, if recorded. It is part of the value, so that an undo restores it
    /// too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Maker>,
}

/// A stored book with its id and revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredBook {
    /// Its id.
    pub id: BookId,
    /// The revision that last changed it.
    pub revision: u64,
    /// The rest.
    #[serde(flatten)]
    pub shelved: Shelved,
}

/// Everything in the bookcase at one moment.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The revision of the documents.
    pub revision: u64,
    /// The books, in order.
    pub books: Vec<StoredBook>,
    /// The settings that are stored beside them.
    pub settings: Changes,
}

/// The books of one tenant.
#[derive(Clone, Copy)]
pub struct StoredBooks<'a> {
    /// Where they are kept.
    pub documents: &'a dyn DocumentStore,
    /// Whose they are.
    pub tenant: &'a TenantId,
}

/// Why the bookcase could not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoredBooksError {
    /// The book is not there.
    #[error("there is no book `{id}`")]
    NoBook {
        /// The id asked for.
        id: BookId,
    },
    /// The store failed, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoredBooks<'_> {
    /// All stored books.
    pub async fn contents(&self) -> Result<Contents, StoreError> {
        let revision = self.documents.revision(self.tenant).await?;
        let mut contents = Contents { revision, ..Contents::default() };
        for item in self.documents.items(self.tenant, "").await? {
            if item.key == SETTINGS {
                contents.settings = read_stored(&item)?;
            } else if let Some(id) = item.key.strip_prefix(BOOKS) {
                let (id, revision) = (BookId::from(id), item.revision);
                contents.books.push(StoredBook { id, revision, shelved: read(&item)? });
            }
        }
        contents.books.sort_by_key(|book| book.shelved.place);
        Ok(contents)
    }

    /// One book.
    pub async fn find(&self, id: &BookId) -> Result<StoredBook, StoredBooksError> {
        let found = self.contents().await?.books.into_iter().find(|book| book.id == *id);
        found.ok_or_else(|| StoredBooksError::NoBook { id: id.clone() })
    }

    /// A book's text.
    pub async fn book(&self, standing: &StoredBook) -> Result<Book, StoreError> {
        let version = standing.shelved.version;
        let book = self.documents.book(self.tenant, version).await?;
        book.ok_or_else(|| StoreError::Damaged {
            what: format!("book `{}`", standing.id),
            reason: format!("its version {version} is missing"),
        })
    }

    /// Stores books with what they are attached to, replacing those with the same ids, in one
    /// revision, which it returns. A book with unchanged content keeps its maker.
    ///
    /// Fails with [`StoreError::Outdated`] if `seen` is given and is not the last revision.
    pub async fn put(
        &self,
        books: Vec<(Volume, Vec<Binding>)>,
        by: Maker,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let changes = self.changes(books, by).await?;
        self.documents.change(self.tenant, &changes, seen, now).await
    }

    /// Keeps books and returns the changes that store them as [`StoredBooks::put`] does, for a
    /// revision that changes other documents too.
    pub(crate) async fn changes(
        &self,
        books: Vec<(Volume, Vec<Binding>)>,
        by: Maker,
    ) -> Result<Vec<Change>, StoreError> {
        let there = self.contents().await?.books;
        let mut last = there.last().map_or(0, |last| last.shelved.place.saturating_add(1));
        let mut changes = Vec::with_capacity(books.len());
        for (Volume { book, dialect }, bindings) in books {
            let before = there.iter().find(|other| other.id == book.id);
            let place = before.map_or(last, |before| before.shelved.place);
            last = last.max(place.saturating_add(1));
            let version = self.documents.keep_book(self.tenant, &book).await?;
            let (name, entries) = (book.name.clone(), book.entries.len());
            let same = before.filter(|before| before.shelved.version == version);
            let by = same.map_or(Some(by), |same| same.shelved.by);
            let shelved = Shelved { version, name, entries, dialect, bindings, place, by };
            changes.push(change(&book.id, Some(&shelved))?);
        }
        Ok(changes)
    }

    /// Changes the settings of a stored book. Returns the revision.
    ///
    /// Fails with [`StoreError::Outdated`] if anybody changed anything after `seen`, or meanwhile.
    pub async fn arrange(
        &self,
        id: &BookId,
        seen: Option<u64>,
        now: Timestamp,
        arrange: impl FnOnce(&mut Shelved) + Send,
    ) -> Result<u64, StoredBooksError> {
        let Contents { revision, books, .. } = self.contents().await?;
        let found = books.into_iter().find(|book| book.id == *id);
        let no_book = || StoredBooksError::NoBook { id: id.clone() };
        let StoredBook { mut shelved, .. } = found.ok_or_else(no_book)?;
        arrange(&mut shelved);
        // What is written back has the version of the book, too.
        let (changes, seen) = ([change(id, Some(&shelved))?], seen.unwrap_or(revision));
        Ok(self.documents.change(self.tenant, &changes, Some(seen), now).await?)
    }

    /// Takes a book out. Its text stays kept, so that this can be undone.
    pub async fn remove(
        &self,
        id: &BookId,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<u64, StoredBooksError> {
        self.find(id).await?;
        Ok(self.documents.change(self.tenant, &[change(id, None)?], seen, now).await?)
    }
}

pub(crate) fn change(id: &BookId, shelved: Option<&Shelved>) -> Result<Change, StoreError> {
    Ok(Change { key: format!("{BOOKS}{id}"), value: shelved.map(written).transpose()? })
}

impl StoredBook {
    /// The book as a volume.
    pub fn volume(&self, book: Arc<Book>) -> Volume {
        Volume { book, dialect: self.shelved.dialect }
    }
}

fn read<T: for<'de> Deserialize<'de>>(item: &Item) -> Result<T, StoreError> {
    T::deserialize(&item.value).map_err(|error| StoreError::Damaged {
        what: format!("document `{}`", item.key),
        reason: error.to_string(),
    })
}

fn written(value: &impl Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(value).map_err(|error| StoreError::Contradiction {
        rule: "what is kept has a JSON form",
        found: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::Entry;
    use loreloom_store::SqliteStore;

    use super::*;

    fn volume(id: &str, text: &str) -> Volume {
        let mut book = Book::new(id, id.to_uppercase());
        let mut entry = Entry::new(format!("{id}/0"));
        text.clone_into(&mut entry.content);
        book.entries.push(entry);
        Volume { book: Arc::new(book), dialect: Dialect::Cards }
    }

    #[tokio::test]
    async fn a_book_is_put_in_arranged_replaced_taken_out_and_brought_back() {
        let (documents, tenant) = (SqliteStore::in_memory().unwrap(), TenantId::local());
        let case = StoredBooks { documents: &documents, tenant: &tenant };
        let here = vec![Binding::Everywhere];
        let two = vec![(volume("z", "one"), here.clone()), (volume("a", "two"), here)];
        assert_eq!(case.put(two, Maker::Import, Some(0), Timestamp(1)).await.unwrap(), 1);
        let ids = |contents: &Contents| -> Vec<String> {
            contents.books.iter().map(|book| book.id.to_string()).collect()
        };
        assert_eq!(ids(&case.contents().await.unwrap()), ["z", "a"], "in order of arrival");
        case.put(vec![(volume("z", "three"), Vec::new())], Maker::Hand, None, Timestamp(3))
            .await
            .unwrap();
        let contents = case.contents().await.unwrap();
        assert_eq!(ids(&contents), ["z", "a"]);
        let book = case.book(&contents.books[0]).await.unwrap();
        assert_eq!(book.entries[0].content, "three");
        let makers: Vec<_> = contents.books.iter().map(|one| one.shelved.by).collect();
        assert_eq!(makers, [Some(Maker::Hand), Some(Maker::Import)]);
        let same = vec![(volume("z", "three"), Vec::new())];
        let put = case.put(same, Maker::Import, None, Timestamp(3)).await.unwrap();
        assert_eq!(put, 2, "who puts the same in its place changes nothing");
        let bind = |shelved: &mut Shelved| shelved.bindings = vec![Binding::Chat("c".into())];
        case.arrange(&"z".into(), Some(2), Timestamp(4), bind).await.unwrap();
        let meanwhile = |_: &mut Shelved| {
            let noted = [Change { key: "note".to_owned(), value: Some(Value::Null) }];
            let writing = documents.change(&tenant, &noted, None, Timestamp(4));
            // This thread's runtime waits for this closure.
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let write = move || runtime.block_on(writing).unwrap();
            std::thread::scope(|scope| scope.spawn(write).join()).unwrap();
        };
        let late = case.arrange(&"z".into(), None, Timestamp(4), meanwhile).await.unwrap_err();
        assert!(matches!(late, StoredBooksError::Store(StoreError::Outdated { .. })), "{late}");
        let removed = case.remove(&"z".into(), None, Timestamp(5)).await.unwrap();
        assert_eq!(removed, 5);
        let gone = case.find(&"z".into()).await.unwrap_err();
        assert_eq!(gone.to_string(), "there is no book `z`");
        documents.undo(&tenant, removed, Timestamp(6)).await.unwrap();
        let back = case.find(&"z".into()).await.unwrap();
        assert_eq!(back.shelved.bindings, [Binding::Chat("c".into())]);
        assert_eq!(back.shelved.dialect, Dialect::Cards);
    }
}
