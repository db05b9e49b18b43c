//! Whether two names mean one person.
//!
//! Cards, models and players write one name in several forms: "Tobin", "tobin reed", "Tobin the
//! smith". But "Mara's brother" is not Mara, and in a group with a card "Captain" and a card
//! "Captain Rook" these are two people.

use loreloom_core::chat::{PathItem, Role};
use rustc_hash::FxHashMap;

use crate::text::{contains_word, is_unspaced};

/// Whether two names mean one person: they are equal, or one has all words of the other. Somebody's
/// brother is somebody else.
pub fn is_same_person(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim().to_lowercase(), b.trim().to_lowercase());
    if a.is_empty() || b.is_empty() {
        return false;
    }
    // Such scripts have no words to compare.
    if a == b || a.chars().chain(b.chars()).any(is_unspaced) {
        return contains_word(&a, &b) || contains_word(&b, &a);
    }
    let (a, b) = (words(&a), words(&b));
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    !short.is_empty() && short.iter().all(|word| long.contains(word))
}

/// The words of a name. A possessive stays one word, so that it is not the name.
fn words(name: &str) -> Vec<&str> {
    let is_mark = |letter: char| matches!(letter, '\'' | '\u{2019}');
    let between = |letter: char| !letter.is_alphanumeric() && !is_mark(letter);
    let parts = |word| -> Vec<&str> {
        let (_, end) = str::rsplit_once(word, is_mark).unwrap_or(("", word));
        if matches!(end, "" | "s") { vec![word] } else { word.split(is_mark).collect() }
    };
    name.split(between).flat_map(parts).filter(|word| !word.is_empty()).collect()
}

/// The people of a story whose names look like forms of each other's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct People {
    /// Lower-cased names, each of another person.
    apart: Vec<String>,
}

impl People {
    /// Reads a path. Who speaks again after another has begun to speak was not renamed: they are
    /// two.
    pub fn of(path: &[PathItem]) -> Self {
        let mut spans: Vec<(&str, usize, usize)> = Vec::new();
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        let replies =
            path.iter().enumerate().filter(|(_, one)| one.message.role == Role::Assistant);
        for (at, item) in replies {
            let Some(name) = item.message.name.as_deref() else { continue };
            let place = *places.entry(name).or_insert_with(|| {
                spans.push((name, at, at));
                spans.len() - 1
            });
            spans[place].2 = at;
        }
        let takes_turns = |(name, first, last): &&(&str, usize, usize)| {
            spans.iter().any(|(other, begin, end)| {
                let differ = !name.trim().eq_ignore_ascii_case(other.trim());
                differ && first < end && begin < last && is_same_person(name, other)
            })
        };
        let apart = spans.iter().filter(takes_turns).map(|(name, ..)| name.trim().to_lowercase());
        Self { apart: apart.collect() }
    }

    /// With names that are known to be of different people, such as the members of a group.
    #[must_use]
    pub fn with<'name>(mut self, names: impl IntoIterator<Item = &'name str>) -> Self {
        self.apart.extend(names.into_iter().map(|name| name.trim().to_lowercase()));
        self
    }

    /// Whether two names mean one person.
    pub fn are_one(&self, a: &str, b: &str) -> bool {
        if self.apart.len() > 1 {
            let (a, b) = (a.trim().to_lowercase(), b.trim().to_lowercase());
            if a != b && self.apart.contains(&a) && self.apart.contains(&b) {
                return false;
            }
        }
        is_same_person(a, b)
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;

    #[test]
    fn a_part_of_a_name_is_the_same_person_and_somebodys_brother_is_not() {
        for (a, b, expected) in [
            ("Tobin", "tobin reed", true),
            ("Tobin Reed", "Tobin", true),
            ("Tobin R. Reed", "Tobin Reed", true),
            ("Tobin (the smith)", "Tobin", true),
            ("d'Artagnan", "Artagnan", true),
            ("Tobin", "Tobina", false),
            ("Mara's Mother", "Mara", false),
            ("Mara\u{2019}s Mother", "Mara", false),
            ("James' Brother", "James", false),
            ("Mara's Mother", "mara's mother", true),
            ("田中さん", "田中", true),
            ("", "Tobin", false),
        ] {
            assert_eq!(is_same_person(a, b), expected, "{a} {b}");
        }
    }

    fn path(speakers: &[&str]) -> Path {
        let says = |name: &&str| Message::new(Role::Assistant, Some(*name), "Hm.");
        Path::of(ChatId::from("c"), speakers.iter().map(says))
    }

    #[test]
    fn who_takes_turns_with_a_like_name_is_somebody_else_and_who_is_renamed_is_not() {
        for (speakers, expected) in [
            (&["Captain", "Captain Rook", "Captain"][..], false),
            (&["Captain", "Captain Rook"], true),
            (&["Captain", "Captain", "Captain Rook", "Captain Rook"], true),
        ] {
            let people = People::of(path(speakers).items());
            assert_eq!(people.are_one("captain rook", "Captain"), expected, "{speakers:?}");
            // Others write a part of a name.
            assert!(people.are_one("Rook", "Captain Rook"));
        }
        let members = People::default().with(["Captain", "Captain Rook"]);
        assert!(!members.are_one("Captain", "Captain Rook"));
    }
}
