//! Who and what a turn names, judged by capital letters.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern;

static CAPITALISED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\p{Lu}\p{L}+"));

/// Words that are capitalised only because a sentence begins with them.
const STARTERS: &[&str] = &[
    "after",
    "all",
    "also",
    "an",
    "and",
    "another",
    "are",
    "as",
    "at",
    "because",
    "before",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "even",
    "every",
    "everyone",
    "finally",
    "for",
    "from",
    "good",
    "had",
    "has",
    "have",
    "he",
    "hello",
    "her",
    "here",
    "hers",
    "hey",
    "hi",
    "him",
    "his",
    "how",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "let",
    "like",
    "maybe",
    "me",
    "meanwhile",
    "my",
    "never",
    "no",
    "nobody",
    "not",
    "nothing",
    "now",
    "of",
    "oh",
    "ok",
    "okay",
    "on",
    "once",
    "one",
    "only",
    "or",
    "our",
    "perhaps",
    "please",
    "she",
    "since",
    "so",
    "some",
    "someone",
    "something",
    "still",
    "suddenly",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "very",
    "was",
    "we",
    "well",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "would",
    "yes",
    "yet",
    "you",
    "your",
];

/// The distinct names in these messages, lower-cased, in order.
pub fn mentions<'text>(messages: impl IntoIterator<Item = &'text str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for text in messages {
        for found in CAPITALISED.find_iter(text) {
            let name = found.as_str().to_lowercase();
            if STARTERS.binary_search(&name.as_str()).is_err() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_starters_are_sorted_for_the_search() {
        assert!(STARTERS.is_sorted());
    }

    #[test]
    fn names_are_capitalised_words_that_do_not_merely_begin_a_sentence() {
        let found =
            mentions(["The captain saw Lis at Gull Rock.", "He told Odo. Yes, ODO! Я Жанна"]);
        assert_eq!(found, ["lis", "gull", "rock", "odo", "жанна"]);
    }
}
