//! Splits a long message into pieces.
//!
//! A message of several paragraphs is about many things. Searched as a whole, each of them is
//! diluted by the others; so whole sentences are grouped into pieces of similar size, and a
//! message is as good as its best piece.

use std::ops::Range;

use crate::text::{is_unspaced, sentences};

/// About how many words a piece has.
const WORDS: usize = 60;

/// The pieces of a text, in order. They cover all of it; a short text is one piece.
pub(super) fn pieces(text: &str) -> Vec<Range<usize>> {
    if words(text) <= WORDS {
        return std::iter::once(0..text.len()).collect();
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut start, mut at, mut size) = (0, 0, 0);
    for part in parts(text) {
        let more = words(part);
        if size > 0 && size + more > WORDS {
            found.push(start..at);
            (start, size) = (at, 0);
        }
        at += part.len();
        size += more;
    }
    match found.last_mut() {
        Some(last) if 2 * size < WORDS => last.end = text.len(),
        _ => found.push(start..text.len()),
    }
    found
}

/// Sentences and lines. A longer run of words, such as a table, is cut between words.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(sentences).flat_map(|sentence| {
        if words(sentence) <= 2 * WORDS { vec![sentence] } else { cut(sentence) }
    })
}

fn cut(sentence: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for word in sentence.split_inclusive(char::is_whitespace) {
        at += word.len();
        if words(&sentence[start..at]) >= WORDS {
            parts.push(&sentence[start..at]);
            start = at;
        }
    }
    if start < sentence.len() {
        parts.push(&sentence[start..]);
    }
    parts
}

/// The number of words. Two letters of a script without spaces count as one.
pub(super) fn words(text: &str) -> usize {
    let unspaced = text.chars().filter(|letter| is_unspaced(*letter)).count();
    let is_spaced =
        |word: &&str| word.chars().any(|one| one.is_alphanumeric() && !is_unspaced(one));
    text.split_whitespace().filter(is_spaced).count() + unspaced / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_sentences_and_cover_the_text() {
        let sentence = "The bell rang once over the grey harbour and then it fell silent. ";
        for (text, count) in [
            ("Short.".to_owned(), 1),
            (String::new(), 1),
            (sentence.repeat(4), 1),
            (sentence.repeat(12), 3),
            ("word ".repeat(200), 3),
            ("雨が降る。".repeat(60), 2),
        ] {
            let found = pieces(&text);
            assert_eq!(found.len(), count, "{found:?}");
            let joined: String = found.iter().map(|range| &text[range.clone()]).collect();
            assert_eq!(joined, text);
        }
        let text = sentence.repeat(12);
        assert!(pieces(&text).iter().all(|range| text[range.clone()].ends_with(". ")));
    }
}
