//! Texts that two books have.

use std::collections::HashMap;

use loreloom_core::book::{Book, Entry};

use crate::note::{ImportNote, Severity};

/// A warning for each entry of a new book whose text another book has already.
pub fn repeated_texts(new: &Book, other: &Book) -> Vec<ImportNote> {
    let texts: HashMap<&str, &Entry> =
        other.entries.iter().map(|entry| (entry.content.trim(), entry)).collect();
    let known = |entry: &Entry| {
        let text = entry.content.trim();
        let same = texts.get(text).filter(|_| !text.is_empty())?;
        Some(ImportNote {
            entry: Some(entry.title().to_owned()),
            field: "content".to_owned(),
            severity: Severity::Warning,
            text: format!(
                "the book `{}` has the same text in `{}`: the prompt gets it once",
                other.id,
                same.title()
            ),
        })
    };
    new.entries.iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_another_book_has_is_a_warning_and_no_text_is_not() {
        let book = |id: &str, texts: &[&str]| {
            let mut book = Book::new(id, id);
            for (at, text) in texts.iter().enumerate() {
                let mut entry = Entry::new(at.to_string());
                entry.name = format!("{id}{at}");
                (*text).clone_into(&mut entry.content);
                book.entries.push(entry);
            }
            book
        };
        let notes = repeated_texts(&book("n", &["One.", "", " Two.\n"]), &book("o", &["Two.", ""]));
        let said: Vec<(Option<&str>, &str)> =
            notes.iter().map(|note| (note.entry.as_deref(), note.text.as_str())).collect();
        let text = "the book `o` has the same text in `o0`: the prompt gets it once";
        assert_eq!(said, [(Some("n2"), text)]);
    }
}
