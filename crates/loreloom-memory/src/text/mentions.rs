//! Names in a turn, found by capital letters.

use std::sync::LazyLock;

use regex::Regex;

use super::{TextRules, pattern};

static NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\p{Lu}\p{L}+"));
static ASCII_NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u:\b)[A-Z][a-z]+"));

/// Words with a capital letter only because they start a sentence. The list is short on purpose: a
/// mention counts only if an entity has that name, and people are called Will.
const STARTERS: &[&str] = &[
    "an", "and", "are", "as", "at", "but", "did", "do", "had", "have", "he", "her", "here", "his",
    "how", "if", "in", "is", "it", "its", "my", "no", "not", "of", "on", "or", "our", "she", "so",
    "that", "the", "their", "there", "these", "they", "this", "those", "to", "was", "we", "were",
    "what", "when", "where", "which", "who", "why", "yes", "you", "your",
];

/// The distinct names in these messages, lower-cased, in order.
///
/// With [`TextRules::Literal`] a name is a capital letter and the small letters after it, so `ODO`
/// is no name and `McArthur` is `mc`.
pub fn mentions<'text>(
    messages: impl IntoIterator<Item = &'text str>,
    words: TextRules,
) -> Vec<String> {
    let capitalised: &Regex = match words {
        TextRules::Tolerant => &NAMES,
        TextRules::Literal => &ASCII_NAMES,
    };
    let mut names: Vec<String> = Vec::new();
    for text in messages {
        for found in capitalised.find_iter(text) {
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
        for (text, all, ascii) in [
            ("The captain saw Lis at Gull Rock.", "lis gull rock", "lis gull rock"),
            ("He told Odo. Yes, ODO! Я Жанна", "odo жанна", "odo"),
            ("ODO and McArthur met O'Brien.", "odo mcarthur brien", "mc brien"),
            ("Élise met Zoë", "élise zoë", "zo"),
            ("Then Will came. Perhaps", "then will perhaps", "then will perhaps"),
            ("Did Do Does Has Have Had Are Were Was", "does has", "does has"),
        ] {
            assert_eq!(mentions([text], TextRules::Tolerant).join(" "), all, "{text}");
            assert_eq!(mentions([text], TextRules::Literal).join(" "), ascii, "{text}");
        }
    }
}
