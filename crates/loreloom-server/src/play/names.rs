//! Who a story is about if nobody has said it: the names of its messages.
//!
//! Two characters of one name are not a group: importing a card twice makes none of an old
//! chat.

use loreloom_core::chat::{Message, Role};

use super::setup::KeptStory;
use crate::cast::{Kept, KeptCharacter, KeptPersona};

/// The setup of a story that has none: the stored characters and the persona whose names its
/// messages have.
pub(super) fn setup_of(
    messages: &[Message],
    characters: &[Kept<KeptCharacter>],
    personas: &[Kept<KeptPersona>],
) -> KeptStory {
    let speak = |role: Role, name: &str| {
        let mut of_role = messages.iter().filter(|message| message.role == role);
        of_role.any(|message| message.name.as_deref().is_some_and(|own| own == name))
    };
    let mut cast: Vec<(&str, &Kept<KeptCharacter>)> = Vec::new();
    for one in characters {
        let names = [one.value.card.spoken_name(), one.value.card.name.as_str()];
        let name = names.into_iter().find(|name| speak(Role::Assistant, name));
        if let Some(name) = name
            && !cast.iter().any(|(known, _)| *known == name)
        {
            cast.push((name, one));
        }
    }
    let persona = personas.iter().find(|one| speak(Role::User, &one.value.name));
    KeptStory {
        characters: cast.into_iter().map(|(_, one)| one.id.clone()).collect(),
        persona: persona.map(|one| one.id.clone()),
        ..KeptStory::default()
    }
}

/// The name of the last who spoke in a role.
pub(super) fn last_name<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message>,
    role: Role,
) -> Option<String> {
    messages.rev().filter(|message| message.role == role).find_map(|message| message.name.clone())
}
