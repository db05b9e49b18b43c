//! What a reader has to say about a file it could read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Legal, but worth knowing.
    Info,
    /// A value was repaired, ignored or read in another way than written.
    Warning,
}

/// A remark about one place of the file: which field, what was found, how it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportNote {
    /// How much it matters.
    pub severity: Severity,
    /// The entry, where it concerns one: its key or place in the file.
    pub entry: Option<String>,
    /// The field's name in the file; empty where it concerns the whole file.
    pub field: String,
    /// What was found and how it was read.
    pub text: String,
}

impl fmt::Display for ImportNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entry) = &self.entry {
            write!(formatter, "entry {entry}: ")?;
        }
        if !self.field.is_empty() {
            write!(formatter, "`{}`: ", self.field)?;
        }
        formatter.write_str(&self.text)
    }
}

/// Collects notes; a file with a thousand faults does not need a line for each.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kept: Vec<ImportNote>,
    left_out: usize,
    entry: Option<String>,
}

impl Notes {
    const LIMIT: usize = 1000;

    /// Names the entry that the following notes are about.
    pub(crate) fn at_entry(&mut self, entry: Option<&str>) {
        self.entry = entry.map(str::to_owned);
    }

    pub(crate) fn info(&mut self, field: &str, text: impl Into<String>) {
        self.add(Severity::Info, field, text.into());
    }

    pub(crate) fn warn(&mut self, field: &str, text: impl Into<String>) {
        self.add(Severity::Warning, field, text.into());
    }

    fn add(&mut self, severity: Severity, field: &str, text: String) {
        if self.kept.len() == Self::LIMIT {
            self.left_out += 1;
            return;
        }
        let entry = self.entry.clone();
        self.kept.push(ImportNote { severity, entry, field: field.to_owned(), text });
    }

    pub(crate) fn finish(mut self) -> Vec<ImportNote> {
        if self.left_out > 0 {
            let text = format!("{} more remarks of this kind were left out", self.left_out);
            self.kept.push(ImportNote {
                severity: Severity::Warning,
                entry: None,
                field: String::new(),
                text,
            });
        }
        self.kept
    }
}
