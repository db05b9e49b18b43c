//! BM25 over passages that are added one by one.

use rustc_hash::FxHashMap;

use crate::number::{clamp_usize, real};

/// An occurrence of a term: the passage and how often.
type Posting = (u32, u32);

/// Postings of all terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Bm25 {
    postings: FxHashMap<String, Vec<Posting>>,
    lengths: Vec<u32>,
    total: u64,
}

impl Bm25 {
    /// Adds the next passage.
    pub(super) fn push<'term>(&mut self, terms: impl Iterator<Item = &'term str>) {
        let at = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut length = 0;
        for term in terms {
            length += 1;
            let list = self.postings.entry(term.to_owned()).or_default();
            match list.last_mut() {
                Some((passage, count)) if *passage == at => *count += 1,
                _ => list.push((at, 1)),
            }
        }
        self.lengths.push(length);
        self.total += u64::from(length);
    }

    /// Takes the newest passage out again. `terms` are its distinct terms.
    pub(super) fn pop<'term>(&mut self, terms: impl Iterator<Item = &'term str>) {
        let Some(length) = self.lengths.pop() else { return };
        self.total -= u64::from(length);
        for term in terms {
            let Some(list) = self.postings.get_mut(term) else { continue };
            list.pop();
            if list.is_empty() {
                self.postings.remove(term);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// How telling a term is: the rarer, the more.
    pub(super) fn rarity(&self, term: &str) -> f64 {
        let holders = real(self.postings.get(term).map_or(0, Vec::len));
        (1.0 + (real(self.len()) - holders + 0.5) / (holders + 0.5)).ln()
    }

    /// Adds the scores of weighted terms to `scores`, one for each passage.
    pub(super) fn add<'term>(
        &self,
        terms: impl IntoIterator<Item = (&'term str, f64)>,
        saturation: f64,
        length: f64,
        scores: &mut [f64],
    ) {
        let average = real(clamp_usize(self.total.max(1))) / real(self.len().max(1));
        for (term, weight) in terms {
            let Some(list) = self.postings.get(term) else { continue };
            let rarity = self.rarity(term) * weight;
            for (passage, count) in list {
                let passage = *passage as usize;
                let (count, words) = (f64::from(*count), f64::from(self.lengths[passage]));
                let damping = saturation * (1.0 - length + length * words / average);
                scores[passage] += rarity * count * (saturation + 1.0) / (count + damping);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_word_tells_more_and_repeats_tell_less() {
        let mut index = Bm25::default();
        for passage in [&["ship", "storm"][..], &["ship", "ship"], &["ship", "calm"]] {
            index.push(passage.iter().copied());
        }
        let score = |term: &str| {
            let mut scores = vec![0.0; 3];
            index.add([(term, 1.0)], 0.9, 0.4, &mut scores);
            scores
        };
        assert!(score("storm")[0] > score("ship")[0]);
        let ship = score("ship");
        assert!(ship[1] > ship[0] && ship[1] < 2.0 * ship[0]);
        assert_eq!(score("gull"), [0.0; 3]);
    }
}
