//! Which speakers a text names.
//!
//! People are called by other names than those they write under. In a chat of two, a name with
//! which one of them often addresses somebody is the other's name. A name that nobody in the
//! story uses and that is nearly a speaker's name is misspelled.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{address::speaks_about, everyday::is_everyday, tokens::is_stop_word};
use crate::text::contains_word;

/// Words before an address.
#[rustfmt::skip]
const GREETINGS: &[&str] = &[
    "dear", "hello", "hey", "hi", "morning", "night", "no", "ok", "okay", "thanks", "yeah", "yes",
    "you",
];
/// How often a name must be used as an address.
const OFTEN: u32 = 5;

/// How often each speaker uses a word as an address.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses(FxHashMap<String, FxHashMap<u32, u32>>);

impl Addresses {
    pub(super) fn add(&mut self, speaker: u32, words: &[String]) {
        for word in words {
            *self.0.entry(word.clone()).or_default().entry(speaker).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, speaker: u32, words: &[String]) {
        for word in words {
            let Some(by) = self.0.get_mut(word) else { continue };
            if let Some(count) = by.get_mut(&speaker) {
                *count -= 1;
                by.retain(|_, count| *count > 0);
            }
            if by.is_empty() {
                self.0.remove(word);
            }
        }
    }

    /// In a chat of two, the speaker that the other calls by this word.
    fn called(&self, word: &str, speakers: usize) -> Option<u32> {
        if speakers != 2 {
            return None;
        }
        let by = self.0.get(word)?;
        let uses = |speaker: u32| by.get(&speaker).copied().unwrap_or_default();
        (0..2).find(|who| uses(1 - who) >= OFTEN && 5 * uses(*who) <= uses(1 - who))
    }
}

/// The names with which a text addresses somebody, lower-cased, each once.
pub(super) fn addressed(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut opens, mut greets) = (true, false);
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let ends = word.ends_with([',', '!', '?', '.']) || words.peek().is_none();
        let lower = bare.to_lowercase();
        let is_name = bare.chars().next().is_some_and(char::is_uppercase)
            && bare.chars().count() > 2
            && bare.chars().all(char::is_alphabetic)
            && !is_stop_word(&lower)
            && !is_everyday(&lower);
        if is_name && ends && (opens || greets) && !found.contains(&lower) {
            found.push(lower.clone());
        }
        greets = GREETINGS.binary_search(&lower.as_str()).is_ok();
        opens = ends;
    }
    found
}

/// The speakers that a text names, and the words with which it does so.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedSpeakers {
    /// Places in the list of speakers, with the name as used in the text.
    pub(super) speakers: Vec<(u32, String)>,
    /// All lower-cased words that name a speaker.
    pub(super) words: FxHashSet<String>,
}

impl NamedSpeakers {
    /// Finds the speakers of a text. `is_known` says whether the story uses a word.
    pub(super) fn find(
        text: &str,
        speakers: &[String],
        addresses: &Addresses,
        is_known: impl Fn(&str) -> bool,
    ) -> Self {
        let mut named = Self::default();
        let numbered = || speakers.iter().zip(0_u32..);
        for (name, at) in numbered().filter(|(name, _)| contains_word(text, name)) {
            named.add(at, name);
        }
        for (place, word) in capitalised(text) {
            let lower = word.to_lowercase();
            if named.words.contains(&lower) || numbered().any(|(name, _)| is_part(name, &lower)) {
                continue;
            }
            if let Some(at) = addresses.called(&lower, speakers.len()) {
                named.add(at, word);
            } else if place > 0 && lower.chars().count() > 3 && !is_known(&lower) {
                let distance = |name: &str| edits(&lower, &name.to_lowercase());
                let nearest = numbered().min_by_key(|(name, _)| distance(name));
                let most = (lower.chars().count() / 3).max(1);
                if let Some((_, at)) = nearest.filter(|(name, _)| distance(name) <= most) {
                    named.add(at, word);
                }
            }
        }
        named
    }

    fn add(&mut self, speaker: u32, name: &str) {
        self.words.extend(name.split_whitespace().map(str::to_lowercase));
        self.speakers.push((speaker, name.to_owned()));
    }

    /// The speakers that the text is about, and not only addressed to.
    pub(super) fn spoken_about(&self, text: &str) -> Vec<u32> {
        let about = self.speakers.iter().filter(|(_, name)| speaks_about(text, name));
        about.map(|(speaker, _)| *speaker).collect()
    }

    /// The text without the names, which would outweigh its other words.
    pub(super) fn without<'text>(&self, text: &'text str) -> std::borrow::Cow<'text, str> {
        if self.words.is_empty() {
            return text.into();
        }
        let is_name = |word: &&str| {
            let lower = word.to_lowercase().replace('\u{2019}', "'");
            let bare = lower.trim_matches(|letter: char| !letter.is_alphanumeric());
            self.words.contains(bare.strip_suffix("'s").unwrap_or(bare))
        };
        let kept: Vec<&str> = text.split_whitespace().filter(|word| !is_name(word)).collect();
        kept.join(" ").into()
    }
}

/// Words with a capital letter, and their number in the text.
fn capitalised(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let words =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.enumerate().filter(|(_, word)| word.chars().next().is_some_and(char::is_uppercase))
}

fn is_part(name: &str, word: &str) -> bool {
    name.split_whitespace().any(|part| part.to_lowercase() == word)
}

/// How many letters must be changed, added or removed to make `b` of `a`.
fn edits(a: &str, b: &str) -> usize {
    let target: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=target.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in target.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[target.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, addresses: &Addresses) -> Vec<(u32, String)> {
        let speakers = ["Emi".to_owned(), "Muhhamed".to_owned()];
        NamedSpeakers::find(text, &speakers, addresses, |word| word == "paris").speakers
    }

    #[test]
    fn addresses_are_names_set_apart() {
        for (text, expected) in [
            ("Kate! Look.", &["kate"][..]),
            ("Hi Kate, how are you?", &["kate"]),
            ("Well, Kate, no.", &["kate"]),
            ("I saw Kate.", &[]),
            ("Yes. Good.", &[]),
        ] {
            assert_eq!(addressed(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_that_one_of_two_is_called_by_is_theirs() {
        let mut addresses = Addresses::default();
        let kate = ["kate".to_owned()];
        for _ in 0..4 {
            addresses.add(1, &kate);
        }
        assert_eq!(find("What does Kate do?", &addresses), []);
        addresses.add(1, &kate);
        assert_eq!(find("What does Kate do?", &addresses), [(0, "Kate".to_owned())]);
        addresses.add(0, &kate);
        addresses.add(0, &kate);
        assert_eq!(find("What does Kate do?", &addresses), []);
        addresses.remove(0, &kate);
        addresses.remove(0, &kate);
        assert_eq!(find("What does Kate do?", &addresses).len(), 1);
    }

    #[test]
    fn a_misspelled_name_is_the_nearest_speaker_unless_the_story_knows_it() {
        let none = Addresses::default();
        for (text, expected) in [
            ("Where does Muhammed live?", Some(1)),
            ("Where does Emi live?", Some(0)),
            ("Was it Paris?", None),
            ("Was it Galveston?", None),
        ] {
            let found = find(text, &none).first().map(|(at, _)| *at);
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(edits("kitten", "sitting"), 3);
    }

    #[test]
    fn names_leave_the_text_that_is_compared_by_meaning() {
        let speakers = ["Mara".to_owned()];
        let named =
            NamedSpeakers::find("Where is Mara's boat?", &speakers, &Addresses::default(), |_| {
                true
            });
        assert_eq!(named.without("Where is Mara's boat?"), "Where is boat?");
    }
}
