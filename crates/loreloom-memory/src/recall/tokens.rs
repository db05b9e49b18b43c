//! Splits text into search terms: stems of words, and pairs of letters in scripts without spaces.

use super::{irregular::regular, stem::stem};
use crate::text::is_unspaced;

/// Words without a meaning of their own.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "d", "did", "do", "does", "doing", "don", "down", "during", "each", "few",
    "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers",
    "herself", "him", "himself", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself",
    "just", "ll", "m", "me", "more", "most", "my", "myself", "no", "nor", "not", "now", "of", "off",
    "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own", "re",
    "s", "same", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
    "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those", "through",
    "to", "too", "under", "until", "up", "ve", "very", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your", "yours",
    "yourself", "yourselves",
];

/// A search term: its stem, and the word it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What is compared.
    pub stem: String,
    /// The word as written, lower-cased.
    pub word: String,
}

/// The terms of a text, in order, without stop words.
pub fn tokens(text: &str) -> Vec<Token> {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let mut found = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '\'') {
        // What follows an apostrophe is grammar: "Mara's", "didn't".
        let word = run.trim_start_matches('\'').split('\'').next().unwrap_or_default();
        for (part, unspaced) in by_script(word) {
            if unspaced {
                found.extend(letter_pairs(part));
            } else if STOP_WORDS.binary_search(&part).is_err() {
                found.push(Token { stem: stem(regular(part)), word: part.to_owned() });
            }
        }
    }
    found
}

/// Splits a run of letters where spaced and unspaced scripts meet.
fn by_script(word: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut current: Option<bool> = None;
    for (at, letter) in word.char_indices() {
        let unspaced = is_unspaced(letter);
        if let Some(before) = current.filter(|before| *before != unspaced) {
            parts.push((&word[start..at], before));
            start = at;
        }
        current = Some(unspaced);
    }
    if let Some(unspaced) = current {
        parts.push((&word[start..], unspaced));
    }
    parts
}

/// Overlapping pairs of letters, or a single letter.
fn letter_pairs(run: &str) -> Vec<Token> {
    let letters: Vec<char> = run.chars().collect();
    let token = |letters: &[char]| {
        let text: String = letters.iter().collect();
        Token { stem: text.clone(), word: text }
    };
    if letters.len() == 1 { vec![token(&letters)] } else { letters.windows(2).map(token).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.stem).collect()
    }

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn words_are_stemmed_and_unspaced_scripts_are_paired() {
        assert_eq!(stems("What did Mara\u{2019}s sisters paint?"), ["mara", "sist", "paint"]);
        assert_eq!(stems("I didn't paint 2 walls"), ["didn", "paint", "2", "wall"]);
        assert_eq!(stems("bought written wolves"), stems("buys writing wolf"));
        assert_eq!(
            stems("東京駅でMaraに会った"),
            ["東京", "京駅", "駅で", "mara", "に会", "会っ", "った"]
        );
        assert_eq!(stems("雨"), ["雨"]);
    }
}
