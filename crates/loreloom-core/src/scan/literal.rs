//! Every literal key of every book, searched in one pass.
//!
//! Each pattern is filed under its first 16, 12, 10, 8, 6, 4, 2 or 1 bytes. At every byte of the
//! text a table of the patterns' first four bytes is asked; only where it says yes are the
//! bitmaps of the length classes and then the exact table asked, once for each pattern
//! length filed there. Compared with an Aho-Corasick automaton this touches a few kilobytes
//! instead of megabytes of states, builds in milliseconds and takes new patterns one at a
//! time; the price is a slower scan of texts that are dense with near-misses.
//! `docs/design/001-literal-index.md` has the figures.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Padded;

/// A distinct pattern of a [`LiteralIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// The end of a chain.
const LAST: u32 = u32::MAX;

/// All patterns of one folding.
#[derive(Clone, Debug)]
pub struct LiteralIndex {
    ids: FxHashMap<Box<[u8]>, PatternId>,
    /// The first four bytes of every pattern that has them; `None` if none has.
    heads: Option<Heads>,
    /// Patterns of four bytes and more, in the order they are reported at one byte.
    long: Box<[Class; 6]>,
    /// Shorter ones.
    short: Box<[Class; 2]>,
}

/// Patterns that are filed under windows of one width.
#[derive(Clone, Debug)]
struct Class {
    width: Width,
    bitmap: Bitmap,
    /// Patterns that are not filed yet: window, length, end.
    new: Vec<(u64, u32, u64)>,
    /// The shortest pattern length of each window.
    shortest: FxHashMap<u64, Filed>,
    /// Longer ones, where a window has several.
    longer: Vec<Filed>,
}

/// Patterns that begin with one window and have one length.
#[derive(Clone, Copy, Debug)]
struct Filed {
    /// A bit for the end of each pattern: words that only begin alike, which a story is full
    /// of, are distinguished without asking the exact table.
    ends: u64,
    length: u32,
    /// The next longer patterns of this window among `longer`.
    next: u32,
}

/// How many bytes of a pattern it is filed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    One,
    Two,
    Four,
    Six,
    Eight,
    Ten,
    Twelve,
    Sixteen,
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
            1 => &mut self.short[1],
            2..=3 => &mut self.short[0],
            4..=5 => &mut self.long[4],
            6..=7 => &mut self.long[5],
            8..=9 => &mut self.long[0],
            10..=11 => &mut self.long[1],
            12..=15 => &mut self.long[2],
            _ => &mut self.long[3],
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        class.new.push((class.width.window(words(bytes)), length, end_bit(bytes)));
        id
    }

    /// Files what was inserted and builds the bitmaps.
    pub(crate) fn freeze(&mut self) {
        for class in self.long.iter_mut().chain(self.short.iter_mut()) {
            class.freeze();
        }
        let long = self.ids.keys().filter_map(|bytes| bytes.first_chunk::<4>());
        self.heads = Heads::of(long.map(|head| u32::from_le_bytes(*head)));
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
    pub fn scan(&self, text: &Padded, mut hit: impl FnMut(PatternId, usize, usize)) {
        if self.is_empty() {
            return;
        }
        let (padded, length) = (text.bytes(), text.as_str().len());
        if let Some(heads) = &self.heads {
            let mut sieve = Sieve::default();
            for start in (0..length).step_by(CHUNK) {
                let chunk = &padded[start..padded.len().min(start + CHUNK + Padded::PAD)];
                for (offset, classes) in sieve.long(heads, &self.long, chunk) {
                    let asked = self.long.iter().enumerate();
                    for (_, class) in asked.filter(|(at, _)| classes >> at & 1 == 1) {
                        self.verify(class, padded, start + offset, &mut hit);
                    }
                }
            }
        }
        if self.short.iter().any(|class| !class.shortest.is_empty()) {
            for at in 0..length {
                for class in self.short.iter() {
                    if class.bitmap.may_hold(class.width.window(words(&padded[at..]))) {
                        self.verify(class, padded, at, &mut hit);
                    }
                }
            }
        }
    }

    #[cold]
    fn verify(
        &self,
        class: &Class,
        padded: &[u8],
        at: usize,
        hit: &mut impl FnMut(PatternId, usize, usize),
    ) {
        let end = padded.len() - Padded::PAD;
        let window = class.width.window(words(&padded[at..]));
        let mut next = class.shortest.get(&window);
        while let Some(filed) = next {
            let stop = at + filed.length as usize;
            if stop > end {
                return;
            }
            let bytes = &padded[at..stop];
            if filed.ends & end_bit(bytes) != 0
                && let Some(&id) = self.ids.get(bytes)
            {
                hit(id, at, stop);
            }
            next = class.longer.get(filed.next as usize);
        }
    }
}

impl Class {
    fn of_width(width: Width) -> Self {
        Self {
            width,
            bitmap: Bitmap::default(),
            new: Vec::new(),
            shortest: FxHashMap::default(),
            longer: Vec::new(),
        }
    }

    /// Files what is new beside what is there.
    fn freeze(&mut self) {
        let mut all = std::mem::take(&mut self.new);
        for (&window, filed) in &self.shortest {
            let mut next = Some(filed);
            while let Some(filed) = next {
                all.push((window, filed.length, filed.ends));
                next = self.longer.get(filed.next as usize);
            }
        }
        // Longest first: each becomes the head of its window's chain.
        all.sort_unstable_by(|a, b| b.cmp(a));
        self.shortest = FxHashMap::default();
        self.longer = Vec::new();
        for (window, length, ends) in all {
            let filed = Filed { ends, length, next: LAST };
            match self.shortest.get_mut(&window) {
                None => {
                    self.shortest.insert(window, filed);
                }
                Some(known) if known.length == length => known.ends |= ends,
                Some(known) => {
                    let next = u32::try_from(self.longer.len()).unwrap_or(LAST);
                    self.longer.push(*known);
                    *known = Filed { next, ..filed };
                }
            }
        }
        self.shortest.shrink_to_fit();
        self.longer.shrink_to_fit();
        self.bitmap = Bitmap::of(self.shortest.keys().copied());
    }
}

impl Default for LiteralIndex {
    fn default() -> Self {
        use Width::{Eight, Four, One, Six, Sixteen, Ten, Twelve, Two};
        Self {
            ids: FxHashMap::default(),
            heads: None,
            long: Box::new([Eight, Ten, Twelve, Sixteen, Four, Six].map(Class::of_width)),
            short: Box::new([Two, One].map(Class::of_width)),
        }
    }
}

impl Width {
    /// The window of the first sixteen bytes. Those of more than eight are mixed: two may
    /// share one, which the exact table sorts out.
    #[inline]
    fn window(self, [low, high]: [u64; 2]) -> u64 {
        let mixed = |high: u64| low ^ high.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(29);
        match self {
            Self::One => low & 0xff,
            Self::Two => low & 0xffff,
            Self::Four => low & 0xffff_ffff,
            Self::Six => low & 0xffff_ffff_ffff,
            Self::Eight => low,
            Self::Ten => mixed(high & 0xffff),
            Self::Twelve => mixed(high & 0xffff_ffff),
            Self::Sixteen => mixed(high),
        }
    }
}

/// Bytes that are sifted at a time.
const CHUNK: usize = 256;

/// Bytes of a text at which a pattern may begin. In a story made of the words that keys are
/// made of, a branch on what the bitmaps say is guessed wrong half of the time and costs more
/// than the question; here every place is written down, and the next overwrites it unless it
/// passed.
struct Sieve([(u16, u8); CHUNK]);

impl Default for Sieve {
    fn default() -> Self {
        Self([(0, 0); CHUNK])
    }
}

impl Sieve {
    /// The places of a chunk at which a long pattern may begin, and the bits of its classes.
    fn long(
        &mut self,
        heads: &Heads,
        long: &[Class; 6],
        chunk: &[u8],
    ) -> impl Iterator<Item = (usize, u8)> + use<'_> {
        let mut passed = 0;
        for (at, bytes) in (0..).zip(chunk.array_windows::<16>()) {
            self.0[passed % CHUNK].0 = at;
            let head = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            passed += heads.may_hold(head);
        }
        let [eight, ten, twelve, sixteen, four, six] = long;
        let mut kept = 0;
        for one in 0..passed {
            let at = self.0[one].0;
            let words = words(&chunk[usize::from(at)..]);
            let asked =
                |class: &Class, width: Width| u8::from(class.bitmap.may_hold(width.window(words)));
            let classes = asked(eight, Width::Eight)
                | asked(ten, Width::Ten) << 1
                | asked(twelve, Width::Twelve) << 2
                | asked(sixteen, Width::Sixteen) << 3
                | asked(four, Width::Four) << 4
                | asked(six, Width::Six) << 5;
            self.0[kept] = (at, classes);
            kept += usize::from(classes != 0);
        }
        self.0[..kept].iter().map(|&(at, classes)| (usize::from(at), classes))
    }
}

/// The first four bytes of patterns: a set that may say yes too often, never no too often.
/// Every byte of every text asks it, so it has a byte, not a bit, for each of as many places
/// as sixteen bits can tell: no length to compare with and nothing to shift.
#[derive(Clone, Debug)]
struct Heads(Box<[u8; Heads::PLACES]>);

impl Heads {
    const PLACES: usize = 1 << 16;

    /// The set of these, if there are any.
    fn of(heads: impl Iterator<Item = u32>) -> Option<Self> {
        let mut heads = heads.peekable();
        heads.peek()?;
        let mut set = vec![0; Self::PLACES].into_boxed_slice();
        for head in heads {
            set[Self::place(head)] = 1;
        }
        set.try_into().ok().map(Self)
    }

    /// 1 or 0.
    #[inline]
    fn may_hold(&self, head: u32) -> usize {
        usize::from(self.0[Self::place(head)])
    }

    /// Fibonacci hashing: the top bits of the product depend on all bits.
    #[inline]
    fn place(head: u32) -> usize {
        (head.wrapping_mul(0x9e37_79b1) >> 16) as usize
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
        None => words(bytes)[0],
    };
    1 << (end.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

/// The first sixteen bytes, missing ones being zero.
#[inline]
fn words(bytes: &[u8]) -> [u64; 2] {
    let mut padded = [0; 16];
    let bytes = bytes.first_chunk::<16>().unwrap_or_else(|| {
        padded[..bytes.len()].copy_from_slice(bytes);
        &padded
    });
    let [low, high] = [bytes.first_chunk(), bytes.last_chunk()];
    [low, high].map(|half| half.map_or(0, |half| u64::from_le_bytes(*half)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(patterns: &[&str], text: &str) -> Vec<(String, usize)> {
        let index = LiteralIndex::build(patterns.iter().copied());
        let mut hits = Vec::new();
        index.scan(&Padded::from(text), |_, start, end| {
            hits.push((text[start..end].to_owned(), start));
        });
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
        let patterns = [
            "a",
            "ab",
            "abc",
            "abcd",
            "abcdefg",
            "abcdefgh",
            "abcdefghij",
            "猫",
            "黒猫",
            "",
            "abcdefghijkl",
            "abcdefghijklm",
            "abcdefghijklmnop",
            "abcdefghijklmnopq",
        ];
        for text in [
            "abcdefghij",
            "xabcdefghijabc",
            "黒猫ab",
            "",
            "a",
            "abcdefghi",
            "abcdefghijk",
            "abcdefghijklmnopqr",
            "abcdefghijklmno",
        ] {
            assert_eq!(sorted(found(&patterns, text)), sorted(naive(&patterns, text)), "{text}");
        }
    }

    #[test]
    fn patterns_filed_later_are_found_beside_those_filed_before() {
        let mut index = LiteralIndex::build(["harbour", "harbour wall of the old town"]);
        let later = ["harbour bell", "harbour wall", "harbour wall of the new town", "bell"];
        for pattern in later {
            index.insert(pattern);
        }
        index.freeze();
        for pattern in ["harbour", "harbour wall of the old town"].into_iter().chain(later) {
            let mut found = Vec::new();
            index.scan(&Padded::from(pattern), |_, start, end| found.push((start, end)));
            assert!(found.contains(&(0, pattern.len())), "{pattern}: {found:?}");
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
            patterns in prop::collection::vec("[ab猫]{0,20}", 0..12),
            text in "[ab猫c]{0,60}",
        ) {
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            prop_assert_eq!(sorted(found(&patterns, &text)), sorted(naive(&patterns, &text)));
        }
    }
}
