//! Compiles the patterns of this crate.

use regex::Regex;

/// Compiles a pattern that is written in this crate.
#[expect(clippy::expect_used, reason = "every pattern is a literal, compiled by a test")]
pub(crate) fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a literal pattern is valid")
}
