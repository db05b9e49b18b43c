//! Which entries changed in a period.
//!
//! A book is compared with its version before the first revision of the period, not from revision
//! to revision. So one book is read however often it changed, and an entry that was changed back
//! does not count. Notes of vaults and books from the command line have no revisions, so it is not
//! known when they changed.

use loreloom_core::{
    book::Entry,
    ids::{BookId, BookVersion, EntryId, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Changed, Store, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::version_of;
use crate::lore::Lore;

/// Revisions are read so many at a time.
const PAGE: u32 = 500;

/// The entries of these books that changed since then, or are new.
pub(crate) async fn since(
    store: &dyn Store,
    tenant: &TenantId,
    lore: &Lore,
    then: Timestamp,
) -> Result<FxHashSet<EntryId>, StoreError> {
    let before = before(store, tenant, then).await?;
    let mut changed = FxHashSet::default();
    for book in lore.library().books() {
        let Some(version) = before.get(&book.id) else { continue };
        let old = match version {
            Some(version) => store.book(tenant, *version).await?,
            None => None,
        };
        let old = old.map(|book| book.entries).unwrap_or_default();
        let old: FxHashMap<&EntryId, &Entry> = old.iter().map(|one| (&one.id, one)).collect();
        let differs = |entry: &&Entry| {
            old.get(&entry.id).is_none_or(|old| version_of(old) != version_of(entry))
        };
        changed.extend(book.entries.iter().filter(differs).map(|entry| entry.id.clone()));
    }
    Ok(changed)
}

/// What the books that were touched since then were before; nothing if they were not there.
async fn before(
    store: &dyn Store,
    tenant: &TenantId,
    then: Timestamp,
) -> Result<FxHashMap<BookId, Option<BookVersion>>, StoreError> {
    let (mut books, mut last) = (FxHashMap::default(), None);
    loop {
        let revisions = store.revisions(tenant, last, PAGE).await?;
        let read = revisions.len();
        for revision in revisions {
            if revision.created < then {
                return Ok(books);
            }
            last = Some(revision.number);
            // Newest first, so the last value seen is the oldest.
            for Changed { key, before, .. } in revision.changes {
                let Some(id) = key.strip_prefix("book/") else { continue };
                let version = before.as_ref().and_then(|shelved| shelved["version"].as_str());
                books.insert(BookId::from(id), version.and_then(|version| version.parse().ok()));
            }
        }
        if read < PAGE as usize {
            return Ok(books);
        }
    }
}
