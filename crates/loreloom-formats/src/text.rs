//! Bytes to text: byte order marks, UTF-16, broken UTF-8, and the style of the text.

use std::borrow::Cow;

use loreloom_core::book::{Indent, Newline, TextStyle};

use crate::note::Notes;

const BOM: &str = "\u{feff}";

/// Decodes a file; what is not Unicode is replaced and reported.
pub(crate) fn decode<'bytes>(bytes: &'bytes [u8], notes: &mut Notes) -> Cow<'bytes, str> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes, notes)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes, notes)),
        _ => {
            let text = String::from_utf8_lossy(bytes);
            if let Err(fault) = std::str::from_utf8(bytes) {
                notes.warn(
                    "",
                    format!(
                        "not valid UTF-8 at byte {}: the faulty bytes were read as U+FFFD",
                        fault.valid_up_to()
                    ),
                );
            }
            text
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, notes: &mut Notes) -> String {
    notes.info("", "the file is UTF-16; an edited copy is written as UTF-8");
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut faulty = !rest.is_empty();
    let replaced = |decoded: Result<char, _>| {
        decoded.unwrap_or_else(|_| {
            faulty = true;
            char::REPLACEMENT_CHARACTER
        })
    };
    let text = char::decode_utf16(units).map(replaced).collect();
    if faulty {
        notes.warn("", "not valid UTF-16: the faulty units were read as U+FFFD");
    }
    text
}

/// The text without its byte order mark.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// The style of the text, judged by its first line end and indented line.
pub(crate) fn style(text: &str) -> TextStyle {
    let newline = match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => Newline::CrLf,
        _ => Newline::Lf,
    };
    let indented = text.lines().skip(1).find(|line| line.starts_with([' ', '\t']));
    let indent = match indented {
        None => Indent::None,
        Some(line) if line.starts_with('\t') => Indent::Tab,
        Some(line) => {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            Indent::Spaces(u8::try_from(spaces).unwrap_or(u8::MAX))
        }
    };
    TextStyle { bom: text.starts_with(BOM), newline, indent, final_newline: text.ends_with('\n') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, Vec<String>) {
        let mut notes = Notes::default();
        let text = decode(bytes, &mut notes).into_owned();
        (text, notes.finish().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_encoding_is_read_and_faults_are_reported() {
        assert_eq!(decoded("é".as_bytes()), ("é".to_owned(), vec![]));
        let utf16 = "the file is UTF-16; an edited copy is written as UTF-8".to_owned();
        assert_eq!(decoded(b"\xFF\xFEa\0\xE9\0"), ("aé".to_owned(), vec![utf16.clone()]));
        assert_eq!(decoded(b"\xFE\xFF\0a\0\xE9"), ("aé".to_owned(), vec![utf16.clone()]));
        let broken = "not valid UTF-16: the faulty units were read as U+FFFD".to_owned();
        assert_eq!(decoded(b"\xFF\xFEa\0\0\xD8"), ("a\u{fffd}".to_owned(), vec![utf16, broken]));
        assert_eq!(
            decoded(b"caf\xE9!"),
            (
                "caf\u{fffd}!".to_owned(),
                vec!["not valid UTF-8 at byte 3: the faulty bytes were read as U+FFFD".to_owned()]
            )
        );
    }

    #[test]
    fn the_layout_is_recognised() {
        for (text, bom, newline, indent, final_newline) in [
            ("{}", false, Newline::Lf, Indent::None, false),
            ("\u{feff}{\r\n  \"a\": 1\r\n}\r\n", true, Newline::CrLf, Indent::Spaces(2), true),
            ("{\n\t\"a\": 1\n}", false, Newline::Lf, Indent::Tab, false),
        ] {
            assert_eq!(style(text), TextStyle { bom, newline, indent, final_newline }, "{text:?}");
        }
    }
}
