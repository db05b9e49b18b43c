//! How much two texts share, by their words.
//!
//! Punctuation is kept (`shut.` is not `shut`), as in Smart Memory, whose thresholds we use.

use rustc_hash::FxHashSet;

use crate::number::real;

fn word_set(text: &str) -> FxHashSet<String> {
    text.to_lowercase().split_whitespace().map(str::to_owned).collect()
}

/// Shared words over all words; 0 if either text is empty.
pub fn jaccard(a: &str, b: &str) -> f64 {
    let (a, b) = (word_set(a), word_set(b));
    let shared = a.intersection(&b).count();
    ratio(shared, a.len() + b.len() - shared)
}

/// Shared words over the words of the longer text; 0 if either is empty.
pub fn overlap_of_larger(a: &str, b: &str) -> f64 {
    let (a, b) = (word_set(a), word_set(b));
    ratio(a.intersection(&b).count(), a.len().max(b.len()))
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { real(part) / real(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_folded_and_punctuation_is_not() {
        for (a, b, expected) in [
            ("The gate is shut.", "the GATE is shut", 0.6),
            ("", "x", 0.0),
            ("", "", 0.0),
            ("run run run", "run", 1.0),
        ] {
            assert!((jaccard(a, b) - expected).abs() < 1e-9, "{a} / {b}");
        }
    }

    #[test]
    fn the_larger_set_is_the_measure_of_overlap() {
        let (short, long) = ("the key is under the stone", "the key is under the third flat stone");
        assert!((overlap_of_larger(short, long) - 5.0 / 7.0).abs() < 1e-9);
    }
}
