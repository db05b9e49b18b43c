//! BM25: texts ranked by the words they share with a query, rare words weighing more.
//!
//! One inverted index in memory for vault notes and for the passages of a story. Texts are
//! added at the end. The newest can be taken out again without a trace; any other is removed
//! by leaving its postings behind as tombstones until they outnumber the living and the index
//! is compacted. Removing therefore costs the text's own words, and a query pays at most
//! twice.

mod terms;
mod words;

use rustc_hash::FxHashSet;

pub use self::words::words;
use self::{terms::Terms, words::each_word};

/// The parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25Parameters {
    /// `k1`: how much a repeated word still adds.
    pub saturation: f64,
    /// `b`: how much long texts are held back; 0 is not at all.
    pub length: f64,
}

/// The usual `k1`.
const SATURATION: f64 = 1.5;
/// The usual `b`.
const LENGTH: f64 = 0.75;

impl Default for Bm25Parameters {
    fn default() -> Self {
        Self { saturation: SATURATION, length: LENGTH }
    }
}

impl Bm25Parameters {
    /// What a text of `length` words adds below the fraction, where the mean is `mean`.
    fn damping(self, length: u32, mean: f64) -> f64 {
        self.saturation * (1.0 - self.length + self.length * f64::from(length) / mean)
    }

    /// What a word of this rarity scores that a text has `count` times.
    fn score(self, rarity: f64, count: u32, damping: f64) -> f64 {
        let count = f64::from(count);
        rarity * (count * (self.saturation + 1.0)) / (count + damping)
    }
}

/// How telling a word is that `holders` of `texts` have: the rarer, the more.
fn rarity(texts: u32, holders: u32) -> f64 {
    let holders = f64::from(holders);
    ((f64::from(texts) - holders + 0.5) / (holders + 0.5)).ln_1p()
}

/// A text of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocId(pub u32);

/// A text that a query found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The text.
    pub doc: DocId,
    /// How well it fits.
    pub score: f64,
}

/// The index.
#[derive(Clone, Debug, Default)]
pub struct Bm25 {
    terms: Terms,
    postings: Vec<Vec<Posting>>,
    /// Living texts of each term.
    frequencies: Vec<u32>,
    /// Words of each text; `None` is removed.
    lengths: Vec<Option<u32>>,
    living: u32,
    total: u64,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    doc: u32,
    count: u32,
}

impl Bm25 {
    /// Adds a text. Ids grow, so that equal scores keep the order of adding.
    pub fn add(&mut self, text: &str) -> DocId {
        self.add_all([text])[0]
    }

    /// Adds texts. Words are numbered first and filed after, so that each list of postings
    /// grows once instead of step by step.
    pub fn add_all<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Vec<DocId> {
        let mut words: Vec<u32> = Vec::new();
        let mut ends: Vec<usize> = Vec::new();
        for text in texts {
            each_word(text, |word| words.push(self.term(word)));
            ends.push(words.len());
        }
        let mut more: Vec<u32> = vec![0; self.postings.len()];
        if ends.len() > 1 {
            for &term in &words {
                more[term as usize] += 1;
            }
            for (postings, more) in self.postings.iter_mut().zip(&more) {
                postings.reserve_exact(*more as usize);
            }
        }
        let mut start = 0;
        let mut ids = Vec::with_capacity(ends.len());
        for end in ends {
            ids.push(self.file(&words[start..end]));
            start = end;
        }
        ids
    }

    /// Adds a text that its caller cut into terms.
    pub fn push<'t>(&mut self, terms: impl Iterator<Item = &'t str>) -> DocId {
        let terms: Vec<u32> = terms.map(|term| self.term(term)).collect();
        self.file(&terms)
    }

    /// Takes the newest text out, as if it had never been added. `terms` are its distinct
    /// terms.
    pub fn pop<'t>(&mut self, terms: impl Iterator<Item = &'t str>) {
        let Some(length) = self.lengths.pop() else { return };
        self.living -= u32::from(length.is_some());
        self.total -= u64::from(length.unwrap_or_default());
        for word in terms {
            let Some(term) = self.terms.get(word) else { continue };
            let term = term as usize;
            self.postings[term].pop();
            self.frequencies[term] -= 1;
            if self.postings[term].is_empty() {
                self.terms.remove(word);
            }
        }
        // Terms that only this text had have the last numbers.
        while self.postings.last().is_some_and(Vec::is_empty) {
            self.postings.pop();
            self.frequencies.pop();
        }
    }

    fn file(&mut self, words: &[u32]) -> DocId {
        let doc = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        for &term in words {
            let postings = &mut self.postings[term as usize];
            match postings.last_mut() {
                Some(last) if last.doc == doc => last.count += 1,
                Some(_) | None => {
                    postings.push(Posting { doc, count: 1 });
                    self.frequencies[term as usize] += 1;
                }
            }
        }
        let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
        self.lengths.push(Some(length));
        self.living += 1;
        self.total += u64::from(length);
        DocId(doc)
    }

    fn term(&mut self, word: &str) -> u32 {
        if let Some(term) = self.terms.get(word) {
            return term;
        }
        let term = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        self.terms.insert(word, term);
        self.postings.push(Vec::new());
        self.frequencies.push(0);
        term
    }

    /// Removes a text; `text` is what was added. Ids stay the same until [`Self::compact`].
    pub fn remove(&mut self, doc: DocId, text: &str) {
        let Some(length) = self.lengths.get_mut(doc.0 as usize).and_then(Option::take) else {
            return;
        };
        self.living -= 1;
        self.total -= u64::from(length);
        let mut seen = FxHashSet::default();
        each_word(text, |word| {
            if let Some(term) = self.terms.get(word)
                && seen.insert(term)
            {
                self.frequencies[term as usize] -= 1;
            }
        });
    }

    /// Whether tombstones outnumber the living.
    pub fn wants_compaction(&self) -> bool {
        self.lengths.len() > 2 * self.living as usize
    }

    /// Drops what removed texts left behind, and returns the new id of each text.
    pub fn compact(&mut self) -> Vec<Option<DocId>> {
        let ids: Vec<Option<DocId>> =
            renumbered(self.lengths.iter().map(Option::is_some)).map(|id| id.map(DocId)).collect();
        for postings in &mut self.postings {
            postings.retain_mut(|posting| match ids[posting.doc as usize] {
                Some(DocId(doc)) => {
                    posting.doc = doc;
                    true
                }
                None => false,
            });
        }
        self.lengths.retain(Option::is_some);
        let used = self.postings.iter().map(|postings| !postings.is_empty());
        let terms: Vec<Option<u32>> = renumbered(used).collect();
        self.terms.renumber(&terms);
        self.postings.retain(|postings| !postings.is_empty());
        let mut term = terms.iter();
        self.frequencies.retain(|_| term.next().is_some_and(Option::is_some));
        ids
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.living as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.living == 0
    }

    /// How many texts have a word.
    pub fn texts_with(&self, word: &str) -> u32 {
        self.terms.get(word).map_or(0, |term| self.frequencies[term as usize])
    }

    /// How telling a word is that so many of the texts have.
    pub fn rarity(&self, holders: u32) -> f64 {
        rarity(self.living, holders)
    }

    /// The mean length of a text, in words.
    pub fn mean_length(&self) -> f64 {
        if self.living == 0 { 0.0 } else { exact(self.total) / f64::from(self.living) }
    }

    /// The `most` best texts with at least `min_score`, under the usual parameters. Equal
    /// scores keep the order in which the query's words reach the texts.
    pub fn query(&self, text: &str, most: usize, min_score: f64) -> Vec<Scored> {
        if self.total == 0 || most == 0 {
            return Vec::new();
        }
        let parameters = Bm25Parameters::default();
        let damping = self.damping(parameters);
        let mut scores = vec![0.0_f64; damping.len()];
        let mut reached: Vec<u32> = Vec::new();
        let mut asked = vec![false; self.postings.len()];
        each_word(text, |word| {
            let Some(term) = self.terms.get(word) else { return };
            if !std::mem::replace(&mut asked[term as usize], true) {
                self.score_term(term, 1.0, parameters, &damping, |doc, score| {
                    if scores[doc] == 0.0 {
                        reached.push(u32::try_from(doc).unwrap_or(u32::MAX));
                    }
                    scores[doc] += score;
                });
            }
        });
        best(&scores, &reached, most, min_score)
    }

    /// Calls `take` once for each weighted term, with the texts that have it, in order, and what
    /// it scores there.
    pub fn score_terms<'t>(
        &self,
        terms: impl IntoIterator<Item = (&'t str, f64)>,
        parameters: Bm25Parameters,
        mut take: impl FnMut(&[(usize, f64)]),
    ) {
        let damping = self.damping(parameters);
        let mut found = Vec::new();
        for (term, weight) in terms {
            found.clear();
            if let Some(term) = self.terms.get(term) {
                self.score_term(term, weight, parameters, &damping, |doc, score| {
                    found.push((doc, score));
                });
            }
            take(&found);
        }
    }

    /// What each text's length adds below the fraction.
    fn damping(&self, parameters: Bm25Parameters) -> Vec<f64> {
        let mean = self.mean_length();
        let lengths = self.lengths.iter();
        lengths.map(|length| parameters.damping(length.unwrap_or_default(), mean)).collect()
    }

    fn score_term(
        &self,
        term: u32,
        weight: f64,
        parameters: Bm25Parameters,
        damping: &[f64],
        mut take: impl FnMut(usize, f64),
    ) {
        let rarity = self.rarity(self.frequencies[term as usize]) * weight;
        for posting in &self.postings[term as usize] {
            let doc = posting.doc as usize;
            if self.lengths[doc].is_some() {
                take(doc, parameters.score(rarity, posting.count, damping[doc]));
            }
        }
    }
}

/// New numbers, without gaps, for those that stay.
fn renumbered(stays: impl Iterator<Item = bool>) -> impl Iterator<Item = Option<u32>> {
    let mut next = 0;
    stays.map(move |stays| {
        stays.then(|| {
            next += 1;
            next - 1
        })
    })
}

/// The best of the texts reached. Picked first and sorted after, since most are not returned.
fn best(scores: &[f64], reached: &[u32], most: usize, min_score: f64) -> Vec<Scored> {
    let mut found: Vec<(usize, Scored)> = reached
        .iter()
        .map(|&doc| Scored { doc: DocId(doc), score: scores[doc as usize] })
        .filter(|scored| scored.score >= min_score)
        .enumerate()
        .collect();
    let by_score = |a: &(usize, Scored), b: &(usize, Scored)| {
        b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0))
    };
    if found.len() > most {
        found.select_nth_unstable_by(most - 1, by_score);
        found.truncate(most);
    }
    found.sort_unstable_by(by_score);
    found.into_iter().map(|(_, scored)| scored).collect()
}

#[expect(clippy::cast_precision_loss, reason = "word counts are far below 2^52")]
fn exact(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(index: &Bm25, query: &str) -> Vec<(u32, String)> {
        let found = index.query(query, 20, 0.0);
        found.iter().map(|scored| (scored.doc.0, format!("{:.9}", scored.score))).collect()
    }

    #[test]
    fn an_index_that_changed_scores_like_one_built_anew() {
        let texts = ["salt road", "salt mine and salt lamp", "glass orchard", "the salt tax"];
        let mut changed = Bm25::default();
        let gone = changed.add("salt salt salt orchard wind");
        let ids: Vec<DocId> = texts.iter().map(|text| changed.add(text)).collect();
        changed.remove(gone, "salt salt salt orchard wind");
        changed.remove(gone, "salt salt salt orchard wind");
        let mut fresh = Bm25::default();
        for text in texts {
            fresh.add(text);
        }
        let shifted: Vec<(u32, String)> = scores(&changed, "salt orchard wind")
            .iter()
            .map(|(doc, score)| (doc - 1, score.clone()))
            .collect();
        assert_eq!(shifted, scores(&fresh, "salt orchard wind"));
        assert_eq!(shifted.len(), 4);

        let moved = changed.compact();
        assert_eq!(moved[0], None);
        assert_eq!(moved[1..], ids.iter().map(|id| Some(DocId(id.0 - 1))).collect::<Vec<_>>());
        assert_eq!(scores(&changed, "salt orchard wind"), scores(&fresh, "salt orchard wind"));
        assert_eq!(changed.query("wind", 20, 0.0), []);
    }

    #[test]
    fn only_the_best_are_returned_and_ties_keep_their_order() {
        let mut index = Bm25::default();
        for text in ["salt aa", "salt bb", "salt salt", "pepper cc", "salt dd"] {
            index.add(text);
        }
        let found = index.query("salt", 3, 0.0);
        assert_eq!(found.iter().map(|one| one.doc.0).collect::<Vec<_>>(), [2, 0, 1]);
        assert_eq!(index.query("salt", 20, 10.0), []);
    }

    #[test]
    fn the_newest_text_leaves_no_trace() {
        let mut index = Bm25::default();
        for text in [&["ship", "storm"][..], &["ship", "ship"]] {
            index.push(text.iter().copied());
        }
        let score = |index: &Bm25| {
            let mut scores = [0.0; 3];
            let parameters = Bm25Parameters { saturation: 0.9, length: 0.4 };
            index.score_terms([("ship", 1.0), ("gull", 2.0)], parameters, |found| {
                for (doc, score) in found {
                    scores[*doc] += score;
                }
            });
            scores.map(f64::to_bits)
        };
        let before = score(&index);
        index.push(["ship", "gull", "gull", "foam"].into_iter());
        assert_ne!(score(&index), before);
        index.pop(["ship", "gull", "foam"].into_iter());
        assert_eq!(score(&index), before);
        assert_eq!((index.len(), index.texts_with("gull"), index.texts_with("ship")), (2, 0, 2));
        index.push(["foam"].into_iter());
        assert_eq!(index.texts_with("foam"), 1);
    }

    #[test]
    fn a_rare_word_scores_more_and_repeats_score_less() {
        let mut index = Bm25::default();
        for text in [&["ship", "storm"][..], &["ship", "ship"], &["ship", "calm"]] {
            index.push(text.iter().copied());
        }
        let score = |term: &str| {
            let mut scores = vec![0.0; 3];
            let parameters = Bm25Parameters { saturation: 0.9, length: 0.4 };
            index.score_terms([(term, 1.0)], parameters, |found| {
                for (doc, score) in found {
                    scores[*doc] += score;
                }
            });
            scores
        };
        assert!(score("storm")[0] > score("ship")[0]);
        let ship = score("ship");
        assert!(ship[1] > ship[0] && ship[1] < 2.0 * ship[0]);
        assert_eq!(score("gull"), [0.0; 3]);
    }
}
