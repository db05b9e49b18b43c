//! Settings of one book or one vault.
//!
//! The engine has one set of rules for all lore. A book or note that says something itself is
//! heard first, so an override is written into what the file leaves open.

use loreloom_core::{
    book::{Book, Entry},
    dialects::vault::Note,
};
use serde::de::DeserializeOwned;

use crate::changes::Changes;

fn value<T: DeserializeOwned>(overrides: &Changes, name: &str) -> Option<T> {
    serde_json::from_value(overrides.get(name)?.clone()).ok()
}

/// Gives a book its own settings. What an entry says itself still counts.
pub fn override_book(book: &mut Book, overrides: &Changes) {
    if overrides.is_empty() {
        return;
    }
    let of = |name: &str| value::<bool>(overrides, name);
    book.scan_depth = value(overrides, "cards.scan_depth").or(book.scan_depth);
    book.token_budget = value(overrides, "cards.budget").or(book.token_budget);
    book.recursive = of("cards.recursive").or(book.recursive);
    let case = of("world_info.case_sensitive").or(of("cards.case_sensitive"));
    let whole_words = of("world_info.match_whole_words").or(of("cards.match_whole_words"));
    let scoring = of("world_info.use_group_scoring");
    let depth: Option<f64> = value(overrides, "world_info.scan_depth");
    for entry in &mut book.entries {
        let Entry { activation, group, .. } = entry;
        activation.scan.messages = activation.scan.messages.or(depth);
        activation.case_sensitive = activation.case_sensitive.or(case);
        activation.whole_words = activation.whole_words.or(whole_words);
        group.use_scoring = group.use_scoring.or(scoring);
    }
}

/// Gives a note the settings of its vault. What the note says itself still counts.
pub fn override_note(note: &mut Note, overrides: &Changes) {
    note.scan_depth = note.scan_depth.or(value(overrides, "vault.scan_depth"));
    let seat = &mut note.seat;
    seat.position = seat.position.or(value(overrides, "vault.position"));
    seat.depth = seat.depth.or(value(overrides, "vault.depth"));
    seat.role = seat.role.or(value(overrides, "vault.role"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_gets_what_its_entries_leave_open() {
        let mut overrides = Changes::default();
        for pair in ["world_info.scan_depth=6", "world_info.case_sensitive=true", "cards.budget=9"]
        {
            overrides.set_pair(pair).unwrap();
        }
        let mut book = Book::new("b", "B");
        book.entries = vec![Entry::new("b/0"), Entry::new("b/1")];
        book.entries[1].activation.scan.messages = Some(1.0);
        override_book(&mut book, &overrides);
        let depths: Vec<_> =
            book.entries.iter().map(|entry| entry.activation.scan.messages).collect();
        assert_eq!(depths, [Some(6.0), Some(1.0)]);
        assert_eq!(book.entries[0].activation.case_sensitive, Some(true));
        assert_eq!((book.token_budget, book.recursive), (Some(9), None));
    }

    #[test]
    fn a_note_gets_the_place_of_its_vault() {
        let mut overrides = Changes::default();
        overrides.set_pair("vault.depth=2").unwrap();
        overrides.set_pair("vault.role=user").unwrap();
        let mut note = Note::new("", "Bell.md", "Bell");
        override_note(&mut note, &overrides);
        assert_eq!(note.seat.depth.map(|depth| depth.0), Some(2));
        assert_eq!(note.seat.role, Some(loreloom_core::chat::Role::User));
        assert_eq!(note.seat.position, None);
    }
}
