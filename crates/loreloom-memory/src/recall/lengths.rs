//! How long the passages of a story usually are.
//!
//! The median decides whether a chat is one of short lines or of long messages. A histogram finds
//! it without sorting and lets passages come and go.

/// Longer passages count as this long.
const LONGEST: usize = 512;
/// A line of chat has at most so many words.
const LINE: f64 = 30.0;

/// How many passages there are of each length.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    counts: Vec<usize>,
    total: usize,
}

impl Default for Lengths {
    fn default() -> Self {
        Self { counts: vec![0; LONGEST + 1], total: 0 }
    }
}

impl Lengths {
    pub(super) fn add(&mut self, words: usize) {
        self.counts[words.min(LONGEST)] += 1;
        self.total += 1;
    }

    pub(super) fn remove(&mut self, words: usize) {
        self.counts[words.min(LONGEST)] -= 1;
        self.total -= 1;
    }

    /// How much the chat is one of short lines: 1 if it is, near 0 if its messages are long.
    pub(super) fn shortness(&self) -> f64 {
        let mut passed = 0;
        let median = self.counts.iter().position(|count| {
            passed += count;
            2 * passed > self.total
        });
        let median = u32::try_from(median.unwrap_or_default()).unwrap_or(u32::MAX);
        (LINE / f64::from(median.max(1))).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides_and_follows_what_is_removed() {
        let mut lengths = Lengths::default();
        assert!((lengths.shortness() - 1.0).abs() < 1e-9);
        for words in [10, 300, 300] {
            lengths.add(words);
        }
        assert!((lengths.shortness() - 0.1).abs() < 1e-9);
        lengths.remove(300);
        lengths.add(12);
        assert!((lengths.shortness() - 1.0).abs() < 1e-9);
    }
}
