//! The two decorators World Info knows, at the top of an entry's text.

use crate::book::Force;

use super::Quirks;

/// An entry's text without its decorator lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decorated<'text> {
    /// What the decorators force.
    pub force: Option<Force>,
    /// The decorator lines in effect, for the entry's fingerprint.
    pub lines: Vec<String>,
    /// The text to send.
    pub body: &'text str,
}

const KNOWN: [&str; 2] = ["@@activate", "@@dont_activate"];

/// Splits decorators from an entry's text.
///
/// A line is known if it starts with a known name, but acts only if it equals it. A line
/// with a third `@` is a fallback: it counts only right after an unknown decorator.
pub fn split_decorators(content: &str, quirks: Quirks) -> Decorated<'_> {
    if !content.starts_with("@@") {
        return Decorated { force: None, lines: Vec::new(), body: content };
    }
    let mut lines = Vec::new();
    let mut fallback = false;
    let mut rest = Some(content);
    while let Some(text) = rest {
        let (line, after) = match text.split_once('\n') {
            Some((line, after)) => (line, Some(after)),
            None => (text, None),
        };
        if !line.starts_with("@@") {
            break;
        }
        let is_fallback = line.starts_with("@@@");
        if !is_fallback || fallback {
            let name = if is_fallback { &line[1..] } else { line };
            let known = KNOWN.iter().any(|known| name.starts_with(known));
            if known {
                lines.push(name.to_owned());
            }
            fallback = !known;
        }
        rest = after;
    }
    let body = rest.unwrap_or(if quirks.send_lone_decorators { content } else { "" });
    Decorated { force: forced(&lines), lines, body }
}

fn forced(lines: &[String]) -> Option<Force> {
    let has = |name: &str| lines.iter().any(|line| line == name);
    if has("@@activate") {
        Some(Force::Activate)
    } else if has("@@dont_activate") {
        Some(Force::Suppress)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorators_are_read_from_the_top() {
        use Force::{Activate, Suppress};
        for (content, force, body) in [
            ("plain", None, "plain"),
            ("@@activate\ntext", Some(Activate), "text"),
            ("@@dont_activate\ntext", Some(Suppress), "text"),
            ("@@dont_activate\n@@activate\ntext", Some(Activate), "text"),
            ("@@activate \ntext", None, "text"),
            ("@@activate_only_after 4\ntext", None, "text"),
            ("@@depth 4\n@@@activate\ntext", Some(Activate), "text"),
            ("@@activate\n@@@dont_activate\ntext", Some(Activate), "text"),
            ("@@activate\n\ntext", Some(Activate), "\ntext"),
            (" @@activate\ntext", None, " @@activate\ntext"),
        ] {
            let decorated = split_decorators(content, Quirks::default());
            assert_eq!((decorated.force, decorated.body), (force, body), "{content}");
        }
    }

    #[test]
    fn lone_decorators_are_sent_only_by_the_quirk() {
        let body = |quirks| split_decorators("@@activate\n@@x", quirks).body;
        assert_eq!(body(Quirks::default()), "");
        assert_eq!(body(Quirks::sillytavern_1_19()), "@@activate\n@@x");
    }
}
