//! What happens to a file: read it, look at it, write it back.

use serde::Serialize;

use crate::{
    detect::Format,
    export::{ExportOptions, export},
    import::{ImportOptions, import},
    note::Severity,
};

/// How reading went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing to complain about.
    Ok,
    /// Read, but something was repaired.
    Warning,
    /// Not read.
    Error,
}

/// What comes out when the book is written back unedited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundTrip {
    /// The same bytes.
    Identical,
    /// Other bytes.
    Differs,
    /// Nothing: the file could not be read.
    None,
}

/// A report on one file, as the conformance runner writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// How reading went.
    pub outcome: Outcome,
    /// What the file is; `None` if it could not be read.
    pub format: Option<Format>,
    /// How many entries it has.
    pub entries: Option<usize>,
    /// Warnings, or the error.
    pub warnings: Vec<String>,
    /// Whether it comes back as it was.
    pub round_trip: RoundTrip,
}

/// Reads a file and writes it back.
///
/// ```
/// use loreloom_formats::{Outcome, RoundTrip, examine};
///
/// let report = examine(br#"{"entries": {}}"#, Some("empty.json"));
/// assert_eq!((report.outcome, report.round_trip), (Outcome::Ok, RoundTrip::Identical));
/// ```
pub fn examine(bytes: &[u8], file_name: Option<&str>) -> Examination {
    let options =
        ImportOptions { file_name: file_name.map(str::to_owned), ..ImportOptions::new("book") };
    let imported = match import(bytes, &options) {
        Ok(imported) => imported,
        Err(error) => {
            return Examination {
                outcome: Outcome::Error,
                format: None,
                entries: None,
                warnings: vec![error.to_string()],
                round_trip: RoundTrip::None,
            };
        }
    };
    let warnings: Vec<String> = imported
        .notes
        .iter()
        .filter(|note| note.severity == Severity::Warning)
        .map(ToString::to_string)
        .collect();
    let options = ExportOptions {
        card: imported.card.as_ref(),
        original: Some(bytes),
        ..ExportOptions::default()
    };
    let round_trip = match export(&imported.book, imported.format, &options) {
        Ok(exported) if exported.bytes == bytes => RoundTrip::Identical,
        Ok(_) | Err(_) => RoundTrip::Differs,
    };
    Examination {
        outcome: if warnings.is_empty() { Outcome::Ok } else { Outcome::Warning },
        format: Some(imported.format),
        entries: Some(imported.book.entries.len()),
        warnings,
        round_trip,
    }
}
