//! Half of a character, as a front end writes it that cuts a text in the middle of an emoji.
//!
//! JavaScript writes it as the escape of one surrogate (`\ud83d`). JSON allows that and Rust's
//! strings do not. It is read as U+FFFD, which has an escape of the same length, so that no other
//! byte moves. One pass over the backslashes; a body without such an escape is not copied.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

/// The length of an escape: `\ud83d`.
const ESCAPE: usize = 6;

/// The same JSON, with `\ufffd` for escapes of half a character.
pub(crate) fn without_half_pairs(json: &Bytes) -> Bytes {
    let mut whole: Option<BytesMut> = None;
    let mut at = 0;
    while let Some(found) = memchr(b'\\', json.get(at..).unwrap_or_default()) {
        at += found;
        let rest = &json[at..];
        at += match unit(rest) {
            None => 2,
            Some(0xD800..=0xDBFF) if matches!(unit(&rest[ESCAPE..]), Some(0xDC00..=0xDFFF)) => {
                2 * ESCAPE
            }
            Some(0xD800..=0xDFFF) => {
                let whole = whole.get_or_insert_with(|| BytesMut::from(&json[..]));
                whole[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                ESCAPE
            }
            Some(_) => ESCAPE,
        };
    }
    whole.map_or_else(|| json.clone(), BytesMut::freeze)
}

/// The UTF-16 unit of the escape that a text begins with.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_pair_is_replaced_and_nothing_else() {
        for (json, expected) in [
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#),
            (r#""\uDE00 \ud83d\ud83d\ude00""#, r#""\ufffd \ufffd\ud83d\ude00""#),
            (r#""\ud83d\ude00\u00e9\n\"""#, r#""\ud83d\ude00\u00e9\n\"""#),
            // A backslash and the letters after it.
            (r#""\\ud83d \\\ud83d""#, r#""\\ud83d \\\ufffd""#),
            (r#""\ud83"#, r#""\ud83"#),
            (r#""\u+d83" \"#, r#""\u+d83" \"#),
            ("", ""),
        ] {
            let json = Bytes::from(json);
            assert_eq!(without_half_pairs(&json), expected, "{json:?}");
        }
    }

    #[test]
    fn a_whole_text_is_not_copied() {
        let json = Bytes::from(r#"{"a":"\ud83d\ude00"}"#);
        assert_eq!(without_half_pairs(&json).as_ptr(), json.as_ptr());
    }
}
