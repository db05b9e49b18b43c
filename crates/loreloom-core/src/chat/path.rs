//! A path through the chat tree: the messages of one version of a story, in order.

use rustc_hash::FxHashMap;

use super::{Message, Role, Voices, identity};
use crate::ids::{ChatId, MessageId, PrefixHash};

/// A message with its place on a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathItem {
    /// The message's id.
    pub id: MessageId,
    /// The prefix hash up to and including this message.
    pub prefix: PrefixHash,
    /// The message.
    pub message: Message,
}

/// The messages of one version of a story, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    chat: ChatId,
    items: Vec<PathItem>,
    seen: FxHashMap<MessageId, u32>,
}

impl Path {
    /// A path with no messages.
    pub fn new(chat: ChatId) -> Self {
        Self { chat, items: Vec::new(), seen: FxHashMap::default() }
    }

    /// The path of these messages, oldest first.
    pub fn of(chat: ChatId, messages: impl IntoIterator<Item = Message>) -> Self {
        let mut path = Self::new(chat);
        for message in messages {
            path.push(message);
        }
        path
    }

    /// The path of these messages, of which this one may be the beginning: then only what
    /// follows is hashed. Says how many messages were taken over.
    #[must_use]
    pub fn grown(mut self, messages: Vec<Message>) -> (Self, usize) {
        let known = self.items.len();
        let same = |(item, message): (&mut PathItem, &Message)| {
            // The next turn brings the same text, as a rule, and not only an equal one.
            item.message.text.share(&message.text) && item.message == *message
        };
        let begins = known <= messages.len() && self.items.iter_mut().zip(&messages).all(same);
        if !begins {
            return (Self::of(self.chat, messages), 0);
        }
        for message in messages.into_iter().skip(known) {
            self.push(message);
        }
        (self, known)
    }

    /// Appends a message and gives it its id.
    pub fn push(&mut self, message: Message) -> &PathItem {
        let (first, id) = self.id_of(&message);
        *self.seen.entry(first).or_default() += 1;
        let prefix = identity::extend(self.prefix(), id);
        let at = self.items.len();
        self.items.push(PathItem { id, prefix, message });
        &self.items[at]
    }

    /// What a message is at the end of this path, without going there.
    pub fn next(&self, message: Message) -> PathItem {
        let (_, id) = self.id_of(&message);
        PathItem { id, prefix: identity::extend(self.prefix(), id), message }
    }

    /// The id of a message at the end of this path, and the one it would have if nobody had
    /// said it before.
    fn id_of(&self, message: &Message) -> (MessageId, MessageId) {
        let text = identity::without_speaker(&message.text, message.name.as_deref());
        let first = identity::message_id(&self.chat, message.role, text, 0);
        let id = match self.seen.get(&first) {
            None => first,
            Some(again) => identity::message_id(&self.chat, message.role, text, *again),
        };
        (first, id)
    }

    /// Tells the path under other names, which changes no id. Returns the first message that
    /// now reads differently.
    pub fn retell(&mut self, voices: &Voices) -> Option<usize> {
        let messages = self.items.iter_mut().map(|item| &mut item.message);
        voices.retell_in_place(messages)
    }

    /// The chat this path belongs to.
    pub fn chat(&self) -> &ChatId {
        &self.chat
    }

    /// The messages, oldest first.
    pub fn items(&self) -> &[PathItem] {
        &self.items
    }

    /// The hash that names this exact state of the story; all zeros for no message.
    pub fn prefix(&self) -> PrefixHash {
        self.items.last().map_or_else(PrefixHash::default, |item| item.prefix)
    }

    /// The newest message from the user, the one that turns are named after.
    pub fn last_user(&self) -> Option<MessageId> {
        self.items.iter().rev().find(|item| item.message.role == Role::User).map(|item| item.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(texts: &[(&str, &str)]) -> Path {
        let message = |&(name, text): &(&str, &str)| Message::new(Role::User, Some(name), text);
        Path::of(ChatId::from("c"), texts.iter().map(message))
    }

    fn ids(path: &Path) -> Vec<MessageId> {
        path.items().iter().map(|item| item.id).collect()
    }

    #[test]
    fn an_edit_changes_one_id_and_every_prefix_after_it() {
        let before = path(&[("A", "one"), ("A", "two"), ("A", "three")]);
        let after = path(&[("A", "one"), ("A", "zwei"), ("A", "three")]);
        let changed: Vec<bool> =
            ids(&before).iter().zip(ids(&after)).map(|(a, b)| *a != b).collect();
        assert_eq!(changed, [false, true, false]);
        let same_prefix: Vec<bool> =
            before.items().iter().zip(after.items()).map(|(a, b)| a.prefix == b.prefix).collect();
        assert_eq!(same_prefix, [true, false, false]);
    }

    #[test]
    fn what_comes_next_is_what_is_then_appended() {
        let mut path = path(&[("A", "one"), ("B", "two")]);
        for text in ["three", "one", "one"] {
            let message = Message::new(Role::User, Some("A"), text);
            let next = path.next(message.clone());
            assert_eq!(*path.push(message), next, "{text}");
        }
    }

    #[test]
    fn a_path_that_grew_is_the_path_of_all_its_messages() {
        let all = [("A", "one"), ("B", "one"), ("A", "two"), ("A", "one")];
        let messages = |path: &Path| -> Vec<Message> {
            path.items().iter().map(|item| item.message.clone()).collect()
        };
        for (known, taken) in [(0, 0), (2, 2), (4, 4)] {
            let grown = path(&all[..known]).grown(messages(&path(&all)));
            assert_eq!(grown, (path(&all), taken), "{known}");
        }
        let other = [("A", "one"), ("B", "another")];
        assert_eq!(path(&other).grown(messages(&path(&all))), (path(&all), 0));
        assert_eq!(path(&all).grown(messages(&path(&all[..2]))), (path(&all[..2]), 0));
    }

    #[test]
    fn a_repeated_text_is_another_message() {
        let yes = path(&[("A", "Yes."), ("A", "Yes."), ("A", "Yes.")]);
        let mut distinct = ids(&yes);
        distinct.dedup();
        assert_eq!(distinct.len(), 3);
        assert_eq!(ids(&yes)[..2], ids(&path(&[("A", "Yes."), ("A", "Yes.")]))[..]);
    }

    #[test]
    fn renaming_the_speaker_changes_nothing() {
        let before = path(&[("Mira", "Mira: I wait."), ("Mira", "Mira: I go.")]);
        let after = path(&[("Ana", "Ana: I wait."), ("Ana", "I go.")]);
        assert_eq!(ids(&before), ids(&after));
        assert_eq!(before.prefix(), after.prefix());
    }

    #[test]
    fn the_last_user_message_names_the_turn() {
        let mut story = path(&[("A", "first"), ("A", "second")]);
        let second = story.items()[1].id;
        story.push(Message::new(Role::Assistant, Some("B"), "reply"));
        assert_eq!(story.last_user(), Some(second));
        assert_eq!(Path::new(ChatId::from("c")).last_user(), None);
    }
}
