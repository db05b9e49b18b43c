//! The people of a story: the player and all characters, by name.
//!
//! Models write "the user" for the player, and "Tobin Reed" for Tobin. Each person must be one
//! entity, so every prompt names the people and every reply is read with their names.

use std::sync::LazyLock;

use loreloom_core::chat::{PathItem, Role};
use regex::{Captures, Regex};

use crate::{people::is_same_person, presence::voices, text::pattern};

/// How the line with the people of a story begins.
pub(crate) const PEOPLE: &str = "People: ";
/// The player's name if the story has none.
const PLAYER: &str = "Player";
/// What models call the player.
pub(crate) const PLAYER_WORDS: &[&str] =
    &["user", "the user", "player", "the player", "{{user}}", "you"];

static THE_USER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\{\{user\}\}|\bthe (?:user|player)\b(\s+of\b)?"));

/// The player and the characters of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryCast {
    /// The player's name.
    pub player: String,
    /// The characters, in order of appearance.
    pub characters: Vec<String>,
}

impl StoryCast {
    /// The people of a path, and the character whose card is used.
    pub fn of(path: &[PathItem], character: &str) -> Self {
        let named = |item: &PathItem| {
            let name = item.message.name.as_deref().map(str::trim).unwrap_or_default();
            (item.message.role == Role::User && !name.is_empty()).then(|| name.to_owned())
        };
        let player = path.iter().rev().find_map(named).unwrap_or_else(|| PLAYER.to_owned());
        let mut characters: Vec<String> = Vec::new();
        let replies = path.iter().filter(|item| item.message.role == Role::Assistant);
        let speakers = replies.flat_map(|item| voices(&item.message));
        for name in [character].into_iter().chain(speakers).map(str::trim) {
            let is_new = !name.is_empty() && name != player;
            if is_new && !characters.iter().any(|known| known == name) {
                characters.push(name.to_owned());
            }
        }
        Self { player, characters }
    }

    /// Who is who, as a line of a prompt.
    pub fn sentence(&self) -> String {
        let characters = self.characters.join(", ");
        let player = &self.player;
        match self.characters.len() {
            0 => format!("{PEOPLE}{player} (the player)."),
            1 => format!("{PEOPLE}{player} (the player) and {characters}."),
            _ => format!("{PEOPLE}{player} (the player); the characters {characters}."),
        }
    }

    /// The person's name as the story writes it, if it is one of these people; otherwise the given
    /// name.
    pub fn person<'name>(&'name self, name: &'name str) -> &'name str {
        let wanted = name.trim();
        if PLAYER_WORDS.contains(&wanted.to_lowercase().as_str()) {
            return &self.player;
        }
        let mut meant = self.all().filter(|known| is_form_of(known, wanted));
        match (meant.next(), meant.next()) {
            (Some(known), None) => known,
            _ => wanted,
        }
    }

    /// A text with the player's name instead of "the user".
    pub fn named(&self, text: &str) -> String {
        let name = |found: &Captures<'_>| match found.get(1) {
            // "the user of the lift" is somebody else.
            Some(_) => found[0].to_owned(),
            None => self.player.clone(),
        };
        THE_USER.replace_all(text, name).into_owned()
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.characters.iter().chain([&self.player]).map(String::as_str)
    }
}

/// Whether a name is a longer or shorter form of a known one: `Tobin Reed` and `Tobin`. What has
/// more than names in it, such as "Tobin the smith", keeps its words.
fn is_form_of(known: &str, name: &str) -> bool {
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().all(|letter| letter.is_alphabetic() || matches!(letter, '-' | '.'))
    };
    let count = |name: &str| name.split_whitespace().count();
    let reads_as_name =
        || count(known).max(count(name)) <= 3 && name.split_whitespace().all(is_name);
    known.trim().to_lowercase() == name.trim().to_lowercase()
        || reads_as_name() && is_same_person(known, name)
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;

    fn cast() -> StoryCast {
        let message = |(role, name): (Role, Option<&str>)| Message::new(role, name, "Hm.");
        let speakers = [
            (Role::User, Some("Ines")),
            (Role::Assistant, Some("Mara")),
            (Role::User, None),
            (Role::Assistant, Some("Tobin Reed")),
        ];
        let path = Path::of(ChatId::from("c"), speakers.map(message));
        StoryCast::of(path.items(), "Mara")
    }

    #[test]
    fn everybody_who_speaks_is_named_once() {
        let expected = "People: Ines (the player); the characters Mara, Tobin Reed.";
        assert_eq!(cast().sentence(), expected);
        assert_eq!(StoryCast::of(&[], "").sentence(), "People: Player (the player).");
        assert_eq!(StoryCast::of(&[], "Mara").sentence(), "People: Player (the player) and Mara.");
    }

    #[test]
    fn a_person_has_one_name_and_the_user_is_the_player() {
        for (name, expected) in [
            ("the user", "Ines"),
            ("User", "Ines"),
            ("mara", "Mara"),
            ("Tobin", "Tobin Reed"),
            ("Mara Venn", "Mara"),
            ("Mara's brother", "Mara's brother"),
            ("Reed the elder", "Reed the elder"),
            ("Odo", "Odo"),
        ] {
            assert_eq!(cast().person(name), expected, "{name}");
        }
    }

    #[test]
    fn only_the_user_is_replaced_in_a_text() {
        for (text, expected) in [
            ("The user trusts Mara.", "Ines trusts Mara."),
            ("Mara owes {{user}} a boat", "Mara owes Ines a boat"),
            ("The user of the lift fell", "The user of the lift fell"),
            ("A heavy user", "A heavy user"),
        ] {
            assert_eq!(cast().named(text), expected);
        }
    }
}
