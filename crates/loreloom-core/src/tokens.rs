//! Counting tokens: the tokenizer belongs to the connection, so it is an input.

use crate::units::Tokens;

/// An additive amount of text, so that growing text need not be counted again.
///
/// A byte-based estimate measures bytes and rounds once at the end; a real tokenizer
/// measures the tokens of each piece, which never undercounts a join by more than the
/// merges across its seams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measure(pub u64);

impl std::ops::Add for Measure {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::AddAssign for Measure {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// Counts the tokens of text as one model would.
pub trait TokenCounter: Send + Sync {
    /// What the report calls this tokenizer, for example `o200k_base`.
    fn name(&self) -> &str;

    /// The tokens of `text`; the empty text has none.
    fn count(&self, text: &str) -> Tokens;

    /// The additive measure of a piece of text.
    fn measure(&self, text: &str) -> Measure {
        Measure(u64::from(self.count(text).0))
    }

    /// The tokens of text whose pieces add up to `measure`.
    fn tokens(&self, measure: Measure) -> Tokens {
        Tokens(u32::try_from(measure.0).unwrap_or(u32::MAX))
    }
}

/// SillyTavern's own estimate: a token for every 3.35 bytes, rounded up.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteEstimate;

impl TokenCounter for ByteEstimate {
    fn name(&self) -> &'static str {
        "estimate-3.35"
    }

    fn count(&self, text: &str) -> Tokens {
        self.tokens(self.measure(text))
    }

    fn measure(&self, text: &str) -> Measure {
        Measure(text.len() as u64)
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "texts are far below 2^52 bytes, and the cast saturates"
    )]
    fn tokens(&self, measure: Measure) -> Tokens {
        Tokens((measure.0 as f64 / 3.35).ceil() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_counts_utf8_bytes_and_rounds_once() {
        for (text, tokens) in [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("日本", 2)] {
            assert_eq!(ByteEstimate.count(text), Tokens(tokens), "{text}");
        }
        let parts = ByteEstimate.measure("abc") + ByteEstimate.measure("abc");
        assert_eq!(ByteEstimate.tokens(parts), Tokens(2));
    }
}
