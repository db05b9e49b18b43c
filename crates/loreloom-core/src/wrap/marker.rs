//! Marks, and how a text that holds one is escaped.
//!
//! A mark inside an entry's text is raised one level: `[/LB]` becomes `[\/LB]`, and a
//! `[\/LB]` that was there becomes `[\\/LB]`. Reading lowers by one. Marks written with
//! `<` use `&lt;`, `&amp;lt;` and so on. Only whole marks are touched, so other tags and
//! brackets of an entry stay as they are.
//!
//! This is reversible because a mark never overlaps itself or its counterpart
//! ([`Marker::new`] and [`clash`] see to that): two raised marks never share a character.

use std::borrow::Cow;

use super::escape::Style;

/// A mark at the beginning or end of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    text: String,
    style: Style,
    /// Where the level is written: after the first character, or in place of the first `<`.
    split: usize,
}

/// A mark at some level, found in a text: byte offsets.
struct MarkMatch {
    level: std::ops::Range<usize>,
    end: usize,
    raised: bool,
}

impl Marker {
    /// A mark, if texts that hold it can be escaped.
    pub(super) fn new(text: &str, style: Style) -> Option<Self> {
        let first = text.chars().next()?;
        let split = match style {
            Style::Backslash => first.len_utf8(),
            Style::Entity => text.find('<')?,
        };
        let reserved = match style {
            Style::Backslash => '\\',
            Style::Entity => '&',
        };
        let long = text.chars().nth(1).is_some() && !text.trim().is_empty();
        let usable = long && !text.contains(reserved) && !reaches_into(text, text);
        usable.then(|| Self { text: text.to_owned(), style, split })
    }

    /// The longest usable mark that `text` begins with.
    pub(super) fn longest(
        text: &str,
        style: Style,
        wanted: impl Fn(&Self) -> bool,
    ) -> Option<Self> {
        let ends = text.char_indices().map(|(at, char)| at + char.len_utf8());
        let ends: Vec<usize> = ends.collect();
        ends.into_iter().rev().find_map(|end| Self::new(&text[..end], style).filter(&wanted))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Where the mark itself, not an escaped one, first is.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        text.find(&self.text)
    }

    /// Whether the mark says something: one of signs alone, such as `***`, also occurs in
    /// stories.
    pub(super) fn speaks(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }

    fn found(&self, text: &str, at: usize) -> Option<MarkMatch> {
        let (head, tail) = self.text.split_at(self.split);
        let rest = text[at..].strip_prefix(head)?;
        let start = at + head.len();
        let (level, tail) = match self.style {
            Style::Backslash => (rest.len() - rest.trim_start_matches('\\').len(), tail),
            Style::Entity => (entity_level(rest)?, &tail[1..]),
        };
        let end = start + level + tail.len();
        let raised = match self.style {
            Style::Backslash => level > 0,
            Style::Entity => level > 1,
        };
        let held = text[start + level..].starts_with(tail);
        held.then_some(MarkMatch { level: start..start + level, end, raised })
    }
}

/// The length of `<`, `&lt;`, `&amp;lt;` and so on.
fn entity_level(text: &str) -> Option<usize> {
    if text.starts_with('<') {
        return Some(1);
    }
    let mut rest = text.strip_prefix('&')?;
    while let Some(deeper) = rest.strip_prefix("amp;") {
        rest = deeper;
    }
    let rest = rest.strip_prefix("lt;")?;
    Some(text.len() - rest.len())
}

/// Whether a proper end of `one` is a beginning of `other`: `one` could then begin in the
/// text before `other` and end inside it.
pub(super) fn reaches_into(one: &str, other: &str) -> bool {
    one.char_indices().skip(1).any(|(at, _)| other.starts_with(&one[at..]))
}

/// Whether two marks could be mistaken for each other where they meet.
pub(super) fn clash(one: &Marker, other: &Marker) -> bool {
    let (one, other) = (&one.text, &other.text);
    one.contains(other.as_str())
        || other.contains(one.as_str())
        || reaches_into(one, other)
        || reaches_into(other, one)
}

/// `text` with all marks raised one level.
pub(super) fn raise<'text>(text: &'text str, markers: &[&Marker]) -> Cow<'text, str> {
    rewrite(text, markers, |level, style, _| match style {
        Style::Backslash => Some(format!("{level}\\")),
        Style::Entity if level == "<" => Some("&lt;".to_owned()),
        Style::Entity => Some(format!("&amp;{}", &level[1..])),
    })
}

/// `text` with all raised marks lowered one level.
pub(super) fn lower<'text>(text: &'text str, markers: &[&Marker]) -> Cow<'text, str> {
    rewrite(text, markers, |level, style, raised| {
        raised.then(|| match style {
            Style::Backslash => level[1..].to_owned(),
            Style::Entity if level == "&lt;" => "<".to_owned(),
            Style::Entity => format!("&{}", &level["&amp;".len()..]),
        })
    })
}

fn rewrite<'text>(
    text: &'text str,
    markers: &[&Marker],
    change: impl Fn(&str, Style, bool) -> Option<String>,
) -> Cow<'text, str> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while at < text.len() {
        let found = markers.iter().find_map(|marker| Some((marker, marker.found(text, at)?)));
        if let Some((marker, found)) = found {
            let level = &text[found.level.clone()];
            if let Some(level) = change(level, marker.style, found.raised) {
                out.push_str(&text[copied..found.level.start]);
                out.push_str(&level);
                copied = found.level.end;
            }
            at = found.end;
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_raised_and_lowered_whole() {
        let close = Marker::new("[/LB]", Style::Backslash).unwrap();
        let open = Marker::new("[LB:", Style::Backslash).unwrap();
        let marks = [&open, &close];
        for (text, raised) in [
            ("plain [b] [/b]", "plain [b] [/b]"),
            ("a[/LB]b", "a[\\/LB]b"),
            ("[\\/LB][LB:x]", "[\\\\/LB][\\LB:x]"),
            ("[[/LB]", "[[\\/LB]"),
        ] {
            assert_eq!(raise(text, &marks), raised);
            assert_eq!(lower(raised, &marks), text);
        }
    }

    #[test]
    fn tags_are_raised_with_entities() {
        let close = Marker::new("</lorebook", Style::Entity).unwrap();
        for (text, raised) in [
            ("<b>x</b> &lt;", "<b>x</b> &lt;"),
            ("x</lorebook>", "x&lt;/lorebook>"),
            ("x&lt;/lorebook>", "x&amp;lt;/lorebook>"),
            ("x&amp;lt;/lorebook>", "x&amp;amp;lt;/lorebook>"),
            ("&&lt;/lorebook>", "&&amp;lt;/lorebook>"),
        ] {
            assert_eq!(raise(text, &[&close]), raised);
            assert_eq!(lower(raised, &[&close]), text);
        }
    }

    #[test]
    fn what_overlaps_itself_is_no_mark() {
        for (text, usable) in [
            ("***", false),
            ("\n***", true),
            ("\n---\n", false),
            ("]", false),
            ("[]", true),
            ("  ", false),
            ("a\\b", false),
            ("", false),
        ] {
            assert_eq!(Marker::new(text, Style::Backslash).is_some(), usable, "{text:?}");
        }
        let longest = Marker::longest("\n---\n", Style::Backslash, |_| true).unwrap();
        assert_eq!(longest.as_str(), "\n---");
        let marker = |text| Marker::new(text, Style::Backslash).unwrap();
        assert!(clash(&marker("=== "), &marker("\n=== end")));
        assert!(clash(&marker("ab"), &marker("bc")));
        assert!(!clash(&marker("[LB:"), &marker("[/LB]")));
    }
}
