//! A change of the people present.

use loreloom_core::chat::{PathItem, Role};

use crate::record::{Entity, EntityKind};
use crate::text::contains_word;

/// How many of the newest messages show who is present now.
const NEWEST: usize = 3;

/// Whether the people of a scene changed: one speaker fell silent and a new one speaks, or the
/// newest messages name only other people than before.
pub fn cast_changed(buffer: &[PathItem], known: &[&Entity]) -> bool {
    if buffer.len() < 2 * NEWEST {
        return false;
    }
    let (before, now) = buffer.split_at(buffer.len() - NEWEST);
    let (spoke, speak) = (replying(before), replying(now));
    let newcomers = speak.iter().any(|name| !spoke.contains(name));
    let gone = spoke.iter().any(|name| !speak.contains(name));
    if newcomers && gone {
        return true;
    }
    let (named, names) = (named(before, known), named(now, known));
    !named.is_empty() && !names.is_empty() && !names.iter().any(|name| named.contains(name))
}

/// The characters that reply. The user is always present and does not count.
fn replying(messages: &[PathItem]) -> Vec<&str> {
    let mut names: Vec<&str> = messages
        .iter()
        .filter(|item| item.message.role == Role::Assistant)
        .filter_map(|item| item.message.name.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The known people that the texts name, without the speakers.
fn named<'entity>(messages: &[PathItem], known: &[&'entity Entity]) -> Vec<&'entity str> {
    known
        .iter()
        .filter(|entity| entity.kind == EntityKind::Character)
        .filter(|entity| {
            !messages.iter().any(|item| item.message.name.as_deref() == Some(entity.name.as_str()))
                && messages
                    .iter()
                    .any(|item| entity.names().any(|name| contains_word(&item.message.text, name)))
        })
        .map(|entity| entity.name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;

    fn chat(lines: &[(&str, &str)]) -> Vec<PathItem> {
        let message = |&(name, text): &(&str, &str)| {
            let role = if name == "Player" { Role::User } else { Role::Assistant };
            Message::new(role, Some(name), text)
        };
        Path::of(ChatId::from("c"), lines.iter().map(message)).items().to_vec()
    }

    fn person(name: &str) -> Entity {
        Entity { name: name.into(), kind: EntityKind::Character, ..Entity::default() }
    }

    #[test]
    fn the_cast_changes_when_speakers_or_named_people_are_all_others() {
        let (odo, lis) = (person("Odo"), person("Lis"));
        let known = [&odo, &lis];
        let quiet = [("Mara", "a"), ("Player", "b"), ("Mara", "c")];
        let with = |tail: [(&str, &str); 3]| {
            let all: Vec<_> = quiet.iter().copied().chain(tail).collect();
            cast_changed(&chat(&all), &known)
        };
        assert!(!with([("Player", "d"), ("Mara", "e"), ("Player", "f")]));
        assert!(with([("Player", "d"), ("Lis", "e"), ("Player", "f")]));
        assert!(!with([("Mara", "d"), ("Lis", "e"), ("Player", "f")]));
        let named = chat(&[
            ("Mara", "Odo nods"),
            ("Player", "Odo?"),
            ("Mara", "x"),
            ("Mara", "Lis laughs"),
            ("Player", "Lis!"),
            ("Mara", "y"),
        ]);
        assert!(cast_changed(&named, &known));
        assert!(!cast_changed(&named[..4], &known));
    }
}
