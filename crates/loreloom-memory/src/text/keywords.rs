//! Words that carry meaning, for scoring.

use std::borrow::Cow;

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
    let mut words: Vec<&str> = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if is_long(word, shortest)
            && !words.contains(&word)
            && STOP_WORDS.binary_search(&word).is_err()
        {
            words.push(word);
        }
    }
    words.into_iter().map(str::to_owned).collect()
}

/// Whether a word has so many characters; its bytes tell that of most.
fn is_long(word: &str, shortest: usize) -> bool {
    word.len() >= shortest && (word.is_ascii() || word.chars().count() >= shortest)
}

/// In how many texts of a pool each keyword occurs, and the keywords of each text.
#[derive(Clone, Debug, Default)]
pub struct Frequencies {
    counts: FxHashMap<String, usize>,
    texts: FxHashMap<String, Vec<String>>,
}

impl Frequencies {
    /// Counts the keywords of a pool.
    pub fn of<'text>(pool: impl IntoIterator<Item = &'text str>) -> Self {
        let mut known = Self::default();
        for text in pool {
            let words = keywords(text);
            for word in &words {
                *known.counts.entry(word.clone()).or_insert(0) += 1;
            }
            known.texts.insert(text.to_owned(), words);
        }
        known
    }

    /// The keywords of a text: those of the pool are known.
    pub fn keywords(&self, text: &str) -> Cow<'_, [String]> {
        match self.texts.get(text) {
            Some(words) => Cow::Borrowed(words),
            None => Cow::Owned(keywords(text)),
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
        assert_eq!(keywords("The ox, the OX-cart and Cart 42: 100%"), ["cart", "100"]);
        assert_eq!(long_words("The fog horn, a horn"), ["horn"]);
    }

    #[test]
    fn a_word_weighs_as_many_texts_as_hold_it() {
        let pool = Frequencies::of(["anchor chain", "anchor anchor rope"]);
        assert!((pool.weight("anchor rope gull") - 3.0).abs() < 1e-9);
    }
}
