//! Firings that look accidental: a key was found in a message that has nothing else in common
//! with the entry.
//!
//! What a message has in common with an entry is what BM25 finds with the message's words.
//! Left out are the words in which the key was found, and common ones: those that weigh less
//! than half of what a word weighs that only two texts have. What is common is learned from
//! the story itself, and from other lore while the story is short, so that no list of words
//! of some language is needed. An entry whose meaning was near at that turn is no accident.

use rustc_hash::{FxHashMap, FxHashSet};

use super::TurnChange;
use crate::{
    bm25::{Bm25, DocId, words},
    book::{Entry, Key},
    chat::Message,
    dialects::vault::Note,
    ids::EntryId,
    library::Library,
    report::{Reason, TextSource, Trigger},
};

/// A story of fewer texts borrows lore to learn which words are common.
const ENOUGH: usize = 1000;

/// A message in which the key was found that let an entry in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyHit {
    /// Counted from the oldest message, from 0: for entries of those that are seen, for notes
    /// of all.
    message: usize,
    start: usize,
    end: usize,
    key: String,
}

/// Where a key was found that alone let an entry in; empty if there was more: another key,
/// another rule, another text than a message.
pub(super) fn hits(trigger: &Trigger) -> Vec<KeyHit> {
    if trigger.reason != Reason::Key || !trigger.secondary.is_empty() {
        return Vec::new();
    }
    let Some(found) = &trigger.primary else { return Vec::new() };
    let hit = |place: &crate::report::MatchPlace| match place.source {
        TextSource::Message { index, .. } => Some(KeyHit {
            message: index as usize,
            start: place.start,
            end: place.end,
            key: found.expanded.as_ref().unwrap_or(&found.key).clone(),
        }),
        TextSource::Speaker { .. }
        | TextSource::Persona
        | TextSource::Description
        | TextSource::Personality
        | TextSource::DepthPrompt
        | TextSource::Scenario
        | TextSource::CreatorNotes
        | TextSource::Prompt { .. }
        | TextSource::Entry { .. }
        | TextSource::Joined => None,
    };
    found.places().map(hit).collect::<Option<_>>().unwrap_or_default()
}

/// For each change the entries that appear in it and look accidental. `messages` are those of
/// the story in order, `library` has the entries.
pub fn accidental(
    changes: &[TurnChange],
    messages: &[&Message],
    library: &Library,
) -> Vec<Vec<EntryId>> {
    let appeared = changes.iter().flat_map(|change| &change.appeared);
    let asked: FxHashSet<&EntryId> =
        appeared.filter(|fired| !fired.hits.is_empty()).map(|fired| &fired.entry).collect();
    if asked.is_empty() {
        return vec![Vec::new(); changes.len()];
    }
    let all: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    let seen = messages.iter().filter(|message| message.is_seen());
    let seen: Vec<&str> = seen.map(|message| message.text.as_str()).collect();
    let wording = Wording::of(&StoryTexts { all: &all, seen: &seen }, library, &asked);
    let judged = |change: &TurnChange| {
        let odd = change.appeared.iter().filter(|one| wording.is_accident(&one.entry, &one.hits));
        odd.map(|one| one.entry.clone()).collect()
    };
    changes.iter().map(judged).collect()
}

/// The texts of a story's messages.
struct StoryTexts<'story> {
    all: &'story [&'story str],
    /// Those that entries scan.
    seen: &'story [&'story str],
}

/// The words of a story, and of the entries that are asked about.
struct Wording<'story> {
    index: Bm25,
    /// With the messages that each scans.
    entries: FxHashMap<EntryId, (DocId, &'story [&'story str])>,
    /// What a word must weigh to count.
    least: f64,
}

impl<'story> Wording<'story> {
    fn of(story: &StoryTexts<'story>, library: &Library, asked: &FxHashSet<&EntryId>) -> Self {
        let mut index = Bm25::default();
        index.add_all(story.all.iter().copied());
        let (mut entries, mut room) =
            (FxHashMap::default(), ENOUGH.saturating_sub(story.all.len()));
        let mut file = |id: &EntryId, scans, text: &dyn Fn() -> String| {
            if asked.contains(id) {
                entries.insert(id.clone(), (index.add(&text()), scans));
            } else if room > 0 {
                room -= 1;
                index.add(&text());
            }
        };
        for entry in library.books().iter().flat_map(|book| &book.entries) {
            file(&entry.id, story.seen, &|| text_of(entry));
        }
        if let Some(vault) = library.vault() {
            for ix in vault.entries() {
                file(vault.id(ix), story.all, &|| text_of_note(vault.note(ix)));
            }
        }
        let least = index.rarity(2) / 2.0;
        Self { index, entries, least }
    }

    /// Whether none of the messages in which a key was found has more in common with the entry.
    fn is_accident(&self, entry: &EntryId, hits: &[KeyHit]) -> bool {
        let Some((doc, scans)) = self.entries.get(entry) else { return false };
        let shares = |hit: &KeyHit| {
            scans.get(hit.message).is_some_and(|message| self.shares_more(*doc, message, hit))
        };
        !hits.is_empty() && !hits.iter().any(shares)
    }

    fn shares_more(&self, doc: DocId, message: &str, hit: &KeyHit) -> bool {
        let mut known: FxHashSet<String> = words(&hit.key).into_iter().collect();
        known.extend(words(message.get(hit.start..hit.end).unwrap_or_default()));
        let mut rest = words(message);
        rest.retain(|word| !known.contains(word) && self.counts(word));
        let found = self.index.query(&rest.join(" "), usize::MAX, 0.0);
        found.iter().any(|scored| scored.doc == doc)
    }

    fn counts(&self, word: &str) -> bool {
        let texts = self.index.texts_with(word);
        texts > 1 && self.index.rarity(texts) >= self.least
    }
}

fn text_of(entry: &Entry) -> String {
    let keys = entry.activation.keys.iter().map(Key::raw);
    joined(entry.title(), keys, &entry.content)
}

fn text_of_note(note: &Note) -> String {
    joined(&note.title, note.keys.iter().map(String::as_str), &note.content)
}

fn joined<'text>(
    title: &'text str,
    keys: impl Iterator<Item = &'text str>,
    content: &'text str,
) -> String {
    let parts: Vec<&str> = [title].into_iter().chain(keys).chain([content]).collect();
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{book::Book, chat::Role, replay::Fired, rules::Profile, units::Tokens};

    const ENTRY: &str = "The cracked bell hangs in the tower of the drowned chapel.";

    /// Messages of a day on the water, without anything of the entry.
    const DAY: [&str; 6] = [
        "The boat leaves the harbour in the morning.",
        "We sit in the stern of the boat and eat.",
        "The wind turns and the sail hangs in the water.",
        "In the evening the lamps of the town are lit.",
        "The inn is full and the beds are hard.",
        "The rain drums on the roof of the inn.",
    ];

    fn library() -> Library {
        let mut book = Book::new("b", "B");
        let mut entry = Entry::new("b/0");
        entry.activation.keys = vec![Key::parse("bell"), Key::parse("chime")];
        ENTRY.clone_into(&mut entry.content);
        book.entries = vec![entry];
        Library::under([Arc::new(book)], &Profile::Loreloom.rules())
    }

    /// The entry appears, because `key` is in each of these messages.
    fn change(messages: &[&str], key: &str, found: &[usize]) -> TurnChange {
        let hit = |&message: &usize| {
            let start = messages[message].to_lowercase().find(key).unwrap();
            KeyHit { message, start, end: start + key.len(), key: key.to_owned() }
        };
        let fired = Fired {
            book: "b".into(),
            entry: "b/0".into(),
            title: String::new(),
            tokens: Tokens(0),
            text: None,
            hits: found.iter().map(hit).collect(),
        };
        TurnChange {
            turn: 0,
            at: messages.len(),
            appeared: vec![fired],
            vanished: Vec::new(),
            rewritten: Vec::new(),
            tokens_before: Tokens(0),
            tokens_after: Tokens(0),
            now_over_budget: false,
            now_in_budget: false,
        }
    }

    fn judged(messages: &[&str], found: &[usize]) -> Vec<EntryId> {
        let change = change(messages, "bell", found);
        let said: Vec<Message> =
            messages.iter().map(|text| Message::new(Role::User, None, *text)).collect();
        let said: Vec<&Message> = said.iter().collect();
        accidental(&[change], &said, &library()).remove(0)
    }

    #[test]
    fn a_firing_is_accidental_if_the_key_is_all_there_is_in_common() {
        for (said, accident) in [
            // Only the key, and words that are everywhere.
            ("Saved by the bell, and in the rain.", true),
            ("BELL", true),
            // The key twice is the key.
            ("The bell of the inn, a small bell.", true),
            // Something else of the entry.
            ("The bell in the chapel is silent.", false),
            ("A bell, CRACKED like the roof.", false),
            // Another of its keys.
            ("A bell and a chime on the boat.", false),
            // Not a word of the entry, though it begins like one.
            ("The bell, the towers.", true),
        ] {
            let messages: Vec<&str> = DAY.into_iter().chain([said]).collect();
            let expected: &[EntryId] = if accident { &["b/0".into()] } else { &[] };
            assert_eq!(judged(&messages, &[6]), expected, "{said}");
        }
    }

    #[test]
    fn one_message_with_more_in_common_is_enough() {
        let messages = [&DAY[..], &["Saved by the bell.", "The bell of the chapel."]].concat();
        for (found, accident) in [(&[6][..], true), (&[6, 7], false), (&[7], false), (&[], false)] {
            assert_eq!(judged(&messages, found).len(), usize::from(accident), "{found:?}");
        }
    }

    #[test]
    fn messages_that_entries_do_not_see_are_not_counted() {
        let story = [&DAY[..], &["The bell of the chapel.", "Saved by the bell."]].concat();
        let mut said: Vec<Message> =
            story.iter().map(|text| Message::new(Role::User, None, *text)).collect();
        let seventh = |said: &[Message]| {
            let hit = KeyHit { message: 6, start: 0, end: 0, key: "bell".to_owned() };
            let mut change = change(&[], "bell", &[]);
            change.appeared[0].hits = vec![hit];
            let said: Vec<&Message> = said.iter().collect();
            accidental(&[change], &said, &library())[0].len()
        };
        assert_eq!(seventh(&said), 0);
        said[6].hidden = true;
        assert_eq!(seventh(&said), 1);
    }

    #[test]
    fn only_a_key_in_messages_alone_is_asked_about() {
        let place = |source| crate::report::MatchPlace { source, start: 0, end: 4 };
        let role = crate::chat::Role::User;
        let said = || place(TextSource::Message { index: 3, role, name: None });
        let key = |at, also| crate::report::KeyMatch {
            key: "{{bell}}".to_owned(),
            expanded: Some("bell".to_owned()),
            at: Some(at),
            also,
        };
        let trigger = |reason, primary, secondary| Trigger {
            reason,
            phase: crate::report::ScanPhase::Initial,
            pass: 1,
            depth: 4,
            primary: Some(primary),
            secondary,
            parents: Vec::new(),
        };
        let hit = KeyHit { message: 3, start: 0, end: 4, key: "bell".to_owned() };
        for (trigger, expected) in [
            (trigger(Reason::Key, key(said(), vec![]), vec![]), vec![hit.clone()]),
            (trigger(Reason::Key, key(said(), vec![said()]), vec![]), vec![hit.clone(), hit]),
            (trigger(Reason::Key, key(said(), vec![place(TextSource::Scenario)]), vec![]), vec![]),
            (trigger(Reason::Key, key(said(), vec![]), vec![key(said(), vec![])]), vec![]),
            (trigger(Reason::Constant, key(said(), vec![]), vec![]), vec![]),
        ] {
            assert_eq!(hits(&trigger), expected, "{trigger:?}");
        }
    }
}
