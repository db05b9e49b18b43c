//! Who made entries say what they say.
//!
//! A book's versions are recorded with their makers. An entry's maker is that of the last
//! version that changed it, as if what was undone had never been. Versions of one maker after
//! each other count as one: a book is taken from the store once for each time that the maker
//! changed, however often the book did. An entry that its maker put back as it was has not
//! changed.

use loreloom_core::{
    book::{Book, Entry},
    ids::{BookId, BookVersion, EntryId, TenantId},
};
use loreloom_ports::{Store, StoreError};
use rustc_hash::FxHashMap;
use serde::Deserialize as _;
use serde_json::Value;

use super::version_of;
use crate::{
    lore::Lore,
    stored_books::{BOOKS, Maker},
};

/// Revisions are read so many at a time.
const PAGE: u32 = 500;

/// What a book was at a time: its version, and who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MakerStage {
    version: BookVersion,
    by: Option<Maker>,
}

/// Who made a version of a book, as the documents record it.
pub(crate) fn maker(shelved: Option<&Value>) -> Option<Maker> {
    Maker::deserialize(&shelved?["by"]).ok()
}

fn stage(shelved: Option<&Value>) -> Option<MakerStage> {
    let version = shelved?["version"].as_str()?.parse().ok()?;
    Some(MakerStage { version, by: maker(shelved) })
}

/// The makers of these books' entries; of some nothing was recorded.
pub(crate) async fn of(
    store: &dyn Store,
    tenant: &TenantId,
    lore: &Lore,
) -> Result<FxHashMap<EntryId, Maker>, StoreError> {
    let stages = stages(store, tenant).await?;
    let mut makers = FxHashMap::default();
    for book in lore.library().books() {
        let Some(stages) = stages.get(&book.id) else { continue };
        let turns = turns(stages);
        let mut open: Vec<&Entry> = book.entries.iter().collect();
        for (at, MakerStage { by, .. }) in turns.iter().enumerate().rev() {
            if open.is_empty() {
                break;
            }
            let old = match at.checked_sub(1).and_then(|at| turns.get(at)) {
                Some(before) => store.book(tenant, before.version).await?,
                None => None,
            };
            let (same, made) = compared(open, old.as_ref());
            open = same;
            makers.extend(made.into_iter().filter_map(|id| Some((id.clone(), (*by)?))));
        }
    }
    Ok(makers)
}

/// Entries that an older version has just so, and the ids of the others.
fn compared<'book>(
    entries: Vec<&'book Entry>,
    old: Option<&Book>,
) -> (Vec<&'book Entry>, Vec<&'book EntryId>) {
    let old = old.map(|book| book.entries.as_slice()).unwrap_or_default();
    let old: FxHashMap<&EntryId, &Entry> = old.iter().map(|one| (&one.id, one)).collect();
    let is_same =
        |entry: &&Entry| old.get(&entry.id).is_some_and(|old| version_of(old) == version_of(entry));
    let (same, other): (Vec<&Entry>, Vec<&Entry>) = entries.into_iter().partition(is_same);
    (same, other.into_iter().map(|entry| &entry.id).collect())
}

/// What books became, oldest first; nothing where one was taken out.
async fn stages(
    store: &dyn Store,
    tenant: &TenantId,
) -> Result<FxHashMap<BookId, Vec<Option<MakerStage>>>, StoreError> {
    let (mut books, mut last) = (FxHashMap::<BookId, Vec<_>>::default(), None);
    loop {
        let revisions = store.revisions(tenant, last, PAGE).await?;
        let read = revisions.len();
        for revision in revisions {
            last = Some(revision.number);
            for change in revision.changes.iter().rev() {
                let Some(id) = change.key.strip_prefix(BOOKS) else { continue };
                let stages = books.entry(BookId::from(id)).or_default();
                stages.push(stage(change.after.as_ref()));
            }
        }
        if read < PAGE as usize {
            break;
        }
    }
    for stages in books.values_mut() {
        stages.reverse();
    }
    Ok(books)
}

/// The stages that led to the last one, one for each time that the maker changed: what was
/// undone, or came before a book was taken out for good, led nowhere.
fn turns(stages: &[Option<MakerStage>]) -> Vec<MakerStage> {
    let mut led: Vec<Option<MakerStage>> = Vec::new();
    for stage in stages {
        if let Some(at) = led.iter().position(|one| one == stage) {
            led.truncate(at);
        }
        led.push(*stage);
    }
    let there = led.iter().rposition(Option::is_none).map_or(0, |gone| gone + 1);
    let mut turns: Vec<MakerStage> = Vec::new();
    for stage in led.into_iter().skip(there).flatten() {
        match turns.last_mut() {
            Some(last) if last.by == stage.by => *last = stage,
            Some(_) | None => turns.push(stage),
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::Digest;

    use super::*;

    #[test]
    fn what_was_undone_led_nowhere_and_versions_of_one_maker_are_one() {
        let version = |number: u8| -> BookVersion { BookVersion(Digest([number; 16])) };
        let read = |text: &str| -> Vec<Option<MakerStage>> {
            let stage = |word: &str| {
                let (by, number) = (word.as_bytes()[0], word.as_bytes().get(1)?);
                let by = match by {
                    b'h' => Some(Maker::Hand),
                    b'i' => Some(Maker::Import),
                    _ => None,
                };
                Some(MakerStage { version: version(*number), by })
            };
            text.split_whitespace().map(stage).collect()
        };
        for (stages, expected) in [
            ("", ""),
            ("i1", "i1"),
            ("i1 h2 h3 h4", "i1 h4"),
            ("i1 h2 i3 h4", "i1 h2 i3 h4"),
            // An undo, and the undo of that.
            ("i1 h2 i1", "i1"),
            ("i1 h2 i1 h2", "i1 h2"),
            ("i1 i2 h3 i2", "i2"),
            // By hand as it was: no undo, and the same version all the same.
            ("i1 h2 h1", "i1 h1"),
            // From before makers were recorded.
            ("?1 ?2 h3", "?2 h3"),
            // Taken out, and another put in; taken out and brought back.
            ("i1 h2 - i3", "i3"),
            ("i1 h2 - h2", "i1 h2"),
        ] {
            let expected: Vec<MakerStage> = read(expected).into_iter().flatten().collect();
            assert_eq!(turns(&read(stages)), expected, "{stages}");
        }
    }
}
