//! Which characters were present, judged by who speaks.
//!
//! The prompt of a character must not contain what it did not hear. A chat does not list who is
//! present, but a present character speaks now and then. If it stays silent for long while others
//! talk, it counts as away. In a chat with only one character, that character hears everything.

use loreloom_core::{
    chat::{PathItem, Role},
    ids::MessageId,
};
use rustc_hash::FxHashSet;

use crate::text::contains_word;

/// The longest silence of a present character, times the number of characters.
const SILENCE: usize = 4;
/// Whether two names mean one person: they are equal, or one is part of the other.
pub fn is_same_person(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    !a.is_empty() && !b.is_empty() && (contains_word(a, b) || contains_word(b, a))
}

/// The characters that speak, in order of appearance.
pub fn characters(path: &[PathItem]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let replies = path.iter().filter(|item| item.message.role == Role::Assistant);
    for name in replies.filter_map(|item| item.message.name.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Which messages of a path a character heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// One flag for each message; `None` if it heard them all.
    heard: Option<Vec<bool>>,
    missed: FxHashSet<MessageId>,
}

impl Presence {
    /// What this character heard; it is about to speak.
    pub fn of(path: &[PathItem], name: &str) -> Self {
        let cast = characters(path);
        let (own, others): (Vec<&str>, Vec<&str>) =
            cast.into_iter().partition(|speaker| is_same_person(speaker, name));
        let others = others.len();
        // A single character hears everything.
        if others == 0 || name.trim().is_empty() {
            return Self::default();
        }
        let longest = SILENCE * (others + 1);
        let mut heard = vec![false; path.len()];
        let mut last: Option<usize> = None;
        let speaks = |item: &PathItem| {
            let speaker = item.message.name.as_deref();
            item.message.role == Role::Assistant
                && speaker.is_some_and(|speaker| own.contains(&speaker))
        };
        let turns = (0..path.len()).filter(|at| speaks(&path[*at])).chain([path.len()]);
        for turn in turns {
            let begin = last.map_or(0, |last| last + 1);
            let gap = &mut heard[begin..turn];
            if gap.len() <= longest {
                gap.fill(true);
            } else if let Some(answered) = gap.last_mut() {
                // It hears the message it answers.
                *answered = true;
            }
            if let Some(own) = heard.get_mut(turn) {
                *own = true;
            }
            last = Some(turn);
        }
        let is_missed = |at: &usize| !heard[*at];
        let missed = (0..path.len()).filter(is_missed).map(|at| path[at].id).collect();
        Self { heard: Some(heard), missed }
    }

    /// Whether it heard the message at this place.
    pub fn hears(&self, at: usize) -> bool {
        self.heard.as_ref().is_none_or(|heard| heard.get(at).copied().unwrap_or(true))
    }

    /// Whether it missed any of these messages. Messages of other paths and chats do not count.
    pub fn missed_any(&self, messages: &[MessageId]) -> bool {
        !self.missed.is_empty() && messages.iter().any(|id| self.missed.contains(id))
    }

    /// Whether it missed most of these messages.
    pub fn missed_most(&self, messages: &[MessageId]) -> bool {
        let missed = messages.iter().filter(|id| self.missed.contains(id)).count();
        missed * 2 > messages.len()
    }

    /// Whether it heard everything.
    pub fn is_complete(&self) -> bool {
        self.missed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;

    /// `u` is the user, other letters are characters of that name.
    fn path(speakers: &str) -> Path {
        let message = |(at, speaker): (usize, char)| {
            let role = if speaker == 'u' { Role::User } else { Role::Assistant };
            Message::new(role, Some(&speaker.to_string()), format!("m{at}"))
        };
        Path::of(ChatId::from("c"), speakers.chars().enumerate().map(message))
    }

    fn heard(speakers: &str, name: &str) -> String {
        let path = path(speakers);
        let presence = Presence::of(path.items(), name);
        (0..path.items().len()).map(|at| if presence.hears(at) { '+' } else { '-' }).collect()
    }

    #[test]
    fn who_is_silent_for_long_was_away_and_a_single_character_hears_all() {
        for (speakers, name, expected) in [
            ("umumumumumum", "m", "++++++++++++"),
            ("umutumutu", "t", "+++++++++"),
            ("umutumumumumumut", "t", "++++----------++"),
            ("umutumumumumumu", "t", "++++----------+"),
            ("umumumumumumu", "t", "------------+"),
            ("umutumumumumumu", "", "+++++++++++++++"),
        ] {
            assert_eq!(heard(speakers, name), expected, "{speakers} {name}");
        }
    }

    #[test]
    fn a_part_of_a_name_is_the_same_person() {
        for (a, b, expected) in [
            ("Tobin", "tobin reed", true),
            ("Tobin Reed", "Tobin", true),
            ("Tobin", "Tobina", false),
            ("", "Tobin", false),
        ] {
            assert_eq!(is_same_person(a, b), expected, "{a} {b}");
        }
    }
}
