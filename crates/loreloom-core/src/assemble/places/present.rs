//! Lore that a front end already put into its prompt, which is not added a second time.

use crate::{
    assemble::{Layout, MarkKind},
    chat::single_spaced,
};

/// A text at least this long is the same wherever it is; a shorter one may be part of a
/// sentence, and must fill lines of its own.
const TELLING: usize = 40;

/// Everything in a prompt that is not the story, one folded line after the other.
pub(super) struct Present(String);

impl Present {
    pub(super) fn of(layout: &Layout, texts: &[&str]) -> Self {
        let asides =
            layout.chat.iter().filter(|mark| matches!(mark.kind, MarkKind::Note | MarkKind::Aside));
        let mut lines = String::from("\n");
        for mark in layout.head.iter().chain(asides) {
            push_lines(&mut lines, mark.of(texts));
        }
        Self(lines)
    }

    /// Whether it has this text.
    pub(super) fn has(&self, text: &str) -> bool {
        let mut wanted = String::from("\n");
        push_lines(&mut wanted, text);
        if wanted.len() < 2 {
            return false;
        }
        let bare = wanted.trim_matches('\n');
        self.0.contains(&wanted) || (bare.len() >= TELLING && self.0.contains(bare))
    }
}

fn push_lines(lines: &mut String, text: &str) {
    for line in text.lines().map(single_spaced).filter(|line| !line.is_empty()) {
        lines.push_str(&line);
        lines.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_present_as_lines_of_its_own_or_if_it_is_long_anywhere() {
        let mut lines = String::from("\n");
        push_lines(
            &mut lines,
            "The bell is  cracked.\n[Lore: The harbour of Harrow freezes over in the twelfth month.]\n\nTwo\nlines",
        );
        let present = Present(lines);
        for (text, expected) in [
            ("The bell is cracked.", true),
            ("The bell", false),
            ("The harbour of Harrow freezes over in the twelfth month.", true),
            ("Two\n lines\n", true),
            ("lines", true),
            ("", false),
            (" \n", false),
        ] {
            assert_eq!(present.has(text), expected, "{text}");
        }
    }
}
