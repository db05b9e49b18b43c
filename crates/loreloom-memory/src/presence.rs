//! Which characters were present, judged by who speaks.
//!
//! The prompt of a character must not contain what it did not hear. A chat does not list who is
//! present, but a present character speaks now and then. If it stays silent for long while others
//! talk, it counts as away. In a chat with only one character, that character hears everything.

use std::sync::LazyLock;

use loreloom_core::{
    chat::{Message, PathItem, Role},
    ids::MessageId,
    labels::is_label,
};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    people::{People, is_same_person},
    text::{contains_word, pattern},
};

/// A speaker before a line of a message: `Mara: …`, `**Mara:** …`, `[Mara] …`.
static VOICE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)^\s*(?:\*\*|__|\[)?(\p{Lu}[\p{L}'’\-]*(?: \p{Lu}[\p{L}'’\-]*){0,2})(?:\]|:(?:\*\*|__)|(?:\*\*|__):|:)\s+\S",
    )
});

/// The longest silence of a present character, times the number of characters.
const SILENCE: usize = 4;
/// A shorter scene says nothing about who was there.
const SCENE: usize = 3;
/// A card that voices at least so many other people is a narrator.
const NARRATED: usize = 2;

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

/// The people that speak in a message. One card can play several: then the lines of its message
/// name them. A heading such as `Mood:` is nobody.
pub fn voices(message: &Message) -> Vec<&str> {
    let own = message.name.as_deref().filter(|name| !name.trim().is_empty());
    let mut names: Vec<&str> = own.into_iter().collect();
    if message.role == Role::Assistant {
        for found in VOICE.captures_iter(&message.text) {
            let Some(name) = found.get(1).map(|name| name.as_str()) else { continue };
            if !names.contains(&name) && !is_label(name) {
                names.push(name);
            }
        }
    }
    names
}

/// The characters that a card plays beside itself, in order of appearance; empty for a card that
/// plays one character. A label that occurs once is no character.
///
/// Where other cards speak too, no card is a narrator: models write lines for the other members
/// and headings of their own, and a narrator's text is read by all of them.
pub fn narrated<'path>(path: &'path [PathItem], name: &str) -> Vec<&'path str> {
    let people = People::of(path);
    if characters(path).iter().any(|other| !people.are_one(other, name)) {
        return Vec::new();
    }
    let is_own = |item: &&PathItem| {
        let message = &item.message;
        let speaker = message.name.as_deref().unwrap_or(name);
        message.role == Role::Assistant && is_same_person(speaker, name)
    };
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for voice in path.iter().filter(is_own).flat_map(|item| voices(&item.message)) {
        if is_same_person(voice, name) {
            continue;
        }
        match counted.iter_mut().find(|(known, _)| *known == voice) {
            Some((_, count)) => *count += 1,
            None => counted.push((voice, 1)),
        }
    }
    counted.retain(|(_, count)| *count > 1);
    if counted.len() < NARRATED {
        return Vec::new();
    }
    counted.into_iter().map(|(name, _)| name).collect()
}

/// Which messages of a path a character heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// One flag for each message; `None` if it heard them all.
    heard: Option<Vec<bool>>,
    missed: FxHashSet<MessageId>,
    /// The names under which it spoke.
    own: Vec<String>,
}

impl Presence {
    /// What this character heard; it is about to speak.
    pub fn of(path: &[PathItem], name: &str) -> Self {
        Self::among(&People::of(path), path, name)
    }

    /// The same with the people that are known.
    pub fn among(people: &People, path: &[PathItem], name: &str) -> Self {
        let cast = characters(path);
        let (own, others): (Vec<&str>, Vec<&str>) =
            cast.into_iter().partition(|speaker| people.are_one(speaker, name));
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
        let own = own.into_iter().map(str::to_owned).collect();
        Self { heard: Some(heard), missed, own }
    }

    /// The same with the scenes of a chat, by their messages. Who neither speaks in a scene nor is
    /// named there was not in it, however short it was. What it answers, it heard.
    #[must_use]
    pub fn in_scenes<'story>(
        mut self,
        path: &[PathItem],
        name: &str,
        scenes: impl IntoIterator<Item = &'story [MessageId]>,
    ) -> Self {
        let Some(heard) = &mut self.heard else { return self };
        let own = &self.own;
        let speaks = |item: &PathItem| {
            let speaker = item.message.name.as_deref().unwrap_or_default();
            item.message.role == Role::Assistant && own.iter().any(|name| name == speaker)
        };
        let place: FxHashMap<MessageId, usize> =
            path.iter().enumerate().map(|(at, item)| (item.id, at)).collect();
        for scene in scenes {
            let mut places: Vec<usize> =
                scene.iter().filter_map(|id| place.get(id).copied()).collect();
            places.sort_unstable();
            places.dedup();
            let was_there =
                |at: &usize| speaks(&path[*at]) || contains_word(&path[*at].message.text, name);
            if places.len() < SCENE || places.iter().any(was_there) {
                continue;
            }
            for at in places {
                heard[at] = path.get(at + 1).is_some_and(speaks);
                if !heard[at] {
                    self.missed.insert(path[at].id);
                }
            }
        }
        self
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
    fn who_neither_speaks_in_a_scene_nor_is_named_was_not_there() {
        let path = path("mtuumumt");
        let scene = |from: usize, to: usize| -> Vec<MessageId> {
            path.items()[from..to].iter().map(|item| item.id).collect()
        };
        let heard = |name: &str, scenes: &[Vec<MessageId>]| -> String {
            let scenes = scenes.iter().map(Vec::as_slice);
            let presence = Presence::of(path.items(), name).in_scenes(path.items(), name, scenes);
            (0..path.items().len()).map(|at| if presence.hears(at) { '+' } else { '-' }).collect()
        };
        assert_eq!(heard("t", &[]), "++++++++");
        assert_eq!(heard("t", &[scene(0, 2), scene(2, 6)]), "++----++");
        // He answers the last message of the scene.
        assert_eq!(heard("t", &[scene(2, 7)]), "++----++");
        assert_eq!(heard("m", &[scene(0, 2), scene(2, 6)]), "++++++++");
        // Two messages are no scene.
        assert_eq!(heard("t", &[scene(4, 6)]), "++++++++");
    }

    #[test]
    fn one_card_can_play_several_characters() {
        let says = |text: &str| Message::new(Role::Assistant, Some("Narrator"), text);
        let texts = [
            "The door opens.\nMara: Who is there?\n**Tobin:** Only me.",
            "[Mara] Come in.\nTobin Reed: Note: it rains.",
            "Tobin: Thank you.\nWarning: a storm comes.",
        ];
        assert_eq!(voices(&says(texts[0])), ["Narrator", "Mara", "Tobin"]);
        let path = Path::of(ChatId::from("c"), texts.map(says));
        assert_eq!(narrated(path.items(), "Narrator"), ["Mara", "Tobin"]);
        let alone = Path::of(ChatId::from("c"), [says("Mara: Hm."), says("Mara: Well.")]);
        assert_eq!(narrated(alone.items(), "Narrator"), [""; 0]);
    }

    #[test]
    fn a_status_block_makes_no_narrator_and_no_people() {
        let says = |name: &str, text: &str| Message::new(Role::Assistant, Some(name), text);
        let status = "Aye.\n**Mood:** wary\n**Location:** pier";
        let alone = Path::of(ChatId::from("c"), [says("Tobin", status), says("Tobin", status)]);
        assert_eq!(narrated(alone.items(), "Tobin"), [""; 0]);
        assert_eq!(voices(&alone.items()[0].message), ["Tobin"]);
    }

    #[test]
    fn where_other_cards_speak_no_card_is_a_narrator() {
        let says = |name: &str, text: &str| Message::new(Role::Assistant, Some(name), text);
        let lines = "Mara: Hush.\nOdo: Aye.\nVigour: low";
        let played = [says("Tobin", lines), says("Tobin", lines)];
        let path = Path::of(ChatId::from("c"), played.clone());
        assert_eq!(narrated(path.items(), "Tobin"), ["Mara", "Odo", "Vigour"]);
        let group = Path::of(ChatId::from("c"), [says("Mara", "Who?")].into_iter().chain(played));
        assert_eq!(narrated(group.items(), "Tobin"), [""; 0]);
    }
}
