//! What counts as a whole word.

use serde::{Deserialize, Serialize};

/// Which characters are letters of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordRule {
    /// `[A-Za-z0-9_]`, as JavaScript's `\w`: every other letter is a border. The peers do
    /// so, and lore written for them counts on it.
    #[default]
    Ascii,
    /// Letters and digits of all scripts, and `_`. Scripts without spaces have no borders,
    /// so nothing is demanded next to their letters.
    Unicode,
    /// Everything between two spaces, punctuation too.
    Spaced,
}

impl WordRule {
    /// All of them, each at its index.
    pub const ALL: [Self; 3] = [Self::Ascii, Self::Unicode, Self::Spaced];

    /// Whether `text[start..end]` is a whole word.
    pub fn is_word(self, text: &str, start: usize, end: usize) -> bool {
        match self {
            Self::Ascii => {
                let bytes = text.as_bytes();
                let letter = |at: usize| bytes.get(at).is_some_and(|&byte| is_ascii_word(byte));
                !(letter(end) || start > 0 && letter(start - 1))
            }
            Self::Unicode => {
                let inner = &text[start..end];
                let joins = |outside: Option<char>, inside: Option<char>| {
                    outside.is_some_and(is_letter) && inside.is_some_and(is_letter)
                };
                !joins(text[..start].chars().next_back(), inner.chars().next())
                    && !joins(text[end..].chars().next(), inner.chars().next_back())
            }
            Self::Spaced => {
                let (before, behind) = (&text[..start], &text[end..]);
                (before.is_empty() || before.ends_with(' '))
                    && (behind.is_empty() || behind.starts_with(' '))
            }
        }
    }
}

fn is_ascii_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_letter(character: char) -> bool {
    (character.is_alphanumeric() || character == '_') && !is_spaceless(character)
}

/// Scripts that are written without spaces between words.
fn is_spaceless(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Myanmar
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3040}'..='\u{30ff}' // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_differ_by_rule() {
        for (text, key, ascii, unicode) in [
            ("the cat sat", "cat", true, true),
            ("cats", "cat", false, false),
            ("cat_like", "cat", false, false),
            ("cat-like", "cat", true, true),
            ("скотина", "кот", true, false),
            ("café", "caf", true, false),
            ("黒猫だ", "猫", true, true),
            ("cat猫", "cat", true, true),
            ("say \"@home\"", "@home", true, true),
            ("x@home", "@home", false, true),
        ] {
            let start = text.find(key).unwrap();
            let end = start + key.len();
            assert_eq!(WordRule::Ascii.is_word(text, start, end), ascii, "ascii: {key} in {text}");
            assert_eq!(
                WordRule::Unicode.is_word(text, start, end),
                unicode,
                "unicode: {key} in {text}"
            );
        }
    }
}
