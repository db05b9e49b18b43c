//! Notes by what they are about: BM25 over title, keys and text.
//!
//! An inverted index in memory. A changed note is removed and added again without touching
//! the others: its postings stay behind as tombstones until they outnumber the living and
//! the index is compacted. Removing therefore costs the note's own words, and a query pays
//! at most twice.

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization as _, char::is_combining_mark, is_nfc_quick,
};

use super::truncate;

const K1: f64 = 1.5;
const B: f64 = 0.75;
/// Words shorter than this say nothing.
const SHORTEST: usize = 2;

/// The words of a text, repeated ones too: runs of letters and digits, in lower case.
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each_word(text, |word| found.push(word.to_owned()));
    found
}

fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let composed: String;
    let text = if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text
    } else {
        composed = text.nfc().collect();
        &composed
    };
    let folded = crate::scan::Folding::Lower.apply(text);
    if folded.is_ascii() {
        let runs = folded.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
        for run in runs.filter(|run| run.len() >= SHORTEST) {
            take(std::str::from_utf8(run).unwrap_or_default());
        }
        return;
    }
    let is_border = |c: char| !c.is_alphanumeric() || is_combining_mark(c);
    for word in folded.split(is_border).filter(|word| truncate::length(word) >= SHORTEST) {
        take(word);
    }
}

/// A document of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocId(pub u32);

/// A document that a query found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The document.
    pub doc: DocId,
    /// How well it fits.
    pub score: f64,
}

/// The index.
#[derive(Clone, Debug, Default)]
pub struct Bm25 {
    terms: Terms,
    postings: Vec<Vec<Posting>>,
    /// Living documents of each term.
    frequencies: Vec<u32>,
    /// Words of each document; `None` is removed.
    lengths: Vec<Option<u32>>,
    living: u32,
    total: u64,
}

/// The number of each word. Words of up to sixteen bytes, which is most, are their own key:
/// looking one up then follows no pointer.
#[derive(Clone, Debug, Default)]
struct Terms {
    short: FxHashMap<[u64; 2], u32>,
    long: FxHashMap<Box<str>, u32>,
}

impl Terms {
    fn get(&self, word: &str) -> Option<u32> {
        match short(word) {
            Some(key) => self.short.get(&key).copied(),
            None => self.long.get(word).copied(),
        }
    }

    fn insert(&mut self, word: &str, term: u32) {
        match short(word) {
            Some(key) => self.short.insert(key, term),
            None => self.long.insert(word.into(), term),
        };
    }

    /// Gives each word its new number, and drops those that have none.
    fn renumber(&mut self, new: &[Option<u32>]) {
        let renumber = |term: &mut u32| match new[*term as usize] {
            Some(number) => {
                *term = number;
                true
            }
            None => false,
        };
        self.short.retain(|_, term| renumber(term));
        self.long.retain(|_, term| renumber(term));
    }
}

/// A short word, padded with zeros, which no word contains.
fn short(word: &str) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    let [low, high] = [bytes.first_chunk()?, bytes.last_chunk()?];
    Some([u64::from_le_bytes(*low), u64::from_le_bytes(*high)])
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    doc: u32,
    count: u32,
}

impl Bm25 {
    /// Adds a document. Ids grow, so that equal scores keep the order of adding.
    pub fn add(&mut self, text: &str) -> DocId {
        self.add_all([text])[0]
    }

    /// Adds documents. Words are numbered first and filed after, so that each list of
    /// documents grows once instead of by and by.
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

    /// Removes a document; `text` is what was added. Ids stay as they are until
    /// [`Self::compact`].
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

    /// Drops what removed documents left behind, and tells each document's new id.
    pub fn compact(&mut self) -> Vec<Option<DocId>> {
        let mut next = 0;
        let ids: Vec<Option<DocId>> = self
            .lengths
            .iter()
            .map(|length| {
                length.map(|_| {
                    next += 1;
                    DocId(next - 1)
                })
            })
            .collect();
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
        let alive: Vec<bool> = self.postings.iter().map(|postings| !postings.is_empty()).collect();
        let mut new_terms = Vec::with_capacity(alive.len());
        let mut kept = 0;
        for &alive in &alive {
            new_terms.push(alive.then_some(kept));
            kept += u32::from(alive);
        }
        self.terms.renumber(&new_terms);
        self.postings.retain(|postings| !postings.is_empty());
        let mut at = alive.iter();
        self.frequencies.retain(|_| at.next().copied().unwrap_or_default());
        ids
    }

    /// How many documents have a word, as [`words`] has it.
    pub fn texts_with(&self, word: &str) -> u32 {
        self.terms.get(word).map_or(0, |term| self.frequencies[term as usize])
    }

    /// What a word weighs that so many documents have: the rarer, the more.
    pub fn weight(&self, documents: u32) -> f64 {
        let frequency = f64::from(documents);
        ((f64::from(self.living) - frequency + 0.5) / (frequency + 0.5)).ln_1p()
    }

    /// The mean length of a document, in words.
    pub fn mean_length(&self) -> f64 {
        if self.living == 0 { 0.0 } else { exact(self.total) / f64::from(self.living) }
    }

    /// The `most` best documents with at least `min_score`. Equal scores keep the order in
    /// which the query's words reach the documents.
    pub fn query(&self, text: &str, most: usize, min_score: f64) -> Vec<Scored> {
        let mean = self.mean_length();
        if mean == 0.0 || most == 0 {
            return Vec::new();
        }
        let norm = |length: &Option<u32>| {
            K1 * (1.0 - B + B * f64::from(length.unwrap_or_default()) / mean)
        };
        let norms: Vec<f64> = self.lengths.iter().map(norm).collect();
        let mut scores = vec![0.0_f64; norms.len()];
        let mut reached: Vec<u32> = Vec::new();
        let mut asked = vec![false; self.postings.len()];
        each_word(text, |word| {
            let Some(term) = self.terms.get(word) else { return };
            let term = term as usize;
            if !std::mem::replace(&mut asked[term], true) {
                self.score_term(term, &norms, &mut scores, &mut reached);
            }
        });
        best(&scores, &reached, most, min_score)
    }

    fn score_term(&self, term: usize, norms: &[f64], scores: &mut [f64], reached: &mut Vec<u32>) {
        let idf = self.weight(self.frequencies[term]);
        for posting in &self.postings[term] {
            let doc = posting.doc as usize;
            if self.lengths[doc].is_none() {
                continue;
            }
            let count = f64::from(posting.count);
            if scores[doc] == 0.0 {
                reached.push(posting.doc);
            }
            scores[doc] += idf * (count * (K1 + 1.0)) / (count + norms[doc]);
        }
    }
}

/// The best of the documents reached: picked first, sorted after, since most are not shown.
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
    fn words_are_runs_of_letters_and_digits_of_any_script() {
        assert_eq!(
            words("Wind-warden's 42 a ЧАСЫ 鐘楼! é"),
            ["wind", "warden", "42", "часы", "鐘楼"]
        );
        assert_eq!(words("cafe\u{301} x"), ["café"]);
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
}
