//! Lore as plain text: paragraphs separated by blank lines, found by meaning.

use std::borrow::Cow;

use loreloom_core::{
    book::{Book, Entry},
    ids::EntryId,
};

use crate::{error::FormatError, import::ImportOptions, json, limits::Limit};

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
    let looks_like_json = looks_like_json(text.trim_start());
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    // A text of another encoding has some letters that were replaced; of what has more than
    // that, nobody could read the rest.
    let replaced = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    let is_binary = text.chars().any(is_control) || replaced * 4 > text.chars().count();
    // Without a name, one word is anything: a broken file, a password, a word.
    let says_something = match file_name {
        Some(_) => !text.trim().is_empty(),
        None => text.trim().contains(char::is_whitespace),
    };
    is_text_file && !looks_like_json && !is_binary && says_something && !is_for_programs(text)
}

/// Whether most lines are written for programs and not for readers: comments, paths, addresses
/// and settings, as in `robots.txt`.
fn is_for_programs(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let for_programs = lines.iter().filter(|line| is_machine_line(line)).count();
    for_programs * 2 > lines.len()
}

fn is_machine_line(line: &str) -> bool {
    let is_address = |word: &str| word.starts_with(['/', '*']) || word.contains("://");
    let is_rule = line.split_once(':').is_some_and(|(name, value)| {
        let value = value.trim();
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        is_name && (is_address(line) || is_address(value)) && !value.contains(char::is_whitespace)
    });
    let is_setting = line.contains('=') && !line.contains(char::is_whitespace);
    line.starts_with('#') || is_rule || is_setting
}

/// Whether a text begins as JSON does: not as a macro, a name in brackets or somebody's
/// words. A single brace is JSON whatever follows, or a broken file would become lore.
fn looks_like_json(text: &str) -> bool {
    let word_of_json = |rest: &str| {
        let is_letter = |c: char| c.is_alphabetic();
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        end == 0 || ["true", "false", "null"].contains(&&rest[..end])
    };
    match text.split_at_checked(1) {
        Some(("{", rest)) => !rest.starts_with('{'),
        Some(("[", rest)) => word_of_json(rest.trim_start()),
        // No other format is one quoted text, so it only matters whether the whole is one.
        Some(("\"", _)) => json::parse(text, usize::MAX).is_ok(),
        _ => false,
    }
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
                    return Err(FormatError::TooMany { which: Limit::Entries, limit, found });
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

/// The text of a book. Paragraphs of `source` that were not edited stay, and so does what is
/// between them.
pub(crate) fn write(book: &Book, newline: &str, source: Option<&str>) -> String {
    let texts = book.entries.iter().map(|entry| paragraph(entry, newline));
    if let Some(source) = source
        && let Ok(old) = paragraphs(source, usize::MAX)
        && old.len() == book.entries.len()
        && old.iter().zip(&book.entries).all(|(old, entry)| entry.raw.as_deref() == Some(*old))
    {
        let mut out = String::with_capacity(source.len());
        let mut rest = source;
        for (old, new) in old.into_iter().zip(texts) {
            if let Some((before, after)) = rest.split_once(old) {
                out.extend([before, &*new]);
                rest = after;
            }
        }
        return out + rest;
    }
    let texts: Vec<Cow<'_, str>> = texts.filter(|text| !text.is_empty()).collect();
    texts.join(&newline.repeat(2)) + newline
}

/// An entry as a paragraph: without blank lines inside, which would split it.
pub(crate) fn paragraph<'entry>(entry: &'entry Entry, newline: &str) -> Cow<'entry, str> {
    let is_blank = |line: &str| line.trim().is_empty();
    let content = &entry.content;
    let is_unedited = entry.raw.as_deref() == Some(content);
    if is_unedited && !content.ends_with(['\r', '\n']) && !content.lines().any(is_blank) {
        return Cow::Borrowed(content);
    }
    let lines = content.lines().filter(|line| !is_blank(line));
    Cow::Owned(lines.collect::<Vec<_>>().join(newline))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExportOptions, Format, export, import};

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
    fn an_edit_changes_no_other_byte() {
        let text = "\na \r\nb\n\n\n c\n\r\nd";
        let mut book = read(text, &ImportOptions::new("b")).unwrap();
        assert_eq!(write(&book, "\n", Some(text)), text);
        "e\n\nf".clone_into(&mut book.entries[1].content);
        assert_eq!(write(&book, "\n", Some(text)), "\na \r\nb\n\n\ne\nf\n\r\nd");
        book.entries.swap(0, 2);
        assert_eq!(write(&book, "\n", Some(text)), "d\n\ne\nf\n\na \r\nb\n");
    }

    #[test]
    fn slashes_in_a_plain_text_are_no_comments() {
        let text = b"a/b\n//\n\nc";
        let options =
            ImportOptions { file_name: Some("a.txt".to_owned()), ..ImportOptions::new("b") };
        let book = import(text, &options).unwrap().book;
        let writing = ExportOptions { original: Some(text), ..ExportOptions::default() };
        let written = export(&book, Format::Perchance, &writing).unwrap();
        assert_eq!(written.bytes, text);
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
            ("Mira: captain\nAge: 30", Some("mira.txt"), true),
            ("User-agent: *\nDisallow: /private\n", Some("robots.txt"), false),
            (
                "# Rules\nUser-agent: x\nDisallow: /\n\nSitemap: https://a.b/c",
                Some("robots.txt"),
                false,
            ),
            ("numpy==1.26\nregex>=2024", Some("requirements.txt"), false),
            ("The harbor is grey.", Some("lore.txt"), true),
            ("The harbor is grey.", Some("lore.json"), false),
            ("{ broken", Some("lore.txt"), false),
            ("{{char}} likes tea.", Some("lore.txt"), true),
            ("[Harbor] is grey.", Some("lore.txt"), true),
            ("[true", Some("lore.txt"), false),
            ("[1, 2", Some("lore.txt"), false),
            ("[{", Some("lore.txt"), false),
            ("\"Hello,\" she said.", Some("lore.txt"), true),
            ("\"Hello\"", Some("lore.txt"), false),
            ("Caf\u{fffd}.", Some("lore.txt"), true),
            ("\u{fffd}\u{fffd}a", Some("lore.txt"), false),
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
