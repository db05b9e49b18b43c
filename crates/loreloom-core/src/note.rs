//! The author's note, and the lore above and below it.

use serde::{Deserialize, Serialize};

use crate::{chat::Role, units::Depth};

/// A note that is inserted into the chat every so many messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorsNote {
    /// Its text.
    pub text: String,
    /// Inserted when the number of user messages is a multiple of this; 0 is never.
    pub interval: u32,
    /// Where in the chat.
    pub depth: Depth,
    /// As whose message.
    pub role: Role,
    /// Whether keys are looked for in it.
    pub scan: bool,
}

impl AuthorsNote {
    /// Whether the note is inserted after so many user messages.
    pub fn is_due(&self, user_messages: u32) -> bool {
        match self.interval {
            0 => false,
            1 => true,
            interval => user_messages >= interval && user_messages.is_multiple_of(interval),
        }
    }

    /// The note with lore above and below it. Joins as SillyTavern does: an empty note
    /// leaves a stray line end, because only one at each end is removed.
    pub fn compose(&self, top: &[&str], bottom: &[&str]) -> String {
        let joined = format!("{}\n{}\n{}", top.join("\n"), self.text, bottom.join("\n"));
        let joined = joined.strip_prefix('\n').unwrap_or(&joined);
        joined.strip_suffix('\n').unwrap_or(joined).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str, interval: u32) -> AuthorsNote {
        AuthorsNote {
            text: text.to_owned(),
            interval,
            depth: Depth(4),
            role: Role::System,
            scan: false,
        }
    }

    #[test]
    fn a_note_is_due_at_multiples_of_its_interval() {
        for (interval, messages, due) in
            [(0, 1, false), (1, 0, true), (2, 1, false), (2, 2, true), (3, 4, false), (3, 6, true)]
        {
            assert_eq!(note("n", interval).is_due(messages), due, "{interval} at {messages}");
        }
    }

    #[test]
    fn lore_stands_around_the_note() {
        for (text, top, bottom, composed) in [
            ("n", vec!["a", "b"], vec!["c"], "a\nb\nn\nc"),
            ("n", vec![], vec![], "n"),
            ("", vec!["a"], vec![], "a\n"),
            ("", vec![], vec!["c"], "\nc"),
        ] {
            assert_eq!(note(text, 1).compose(&top, &bottom), composed);
        }
    }
}
