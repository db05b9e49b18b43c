//! What was found in a text, remembered by the text itself.

use std::{hash::Hasher as _, sync::Arc};

use rustc_hash::{FxHashMap, FxHasher};

use super::{
    Blanks, Folding, LiteralIndex, PatternId, WordRule, fold::Padded, raw_span,
    tally::FoundPatterns,
};

/// A text that is scanned, with its hash so that an unchanged message costs nothing.
#[derive(Clone, Debug)]
pub struct ScanText {
    text: Arc<str>,
    hash: u64,
    ascii: bool,
}

impl ScanText {
    /// Prepares a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        Self { hash: hasher.finish(), ascii: text.is_ascii(), text }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its bytes' hash: equal texts have equal hashes, not the other way round.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The bytes of the text that a span of its folded form came from.
    pub fn raw_span(&self, folding: Folding, span: (usize, usize)) -> (usize, usize) {
        let unmoved = self.ascii && folding.blanks() == Blanks::Kept;
        if unmoved { span } else { raw_span(&self.text, folding, span) }
    }

    fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || (self.hash == other.hash && self.text == other.text)
    }
}

/// One pattern found in a text: where first, and where first as a whole word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternHit {
    /// The pattern.
    pub pattern: PatternId,
    /// First occurrence in the folded text.
    pub any: (u32, u32),
    /// First occurrence that is a whole word.
    pub word: Option<(u32, u32)>,
}

/// All patterns of one index found in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits(Vec<PatternHit>);

impl Hits {
    /// Scans a text.
    pub fn find(index: &LiteralIndex, folding: Folding, words: WordRule, text: &str) -> Self {
        if index.is_empty() {
            return Self::default();
        }
        Self::find_where(index, words, &folding.pad(text), |_| true)
    }

    /// Scans a text for what begins at a byte or behind it.
    pub(crate) fn find_from(
        index: &LiteralIndex,
        folding: Folding,
        words: WordRule,
        text: &str,
        cut: usize,
    ) -> Self {
        let from = folding.length(&text[..cut]);
        Self::find_where(index, words, &folding.pad(text), |start| start >= from)
    }

    fn find_where(
        index: &LiteralIndex,
        words: WordRule,
        folded: &Padded,
        counts: impl Fn(usize) -> bool,
    ) -> Self {
        let mut hits: Vec<PatternHit> = Vec::new();
        let mut seen = FoundPatterns::default();
        index.scan(folded, |pattern, start, end| {
            if !counts(start) {
                return;
            }
            let at = seen.place(pattern, &hits, |hit| hit.pattern);
            if at == hits.len() {
                hits.push(PatternHit { pattern, any: span(start, end), word: None });
            }
            if hits[at].word.is_none() && words.is_word(folded.as_str(), start, end) {
                hits[at].word = Some(span(start, end));
            }
        });
        hits.shrink_to_fit();
        Self(hits)
    }

    /// The hits, by first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = &PatternHit> {
        self.0.iter()
    }

    /// The hit of one pattern.
    pub fn get(&self, pattern: PatternId) -> Option<&PatternHit> {
        self.0.iter().find(|hit| hit.pattern == pattern)
    }
}

fn span(start: usize, end: usize) -> (u32, u32) {
    (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX))
}

/// What was found by text, for one index. Holds the texts too, so that equal hashes of
/// different texts are not mixed up.
#[derive(Debug)]
pub struct HitCache<Found = Hits> {
    hits: FxHashMap<u64, (ScanText, Arc<Found>)>,
    bytes: usize,
}

impl<Found> Default for HitCache<Found> {
    fn default() -> Self {
        Self { hits: FxHashMap::default(), bytes: 0 }
    }
}

/// What is kept at the most; a long window is 200 KB, so this serves ten chats at a time.
const CACHE_BYTES: usize = 2 << 20;

/// What a text takes besides itself, roughly: messages are short.
const TEXT: usize = 256;

impl<Found> HitCache<Found> {
    /// What is remembered of a text.
    pub fn get(&self, text: &ScanText) -> Option<&Found> {
        let (known, found) = self.hits.get(&text.hash)?;
        known.same(text).then_some(&**found)
    }

    /// What is in a text: remembered, else what `find` finds.
    pub fn get_or_find(&mut self, text: &ScanText, find: impl FnOnce(&str) -> Found) -> Arc<Found> {
        if let Some((known, hits)) = self.hits.get(&text.hash)
            && known.same(text)
        {
            return Arc::clone(hits);
        }
        let hits = Arc::new(find(&text.text));
        // Dropping everything at once is crude but keeps no order to maintain per hit.
        if self.bytes > CACHE_BYTES {
            self.hits.clear();
            self.bytes = 0;
        }
        self.bytes += TEXT + text.text.len();
        self.hits.insert(text.hash, (text.clone(), Arc::clone(&hits)));
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_whole_word_may_come_after_the_first_hit() {
        let index = LiteralIndex::build(["cat"]);
        let hits = Hits::find(&index, Folding::Lower, WordRule::Ascii, "Cats and a CAT");
        let expected = PatternHit { pattern: PatternId(0), any: (0, 3), word: Some((11, 14)) };
        assert_eq!(hits.iter().copied().collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn a_text_is_scanned_once() {
        let mut cache: HitCache = HitCache::default();
        let text = ScanText::new("a cat");
        let mut scans = 0;
        for text in [&text, &text.clone(), &ScanText::new("a cat"), &ScanText::new("a dog")] {
            cache.get_or_find(text, |_| {
                scans += 1;
                Hits::default()
            });
        }
        assert_eq!(scans, 2);
    }
}
