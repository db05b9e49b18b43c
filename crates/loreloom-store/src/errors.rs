//! Failures of a database, and stored values that cannot be decoded, as [`StoreError`].

use loreloom_ports::StoreError;

/// A decoded value, or what is wrong with the stored one.
pub(crate) type Decoded<T> = Result<T, String>;

/// Adds what the store was doing when the database failed.
pub(crate) trait DatabaseResult<T> {
    fn doing(self, doing: &'static str) -> Result<T, StoreError>;
}

/// Adds what the store was reading when a stored value could not be decoded.
pub(crate) trait DecodeResult<T> {
    fn reading(self, what: impl FnOnce() -> String) -> Result<T, StoreError>;

    /// The same for a row of a query.
    fn row_while(self, doing: &'static str) -> Result<T, StoreError>;
}

impl<T> DecodeResult<T> for Decoded<T> {
    fn reading(self, what: impl FnOnce() -> String) -> Result<T, StoreError> {
        self.map_err(|reason| StoreError::Damaged { what: what(), reason })
    }

    fn row_while(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|reason| StoreError::Damaged {
            what: "the database".to_owned(),
            reason: format!("{reason}, found while {doing}"),
        })
    }
}

/// A value that has no JSON form.
pub(crate) fn not_json(error: &serde_json::Error) -> StoreError {
    StoreError::Contradiction {
        rule: "everything stored has a JSON form",
        found: error.to_string(),
    }
}

/// An error and its causes on one line. A cause that the text already contains is not repeated.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
