//! How often keys occur in a text.
//!
//! [`Hits`](super::Hits) stops at the first occurrence, which is all World Info asks for.
//! A vault also counts, so it pays for looking at every occurrence.

use rustc_hash::FxHashMap;

use super::{LiteralIndex, Padded, PatternId, WordRule};

/// One pattern in a text: how often, and where first. Occurrences do not overlap, the way
/// a search that goes on after each match counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The pattern.
    pub pattern: PatternId,
    /// Occurrences.
    pub any: u32,
    /// Occurrences that are a whole word.
    pub word: u32,
    /// Bytes of the pattern.
    pub length: u32,
    /// First byte of the first occurrence in the folded text.
    pub first: u32,
    /// First byte of the first one that is a whole word.
    pub first_word: Option<u32>,
}

impl Tally {
    /// Where the pattern occurs first.
    pub fn first_span(&self) -> (usize, usize) {
        (self.first as usize, (self.first + self.length) as usize)
    }

    /// Where it is a whole word first.
    pub fn first_word_span(&self) -> Option<(usize, usize)> {
        self.first_word.map(|start| (start as usize, (start + self.length) as usize))
    }
}

/// All patterns of one index in a text, by first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies(Vec<Tally>);

impl Tallies {
    /// Counts the patterns of an index in a text that is folded already.
    pub fn count(index: &LiteralIndex, words: WordRule, folded: &Padded) -> Self {
        let mut counting: Vec<PatternCount> = Vec::with_capacity(FEW / 2);
        let mut seen = FoundPatterns::default();
        index.scan(folded, |pattern, start, end| {
            let at = seen.place(pattern, &counting, |one| one.tally.pattern);
            if at == counting.len() {
                let (first, length) = (offset(start), offset(end - start));
                let tally = Tally { pattern, any: 0, word: 0, length, first, first_word: None };
                counting.push(PatternCount { tally, any: 0, word: 0 });
            }
            let PatternCount { tally, any, word } = &mut counting[at];
            if start >= *any {
                tally.any += 1;
                *any = end;
            }
            if start >= *word && words.is_word(folded.as_str(), start, end) {
                tally.word += 1;
                tally.first_word.get_or_insert(offset(start));
                *word = end;
            }
        });
        Self(counting.into_iter().map(|one| one.tally).collect())
    }

    /// How many patterns were found.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tallies.
    pub fn iter(&self) -> std::slice::Iter<'_, Tally> {
        self.0.iter()
    }

    /// The tally of one pattern.
    pub fn get(&self, pattern: PatternId) -> Option<&Tally> {
        self.0.iter().find(|tally| tally.pattern == pattern)
    }
}

/// A pattern that is being counted, and where the last counted occurrences ended.
struct PatternCount {
    tally: Tally,
    any: usize,
    word: usize,
}

/// Where each pattern that was found is listed. A message holds a few, which are found sooner
/// by looking through them than by a table that has to be made first.
#[derive(Default)]
pub(super) struct FoundPatterns(FxHashMap<PatternId, usize>);

/// Up to so many are looked through.
const FEW: usize = 32;

impl FoundPatterns {
    /// Where a pattern is listed, or is to be put: behind all others.
    pub(super) fn place<One>(
        &mut self,
        pattern: PatternId,
        listed: &[One],
        pattern_of: impl Fn(&One) -> PatternId,
    ) -> usize {
        if listed.len() < FEW {
            let known = listed.iter().position(|one| pattern_of(one) == pattern);
            return known.unwrap_or(listed.len());
        }
        if self.0.is_empty() {
            self.0.extend(listed.iter().map(pattern_of).zip(0..));
        }
        *self.0.entry(pattern).or_insert(listed.len())
    }
}

impl<'a> IntoIterator for &'a Tallies {
    type Item = &'a Tally;
    type IntoIter = std::slice::Iter<'a, Tally>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_patterns_in_one_text_are_counted_like_few() {
        let keys: Vec<String> = (0..3 * FEW).map(|at| format!("key{at:03}")).collect();
        let index = LiteralIndex::build(keys.iter().map(String::as_str));
        let text = format!("{} {}", keys.join(" "), keys.join(" "));
        let tallies = Tallies::count(&index, WordRule::Ascii, &text.as_str().into());
        assert_eq!(tallies.len(), keys.len());
        assert!(tallies.iter().all(|tally| (tally.any, tally.word) == (2, 2)));
        assert!(tallies.iter().zip(0..).all(|(tally, at)| tally.pattern == PatternId(at)));
    }

    #[test]
    fn occurrences_are_counted_without_overlap() {
        let index = LiteralIndex::build(["aa", "art"]);
        for (text, pattern, any, word, first_word) in [
            ("aaaa aaa", 0, 3, 0, None),
            ("aa aaa aa", 0, 3, 2, Some(0)),
            ("the cart departs; art is long", 1, 3, 1, Some(18)),
        ] {
            let tallies = Tallies::count(&index, WordRule::Ascii, &text.into());
            let tally = tallies.get(PatternId(pattern)).unwrap();
            assert_eq!(
                (tally.any, tally.word, tally.first_word),
                (any, word, first_word),
                "{text}"
            );
        }
    }
}
