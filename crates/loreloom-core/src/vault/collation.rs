//! The order of titles, as people expect it.
//!
//! Follows the Unicode root collation in what titles meet: blanks, then punctuation and
//! symbols, then digits, then letters; accents count less than letters, and case less than
//! accents, lower before upper. Letters of other scripts follow in code point order, which
//! is their alphabetical order except for a few added letters. A full collation table
//! would be exact there, at the price of a megabyte.

use std::cmp::Ordering;

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Punctuation and symbols of ASCII in collation order.
const ASCII_ORDER: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// A title, ready to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TitleOrder {
    letters: Vec<(u8, u32)>,
    marks: String,
    upper: Vec<bool>,
    raw: String,
}

impl TitleOrder {
    /// The order of a title.
    pub fn of(title: &str) -> Self {
        let (mut letters, mut marks) = (Vec::new(), String::new());
        for character in title.nfd() {
            if is_combining_mark(character) {
                marks.push(character);
            } else {
                letters.extend(primary(character));
            }
        }
        let upper = title.chars().map(char::is_uppercase).collect();
        Self { letters, marks, upper, raw: title.to_owned() }
    }
}

/// Compares two titles.
pub fn compare_titles(a: &str, b: &str) -> Ordering {
    TitleOrder::of(a).cmp(&TitleOrder::of(b))
}

/// The first-level weight of a character. Control characters have none.
fn primary(character: char) -> Option<(u8, u32)> {
    if character.is_whitespace() {
        return Some((0, 0));
    }
    if character.is_control() {
        return None;
    }
    if let Some(at) = ASCII_ORDER.find(character) {
        return Some((1, u32::try_from(at).unwrap_or(u32::MAX)));
    }
    if let Some(digit) = character.to_digit(10) {
        return Some((3, digit));
    }
    if character.is_alphabetic() {
        let lower = character.to_lowercase().next().unwrap_or(character);
        return Some((4, u32::from(lower)));
    }
    Some((2, u32::from(character)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_sort_by_letter_then_accent_then_case() {
        let expected = [
            "_draft", "- list", "'Tis", "#1", "$5", "10 Bells", "2 Bells", "alpha", "Alpha",
            "älpha", "alpha 2", "alphabet", "beta", "Écu", "edict", "zed", "Zed", "Ω", "Яга", "鐘",
        ];
        let mut sorted = expected.to_vec();
        sorted.reverse();
        sorted.sort_by(|a, b| compare_titles(a, b));
        assert_eq!(sorted, expected);
    }
}
