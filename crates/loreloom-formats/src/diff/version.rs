//! A newer version of a book under the ids of the older one.
//!
//! Turns, effects and comparisons know entries by id, and a book that was saved under
//! another name or renumbered by a converter has other ids for the same entries.

use loreloom_core::book::Book;
use rustc_hash::FxHashSet;

use super::pairing::pairs;

/// Newer books under the ids of the older ones that they are versions of. A book is a
/// version of the one with its id, else of one with its name, else of the one that has most
/// of its entries, at least half of them. The others stay as they are.
pub fn as_versions_of<'old>(
    old: impl IntoIterator<Item = &'old Book>,
    new: impl IntoIterator<Item = Book>,
) -> Vec<Book> {
    let mut left: Vec<&Book> = old.into_iter().collect();
    let mut new: Vec<(Book, bool)> = new.into_iter().map(|book| (book, false)).collect();
    let likeness: [fn(&Book, &Book) -> usize; 3] = [
        |old, new| usize::from(old.id == new.id),
        |old, new| usize::from(!new.name.trim().is_empty() && old.name.trim() == new.name.trim()),
        |old, new| {
            let shared = pairs(old, new).len();
            if shared * 2 >= new.entries.len() { shared } else { 0 }
        },
    ];
    for alike in likeness {
        for (book, found) in new.iter_mut().filter(|(_, found)| !found) {
            let best = left.iter().enumerate().map(|(at, old)| (alike(old, book), at));
            let Some((_, at)) = best.filter(|(score, _)| *score > 0).max() else { continue };
            *book = renamed(left.swap_remove(at), std::mem::replace(book, Book::new("", "")));
            *found = true;
        }
    }
    new.into_iter().map(|(book, _)| book).collect()
}

/// The book under the ids of an older version. Entries that are new keep their own part of
/// the id, unless an entry of the older version had it.
fn renamed(old: &Book, mut new: Book) -> Book {
    let pairs = pairs(old, &new);
    let mut taken: FxHashSet<String> =
        old.entries.iter().map(|entry| entry.id.to_string()).collect();
    let mut is_paired = vec![false; new.entries.len()];
    for (at_old, at_new) in pairs {
        is_paired[at_new] = true;
        new.entries[at_new].id = old.entries[at_old].id.clone();
    }
    let own = format!("{}/", new.id);
    for (entry, _) in new.entries.iter_mut().zip(is_paired).filter(|(_, paired)| !paired) {
        let local = entry.id.as_str().strip_prefix(&own).unwrap_or(entry.id.as_str());
        let mut id = format!("{}/{local}", old.id);
        while !taken.insert(id.clone()) {
            id.push('+');
        }
        entry.id = id.into();
    }
    new.id = old.id.clone();
    new
}

#[cfg(test)]
mod tests {
    use loreloom_core::book::Entry;

    use super::*;

    fn book(id: &str, name: &str, entries: &[(&str, &str, &str)]) -> Book {
        let mut book = Book::new(id, name);
        for (local, title, text) in entries {
            let mut entry = Entry::new(format!("{id}/{local}"));
            (*title).clone_into(&mut entry.name);
            (*text).clone_into(&mut entry.content);
            book.entries.push(entry);
        }
        book
    }

    fn ids(book: &Book) -> Vec<&str> {
        book.entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn a_book_saved_under_another_name_has_the_same_entries() {
        let old = [
            book("sea", "Sea", &[("0", "Gull", "Gulls cry."), ("1", "Tide", "Tides turn.")]),
            book("town", "Town", &[("0", "Bell", "It is cracked."), ("1", "Tower", "It leans.")]),
        ];
        let new = [
            book(
                "town-v2",
                "Better town",
                &[
                    ("1", "Bell", "It is whole."),
                    ("2", "Tower", "It leans."),
                    ("3", "Priest", "He is deaf."),
                ],
            ),
            book("other", "Other", &[("0", "Fox", "Foxes.")]),
            book("copy", "Sea", &[("0", "Gull", "Gulls cry.")]),
        ];
        let found = as_versions_of(&old, new);
        assert_eq!(found[0].id.as_str(), "town");
        assert_eq!(ids(&found[0]), ["town/0", "town/1", "town/3"]);
        assert_eq!(ids(&found[1]), ["other/0"]);
        assert_eq!(ids(&found[2]), ["sea/0"]);
    }

    #[test]
    fn a_new_entry_never_takes_the_id_of_one_that_is_gone() {
        let old = [book("b", "B", &[("0", "Bell", "It is cracked."), ("1", "Tower", "It leans.")])];
        let new = [book("c", "B", &[("0", "Tower", "It leans."), ("1", "Fox", "Foxes.")])];
        assert_eq!(ids(&as_versions_of(&old, new)[0]), ["b/1", "b/1+"]);
    }
}
