//! Shortening text at the end of a sentence. Lengths are UTF-16 units.

use crate::utf16::{cut, length};

/// Characters that may end a sentence.
const ENDS: &str = ".!?*\")}`]$。！？”）】’」_";

/// How much of the allowed length a sentence end must keep, else the text is cut hard.
const KEPT_SHARE: f64 = 0.4;

/// Shortens a text to at most `most` units, at the end of a sentence if one is near enough,
/// else anywhere with `...` behind it.
pub fn shorten(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let head = cut(text, most);
    if let Some(sentence) = to_sentence_end(head)
        && is_enough(length(sentence), most)
    {
        return sentence.to_owned();
    }
    format!("{}...", head.trim_end())
}

#[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
fn is_enough(kept: usize, most: usize) -> bool {
    kept as f64 > most as f64 * KEPT_SHARE
}

/// The text up to its last sentence end. An end that follows a blank, such as an opening
/// quote, is left out.
fn to_sentence_end(text: &str) -> Option<&str> {
    let (at, end) =
        text.char_indices().rev().find(|&(_, one)| ENDS.contains(one) || is_emoji(one))?;
    let alone = !is_emoji(end) && text[..at].chars().next_back().is_some_and(char::is_whitespace);
    let stop = if alone { at } else { at + end.len_utf8() };
    Some(text[..stop].trim_end())
}

fn is_emoji(character: char) -> bool {
    let code = u32::from(character);
    EMOJI
        .binary_search_by(|&(first, last)| {
            if last < code {
                std::cmp::Ordering::Less
            } else if first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// Pictographs and characters shown as emoji, from Unicode's emoji data.
const EMOJI: [(u32, u32); 74] = [
    (0xa9, 0xa9),
    (0xae, 0xae),
    (0x203c, 0x203c),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2194, 0x2199),
    (0x21a9, 0x21aa),
    (0x231a, 0x231b),
    (0x2328, 0x2328),
    (0x2388, 0x2388),
    (0x23cf, 0x23cf),
    (0x23e9, 0x23f3),
    (0x23f8, 0x23fa),
    (0x24c2, 0x24c2),
    (0x25aa, 0x25ab),
    (0x25b6, 0x25b6),
    (0x25c0, 0x25c0),
    (0x25fb, 0x25fe),
    (0x2600, 0x2605),
    (0x2607, 0x2612),
    (0x2614, 0x2685),
    (0x2690, 0x2705),
    (0x2708, 0x2712),
    (0x2714, 0x2714),
    (0x2716, 0x2716),
    (0x271d, 0x271d),
    (0x2721, 0x2721),
    (0x2728, 0x2728),
    (0x2733, 0x2734),
    (0x2744, 0x2744),
    (0x2747, 0x2747),
    (0x274c, 0x274c),
    (0x274e, 0x274e),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2763, 0x2767),
    (0x2795, 0x2797),
    (0x27a1, 0x27a1),
    (0x27b0, 0x27b0),
    (0x27bf, 0x27bf),
    (0x2934, 0x2935),
    (0x2b05, 0x2b07),
    (0x2b1b, 0x2b1c),
    (0x2b50, 0x2b50),
    (0x2b55, 0x2b55),
    (0x3030, 0x3030),
    (0x303d, 0x303d),
    (0x3297, 0x3297),
    (0x3299, 0x3299),
    (0x1f000, 0x1f0ff),
    (0x1f10d, 0x1f10f),
    (0x1f12f, 0x1f12f),
    (0x1f16c, 0x1f171),
    (0x1f17e, 0x1f17f),
    (0x1f18e, 0x1f18e),
    (0x1f191, 0x1f19a),
    (0x1f1ad, 0x1f20f),
    (0x1f21a, 0x1f21a),
    (0x1f22f, 0x1f22f),
    (0x1f232, 0x1f23a),
    (0x1f23c, 0x1f23f),
    (0x1f249, 0x1f53d),
    (0x1f546, 0x1f64f),
    (0x1f680, 0x1f6ff),
    (0x1f774, 0x1f77f),
    (0x1f7d5, 0x1f7ff),
    (0x1f80c, 0x1f80f),
    (0x1f848, 0x1f84f),
    (0x1f85a, 0x1f85f),
    (0x1f888, 0x1f88f),
    (0x1f8ae, 0x1f8ff),
    (0x1f90c, 0x1faff),
    (0x1fc00, 0x1fffd),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_at_a_sentence_if_enough_of_it_stays() {
        for (text, most, shortened) in [
            ("short", 5, "short"),
            ("One. Two! Three", 12, "One. Two!"),
            ("Ok. then a long run of words", 20, "Ok. then a long run..."),
            ("He said \"no", 9, "He said"),
            ("風🦊が吹く道を行く", 5, "風🦊"),
            ("a🦊", 2, "a..."),
        ] {
            assert_eq!(shorten(text, most), shortened, "{text} to {most}");
        }
    }

    #[test]
    fn the_table_of_emoji_is_sorted() {
        assert!(EMOJI.is_sorted_by(|a, b| a.1 < b.0));
    }
}
