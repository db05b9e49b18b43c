//! Pieces that front ends leave out of older messages.
//!
//! Some front ends remove actions, status blocks and the like from older messages, only in the
//! prompt; the chat keeps them. A person may remove the same piece with an edit, but then older
//! messages still have theirs.

use super::text::{TextKey, squeezed};

/// How a piece is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    /// It is between these.
    Between(&'static str, &'static str),
    /// It is between a tag and its end: `<name>…</name>`.
    Tagged,
}

/// All kinds; those that can contain others come first.
const KINDS: [Markup; 7] = [
    Markup::Between("*", "*"),
    Markup::Between("(", ")"),
    Markup::Between("[", "]"),
    Markup::Between("```", "```"),
    Markup::Tagged,
    Markup::Between("<", ">"),
    Markup::Between("_", "_"),
];

impl Markup {
    /// The kind of markup that `stored` lost on its way to `seen`, whose key is `key`.
    pub(super) fn lost(stored: &str, seen: &str, key: TextKey) -> Option<Self> {
        KINDS.into_iter().find(|kind| {
            kind.without(stored).is_some_and(|bare| {
                !bare.trim().is_empty() && end_alike(&bare, seen) && TextKey::of(&bare) == key
            })
        })
    }

    /// The kind of markup that the whole text is made of.
    pub(super) fn alone(text: &str) -> Option<Self> {
        let mut kinds = KINDS.into_iter();
        kinds.find(|kind| kind.without(text).is_some_and(|bare| squeezed(&bare).is_empty()))
    }

    /// Whether a text has a piece of this kind.
    pub(super) fn is_in(self, text: &str) -> bool {
        self.next(text).is_some()
    }

    /// The text without its pieces of this kind; `None` if it has none.
    fn without(self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = self.next(rest) {
            out.push_str(before);
            rest = after;
        }
        if rest.len() == text.len() {
            return None;
        }
        out.push_str(rest);
        Some(out)
    }

    /// The text before the first piece and after it.
    fn next(self, text: &str) -> Option<(&str, &str)> {
        match self {
            Self::Between(open, close) => {
                let (before, rest) = text.split_once(open)?;
                rest.split_once(close).map(|(_, after)| (before, after))
            }
            Self::Tagged => {
                let (at, name) = text.match_indices('<').find_map(|(at, _)| {
                    let name = tag_name(&text[at + 1..])?;
                    Some((at, name))
                })?;
                // Stop at a tag without an end: otherwise a text full of tags would be searched to
                // its end for each of them.
                let (_, after) = text[at..].split_once(&format!("</{name}>"))?;
                Some((&text[..at], after))
            }
        }
    }
}

/// Whether two texts may be the same by their ends: names and reasoning come first. This separates
/// most texts without computing their keys.
fn end_alike(a: &str, b: &str) -> bool {
    let end = |text: &'_ str| {
        let letters: Vec<char> =
            text.chars().rev().filter(|c| !c.is_whitespace()).take(8).collect();
        letters
    };
    end(a).iter().zip(&end(b)).all(|(a, b)| a == b)
}

/// The name of the tag that opens here.
fn tag_name(text: &str) -> Option<&str> {
    let length = text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'))?;
    let (name, rest) = text.split_at(length);
    let named = name.starts_with(char::is_alphabetic) && rest.starts_with(['>', ' ']);
    named.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_lost_is_known_by_what_is_left() {
        for (stored, seen, expected) in [
            ("*She turns.* Come in.", "Come in.", Some(Markup::Between("*", "*"))),
            ("Come in. *She turns.*", "Come in.", Some(Markup::Between("*", "*"))),
            ("Come in.\n\n```\nhp: 3\n```", "Come in.", Some(Markup::Between("```", "```"))),
            ("<mood a=\"1\">calm</mood>\nCome in.", "Come in.", Some(Markup::Tagged)),
            ("<b>Come in.", "Come in.", Some(Markup::Between("<", ">"))),
            ("*She turns.*", "", None),
            ("Come in *now.", "Come in", None),
            ("Come in. Now.", "Come in.", None),
        ] {
            assert_eq!(
                Markup::lost(stored, seen, TextKey::of(seen)),
                expected,
                "{stored} / {seen}"
            );
        }
    }

    #[test]
    fn a_text_of_markup_alone_differs_from_one_with_words() {
        assert_eq!(Markup::alone("*She turns.* *She goes.*"), Some(Markup::Between("*", "*")));
        assert_eq!(Markup::alone("<mood>calm</mood>"), Some(Markup::Tagged));
        assert_eq!(Markup::alone("*She turns.* Oh."), None);
        assert_eq!(Markup::alone(""), None);
    }
}
