//! Lore as plain text: paragraphs separated by blank lines, found by meaning.

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};

use crate::{error::FormatError, import::ImportOptions};

/// Extensions of files that are not plain text.
const PROMISING: [&str; 14] = [
    "json", "jsonl", "lorebook", "story", "scenario", "yaml", "yml", "png", "webp", "jpg", "jpeg",
    "charx", "byaf", "risum",
];

/// Whether a text is plain lore rather than broken JSON or a binary file.
pub(crate) fn is_plain(text: &str, file_name: Option<&str>) -> bool {
    // A name that promises something else is a file of that kind, only broken.
    let is_text_file = file_name.is_none_or(|name| {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        !PROMISING.iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
    let looks_like_json = text.trim_start().starts_with(['{', '[', '"']);
    let is_binary = text.chars().any(|character| {
        character == char::REPLACEMENT_CHARACTER
            || character.is_control() && !matches!(character, '\n' | '\r' | '\t')
    });
    // Without a name, one word is anything: a broken file, a password, a word.
    let says_something = match file_name {
        Some(_) => !text.trim().is_empty(),
        None => text.trim().contains(char::is_whitespace),
    };
    is_text_file && !looks_like_json && !is_binary && says_something
}

/// Reads the paragraphs. They have no keys, so they are found by their meaning.
pub(crate) fn read(text: &str, options: &ImportOptions) -> Result<Book, FormatError> {
    let name = options.name.as_deref().unwrap_or_default();
    let mut book = Book::new(options.book_id.clone(), name);
    for (at, paragraph) in paragraphs(text, options.limits.entries)?.into_iter().enumerate() {
        let mut entry = Entry::new(EntryId(format!("{}/{at}", book.id)));
        paragraph.clone_into(&mut entry.content);
        entry.activation.vectorized = true;
        #[expect(clippy::cast_precision_loss, reason = "a place in a file of limited size")]
        let order = at as f64;
        entry.placement.order = Some(order);
        entry.raw = Some(paragraph.into());
        book.entries.push(entry);
    }
    Ok(book)
}

/// The paragraphs without the blank lines around them.
fn paragraphs(text: &str, limit: usize) -> Result<Vec<&str>, FormatError> {
    let mut found = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            if let Some(start) = start.take() {
                if found.len() == limit {
                    let found = limit + 1;
                    return Err(FormatError::TooMany { what: "entries", limit, found });
                }
                found.push(text[start..at].trim_end_matches(['\r', '\n']));
            }
        } else if start.is_none() {
            start = Some(at);
        }
        at += line.len();
    }
    if let Some(start) = start {
        found.push(text[start..].trim_end_matches(['\r', '\n']));
    }
    Ok(found)
}

/// The text of a book: its entries without blank lines inside, which would split them.
pub(crate) fn write(book: &Book, newline: &str) -> String {
    let one = |entry: &Entry| {
        let lines = entry.content.lines().filter(|line| !line.trim().is_empty());
        lines.collect::<Vec<_>>().join(newline)
    };
    let texts: Vec<String> = book.entries.iter().map(one).filter(|text| !text.is_empty()).collect();
    texts.join(&newline.repeat(2)) + newline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_entries() {
        for (text, expected) in [
            ("a\nb\n\nc\n", vec!["a\nb", "c"]),
            ("\n\n a\r\n\r\n\r\nb", vec![" a", "b"]),
            ("\n \n", vec![]),
        ] {
            assert_eq!(paragraphs(text, 5).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_of_too_many_paragraphs_is_refused() {
        let error = paragraphs("a\n\nb\n\nc\n\nd", 2).unwrap_err();
        assert_eq!(error.to_string(), "a file may have 2 entries, found 3");
    }

    #[test]
    fn only_readable_text_is_plain_lore() {
        for (text, name, expected) in [
            ("The harbor is grey.", None, true),
            ("The harbor is grey.", Some("lore.txt"), true),
            ("The harbor is grey.", Some("lore.json"), false),
            ("{ broken", Some("lore.txt"), false),
            ("The harbor is grey.", Some("lore.perchance"), true),
            ("word", None, false),
            ("word", Some("lore.txt"), true),
            (" \n", Some("lore.txt"), false),
            ("a \u{1} b", None, false),
        ] {
            assert_eq!(is_plain(text, name), expected, "{text:?} {name:?}");
        }
    }
}
