//! What a reader has to say about a file it could read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NoteSeverity))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Legal, but worth knowing.
    Info,
    /// A value was repaired, ignored or read in another way than written.
    Warning,
}

/// A remark about one place of the file: which field, what was found, how it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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

/// Collects notes; a file with ten thousand faults does not need a line for each.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kept: Vec<ImportNote>,
    infos: usize,
    warnings: usize,
    entry: Option<String>,
}

impl Notes {
    /// How many of each severity are kept.
    const LIMIT: usize = 500;

    /// Names the entry that the following notes are about.
    pub(crate) fn at_entry(&mut self, entry: Option<&str>) {
        self.entry = entry.map(str::to_owned);
    }

    pub(crate) fn info(&mut self, field: &str, text: impl Into<String>) {
        self.infos += 1;
        if self.infos <= Self::LIMIT {
            self.add(Severity::Info, field, text.into());
        }
    }

    pub(crate) fn warn(&mut self, field: &str, text: impl Into<String>) {
        self.warnings += 1;
        if self.warnings <= Self::LIMIT {
            self.add(Severity::Warning, field, text.into());
        }
    }

    fn add(&mut self, severity: Severity, field: &str, text: String) {
        let entry = self.entry.clone();
        self.kept.push(ImportNote { severity, entry, field: field.to_owned(), text });
    }

    pub(crate) fn finish(mut self) -> Vec<ImportNote> {
        self.entry = None;
        for (severity, count, what) in [
            (Severity::Info, self.infos, "remarks"),
            (Severity::Warning, self.warnings, "warnings"),
        ] {
            if let Some(more @ 1..) = count.checked_sub(Self::LIMIT) {
                self.add(severity, "", format!("{more} more {what} were left out"));
            }
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_remarks_do_not_crowd_out_a_warning() {
        let mut notes = Notes::default();
        for _ in 0..10_000 {
            notes.info("position", "is missing");
        }
        notes.at_entry(Some("7"));
        notes.warn("order", "must be a number");
        let found = notes.finish();
        assert_eq!(found.len(), 502);
        assert_eq!(found[500].to_string(), "entry 7: `order`: must be a number");
        assert_eq!(found[501].to_string(), "9500 more remarks were left out");
        assert_eq!(found[501].severity, Severity::Info);
    }
}
