//! How often keys occur in a text.
//!
//! [`Hits`](super::Hits) stops at the first occurrence, which is all World Info asks for.
//! A vault also counts, so it pays for looking at every occurrence.

use rustc_hash::FxHashMap;

use super::{LiteralIndex, PatternId, WordRule};

/// One pattern in a text: how often, and where first. Occurrences do not overlap, the way
/// a search that goes on after each match counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The pattern.
    pub pattern: PatternId,
    /// Occurrences.
    pub any: u32,
    /// Occurrences that stand alone as a word.
    pub word: u32,
    /// Bytes of the pattern.
    pub length: u32,
    /// First byte of the first occurrence in the folded text.
    pub first: u32,
    /// First byte of the first one that stands alone as a word.
    pub first_word: Option<u32>,
}

impl Tally {
    /// Where the pattern occurs first.
    pub fn first_span(&self) -> (usize, usize) {
        (self.first as usize, (self.first + self.length) as usize)
    }

    /// Where it stands alone as a word first.
    pub fn first_word_span(&self) -> Option<(usize, usize)> {
        self.first_word.map(|start| (start as usize, (start + self.length) as usize))
    }
}

/// All patterns of one index in a text, by first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies(Vec<Tally>);

impl Tallies {
    /// Counts the patterns of an index in a text that is folded already.
    pub fn count(index: &LiteralIndex, words: WordRule, folded: &str) -> Self {
        let mut tallies: Vec<Tally> = Vec::new();
        // Where the last counted occurrence of each pattern ended: any, whole word.
        let mut ends: Vec<(usize, usize)> = Vec::new();
        let mut seen: FxHashMap<PatternId, usize> = FxHashMap::default();
        index.scan(folded, |pattern, start, end| {
            let at = *seen.entry(pattern).or_insert_with(|| {
                let (first, length) = (offset(start), offset(end - start));
                tallies.push(Tally { pattern, any: 0, word: 0, length, first, first_word: None });
                ends.push((0, 0));
                tallies.len() - 1
            });
            let (tally, ends) = (&mut tallies[at], &mut ends[at]);
            if start >= ends.0 {
                tally.any += 1;
                ends.0 = end;
            }
            if start >= ends.1 && words.is_word(folded, start, end) {
                tally.word += 1;
                tally.first_word.get_or_insert(offset(start));
                ends.1 = end;
            }
        });
        tallies.shrink_to_fit();
        Self(tallies)
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
    fn occurrences_are_counted_without_overlap() {
        let index = LiteralIndex::build(["aa", "art"]);
        for (text, pattern, any, word, first_word) in [
            ("aaaa aaa", 0, 3, 0, None),
            ("aa aaa aa", 0, 3, 2, Some(0)),
            ("the cart departs; art is long", 1, 3, 1, Some(18)),
        ] {
            let tallies = Tallies::count(&index, WordRule::Ascii, text);
            let tally = tallies.get(PatternId(pattern)).unwrap();
            assert_eq!(
                (tally.any, tally.word, tally.first_word),
                (any, word, first_word),
                "{text}"
            );
        }
    }
}
