//! JSON as people write it by hand: with comments and commas behind the last item.

use std::ops::Range;

/// The text with blanks instead of comments and of commas before a closing bracket, so that all
/// other bytes keep their positions; `None` if there are none.
pub(crate) fn strict(text: &str) -> Option<String> {
    let overlooked = overlooked(text);
    if overlooked.is_empty() {
        return None;
    }
    let mut out = text.as_bytes().to_vec();
    for range in overlooked {
        for byte in out[range].iter_mut().filter(|byte| **byte != b'\n' && **byte != b'\r') {
            *byte = b' ';
        }
    }
    String::from_utf8(out).ok()
}

/// The comments of a text, as they are written.
pub(crate) fn comments(text: &str) -> Vec<&str> {
    let overlooked = overlooked(text).into_iter().filter_map(|range| text.get(range));
    overlooked.map(str::trim_end).filter(|part| *part != ",").collect()
}

/// The ranges of comments and of commas before a closing bracket.
fn overlooked(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut blanked = Vec::new();
    // The last comma, while only blanks and comments follow.
    let mut comma = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'"' => string_length(rest),
            b'/' if rest.starts_with(b"//") => {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                blanked.push(at..at + end);
                end
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
                let end = end.map_or(rest.len(), |end| end + 4);
                blanked.push(at..at + end);
                end
            }
            _ => 1,
        };
        match byte {
            b'/' | b' ' | b'\t' | b'\r' | b'\n' => {}
            b']' | b'}' => blanked.extend(comma.take().map(|at| at..at + 1)),
            b',' => comma = Some(at),
            _ => comma = None,
        }
        at += length;
    }
    blanked
}

/// The length of the string that begins here, with its quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_and_commas_too_many_become_blanks() {
        for (text, expected) in [
            ("{\"a\":[1,2,],}", Some("{\"a\":[1,2 ] }")),
            ("[1, // one\n2 /* é */,\r\n]", Some("[1,       \n2          \r\n]")),
            ("// é\n[]", Some("     \n[]")),
            ("[\"a,]\", \"// no\", \"\\\",]\"]", None),
            ("[1,2]", None),
            ("[,,]", Some("[, ]")),
            ("[1] /* open", Some("[1]        ")),
            ("[1, /", None),
            ("\"open \\", None),
        ] {
            assert_eq!(strict(text).as_deref(), expected, "{text}");
            assert!(strict(text).is_none_or(|strict| strict.len() == text.len()));
        }
    }

    #[test]
    fn comments_are_told_as_they_are_written() {
        let text = "[1, // one\r\n2 /* é\n */, \"// no\",\n] /* open";
        assert_eq!(comments(text), ["// one", "/* é\n */", "/* open"]);
        assert_eq!(comments("[1,]"), Vec::<&str>::new());
    }
}
