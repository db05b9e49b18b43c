//! What a book is attached to.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Scope;
use crate::ids::ChatId;

/// What makes a book active.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "to", content = "name", rename_all = "snake_case")]
pub enum Binding {
    /// Active in every chat.
    Everywhere,
    /// Active when this character speaks.
    Character(String),
    /// The book of this character's card: active when the character speaks, and while nobody is
    /// known to speak.
    Card(String),
    /// Active when the user plays this persona.
    Persona(String),
    /// Active in chats of this group.
    Group(String),
    /// Active in this chat.
    Chat(ChatId),
}

/// Who takes part in a turn.
#[derive(Clone, Copy, Debug)]
pub struct Cast<'a> {
    /// The chat.
    pub chat: &'a ChatId,
    /// The character who speaks next.
    pub character: Option<&'a str>,
    /// The user's persona.
    pub persona: &'a str,
    /// The group, in a chat of several characters.
    pub group: Option<&'a str>,
}

impl Binding {
    /// Why it makes a book active for this cast; `None` if it does not.
    ///
    /// Names compare without case: front ends spell them as their users do. A group replaces the
    /// character, as in SillyTavern.
    pub fn scope(&self, cast: &Cast<'_>) -> Option<Scope> {
        let (is_here, scope) = match self {
            Self::Everywhere => (true, Scope::Global),
            Self::Card(_) if cast.character.is_none() && cast.group.is_none() => {
                (true, Scope::UnknownSpeaker)
            }
            Self::Character(name) | Self::Card(name) => {
                (same(cast.character, name), Scope::Character)
            }
            Self::Group(name) => (same(cast.group, name), Scope::Character),
            Self::Persona(name) => (same(Some(cast.persona), name), Scope::Persona),
            Self::Chat(id) => (cast.chat == id, Scope::Chat),
        };
        is_here.then_some(scope)
    }

    /// Reads `everywhere`, `character:NAME`, `card:NAME`, `persona:NAME`, `group:NAME` or
    /// `chat:ID`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "everywhere" {
            return Some(Self::Everywhere);
        }
        let (kind, name) = text.split_once(':')?;
        let name = name.trim();
        if name.is_empty() {
            return None;
        }
        match kind {
            "character" => Some(Self::Character(name.to_owned())),
            "card" => Some(Self::Card(name.to_owned())),
            "persona" => Some(Self::Persona(name.to_owned())),
            "group" => Some(Self::Group(name.to_owned())),
            "chat" => Some(Self::Chat(ChatId::from(name))),
            _ => None,
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => formatter.write_str("everywhere"),
            Self::Character(name) => write!(formatter, "character:{name}"),
            Self::Card(name) => write!(formatter, "card:{name}"),
            Self::Persona(name) => write!(formatter, "persona:{name}"),
            Self::Group(name) => write!(formatter, "group:{name}"),
            Self::Chat(id) => write!(formatter, "chat:{id}"),
        }
    }
}

fn same(here: Option<&str>, name: &str) -> bool {
    here.is_some_and(|here| here.trim().to_lowercase() == name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_holds_for_its_own_cast_only() {
        let chat = ChatId::from("c1");
        let cast =
            Cast { chat: &chat, character: Some("Orla"), persona: "Wren", group: Some("Crew") };
        for (text, scope) in [
            ("everywhere", Some(Scope::Global)),
            ("character:orla", Some(Scope::Character)),
            ("character:Wren", None),
            ("card:Orla", Some(Scope::Character)),
            ("card:Wren", None),
            ("persona:Wren", Some(Scope::Persona)),
            ("group:Crew", Some(Scope::Character)),
            ("chat:c1", Some(Scope::Chat)),
            ("chat:c2", None),
        ] {
            let binding = Binding::parse(text).unwrap();
            assert_eq!(binding.scope(&cast), scope, "{text}");
            assert_eq!(binding.to_string(), text);
        }
        let unknown = Cast { character: None, group: None, ..cast };
        let scope = |text: &str| Binding::parse(text).and_then(|one| one.scope(&unknown));
        assert_eq!(scope("card:Orla"), Some(Scope::UnknownSpeaker));
        assert_eq!(scope("character:Orla"), None);
        for text in ["", "everyone", "character:", "book:x"] {
            assert_eq!(Binding::parse(text), None, "{text}");
        }
    }
}
