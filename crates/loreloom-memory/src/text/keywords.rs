//! Words that carry meaning, for scoring.

use rustc_hash::FxHashMap;

use crate::number::real;

/// Function words that say nothing about a memory. Number words are not among them: two
/// memories about "one event" do share something.
const STOP_WORDS: &[&str] = &[
    "and", "are", "been", "but", "can", "could", "did", "does", "for", "from", "had", "has",
    "have", "her", "hers", "him", "his", "its", "not", "our", "she", "that", "the", "their",
    "them", "then", "they", "this", "those", "was", "were", "when", "which", "who", "will", "with",
    "would", "you", "your",
];

/// The distinct keywords of a text in order: runs of three or more letters or digits,
/// lower-cased, without function words.
pub fn keywords(text: &str) -> Vec<String> {
    distinct_words(text, 3)
}

/// The distinct keywords of at least four characters, used to see what recent text is about.
pub fn long_words(text: &str) -> Vec<String> {
    distinct_words(text, 4)
}

fn distinct_words(text: &str, shortest: usize) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if word.chars().count() >= shortest
            && STOP_WORDS.binary_search(&word).is_err()
            && !words.iter().any(|seen| seen == word)
        {
            words.push(word.to_owned());
        }
    }
    words
}

/// In how many texts of a pool each keyword occurs.
#[derive(Clone, Debug, Default)]
pub struct Frequencies(FxHashMap<String, usize>);

impl Frequencies {
    /// Counts the keywords of a pool.
    pub fn of<'text>(pool: impl IntoIterator<Item = &'text str>) -> Self {
        let mut counts = FxHashMap::default();
        for word in pool.into_iter().flat_map(keywords) {
            *counts.entry(word).or_insert(0) += 1;
        }
        Self(counts)
    }

    /// The sum of the frequencies of a text's keywords.
    pub fn weight(&self, text: &str) -> f64 {
        real(keywords(text).iter().filter_map(|word| self.0.get(word)).sum())
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
        assert_eq!(keywords("The ox, the OX-cart and Cart 42: 100%"), ["cart", "100"]);
        assert_eq!(long_words("The fog horn, a horn"), ["horn"]);
    }

    #[test]
    fn a_word_weighs_as_many_texts_as_hold_it() {
        let pool = Frequencies::of(["anchor chain", "anchor anchor rope"]);
        assert!((pool.weight("anchor rope gull") - 3.0).abs() < 1e-9);
    }
}
