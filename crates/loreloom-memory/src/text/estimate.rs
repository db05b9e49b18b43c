//! Estimates tokens without a tokenizer.

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

/// Where to cut between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPoint {
    /// Before the second.
    Whole,
    /// At the nearer one.
    Rounded,
}

/// The start of `text`, in proportion to how much fits `budget`, trimmed; all of it if it fits.
pub fn cut_to_share<'text>(
    text: &'text str,
    budget: Tokens,
    cut: CutPoint,
    counter: &dyn TokenCounter,
) -> &'text str {
    let need = u64::from(counter.count(text).0);
    let budget = u64::from(budget.0);
    if need <= budget {
        return text;
    }
    let twice = text.chars().count() as u64 * budget * 2;
    let share = match cut {
        CutPoint::Whole => twice / (2 * need),
        CutPoint::Rounded => (twice + need) / (2 * need),
    };
    head(text, number::clamp_usize(share)).trim()
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
        let cut =
            |text, budget| cut_to_share(text, Tokens(budget), CutPoint::Whole, &QuarterEstimate);
        assert_eq!(cut(text, 5), "- A very long arc t");
        assert_eq!(cut(text, 13), text);
        assert_eq!(cut("日本語です", 1), "日本");
        assert_eq!(cut("- ab cd ef gh ij kl mn op qr st uv wx", 4), "- ab cd ef gh");
        let rounded = "Mara kept the light and Odo left for the far south";
        assert_eq!(cut(rounded, 7), "Mara kept the light and Od");
        let near = cut_to_share(rounded, Tokens(7), CutPoint::Rounded, &QuarterEstimate);
        assert_eq!(near, "Mara kept the light and Odo");
    }
}
