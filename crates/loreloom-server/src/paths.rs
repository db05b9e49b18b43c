//! Stories that were told lately, ready for their next turn.
//!
//! A request brings the whole story again, and naming its messages means to hash them all. The
//! path of the last turn has done that for all but the newest.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use loreloom_core::{chat::Path, ids::ChatId, units::Timestamp};

/// Bytes of all paths that are kept; the story not told for longest goes first.
const MOST_BYTES: usize = 16 << 20;

/// What a message takes besides its text.
const MESSAGE: usize = 256;

/// A story as its last turn left it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Left {
    pub(crate) path: Arc<Path>,
    /// When its last message was written.
    pub(crate) at: Timestamp,
}

impl Left {
    fn size(&self) -> usize {
        self.path.items().iter().map(|item| MESSAGE + item.message.text.len()).sum()
    }
}

/// The stories of the last turns, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Paths(Mutex<VecDeque<Left>>);

impl Paths {
    /// A chat as its last turn left it. Whoever takes it puts back the next one.
    pub(crate) fn take(&self, chat: &ChatId) -> Option<Left> {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = paths.iter().rposition(|left| left.path.chat() == chat)?;
        paths.remove(at)
    }

    /// Keeps a story for the next turn.
    pub(crate) fn put(&self, left: Left) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.retain(|known| known.path.chat() != left.path.chat());
        paths.push_back(left);
        let mut bytes: usize = paths.iter().map(Left::size).sum();
        while bytes > MOST_BYTES
            && let Some(oldest) = paths.pop_front()
        {
            bytes -= oldest.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Role};

    use super::*;

    fn left(chat: &str, messages: impl IntoIterator<Item = String>) -> Left {
        let messages = messages.into_iter().map(|text| Message::new(Role::User, None, text));
        Left { path: Arc::new(Path::of(ChatId::from(chat), messages)), at: Timestamp(0) }
    }

    fn path(chat: &str, messages: usize) -> Left {
        left(chat, (0..messages).map(|at| at.to_string()))
    }

    #[test]
    fn the_last_path_of_a_chat_is_given_out_once() {
        let paths = Paths::default();
        for (chat, messages) in [("a", 1), ("b", 1), ("a", 2)] {
            paths.put(path(chat, messages));
        }
        assert_eq!(paths.take(&ChatId::from("a")), Some(path("a", 2)));
        assert_eq!(paths.take(&ChatId::from("a")), None);
        assert_eq!(paths.take(&ChatId::from("b")), Some(path("b", 1)));
    }

    #[test]
    fn the_story_not_told_for_longest_makes_room() {
        let paths = Paths::default();
        let long = |chat: &str, bytes: usize| left(chat, ["x".repeat(bytes)]);
        for (chat, bytes) in [("a", 1000), ("b", 1000), ("c", MOST_BYTES - 2000)] {
            paths.put(long(chat, bytes));
        }
        assert_eq!(paths.take(&ChatId::from("a")), None);
        assert!(paths.take(&ChatId::from("b")).is_some());
        paths.put(long("huge", MOST_BYTES));
        assert_eq!(paths.take(&ChatId::from("huge")), None);
    }
}
