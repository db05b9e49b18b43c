//! Who a secret is hidden from.
//!
//! Models name it in their own words: "Tobin", "everyone else", "the rest of the crew", "nobody may
//! know", "everyone but Odo". What names nobody of the story means everybody: withholding too much
//! costs a line.

use std::sync::LazyLock;

use loreloom_core::chat::{PathItem, Role};
use regex::Regex;

use crate::{
    people::People,
    presence::characters,
    record::{Insight, InsightKind},
    text::pattern,
};

/// Words that mean everybody else, even with a capital. Sorted.
const EVERYBODY: &[&str] = &[
    "all",
    "alle",
    "allen",
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "jeder",
    "nadie",
    "niemand",
    "nobody",
    "others",
    "the others",
    "todos",
    "tous",
    "tutti",
    "все",
];

/// Words before a description of people: "The Night Watch".
const ARTICLES: &[&str] =
    &["the", "der", "die", "das", "den", "les", "la", "le", "los", "las", "el", "other", "rest"];

/// Before the people that a secret is not hidden from.
static EXCEPT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:except(?: for)?|but|besides|other than|apart from|aside from|außer|sauf)\b")
});
/// Between the people of a list.
static AND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\s*[,;/&]\s*(?:and\s+)?|\s+(?:and|or|und|oder|et)\s+"));
/// A description by somebody else: "Tobin's crew".
static POSSESSIVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)['’]s\s|s['’]\s"));
/// Without these no exception is meant: "nobody but Tobin".
static NOBODY: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bno(?:body|[ -]one)\b"));

/// Whether a target is a word for everybody.
pub(super) fn is_everybody(target: &str) -> bool {
    EVERYBODY.binary_search(&target.trim().to_lowercase().as_str()).is_ok()
}

/// The people of a story that secrets can be hidden from.
pub(crate) struct Hearers<'story> {
    people: &'story People,
    path: &'story [PathItem],
    insights: Vec<&'story Insight>,
    /// Who speaks, the player, and who is known to know something.
    known: Vec<&'story str>,
}

impl<'story> Hearers<'story> {
    /// The people of a path, and those that these notes are about.
    pub(crate) fn of(
        people: &'story People,
        path: &'story [PathItem],
        insights: impl IntoIterator<Item = &'story Insight>,
    ) -> Self {
        let insights: Vec<&Insight> = insights.into_iter().collect();
        let mut known = characters(path);
        let players = path.iter().filter(|item| item.message.role == Role::User);
        let players = players.filter_map(|item| item.message.name.as_deref());
        for name in players.chain(insights.iter().map(|one| one.subject.as_str())) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        Self { people, path, insights, known }
    }

    /// Whether this is a note about hiding something from this character.
    pub(crate) fn is_hidden_from(&self, note: &Insight, name: &str) -> bool {
        let is_owner = self.people.are_one(&note.subject, name);
        if note.kind != InsightKind::Hiding || is_owner {
            return false;
        }
        let target = note.target.as_deref().unwrap_or_default().trim();
        if let Some(whole) = self.exactly(target, name) {
            return self.people.are_one(whole, name);
        }
        let (from, except) = match EXCEPT.find(target) {
            Some(found) => (&target[..found.start()], &target[found.end()..]),
            None => (target, ""),
        };
        if self.names(except, name) && !NOBODY.is_match(from) {
            return false;
        }
        from.trim().is_empty() || AND.split(from).any(|part| self.means(part.trim(), note, name))
    }

    /// Whether a part of a target means this character.
    fn means(&self, part: &str, note: &Insight, name: &str) -> bool {
        if let Some(whole) = self.exactly(part, name) {
            return self.people.are_one(whole, name);
        }
        let is_description = POSSESSIVE.is_match(part);
        if !is_description && self.people.are_one(part, name) {
            return true;
        }
        let is_other = |known: &&str| {
            let is_owner = self.people.are_one(known, &note.subject);
            !is_owner && self.people.are_one(known, part)
        };
        let names_other = !is_description && self.known.iter().any(is_other);
        !(names_other || part.is_empty() || is_player(part) || self.is_outsider(part))
    }

    /// The person whose whole name this is.
    fn exactly<'name>(&'name self, part: &str, name: &'name str) -> Option<&'name str> {
        let is_it = |known: &&str| known.trim().to_lowercase() == part.to_lowercase();
        self.known.iter().copied().chain([name]).find(is_it)
    }

    /// Whether one part of a list is this character.
    fn names(&self, list: &str, name: &str) -> bool {
        !list.is_empty() && AND.split(list).any(|part| self.people.are_one(part, name))
    }

    /// Whether this is the name of somebody who does not speak, or not yet: it is written as a name,
    /// and has two words or is in the story.
    fn is_outsider(&self, part: &str) -> bool {
        let is_large = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
        let (first, last) = (part.split_whitespace().next(), part.split_whitespace().last());
        let is_name = [first, last].into_iter().flatten().all(is_large) && !is_everybody(part);
        let is_determiner =
            |word: &str| is_everybody(word) || ARTICLES.contains(&word.to_lowercase().as_str());
        if is_name && first != last && part.split_whitespace().all(is_large) {
            return !first.is_some_and(is_determiner);
        }
        let in_story = || self.path.iter().any(|item| item.message.text.contains(part));
        let in_notes = || self.insights.iter().any(|one| one.content.contains(part));
        is_name && (in_story() || in_notes())
    }
}

/// Whether this is what models call the player.
fn is_player(part: &str) -> bool {
    crate::cast::PLAYER_WORDS.contains(&part.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };
    use serde_json::json;

    use super::*;

    /// Who of Mara, Tobin and Odo a secret of Mara is hidden from.
    fn hidden_from(target: &str) -> Result<Vec<&'static str>, serde_json::Error> {
        let says = |name: &str| {
            let role = if name == "Ines" { Role::User } else { Role::Assistant };
            Message::new(role, Some(name), "Ruben saw the Captain.")
        };
        let path = Path::of(ChatId::from("c"), ["Mara", "Tobin", "Odo", "Ines"].map(says));
        let note: Insight = serde_json::from_value(json!({
            "type": "hiding", "subject": "Mara", "target": target, "content": "Mara sank the Petrel",
        }))?;
        let people = People::of(path.items());
        let hearers = Hearers::of(&people, path.items(), [&note]);
        let names = ["Mara", "Tobin", "Odo"].into_iter();
        Ok(names.filter(|name| hearers.is_hidden_from(&note, name)).collect())
    }

    #[test]
    fn a_target_that_names_nobody_of_the_story_means_everybody() -> Result<(), serde_json::Error> {
        assert!(EVERYBODY.is_sorted());
        let all = &["Tobin", "Odo"][..];
        for (target, expected) in [
            ("", all),
            ("everyone", all),
            ("Everyone else", all),
            ("everyone else", all),
            ("the rest of the crew", all),
            ("nobody may know", all),
            ("allen", all),
            ("Allen", all),
            ("Mara's crew", all),
            ("Mara's enemies", all),
            ("Tobin's brother", all),
            ("Tobin and the others", all),
            ("the Watch", all),
            ("The Night Watch", all),
            ("Everyone Else", all),
            // Somebody of the group who has not spoken yet.
            ("Cy Marsh", &[]),
            ("Tobin", &["Tobin"]),
            ("tobin reed", &["Tobin"]),
            ("Tobin and Odo", all),
            ("Tobin, Ruben", &["Tobin"]),
            ("Odo for now", &["Odo"]),
            ("Ruben", &[]),
            ("Ines", &[]),
            ("the player", &[]),
            ("everyone but Odo", &["Tobin"]),
            ("all except Tobin and Odo", &[]),
            ("nobody but Tobin", all),
        ] {
            assert_eq!(hidden_from(target)?, expected, "{target}");
        }
        Ok(())
    }
}
