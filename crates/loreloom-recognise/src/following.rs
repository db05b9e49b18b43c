//! Follows a known story while a request is cut into pieces.
//!
//! A request repeats the story: nearly every message is the child of the message before it.
//! Comparing a text with that child is cheaper than hashing it for its key.

use std::cell::Cell;

use super::{
    known_stories::{KnownStories, NodeAt, Story},
    text::TextKey,
};
use loreloom_core::chat::{Role, Text};

/// What is known of texts, with the expected story first.
pub(super) struct Following<'stories> {
    stories: &'stories KnownStories,
    story: Option<&'stories Story>,
    /// The last message that was found.
    at: Cell<Option<NodeAt>>,
}

impl<'stories> Following<'stories> {
    /// Follows a story. The wrong story only costs time.
    pub(super) fn new(stories: &'stories KnownStories, story: Option<&'stories Story>) -> Self {
        Self { stories, story, at: Cell::new(None) }
    }

    /// Whether some chat has this message, or had it injected.
    pub(super) fn in_a_chat(&self, key: TextKey) -> bool {
        self.stories.is_in_a_chat(key)
    }

    /// Whether some preamble has this piece.
    pub(super) fn in_a_preamble(&self, key: TextKey) -> bool {
        self.stories.has_preamble(key)
    }

    /// The key of the next piece's words.
    pub(super) fn key_of(&self, role: Role, words: &Text) -> TextKey {
        let Some(story) = self.story else { return TextKey::of(words) };
        let next = self.at.get().and_then(|at| story.exact_child(at, role, words));
        if let Some(next) = next {
            self.at.set(Some(next));
            return story.node(next).key;
        }
        let key = TextKey::of(words);
        if let Some(found) = story.nodes_with(key).last() {
            self.at.set(Some(*found));
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{
            Message,
            Role::{Assistant, User},
        },
        ids::ChatId,
    };

    use super::*;
    use crate::known_stories::Slot;

    #[test]
    fn every_key_is_the_hash_of_its_text() {
        let mut stories = KnownStories::new();
        let messages = |texts: &[(Role, &str)]| -> Vec<Message> {
            texts.iter().map(|(role, text)| Message::new(*role, None, *text)).collect()
        };
        let first = messages(&[(User, "Who rang?"), (Assistant, "Orla."), (User, "Why?")]);
        let other = messages(&[(User, "Who rang?"), (Assistant, "Nobody."), (User, "Why?")]);
        stories.restore(ChatId::from("a"), None, [&first[..], &other]);
        let story = stories.story(Slot(0));
        let following = Following::new(&stories, Some(story));
        for (role, words, known) in [
            (User, "Who rang?", true),
            (Assistant, "Nobody.", true),
            // Put in between by the front end: the story goes on after it.
            (User, "[Be brief.]", false),
            (User, "Why?", true),
            (Assistant, "Who rang?", true),
        ] {
            let before = following.at.get();
            assert_eq!(following.key_of(role, &words.into()), TextKey::of(words), "{words}");
            assert_eq!(following.at.get() != before, known, "{words}");
        }
        assert_eq!(
            Following::new(&stories, None).key_of(User, &"Why?".into()),
            TextKey::of("Why?")
        );
    }
}
