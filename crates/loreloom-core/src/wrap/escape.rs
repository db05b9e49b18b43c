//! Values inside an opening mark.
//!
//! A value ends at the first character of what follows it, so that character is escaped in
//! the value, and line ends are too: an opening mark is one line, whatever the entry is
//! called.

/// How a wrapper escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `\]`, `\n`.
    Backslash,
    /// `&quot;`, `&#xA;`.
    Entity,
}

impl Style {
    /// Whether a value can end before this character: it must not be part of an escape.
    pub(super) fn can_end(self, delimiter: char) -> bool {
        let reserved: &[char] = match self {
            Self::Backslash => &['\\'],
            Self::Entity => &['&', '#', ';'],
        };
        !delimiter.is_alphanumeric() && !reserved.contains(&delimiter)
    }

    /// Writes a value that `delimiter` follows.
    pub(super) fn escape(self, value: &str, delimiter: char, out: &mut String) {
        for char in value.chars() {
            match self {
                Self::Backslash => match char {
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\\' => out.push_str("\\\\"),
                    char if char == delimiter => out.extend(['\\', char]),
                    char => out.push(char),
                },
                Self::Entity => match char {
                    '&' => out.push_str("&amp;"),
                    '<' => out.push_str("&lt;"),
                    '>' => out.push_str("&gt;"),
                    '"' => out.push_str("&quot;"),
                    char if char.is_control() || char == delimiter => {
                        let code = format!("&#x{:X};", u32::from(char));
                        out.push_str(&code);
                    }
                    char => out.push(char),
                },
            }
        }
    }

    /// Reads a value up to `delimiter`: the value and the bytes before the delimiter. Fails
    /// where a value cannot go on, with the bytes up to there.
    pub(super) fn read(self, text: &str, delimiter: char) -> Result<(String, usize), usize> {
        let mut value = String::new();
        let mut at = 0;
        while let Some(char) = text[at..].chars().next() {
            if char == delimiter {
                return Ok((value, at));
            }
            let (read, length) = match (self, char) {
                (Self::Backslash, '\n') | (Self::Entity, '<') => return Err(at),
                (Self::Backslash, '\\') => backslash(&text[at..]).ok_or(at)?,
                (Self::Entity, '&') => entity(&text[at..]).unwrap_or(('&', 1)),
                (Self::Backslash | Self::Entity, char) => (char, char.len_utf8()),
            };
            value.push(read);
            at += length;
        }
        Err(at)
    }
}

fn backslash(text: &str) -> Option<(char, usize)> {
    let char = text.chars().nth(1)?;
    let read = match char {
        'n' => '\n',
        'r' => '\r',
        other => other,
    };
    Some((read, 1 + char.len_utf8()))
}

/// The longest reference is `&#x10FFFF;`.
const LONGEST_ENTITY: usize = 10;

fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let read = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((read, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_up_to_what_follows_them() {
        for (style, delimiter, value, written) in [
            (Style::Backslash, ']', "a]b\\n\nc[", "a\\]b\\\\n\\nc["),
            (Style::Backslash, '\n', "a\r\nb", "a\\r\\nb"),
            (Style::Backslash, ' ', "The bell", "The\\ bell"),
            (Style::Entity, '"', "\"A\" & <b>\n", "&quot;A&quot; &amp; &lt;b&gt;&#xA;"),
            (Style::Entity, '\'', "it's", "it&#x27;s"),
        ] {
            let mut out = String::new();
            style.escape(value, delimiter, &mut out);
            assert_eq!(out, written, "{value}");
            out.push(delimiter);
            out.push_str("rest");
            assert_eq!(style.read(&out, delimiter), Ok((value.to_owned(), written.len())));
        }
    }

    #[test]
    fn references_of_others_are_read_and_stray_ampersands_kept() {
        let read = Style::Entity.read("a &apos;&#65;&#x42;&bogus; & b\"", '"');
        assert_eq!(read, Ok(("a 'AB&bogus; & b".to_owned(), 30)));
    }

    #[test]
    fn a_value_without_end_is_none() {
        for (style, text, upto) in [
            (Style::Backslash, "abc", 3),
            (Style::Backslash, "ab\ncd]", 2),
            (Style::Backslash, "ab\\", 2),
            (Style::Entity, "ab<c\"", 2),
        ] {
            let delimiter = if style == Style::Entity { '"' } else { ']' };
            assert_eq!(style.read(text, delimiter), Err(upto), "{text}");
        }
    }
}
