//! Splits prose into sentences and keeps every character.

/// The sentences of a text, each with the white space after it. Joined, they are the text again.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut ended = false;
    let mut spaced = false;
    for (at, letter) in text.char_indices() {
        if letter.is_whitespace() {
            spaced = ended;
            continue;
        }
        if spaced {
            parts.push(&text[start..at]);
            start = at;
        }
        ended = match letter {
            '.' | '!' | '?' | '…' | '。' | '！' | '？' => true,
            '"' | '\'' | '”' | '’' | ')' | '»' | '」' => ended,
            _ => false,
        };
        spaced = matches!(letter, '。' | '！' | '？');
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_with_a_mark_and_space_and_join_to_the_text() {
        for (text, expected) in [
            ("One. Two!  Three", vec!["One. ", "Two!  ", "Three"]),
            ("\"Stop.\" He ran.", vec!["\"Stop.\" ", "He ran."]),
            ("v1.2 is out", vec!["v1.2 is out"]),
            ("雨。風。", vec!["雨。", "風。"]),
            ("", vec![]),
        ] {
            assert_eq!(sentences(text), expected, "{text}");
            assert_eq!(sentences(text).concat(), text);
        }
    }
}
