//! Ids of messages.
//!
//! A message's id does not depend on its ancestors: it hashes the chat, the role, the
//! text without a speaker prefix, and how many times this same text came before on the
//! path. Editing message 3 of 500 changes one id, renaming the persona changes none, and
//! two "Yes." are two messages. What names the exact state of a story is the prefix
//! hash: the hash of all ids up to a point.

use crate::{
    chat::Role,
    digest::Hasher,
    ids::{ChatId, MessageId, PrefixHash},
};

/// The id of the message with this role and text that is the `occurrence`-th (from 0) of
/// its kind on the path.
pub fn message_id(chat: &ChatId, role: Role, text: &str, occurrence: u32) -> MessageId {
    MessageId(
        Hasher::new("message")
            .field(chat.as_str().as_bytes())
            .field(role.as_str().as_bytes())
            .field(text.as_bytes())
            .number(u64::from(occurrence))
            .finish(),
    )
}

/// The prefix hash of a path that is `parent` and then `message`.
pub fn extend(parent: PrefixHash, message: MessageId) -> PrefixHash {
    PrefixHash(Hasher::new("prefix").field(&parent.0.0).field(&message.0.0).finish())
}

/// The text without a leading `Name: `, when `name` is the speaker.
///
/// Front ends that put names into the text (SillyTavern's include-names, group chats) do
/// so for all messages or none; without this a persona's new name would make every
/// message a new one.
pub fn without_speaker<'text>(text: &'text str, name: Option<&str>) -> &'text str {
    name.filter(|name| !name.is_empty())
        .and_then(|name| text.strip_prefix(name))
        .and_then(|rest| rest.strip_prefix(':'))
        .map_or(text, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speaker_prefix_is_removed_only_for_the_speaker() {
        for (text, name, expected) in [
            ("Mira: hello", Some("Mira"), "hello"),
            ("Mira:hello", Some("Mira"), "hello"),
            ("Mira: hello", Some("Torvald"), "Mira: hello"),
            ("Mira: hello", None, "Mira: hello"),
            (": hello", Some(""), ": hello"),
            ("Mirabel: hello", Some("Mira"), "Mirabel: hello"),
        ] {
            assert_eq!(without_speaker(text, name), expected, "{text} by {name:?}");
        }
    }
}
