//! Decorators, `@@name arguments` lines at the top of an entry's text, as fields and back.
//!
//! The text of an entry always keeps its decorators; only a crossing to another format
//! turns them into fields, and only when asked. Reading them is the engine's work
//! ([`loreloom_core::dialects::cards`]): there is one grammar, and what is lifted means what the
//! engine would have done.

mod lift;
mod lower;

use loreloom_core::dialects::cards::{Grammar, split};

pub use self::lift::{Lifted, lift};
pub(crate) use self::lower::lower;

/// The text behind the decorators at its top; a text without any is left as it is.
pub(crate) fn body(content: &str) -> &str {
    let block = split(content, Grammar::default());
    if block.chains.is_empty() && block.orphans.is_empty() { content } else { block.body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorators_are_taken_from_the_top_only() {
        for (content, expected) in [
            ("@@depth 4\n@@role user\nText\n@@not one", "Text\n@@not one"),
            ("\n@@depth 4\n\n@@@end\nText", "Text"),
            ("@@@orphan\nText\n", "Text"),
            ("Text", "Text"),
            ("\nText\n", "\nText\n"),
            ("@@activate", ""),
            ("", ""),
        ] {
            assert_eq!(body(content), expected, "{content:?}");
        }
    }
}
