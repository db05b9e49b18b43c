//! What the linter finds about lore, and which entries each finding is about.

use loreloom_core::{
    book::{self, BookFindingKind},
    dialects::vault::{Issue, IssueKind, Severity, inspect_use},
    ids::EntryId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use serde_json::Value;

use crate::lore::Lore;

/// Something odd about lore.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct LintFinding {
    /// The book or vault.
    book: String,
    /// The entry or note; none where it is about several, or about the whole.
    entry: Option<String>,
    /// All entries or notes it is about.
    entries: Vec<EntryId>,
    /// What people call it.
    title: String,
    /// How much it matters: `error`, `warning` or `hint`.
    severity: Severity,
    /// What it is.
    code: String,
    /// The same with its parameters.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    parameters: Value,
}

/// The codes of each entry's findings.
pub(crate) type CodesOf = FxHashMap<EntryId, FxHashSet<String>>;

/// Whether findings about entries can have this code.
pub(crate) fn is_code(code: &str) -> bool {
    BookFindingKind::CODES.contains(&code) || IssueKind::NOTE_CODES.contains(&code)
}

/// What is odd about all lore.
pub(crate) fn lint(lore: &Lore) -> Vec<LintFinding> {
    let books = book::lint(lore.library()).into_iter().map(|finding| LintFinding {
        book: finding.book.to_string(),
        entry: finding.entry.map(|id| id.0),
        entries: finding.entries,
        title: finding.title,
        severity: finding.severity,
        code: finding.kind.code().to_owned(),
        parameters: serde_json::to_value(&finding.kind).unwrap_or_default(),
    });
    let notes: Vec<_> = lore.library_source().notes.iter().map(|note| (**note).clone()).collect();
    let issues = inspect_use(&notes, &lore.rules().vault);
    books.chain(issues.into_iter().map(|issue| LintFinding::of(lore, issue))).collect()
}

/// The codes of each entry's findings.
pub(crate) fn codes(lore: &Lore) -> CodesOf {
    let mut codes = CodesOf::default();
    for LintFinding { entries, code, .. } in lint(lore) {
        for entry in entries {
            codes.entry(entry).or_default().insert(code.clone());
        }
    }
    codes
}

impl LintFinding {
    /// What is odd about a note, or about vaults.
    pub(crate) fn of(lore: &Lore, issue: Issue) -> Self {
        let parameters = serde_json::to_value(&issue.kind).unwrap_or_default();
        let vault = parameters["vault"].as_str().unwrap_or_default();
        let mut titled =
            lore.library_source().notes.iter().filter(|note| note.title == issue.title);
        let first = titled.next();
        let mut entries: Vec<EntryId> = first.iter().map(|note| note.id()).collect();
        // Issues know notes by title: only this one is about all that have it.
        if issue.kind == IssueKind::DuplicateTitle {
            entries.extend(titled.map(|note| note.id()));
        }
        Self {
            book: first.map_or_else(|| vault.to_owned(), |note| note.vault.clone()),
            entry: first.map(|note| note.id().0),
            entries,
            title: issue.title,
            severity: issue.kind.severity(),
            code: parameters["code"].as_str().unwrap_or_default().to_owned(),
            parameters,
        }
    }
}
