//! Lengths in UTF-16 units, which is how the limits of JavaScript programs are meant.

/// The length of a text.
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The first `units` of a text, without half a character.
pub fn cut(text: &str, units: usize) -> &str {
    if text.is_ascii() {
        return &text[..units.min(text.len())];
    }
    let mut left = units;
    for (at, character) in text.char_indices() {
        match left.checked_sub(character.len_utf16()) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}
