//! Stories that were told lately, ready for their next turn.
//!
//! A request brings the whole story again, and naming its messages means to hash them all. The
//! path of the last turn has done that for all but the newest.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use loreloom_core::{chat::Path, ids::ChatId};

/// Bytes of all paths that are kept; the story not told for longest goes first.
const MOST_BYTES: usize = 16 << 20;

/// What a message takes besides its text.
const MESSAGE: usize = 256;

fn size(path: &Path) -> usize {
    path.items().iter().map(|item| MESSAGE + item.message.text.len()).sum()
}

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
        let mut bytes: usize = paths.iter().map(size).sum();
        while bytes > MOST_BYTES
            && let Some(oldest) = paths.pop_front()
        {
            bytes -= size(&oldest);
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
        let long = |chat: &str, bytes: usize| {
            let message = Message::new(Role::User, None, "x".repeat(bytes));
            Path::of(ChatId::from(chat), [message])
        };
        for (chat, bytes) in [("a", 1000), ("b", 1000), ("c", MOST_BYTES - 2000)] {
            paths.put(long(chat, bytes));
        }
        assert_eq!(paths.take(&ChatId::from("a")), None);
        assert!(paths.take(&ChatId::from("b")).is_some());
        paths.put(long("huge", MOST_BYTES));
        assert_eq!(paths.take(&ChatId::from("huge")), None);
    }
}
