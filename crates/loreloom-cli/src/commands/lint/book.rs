//! Mistakes in lorebooks.

use std::{path::Path, sync::Arc};

use loreloom_core::{book::lint, dialects::vault::Severity, library::Library, rules::Rules};

use super::finding::Finding;
use crate::{files, lore::read_book};

/// What is odd about a lorebook.
pub(super) fn findings(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let name = path.display().to_string();
    let imported = read_book(path, "book", &files::stem(path))?;
    let import_notes = imported.notes.iter().map(|note| {
        let severity = match note.severity {
            loreloom_formats::Severity::Warning => Severity::Warning,
            loreloom_formats::Severity::Info => Severity::Hint,
        };
        Finding::new(&name, severity, "format", note.to_string())
    });
    let mut findings: Vec<Finding> = import_notes.collect();
    let library = Library::under([Arc::new(imported.book)], &Rules::default());
    findings.extend(lint(&library).into_iter().map(|found| Finding {
        title: found.title,
        ..Finding::new(&name, found.severity, found.kind.code(), found.kind.words())
    }));
    Ok(findings)
}
