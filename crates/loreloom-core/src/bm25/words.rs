//! What a word is to the index.

use unicode_normalization::{
    IsNormalized, UnicodeNormalization as _, char::is_combining_mark, is_nfc_quick,
};

use crate::{scan::Folding, utf16};

/// Shorter words are skipped.
const SHORTEST: usize = 2;

/// The words of a text, repeated ones too: runs of letters and digits, in lower case.
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each_word(text, |word| found.push(word.to_owned()));
    found
}

pub(super) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let composed: String;
    let text = if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text
    } else {
        composed = text.nfc().collect();
        &composed
    };
    let folded = Folding::Lower.apply(text);
    if folded.is_ascii() {
        let runs = folded.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
        for run in runs.filter(|run| run.len() >= SHORTEST) {
            take(std::str::from_utf8(run).unwrap_or_default());
        }
        return;
    }
    let is_border = |c: char| !c.is_alphanumeric() || is_combining_mark(c);
    for word in folded.split(is_border).filter(|word| utf16::length(word) >= SHORTEST) {
        take(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_of_any_script() {
        assert_eq!(
            words("Wind-warden's 42 a ЧАСЫ 鐘楼! é"),
            ["wind", "warden", "42", "часы", "鐘楼"]
        );
        assert_eq!(words("cafe\u{301} x"), ["café"]);
    }
}
