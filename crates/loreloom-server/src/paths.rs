//! Stories that were told lately, ready for their next turn.
//!
//! A request brings the whole story again, and naming its messages means to hash them all. The
//! path of the last turn has done that for all but the newest.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use loreloom_core::{chat::Path, ids::ChatId};

/// Messages of all paths that are kept; the story not told for longest goes first.
const MOST_MESSAGES: usize = 20_000;

/// The paths of the last turns, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Paths(Mutex<VecDeque<Path>>);

impl Paths {
    /// The path of a chat's last turn. Whoever takes it puts back the next one.
    pub(crate) fn take(&self, chat: &ChatId) -> Option<Path> {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = paths.iter().rposition(|path| path.chat() == chat)?;
        paths.remove(at)
    }

    /// Keeps a path for the next turn.
    pub(crate) fn put(&self, path: Path) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.retain(|known| known.chat() != path.chat());
        paths.push_back(path);
        let mut messages: usize = paths.iter().map(|path| path.items().len()).sum();
        while messages > MOST_MESSAGES
            && let Some(oldest) = paths.pop_front()
        {
            messages -= oldest.items().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Role};

    use super::*;

    fn path(chat: &str, messages: usize) -> Path {
        let message = |at: usize| Message::new(Role::User, None, at.to_string());
        Path::of(ChatId::from(chat), (0..messages).map(message))
    }

    #[test]
    fn the_last_path_of_a_chat_is_given_out_once() {
        let paths = Paths::default();
        paths.put(path("a", 1));
        paths.put(path("b", 1));
        paths.put(path("a", 2));
        assert_eq!(paths.take(&ChatId::from("a")), Some(path("a", 2)));
        assert_eq!(paths.take(&ChatId::from("a")), None);
        assert_eq!(paths.take(&ChatId::from("b")), Some(path("b", 1)));
    }

    #[test]
    fn the_story_not_told_for_longest_makes_room() {
        let paths = Paths::default();
        for (chat, messages) in [("a", 10), ("b", 10), ("c", MOST_MESSAGES - 15)] {
            paths.put(path(chat, messages));
        }
        assert_eq!(paths.take(&ChatId::from("a")), None);
        assert!(paths.take(&ChatId::from("b")).is_some());
        paths.put(path("huge", MOST_MESSAGES + 1));
        assert_eq!(paths.take(&ChatId::from("huge")), None);
    }
}
