//! The books a past turn would be decided with today.

use std::sync::Arc;

use loreloom_core::{
    book::Book,
    ids::TenantId,
    library::{Attachment, Dialect, LibrarySource, Scope, Volume},
    rules::Rules,
};
use loreloom_formats::diff::as_versions_of;
use loreloom_ports::{DocumentStore, history::travel::Revisited};
use loreloom_server::StoredBooks;
use loreloom_settings::Changes;

use crate::lore::LoreArguments;

/// The books a turn is decided with today.
pub(super) struct TodaysBooks {
    pub(super) source: LibrarySource,
    pub(super) attachments: Vec<Attachment>,
}

/// A book of today. Missing fields are unchanged.
struct TodaysLore {
    book: Arc<Book>,
    dialect: Option<Dialect>,
    scopes: Option<Vec<Scope>>,
}

impl TodaysBooks {
    /// Today's books under the ids of that day's: those that were named, else those of the
    /// bookcase. A book that was named is read and active as it was that day; a new one is
    /// read as `--dialect` says and active everywhere.
    pub(super) async fn find(
        lore: &LoreArguments,
        documents: &dyn DocumentStore,
        past: &Revisited,
        kept: Option<&LibrarySource>,
    ) -> anyhow::Result<Self> {
        let named = lore.books()?;
        let (now, rules) = if named.is_empty() {
            standing(lore, documents, past).await?
        } else {
            let now =
                named.into_iter().map(|book| TodaysLore { book, dialect: None, scopes: None });
            (now.collect(), lore.settings()?.rules())
        };
        let then: &[Volume] = kept.map_or(&[], |kept| &kept.volumes);
        let input = past.record.input.as_deref();
        let were_active = input.and_then(|input| input.attachments.as_deref());
        let books = now.iter().map(|now| Book::clone(&now.book));
        let books = as_versions_of(then.iter().map(|volume| &*volume.book), books);
        let mut today = Self {
            source: LibrarySource { rules, ..LibrarySource::default() },
            attachments: Vec::new(),
        };
        for (at, (book, TodaysLore { dialect, scopes, .. })) in
            books.into_iter().zip(now).enumerate()
        {
            let before = then.iter().position(|volume| volume.book.id == book.id);
            let was_read = before.map(|before| then[before].dialect);
            let dialect = match dialect.or(was_read) {
                Some(dialect) => dialect,
                None => lore.dialect_of(&book)?,
            };
            let were_scopes = before.zip(were_active).map(|(before, all)| {
                let own = all.iter().filter(|one| one.book == before);
                own.map(|one| one.scope).collect()
            });
            let scopes = scopes.or(were_scopes).unwrap_or_else(|| vec![Scope::Global]);
            let attached = scopes.into_iter().map(|scope| Attachment { book: at, scope });
            today.attachments.extend(attached);
            today.source.volumes.push(Volume { book: Arc::new(book), dialect });
        }
        Ok(today)
    }
}

/// The books of the bookcase, with why each would be active.
async fn standing(
    lore: &LoreArguments,
    documents: &dyn DocumentStore,
    past: &Revisited,
) -> anyhow::Result<(Vec<TodaysLore>, Rules)> {
    let tenant = TenantId::local();
    let case = StoredBooks { documents, tenant: &tenant };
    let contents = case.contents().await?;
    anyhow::ensure!(
        !contents.books.is_empty(),
        "there are no books today: say them with `--book FILE` or keep them with `loreloom \
         books add FILE`"
    );
    let input = past.record.input.clone().unwrap_or_default();
    let cast = input.cast(&past.record.chat);
    let mut books = Vec::new();
    for standing in &contents.books {
        let scopes = standing.shelved.bindings.iter().filter_map(|one| one.scope(&cast));
        books.push(TodaysLore {
            book: Arc::new(case.book(standing).await?),
            dialect: Some(standing.shelved.dialect),
            scopes: Some(scopes.collect()),
        });
    }
    let started = lore.started(Changes::default())?;
    Ok((books, started.with(&contents.settings)?.rules()))
}
