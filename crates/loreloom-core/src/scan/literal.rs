//! Every literal key of every book, searched in one pass.
//!
//! Each pattern is filed under its first 8, 4, 2 or 1 bytes. At every byte of the text one
//! 8-byte load feeds a bitmap per length class; only where a bit is set is the exact table
//! asked, once for each pattern length filed there. Compared with an Aho-Corasick
//! automaton this touches a few kilobytes instead of megabytes of states, builds in
//! milliseconds and takes new patterns one at a time; the price is a slower scan of texts
//! that are dense with near-misses. `docs/design/001-literal-index.md` has the figures.

use rustc_hash::{FxHashMap, FxHashSet};

/// A distinct pattern of a [`LiteralIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// Bytes that a scan may read past the end of the text.
const PAD: usize = 7;

/// All patterns of one folding.
#[derive(Clone, Debug, Default)]
pub struct LiteralIndex {
    ids: FxHashMap<Box<[u8]>, PatternId>,
    eight: Class,
    four: Class,
    two: Class,
    one: Class,
}

/// Patterns that are filed under windows of one width.
#[derive(Clone, Debug, Default)]
struct Class {
    bitmap: Vec<u64>,
    shift: u32,
    /// Pattern lengths by window, shortest first.
    lengths: FxHashMap<u64, Vec<u32>>,
}

impl LiteralIndex {
    /// Files patterns, giving each distinct one an id in order of first sight. The empty
    /// pattern is found nowhere.
    pub fn build<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let mut index = Self::default();
        for pattern in patterns {
            index.insert(pattern);
        }
        index.freeze();
        index
    }

    /// Files one pattern. Call [`Self::freeze`] after the last.
    pub(crate) fn insert(&mut self, pattern: &str) -> PatternId {
        let bytes = pattern.as_bytes();
        if let Some(id) = self.ids.get(bytes) {
            return *id;
        }
        let id = PatternId(u32::try_from(self.ids.len()).unwrap_or(u32::MAX));
        self.ids.insert(bytes.into(), id);
        let (class, width) = match bytes.len() {
            0 => return id,
            1 => (&mut self.one, 1),
            2..=3 => (&mut self.two, 2),
            4..=7 => (&mut self.four, 4),
            _ => (&mut self.eight, 8),
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let lengths = class.lengths.entry(window(bytes) & mask(width)).or_default();
        if let Err(at) = lengths.binary_search(&length) {
            lengths.insert(at, length);
        }
        id
    }

    /// Builds the bitmaps.
    pub(crate) fn freeze(&mut self) {
        for class in [&mut self.eight, &mut self.four, &mut self.two, &mut self.one] {
            class.freeze();
        }
    }

    /// How many distinct patterns there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of a pattern.
    pub fn get(&self, pattern: &str) -> Option<PatternId> {
        self.ids.get(pattern.as_bytes()).copied()
    }

    /// Calls `hit` with pattern, first byte and end of every occurrence, overlapping ones
    /// too, by first byte.
    pub fn scan(&self, text: &str, mut hit: impl FnMut(PatternId, usize, usize)) {
        if self.is_empty() {
            return;
        }
        let mut padded = Vec::with_capacity(text.len() + PAD);
        padded.extend_from_slice(text.as_bytes());
        padded.resize(text.len() + PAD, 0);
        for (at, bytes) in padded.array_windows::<8>().enumerate() {
            let word = u64::from_le_bytes(*bytes);
            if self.eight.may_hold(word) {
                self.verify(&self.eight, word, &padded, at, text.len(), &mut hit);
            }
            if self.four.may_hold(word & mask(4)) {
                self.verify(&self.four, word & mask(4), &padded, at, text.len(), &mut hit);
            }
            if self.two.may_hold(word & mask(2)) {
                self.verify(&self.two, word & mask(2), &padded, at, text.len(), &mut hit);
            }
            if self.one.may_hold(word & mask(1)) {
                self.verify(&self.one, word & mask(1), &padded, at, text.len(), &mut hit);
            }
        }
    }

    #[cold]
    fn verify(
        &self,
        class: &Class,
        window: u64,
        padded: &[u8],
        at: usize,
        end: usize,
        hit: &mut impl FnMut(PatternId, usize, usize),
    ) {
        let Some(lengths) = class.lengths.get(&window) else { return };
        for &length in lengths {
            let stop = at + length as usize;
            if stop > end {
                return;
            }
            if let Some(&id) = self.ids.get(&padded[at..stop]) {
                hit(id, at, stop);
            }
        }
    }
}

impl Class {
    fn freeze(&mut self) {
        // Sixteen bits a window keep false alarms near 6 %; 2^21 bits still fit a cache.
        let bits = (self.lengths.len() * 16).next_power_of_two().clamp(1 << 10, 1 << 21);
        self.shift = 64 - bits.trailing_zeros();
        self.bitmap.clear();
        if self.lengths.is_empty() {
            return;
        }
        self.bitmap.resize(bits / 64, 0);
        for &window in self.lengths.keys().collect::<FxHashSet<_>>() {
            let (word, bit) = slot(window, self.shift);
            self.bitmap[word] |= bit;
        }
    }

    fn may_hold(&self, window: u64) -> bool {
        let (word, bit) = slot(window, self.shift);
        self.bitmap.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

/// Fibonacci hashing: the top bits of the product depend on all bits of the window.
fn slot(window: u64, shift: u32) -> (usize, u64) {
    let hash = window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift;
    ((hash / 64) as usize, 1 << (hash % 64))
}

fn mask(width: u32) -> u64 {
    if width == 8 { u64::MAX } else { (1 << (8 * width)) - 1 }
}

fn window(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let width = bytes.len().min(8);
    word[..width].copy_from_slice(&bytes[..width]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(patterns: &[&str], text: &str) -> Vec<(String, usize)> {
        let index = LiteralIndex::build(patterns.iter().copied());
        let mut hits = Vec::new();
        index.scan(text, |_, start, end| hits.push((text[start..end].to_owned(), start)));
        hits
    }

    fn naive(patterns: &[&str], text: &str) -> Vec<(String, usize)> {
        let mut hits = Vec::new();
        for start in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
            let mut distinct: Vec<&str> = patterns.to_vec();
            distinct.sort_by_key(|pattern| (pattern.len(), *pattern));
            distinct.dedup();
            for pattern in distinct.into_iter().filter(|pattern| !pattern.is_empty()) {
                if text[start..].starts_with(pattern) {
                    hits.push((pattern.to_owned(), start));
                }
            }
        }
        hits
    }

    #[test]
    fn overlapping_patterns_of_every_length_are_found() {
        let patterns =
            ["a", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghij", "猫", "黒猫", ""];
        for text in ["abcdefghij", "xabcdefghijabc", "黒猫ab", "", "a", "abcdefghi"] {
            assert_eq!(sorted(found(&patterns, text)), sorted(naive(&patterns, text)), "{text}");
        }
    }

    #[test]
    fn padding_is_not_text() {
        assert_eq!(found(&["a\0", "\0"], "a"), []);
        assert_eq!(found(&["a\0"], "a\0"), [("a\0".to_owned(), 0)]);
    }

    fn sorted(mut hits: Vec<(String, usize)>) -> Vec<(String, usize)> {
        hits.sort();
        hits
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_naive_search_finds(
            patterns in prop::collection::vec("[ab猫]{0,10}", 0..12),
            text in "[ab猫c]{0,40}",
        ) {
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            prop_assert_eq!(sorted(found(&patterns, &text)), sorted(naive(&patterns, &text)));
        }
    }
}
