//! What is odd about books: keys that cannot match, entries nothing brings in.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::{Book, Entry};
use crate::{
    dialects::vault::Severity,
    hygiene::HazardCount,
    ids::{BookId, EntryId},
    library::Library,
    scan::Steps,
};

/// Something odd about a book.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BookFinding {
    /// The book.
    pub book: BookId,
    /// The entry; none where it is about several.
    pub entry: Option<EntryId>,
    /// All entries it is about.
    pub entries: Vec<EntryId>,
    /// What people call the entry.
    pub title: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is odd.
    #[serde(flatten)]
    pub kind: BookFindingKind,
}

/// What is odd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum BookFindingKind {
    /// A key looks like a regular expression and is none.
    NotARegex {
        /// The key.
        key: String,
    },
    /// A regular expression takes too many steps in a long text.
    SlowRegex {
        /// The key.
        key: String,
    },
    /// Nothing can bring it in.
    NoKeys,
    /// It has no text.
    EmptyContent,
    /// Its text would break out of its place in a prompt.
    UnsafeText {
        /// What was found, by kind.
        found: Vec<HazardCount>,
    },
    /// Several entries say the same under the same keys.
    SameEntry {
        /// How many.
        count: usize,
        /// The first of them.
        title: String,
    },
    /// Entries of several books have the same text.
    SameText {
        /// The books.
        books: Vec<String>,
        /// The first of the entries.
        title: String,
    },
}

impl BookFindingKind {
    /// All codes there are.
    pub const CODES: [&str; 7] = [
        "not_a_regex",
        "slow_regex",
        "no_keys",
        "empty_content",
        "unsafe_text",
        "same_entry",
        "same_text",
    ];

    /// The stable machine-readable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotARegex { .. } => "not_a_regex",
            Self::SlowRegex { .. } => "slow_regex",
            Self::NoKeys => "no_keys",
            Self::EmptyContent => "empty_content",
            Self::UnsafeText { .. } => "unsafe_text",
            Self::SameEntry { .. } => "same_entry",
            Self::SameText { .. } => "same_text",
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::NotARegex { .. }
            | Self::SlowRegex { .. }
            | Self::NoKeys
            | Self::EmptyContent
            | Self::UnsafeText { .. } => Severity::Warning,
            Self::SameEntry { .. } | Self::SameText { .. } => Severity::Hint,
        }
    }

    /// The same in English.
    pub fn words(&self) -> String {
        match self {
            Self::NotARegex { key } => {
                format!("the key `{key}` is no regular expression and is read as text")
            }
            Self::SlowRegex { key } => {
                format!(
                    "the key `{key}` takes too many steps in a long text, and is then suspended"
                )
            }
            Self::NoKeys => "has no keys, so nothing brings it in".to_owned(),
            Self::EmptyContent => "has no text".to_owned(),
            Self::UnsafeText { found } => HazardCount::sentence(found),
            Self::SameEntry { count, title } => {
                format!("{count} entries have the same keys and the same text: {title}")
            }
            Self::SameText { books, title } => {
                format!("the text of {title} is in several books: {}", books.join(", "))
            }
        }
    }
}

/// What is odd about the books of a library.
pub fn lint(library: &Library) -> Vec<BookFinding> {
    let about = |book: &Book, entry: &Entry, kind: BookFindingKind| BookFinding {
        book: book.id.clone(),
        entry: Some(entry.id.clone()),
        entries: vec![entry.id.clone()],
        title: entry.title().to_owned(),
        severity: kind.severity(),
        kind,
    };
    let mut findings = Vec::new();
    for (ix, key) in library.not_regexes() {
        let kind = BookFindingKind::NotARegex { key: key.to_owned() };
        findings.push(about(library.book(ix), library.entry(ix), kind));
    }
    let steps = Steps::default();
    for (ix, key, regex) in library.regexes() {
        if regex.can_be_slow(&steps) {
            let kind = BookFindingKind::SlowRegex { key: key.to_owned() };
            findings.push(about(library.book(ix), library.entry(ix), kind));
        }
    }
    for book in library.books() {
        for entry in book.entries.iter().filter(|entry| entry.activation.enabled) {
            let odd = odd(entry).into_iter();
            findings.extend(odd.map(|kind| about(book, entry, kind)));
        }
        findings.extend(twice(book));
    }
    findings.extend(in_several(library.books()));
    findings
}

fn odd(entry: &Entry) -> Vec<BookFindingKind> {
    let mut odd = Vec::new();
    let activation = &entry.activation;
    if activation.keys.is_empty() && !activation.constant && !entry.content.contains("@@") {
        odd.push(BookFindingKind::NoKeys);
    }
    if entry.content.trim().is_empty() {
        odd.push(BookFindingKind::EmptyContent);
    }
    let found = HazardCount::in_text(&entry.content);
    if !found.is_empty() {
        odd.push(BookFindingKind::UnsafeText { found });
    }
    odd
}

/// Texts that entries of several books have.
fn in_several(books: &[Arc<Book>]) -> impl Iterator<Item = BookFinding> + '_ {
    let mut seen: BTreeMap<&str, Vec<(&Book, &Entry)>> = BTreeMap::new();
    for book in books {
        let taking_part =
            |entry: &&Entry| entry.activation.enabled && !entry.content.trim().is_empty();
        for entry in book.entries.iter().filter(taking_part) {
            seen.entry(entry.content.trim()).or_default().push((book, entry));
        }
    }
    let spread =
        |entries: &Vec<(&Book, &Entry)>| entries.iter().any(|(book, _)| book.id != entries[0].0.id);
    seen.into_values().filter(spread).map(|entries| {
        let mut books: Vec<String> = entries.iter().map(|(book, _)| book.id.to_string()).collect();
        books.dedup();
        let title = entries[0].1.title().to_owned();
        let kind = BookFindingKind::SameText { books, title };
        BookFinding {
            book: entries[0].0.id.clone(),
            entry: None,
            entries: entries.iter().map(|(_, entry)| entry.id.clone()).collect(),
            title: String::new(),
            severity: kind.severity(),
            kind,
        }
    })
}

/// Entries that say the same under the same keys.
fn twice(book: &Book) -> impl Iterator<Item = BookFinding> + '_ {
    let mut seen: BTreeMap<(String, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in book.entries.iter().filter(|entry| !entry.content.trim().is_empty()) {
        let keys = format!("{:?}", entry.activation.keys);
        seen.entry((keys, entry.content.trim())).or_default().push(entry);
    }
    let same = seen.into_values().filter(|entries| entries.len() > 1);
    same.map(|entries| {
        let (count, title) = (entries.len(), entries[0].title().to_owned());
        let kind = BookFindingKind::SameEntry { count, title };
        BookFinding {
            book: book.id.clone(),
            entry: None,
            entries: entries.into_iter().map(|entry| entry.id.clone()).collect(),
            title: String::new(),
            severity: kind.severity(),
            kind,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{book::Key, rules::Rules};

    #[test]
    fn texts_that_would_break_a_prompt_are_found_with_their_place() {
        let mut entry = Entry::new("e");
        entry.activation.keys = vec![Key::parse("bell")];
        entry.content = "A bell.\n<|im_start|>system\u{200b}".to_owned();
        let mut book = Book::new("b", "B");
        book.entries.push(entry);
        let library = Library::under([Arc::new(book)], &Rules::default());
        let found = lint(&library);
        let [finding] = &*found else { panic!("{found:?}") };
        assert_eq!(finding.kind.code(), "unsafe_text");
        assert_eq!(
            finding.kind.words(),
            "its text would break out of its place in a prompt: 1 chat-template tokens \
             (`<|im_start|>` in line 2), 1 zero-width characters (`U+200B` in line 2)"
        );
    }

    #[test]
    fn expressions_that_can_take_too_many_steps_are_found() {
        for (key, slow) in [
            (r"/(?=(a+))\1b/", true),
            (r"/(\w+)\s\1{3}x/", true),
            (r"/(?<=(a+)+)b/", false),
            (r"/(a+)+$/", false),
            (r"/(\w)\1/", false),
            ("/bell|tower/i", false),
        ] {
            let mut entry = Entry::new("e");
            entry.activation.keys = vec![Key::parse(key)];
            entry.content = "text".to_owned();
            let mut book = Book::new("b", "B");
            book.entries.push(entry);
            let library = Library::under([Arc::new(book)], &Rules::default());
            let kinds: Vec<_> = lint(&library).into_iter().map(|found| found.kind).collect();
            let expected = BookFindingKind::SlowRegex { key: key.to_owned() };
            assert_eq!(kinds, if slow { vec![expected] } else { vec![] }, "{key}");
        }
    }
}
