//! Keys: what must be found in the text for an entry to fire.

use serde::{Deserialize, Serialize};

/// A key as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// Plain text.
    Literal(String),
    /// A JavaScript regular expression. Boxed, because nearly all keys are plain text.
    Regex(Box<RegexKey>),
}

/// A regular expression key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RegexKey {
    /// The key as the file has it.
    pub raw: String,
    /// The pattern without its slashes; the first `\\/` has become `/`, as SillyTavern does it.
    pub pattern: String,
    /// The flags behind the second slash.
    pub flags: String,
}

impl Key {
    /// Reads a key as SillyTavern does: `/pattern/flags` is a regular expression,
    /// everything else is plain text with its slashes.
    ///
    /// Whether the pattern compiles is only known to the regular expression engine; a
    /// pattern that does not is matched as plain text there.
    pub fn parse(raw: &str) -> Self {
        match split_regex(raw.trim_matches(is_js_space)) {
            Some((pattern, flags)) => Self::Regex(Box::new(RegexKey {
                raw: raw.to_owned(),
                pattern: unescaped(pattern),
                flags: flags.to_owned(),
            })),
            None => Self::Literal(raw.to_owned()),
        }
    }

    /// How the key's text became what it is.
    pub(crate) fn taken(&self) -> KeyOrigin {
        let slashed = split_regex(self.raw().trim_matches(is_js_space));
        match (self, slashed) {
            (Self::Literal(_), None) => KeyOrigin::BySlashes,
            (Self::Literal(_), Some(_)) => KeyOrigin::Plain,
            (Self::Regex(regex), Some((pattern, flags)))
                if regex.flags == flags && regex.pattern == unescaped(pattern) =>
            {
                KeyOrigin::BySlashes
            }
            (Self::Regex(_), _) => KeyOrigin::Pattern,
        }
    }

    /// The key as the file has it.
    pub fn raw(&self) -> &str {
        match self {
            Self::Literal(raw) => raw,
            Self::Regex(regex) => &regex.raw,
        }
    }
}

/// A pattern between slashes without the backslash of the first slash that has one.
fn unescaped(pattern: &str) -> String {
    pattern.replacen("\\/", "/", 1)
}

/// How the text of a key was read. Most programs mark patterns by slashes; readers of other
/// formats state what a key is, and it is not guessed from its text again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyOrigin {
    /// As [`Key::parse`] does it.
    BySlashes,
    /// Plain text, whatever it looks like: the program has no patterns.
    Plain,
    /// A pattern, though it does not look like that one.
    Pattern,
}

/// JavaScript's white space: what `String.prototype.trim` removes.
pub fn is_js_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// Splits `/pattern/flags`. The last slash closes the pattern, whatever is before it. Inside,
/// a slash counts as escaped if the character before it is a backslash, even an escaped one:
/// that is how SillyTavern reads keys.
fn split_regex(text: &str) -> Option<(&str, &str)> {
    let (pattern, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    let known = |flag: char| "gimsuy".contains(flag);
    let unique = flags.char_indices().all(|(at, flag)| !flags[..at].contains(flag));
    let bytes = pattern.as_bytes();
    let open = |at: usize| bytes[at] == b'/' && (at == 0 || bytes[at - 1] != b'\\');
    let closed = !pattern.is_empty() && !(0..bytes.len()).any(open);
    (closed && flags.chars().all(known) && unique).then_some((pattern, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_known_flags_make_a_regex() {
        for (raw, parts) in [
            ("/drag(on|oon)/i", Some(("drag(on|oon)", "i"))),
            (" /a/ ", Some(("a", ""))),
            ("/a\\/b/", Some(("a/b", ""))),
            ("/a\\\\/b/", Some(("a\\/b", ""))),
            // Only the first escaped slash loses its backslash, and one before the last
            // slash belongs to the pattern.
            ("/a\\/b\\/c/", Some(("a/b\\/c", ""))),
            ("/a\\\\/b\\\\/c/", Some(("a\\/b\\\\/c", ""))),
            ("/a\\\\/", Some(("a\\\\", ""))),
            ("/C:\\\\/i", Some(("C:\\\\", "i"))),
            ("/\\/", Some(("\\", ""))),
            ("///", None),
            ("/\\//", Some(("/", ""))),
            ("//", None),
            ("/a/x", None),
            ("/a/ii", None),
            ("/a/I", None),
            ("/a/b/", None),
            ("a/b", None),
            ("/a", None),
        ] {
            let found = match Key::parse(raw) {
                Key::Regex(regex) => Some((regex.pattern, regex.flags)),
                Key::Literal(_) => None,
            };
            let expected = parts.map(|(pattern, flags)| (pattern.to_owned(), flags.to_owned()));
            assert_eq!(found, expected, "{raw}");
            assert_eq!(Key::parse(raw).raw(), raw);
            assert_eq!(Key::parse(raw).taken(), KeyOrigin::BySlashes, "{raw}");
        }
    }

    #[test]
    fn what_a_reader_said_is_told_from_what_slashes_say() {
        let regex = |raw: &str, pattern: &str, flags: &str| {
            let (raw, pattern) = (raw.to_owned(), pattern.to_owned());
            Key::Regex(Box::new(RegexKey { raw, pattern, flags: flags.to_owned() }))
        };
        for (key, taken) in [
            (Key::Literal("bell".to_owned()), KeyOrigin::BySlashes),
            (Key::Literal("/bell/".to_owned()), KeyOrigin::Plain),
            (Key::Literal(" /bell/i ".to_owned()), KeyOrigin::Plain),
            (regex("/bell/i", "bell", "i"), KeyOrigin::BySlashes),
            (regex("har?or", r"\bhar\wor\b", "i"), KeyOrigin::Pattern),
            (regex("/har?or/", r"\b/har\wor/\b", "i"), KeyOrigin::Pattern),
            (regex("b.ll", "b.ll", ""), KeyOrigin::Pattern),
        ] {
            assert_eq!(key.taken(), taken, "{key:?}");
        }
    }
}
