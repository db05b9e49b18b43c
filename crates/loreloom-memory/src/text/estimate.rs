//! Estimating tokens where no tokenizer is at hand.

use loreloom_core::{
    tokens::{Measure, TokenCounter},
    units::Tokens,
};

use super::head;
use crate::number;

/// Smart Memory's estimate: a token for every four UTF-16 units, rounded up.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuarterEstimate;

impl QuarterEstimate {
    /// UTF-16 units of a token.
    pub const CHARACTERS: usize = 4;
}

impl TokenCounter for QuarterEstimate {
    fn name(&self) -> &'static str {
        "estimate-4"
    }

    fn count(&self, text: &str) -> Tokens {
        self.tokens(self.measure(text))
    }

    fn measure(&self, text: &str) -> Measure {
        Measure(text.encode_utf16().count() as u64)
    }

    fn tokens(&self, measure: Measure) -> Tokens {
        Tokens(u32::try_from(measure.0.div_ceil(Self::CHARACTERS as u64)).unwrap_or(u32::MAX))
    }
}

/// The start of `text` in proportion to how much of it fits `budget`; all of it if it fits.
pub fn cut_to_share<'text>(
    text: &'text str,
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> &'text str {
    let need = counter.count(text);
    if need <= budget {
        return text;
    }
    let share = text.chars().count() as u64 * u64::from(budget.0) / u64::from(need.0);
    head(text, number::clamp_usize(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_four_utf16_units_rounded_up() {
        for (text, tokens) in [("", 0), ("abcd", 1), ("abcde", 2), ("日本", 1), ("😀😀😀", 2)]
        {
            assert_eq!(QuarterEstimate.count(text), Tokens(tokens), "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_in_proportion_to_the_budget() {
        let text = "- A very long arc that cannot fit into five tokens";
        assert_eq!(cut_to_share(text, Tokens(5), &QuarterEstimate), "- A very long arc t");
        assert_eq!(cut_to_share(text, Tokens(13), &QuarterEstimate), text);
        assert_eq!(cut_to_share("日本語です", Tokens(1), &QuarterEstimate), "日本");
    }
}
