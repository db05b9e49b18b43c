//! Rows of both databases, read and written in one way.
//!
//! SQLite and PostgreSQL have the same tables. Each file here has the statements that both
//! understand, in PostgreSQL's notation of parameters (`$1`), and reads their rows through
//! [`StoredRow`].

pub(crate) mod chat;
pub(crate) mod document;
pub(crate) mod job;
pub(crate) mod library;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod response;
pub(crate) mod turn;
pub(crate) mod write_log;

use loreloom_core::{ids::Digest, units::Timestamp};

use crate::errors::Decoded;

/// A row of a result. Columns count from 0.
pub(crate) trait StoredRow {
    /// A whole number, or NULL.
    fn optional_number(&self, at: usize) -> Decoded<Option<i64>>;

    /// A text, or NULL. PostgreSQL stores most texts as bytes.
    fn optional_str(&self, at: usize) -> Decoded<Option<&str>>;

    /// Bytes, or NULL.
    fn optional_bytes(&self, at: usize) -> Decoded<Option<&[u8]>>;

    fn number(&self, at: usize) -> Decoded<i64> {
        present(self.optional_number(at)?, at)
    }

    /// A number that is never negative.
    fn unsigned(&self, at: usize) -> Decoded<u64> {
        self.number(at).map(i64::unsigned_abs)
    }

    fn flag(&self, at: usize) -> Decoded<bool> {
        Ok(self.number(at)? != 0)
    }

    fn time(&self, at: usize) -> Decoded<Timestamp> {
        self.number(at).map(Timestamp)
    }

    fn str(&self, at: usize) -> Decoded<&str> {
        present(self.optional_str(at)?, at)
    }

    fn text(&self, at: usize) -> Decoded<String> {
        self.str(at).map(str::to_owned)
    }

    fn optional_text(&self, at: usize) -> Decoded<Option<String>> {
        Ok(self.optional_str(at)?.map(str::to_owned))
    }

    fn bytes(&self, at: usize) -> Decoded<&[u8]> {
        present(self.optional_bytes(at)?, at)
    }

    fn digest(&self, at: usize) -> Decoded<Digest> {
        present(self.optional_digest(at)?, at)
    }

    fn optional_digest(&self, at: usize) -> Decoded<Option<Digest>> {
        let read = |bytes: &[u8]| {
            let wrong = |_| format!("a hash of {} bytes in column {at}", bytes.len());
            bytes.try_into().map(Digest).map_err(wrong)
        };
        self.optional_bytes(at)?.map(read).transpose()
    }
}

fn present<T>(value: Option<T>, at: usize) -> Decoded<T> {
    value.ok_or_else(|| format!("no value in column {at}"))
}

/// A number as databases store it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
