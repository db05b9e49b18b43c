//! Every literal key of every book, searched in one pass.
//!
//! Each pattern is filed under its first 8, 4, 2 or 1 bytes. At every byte of the text a
//! bitmap of the patterns' first four bytes is asked; only where its bit is set are the
//! bitmap of the length class and then the exact table asked, once for each pattern length
//! filed there. Compared with an Aho-Corasick automaton this touches a few kilobytes
//! instead of megabytes of states, builds in milliseconds and takes new patterns one at a
//! time; the price is a slower scan of texts that are dense with near-misses.
//! `docs/design/001-literal-index.md` has the figures.

use rustc_hash::{FxHashMap, FxHashSet};

/// A distinct pattern of a [`LiteralIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// Bytes that a scan may read past the end of the text.
const PAD: usize = 7;

/// All patterns of one folding.
#[derive(Clone, Debug)]
pub struct LiteralIndex {
    ids: FxHashMap<Box<[u8]>, PatternId>,
    /// The first four bytes of every pattern that has them.
    heads: Bitmap,
    eight: Class,
    four: Class,
    two: Class,
    one: Class,
}

/// Patterns that are filed under windows of one width.
#[derive(Clone, Debug)]
struct Class {
    width: u32,
    bitmap: Bitmap,
    /// Pattern lengths by window, shortest first.
    lengths: FxHashMap<u64, Vec<Filed>>,
}

/// Patterns that begin with one window and have one length.
#[derive(Clone, Copy, Debug)]
struct Filed {
    length: u32,
    /// A bit for the end of each pattern: words that only begin alike, which a story is full
    /// of, are told apart without asking the exact table.
    ends: u64,
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
        let class = match bytes.len() {
            0 => return id,
            1 => &mut self.one,
            2..=3 => &mut self.two,
            4..=7 => &mut self.four,
            _ => &mut self.eight,
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let filed = class.lengths.entry(window(bytes) & mask(class.width)).or_default();
        match filed.binary_search_by_key(&length, |one| one.length) {
            Ok(at) => filed[at].ends |= end_bit(bytes),
            Err(at) => filed.insert(at, Filed { length, ends: end_bit(bytes) }),
        }
        id
    }

    /// Builds the bitmaps.
    pub(crate) fn freeze(&mut self) {
        let long = self.eight.lengths.keys().chain(self.four.lengths.keys());
        self.heads = Bitmap::of(long.map(|window| window & mask(4)));
        for class in [&mut self.eight, &mut self.four, &mut self.two, &mut self.one] {
            class.bitmap = Bitmap::of(class.lengths.keys().copied());
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
    /// too; long patterns before those of less than four bytes, each by first byte.
    pub fn scan(&self, text: &str, mut hit: impl FnMut(PatternId, usize, usize)) {
        if self.is_empty() {
            return;
        }
        let mut padded = Vec::with_capacity(text.len() + PAD);
        padded.extend_from_slice(text.as_bytes());
        padded.resize(text.len() + PAD, 0);
        for (at, bytes) in padded[..text.len() + 3].array_windows::<4>().enumerate() {
            if self.heads.may_hold(u64::from(u32::from_le_bytes(*bytes))) {
                self.look(&[&self.eight, &self.four], &padded, at, &mut hit);
            }
        }
        if !self.two.lengths.is_empty() || !self.one.lengths.is_empty() {
            for at in 0..text.len() {
                self.look(&[&self.two, &self.one], &padded, at, &mut hit);
            }
        }
    }

    /// Looks for the patterns of some classes at one byte.
    fn look(
        &self,
        classes: &[&Class; 2],
        padded: &[u8],
        at: usize,
        hit: &mut impl FnMut(PatternId, usize, usize),
    ) {
        let word = window(&padded[at..]);
        for class in classes {
            let window = word & mask(class.width);
            if class.bitmap.may_hold(window) {
                self.verify(class, window, padded, at, hit);
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
        hit: &mut impl FnMut(PatternId, usize, usize),
    ) {
        let Some(filed) = class.lengths.get(&window) else { return };
        let end = padded.len() - PAD;
        for one in filed {
            let stop = at + one.length as usize;
            if stop > end {
                return;
            }
            let bytes = &padded[at..stop];
            if one.ends & end_bit(bytes) != 0
                && let Some(&id) = self.ids.get(bytes)
            {
                hit(id, at, stop);
            }
        }
    }
}

impl Class {
    fn of_width(width: u32) -> Self {
        Self { width, bitmap: Bitmap::default(), lengths: FxHashMap::default() }
    }
}

impl Default for LiteralIndex {
    fn default() -> Self {
        Self {
            ids: FxHashMap::default(),
            heads: Bitmap::default(),
            eight: Class::of_width(8),
            four: Class::of_width(4),
            two: Class::of_width(2),
            one: Class::of_width(1),
        }
    }
}

/// A set of windows that may say yes too often, never no too often.
#[derive(Clone, Debug)]
struct Bitmap {
    bits: Vec<u64>,
    shift: u32,
}

impl Default for Bitmap {
    fn default() -> Self {
        Self { bits: vec![0; 2], shift: 57 }
    }
}

impl Bitmap {
    fn of(windows: impl Iterator<Item = u64>) -> Self {
        let windows: FxHashSet<u64> = windows.collect();
        if windows.is_empty() {
            return Self::default();
        }
        // Thirty-two bits a window keep false alarms near 3 %; 2^21 bits still fit a cache.
        let bits = (windows.len() * 32).next_power_of_two().clamp(1 << 10, 1 << 21);
        let mut bitmap = Self { bits: vec![0; bits / 64], shift: 64 - bits.trailing_zeros() };
        for window in windows {
            let (word, bit) = slot(window, bitmap.shift);
            bitmap.bits[word] |= bit;
        }
        bitmap
    }

    #[inline]
    fn may_hold(&self, window: u64) -> bool {
        let (word, bit) = slot(window, self.shift);
        self.bits[word] & bit != 0
    }
}

/// Fibonacci hashing: the top bits of the product depend on all bits of the window.
fn slot(window: u64, shift: u32) -> (usize, u64) {
    let hash = window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift;
    ((hash / 64) as usize, 1 << (hash % 64))
}

/// One of 64 bits, chosen by the last eight bytes.
fn end_bit(bytes: &[u8]) -> u64 {
    let end = match bytes.last_chunk::<8>() {
        Some(end) => u64::from_le_bytes(*end),
        None => window(bytes),
    };
    1 << (end.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
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
