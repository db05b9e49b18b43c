//! Keywords, for scoring.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::TextRules;
use crate::number::real;

/// Stop words, as in Smart Memory. Number words are not among them: two memories about "one event"
/// share something.
const STOP_WORDS: &[&str] = &[
    "and", "are", "been", "but", "for", "from", "had", "has", "have", "her", "him", "his", "into",
    "its", "our", "she", "that", "the", "their", "them", "there", "they", "this", "was", "were",
    "with", "you", "your",
];

/// The distinct keywords of a text in order: three or more letters or digits, lower-cased, without
/// stop words.
pub fn keywords(text: &str, words: TextRules) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut found: Vec<&str> = Vec::new();
    for word in lower.split(|c: char| !words.has(c)) {
        if is_long(word, 3) && !found.contains(&word) && STOP_WORDS.binary_search(&word).is_err() {
            found.push(word);
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The distinct words of at least four characters in a lower-case text. They show what recent
/// messages are about. Stop words are included, because a trigger may be one.
pub fn long_words(lower: &str, words: TextRules) -> Vec<String> {
    let mut found: Vec<&str> = Vec::new();
    for word in lower.split(|c: char| !words.has(c) && c != '_') {
        if is_long(word, 4) && !found.contains(&word) {
            found.push(word);
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// Whether a word has this many characters. For most words the bytes are enough to tell.
fn is_long(word: &str, shortest: usize) -> bool {
    word.len() >= shortest && (word.is_ascii() || word.chars().count() >= shortest)
}

/// In how many texts of a pool each keyword occurs, and the keywords of each text.
#[derive(Clone, Debug, Default)]
pub struct Frequencies {
    words: TextRules,
    counts: FxHashMap<String, usize>,
    texts: FxHashMap<String, Vec<String>>,
}

impl Frequencies {
    /// Counts the keywords of a pool.
    pub fn of<'text>(pool: impl IntoIterator<Item = &'text str>, words: TextRules) -> Self {
        let mut known = Self::none(words);
        for text in pool {
            let words = keywords(text, words);
            for word in &words {
                *known.counts.entry(word.clone()).or_insert(0) += 1;
            }
            known.texts.insert(text.to_owned(), words);
        }
        known
    }

    /// A pool without texts.
    pub fn none(words: TextRules) -> Self {
        Self { words, ..Self::default() }
    }

    /// The keywords of a text, cached for texts of the pool.
    pub fn keywords(&self, text: &str) -> Cow<'_, [String]> {
        match self.texts.get(text) {
            Some(words) => Cow::Borrowed(words),
            None => Cow::Owned(keywords(text, self.words)),
        }
    }

    /// The sum of the frequencies of a text's keywords.
    pub fn weight(&self, text: &str) -> f64 {
        let words = self.keywords(text);
        real(words.iter().filter_map(|word| self.counts.get(word)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(!STOP_WORDS.contains(&"one"));
    }

    #[test]
    fn keywords_are_distinct_runs_of_three_letters_or_digits() {
        let all = |text| keywords(text, TextRules::Tolerant);
        assert_eq!(all("The ox, the OX-cart and Cart 42: 100%"), ["cart", "100"]);
        assert_eq!(all("which would then be when"), ["which", "would", "then", "when"]);
        assert_eq!(all("She went into the hall there"), ["went", "hall"]);
        assert_eq!(all("Жанна was naïve"), ["жанна", "naïve"]);
        assert_eq!(keywords("Жанна was naïve, café", TextRules::Literal), ["caf"]);
    }

    #[test]
    fn recent_words_keep_function_words_and_their_case() {
        assert_eq!(
            long_words("the fog horn, a horn there", TextRules::Tolerant),
            ["horn", "there"]
        );
        assert_eq!(long_words("HARBOUR жанна sea_fog", TextRules::Literal), ["HARBOUR", "sea_fog"]);
        assert_eq!(long_words("жанна", TextRules::Tolerant), ["жанна"]);
    }

    #[test]
    fn a_word_weighs_as_many_texts_as_hold_it() {
        let pool = Frequencies::of(["anchor chain", "anchor anchor rope"], TextRules::Tolerant);
        assert!((pool.weight("anchor rope gull") - 3.0).abs() < 1e-9);
    }
}
