//! Whether a name occurs in a text as a whole word.
//!
//! A substring search would find "Ann" in "cannon". In scripts without spaces there are no word
//! borders, so every occurrence counts.

/// Whether `word` occurs in `text`, any case, with no letter or digit directly before or
/// after it.
pub fn contains_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.trim().to_lowercase());
    if word.is_empty() {
        return false;
    }
    text.match_indices(&word).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        border(before, found.chars().next()) && border(found.chars().next_back(), after)
    })
}

fn border(left: Option<char>, right: Option<char>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => {
            !(left.is_alphanumeric() && right.is_alphanumeric())
                || is_unspaced(left)
                || is_unspaced(right)
        }
        _ => true,
    }
}

/// Whether the script of this letter has no spaces between words.
pub(crate) fn is_unspaced(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0E00..=0x0EFF // Thai, Lao
        | 0x1000..=0x109F // Myanmar
        | 0x1780..=0x17FF // Khmer
        | 0x3040..=0x30FF // Kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3134F // Han
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_needs_borders_where_the_script_has_them() {
        for (text, word, expected) in [
            ("The cannon fired", "Ann", false),
            ("Ann's boat", "ann", true),
            ("(ANN)", "Ann", true),
            ("Annette and Ann", "Ann", true),
            ("Жанна ушла", "Анна", false),
            ("田中さんが来た", "田中", true),
            ("anything", " ", false),
        ] {
            assert_eq!(contains_word(text, word), expected, "{word} in {text}");
        }
    }
}
