//! Titles of chats that nobody has named.

use loreloom_core::chat::{Message, Role, identity::without_speaker, single_spaced};

use crate::play::is_narrator;

/// The most characters of a title.
const LONGEST_TITLE: usize = 60;

/// The character, and the user's first words. All chats with a character begin with the same
/// greeting.
pub(crate) fn title_of<'a>(mut messages: impl Iterator<Item = &'a Message> + Clone) -> String {
    let by_model = |message: &&Message| message.role == Role::Assistant && !is_narrator(message);
    let char = messages.clone().filter(by_model).find_map(|message| message.name.as_deref());
    let said = messages.clone().find(|message| message.role == Role::User);
    let words =
        |message: &Message| single_spaced(without_speaker(&message.text, message.name.as_deref()));
    let title = match (char, said, messages.next()) {
        (Some(char), Some(said), _) => format!("{char}: {}", words(said)),
        (None, Some(said), _) => words(said),
        (Some(char), None, _) => char.to_owned(),
        (None, None, first) => first.map(words).unwrap_or_default(),
    };
    title.chars().take(LONGEST_TITLE).collect()
}
