//! Cases that may be skipped: those that `EXCEPTIONS.md` names with a reason.

use std::{collections::BTreeMap, path::Path};

/// The exceptions of a suite: case name to reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions(BTreeMap<String, String>);

/// The exceptions file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExceptionsError {
    /// It is there but cannot be read.
    #[error("`{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A line names a case without a reason.
    #[error(
        "`{path}`, line {line}: an exception is written as `- `case`: reason`, found `{found}`"
    )]
    NoReason {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What it says.
        found: String,
    },
}

impl Exceptions {
    /// Reads a file; one that does not exist has no exceptions.
    pub fn read(path: &Path) -> Result<Self, ExceptionsError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the runner is a program; the path is in the error"
        )]
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => {
                Err(ExceptionsError::Unreadable { path: path.display().to_string(), source })
            }
        }
    }

    /// Lines of the form ``- `case`: reason``; everything else is prose.
    fn parse(text: &str, path: &str) -> Result<Self, ExceptionsError> {
        let mut exceptions = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let Some(rest) = line.strip_prefix("- `") else { continue };
            let parts = rest.split_once("`:").filter(|(_, reason)| !reason.trim().is_empty());
            let Some((case, reason)) = parts else {
                return Err(ExceptionsError::NoReason {
                    path: path.to_owned(),
                    line: at + 1,
                    found: line.to_owned(),
                });
            };
            exceptions.insert(case.to_owned(), reason.trim().to_owned());
        }
        Ok(Self(exceptions))
    }

    /// Why a case may be skipped.
    pub fn reason(&self, case: &str) -> Option<&str> {
        self.0.get(case).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_a_reason_are_exceptions() {
        let text = "# Exceptions\n\nProse.\n- `a--b`: it crashes the peer\n";
        let exceptions = Exceptions::parse(text, "x").unwrap();
        assert_eq!(exceptions.reason("a--b"), Some("it crashes the peer"));
        assert_eq!(exceptions.reason("a"), None);
        let error = Exceptions::parse("- `a`:  ", "x").unwrap_err();
        assert!(error.to_string().starts_with("`x`, line 1: "), "{error}");
    }
}
