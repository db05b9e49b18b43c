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
