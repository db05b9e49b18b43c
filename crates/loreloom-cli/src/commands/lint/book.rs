//! Mistakes in lorebooks.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use loreloom_core::{
    book::{Book, Entry},
    library::Library,
    rules::Rules,
    vault::Severity,
};

use super::finding::Finding;
use crate::{files, lore::read_book};

/// What is odd about a lorebook.
pub(super) fn findings(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let name = path.display().to_string();
    let imported = read_book(path, "book", &files::stem(path))?;
    let told = imported.notes.iter().map(|note| {
        let severity = match note.severity {
            loreloom_formats::Severity::Warning => Severity::Warning,
            loreloom_formats::Severity::Info => Severity::Hint,
        };
        Finding::new(&name, severity, "format", note.to_string())
    });
    let mut findings: Vec<Finding> = told.collect();
    let book = Arc::new(imported.book);
    let library = Library::under([Arc::clone(&book)], &Rules::default());
    let about = |entry: &Entry, severity, code: &str, message: String| Finding {
        title: entry.title().to_owned(),
        ..Finding::new(&name, severity, code, message)
    };
    for (ix, key) in library.not_regexes() {
        let message = format!("the key `{key}` is no regular expression and is read as text");
        findings.push(about(library.entry(ix), Severity::Warning, "not_a_regex", message));
    }
    for entry in book.entries.iter().filter(|entry| entry.activation.enabled) {
        for (severity, code, message) in odd(entry) {
            findings.push(about(entry, severity, code, message.to_owned()));
        }
    }
    for (title, count) in twice(&book) {
        let message = format!("{count} entries have the same keys and the same text: {title}");
        findings.push(Finding::new(&name, Severity::Hint, "same_entry", message));
    }
    Ok(findings)
}

fn odd(entry: &Entry) -> Vec<(Severity, &'static str, &'static str)> {
    let mut odd = Vec::new();
    let activation = &entry.activation;
    if activation.keys.is_empty() && !activation.constant && !entry.content.contains("@@") {
        odd.push((Severity::Warning, "no_keys", "has no keys, so nothing brings it in"));
    }
    if entry.content.trim().is_empty() {
        odd.push((Severity::Warning, "empty_content", "has no text"));
    }
    odd
}

/// Entries that say the same under the same keys.
fn twice(book: &Book) -> Vec<(String, usize)> {
    let mut seen: BTreeMap<(String, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in book.entries.iter().filter(|entry| !entry.content.trim().is_empty()) {
        let keys = format!("{:?}", entry.activation.keys);
        seen.entry((keys, entry.content.trim())).or_default().push(entry);
    }
    let same = seen.into_values().filter(|entries| entries.len() > 1);
    same.map(|entries| (entries[0].title().to_owned(), entries.len())).collect()
}
