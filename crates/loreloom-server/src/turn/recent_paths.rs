//! The paths of recent turns, ready for the next turn of their chats.
//!
//! A request brings the whole story again. Naming its messages means hashing them all, and each
//! is prepared for the scan. The last turn has done both for all but the newest.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use loreloom_core::{chat::Path, ids::ChatId, turn::Transcript, units::Timestamp};

/// The most bytes of all paths. The story that was not used for longest goes first. The newest
/// stays, however long it is.
const MOST_BYTES: usize = 8 << 20;

/// What a message takes besides its text.
const MESSAGE: usize = 256;

/// A path and its messages as they are scanned.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) path: Arc<Path>,
    pub(crate) transcript: Transcript,
}

/// A story as its last turn left it.
#[derive(Debug)]
struct Left {
    chat: ChatId,
    /// `None` while a turn has it.
    track: Option<Arc<Track>>,
    /// When its last message was written.
    at: Timestamp,
    /// What that takes, also while a turn has it.
    bytes: usize,
}

/// What a path and its transcript take.
fn size(path: &Path) -> usize {
    let texts = path.items().iter().map(|item| MESSAGE + 2 * item.message.text.len());
    MESSAGE + texts.sum::<usize>()
}

/// The stories of the last turns, the newest last.
#[derive(Debug, Default)]
pub(crate) struct RecentPaths(Mutex<RecentStories>);

#[derive(Debug, Default)]
struct RecentStories {
    stories: VecDeque<Left>,
    bytes: usize,
}

impl RecentPaths {
    /// The path of a chat's last turn, unless another turn has it, and when its last message
    /// was written. The turn that takes the path puts the next one back.
    pub(crate) fn take(&self, chat: &ChatId) -> Option<(Option<Track>, Timestamp)> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = kept.stories.iter_mut().rfind(|left| left.chat == *chat)?;
        let (track, at) = (left.track.take(), left.at);
        drop(kept);
        Some((track.map(Arc::unwrap_or_clone), at))
    }

    /// Keeps a story, whose last message was written just now, for the next turn.
    pub(crate) fn put(&self, track: Arc<Track>, at: Timestamp) {
        let (bytes, chat) = (size(&track.path), track.path.chat().clone());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.stories.iter().rposition(|left| left.chat == chat)
            && let Some(gone) = kept.stories.remove(known)
        {
            kept.bytes -= gone.bytes;
        }
        kept.stories.push_back(Left { chat, track: Some(track), at, bytes });
        kept.bytes += bytes;
        while kept.bytes > MOST_BYTES && kept.stories.len() > 1 {
            let Some(oldest) = kept.stories.pop_front() else { break };
            kept.bytes -= oldest.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Role};

    use super::*;

    fn path(chat: &str, messages: impl IntoIterator<Item = String>) -> Path {
        let messages = messages.into_iter().map(|text| Message::new(Role::User, None, text));
        Path::of(ChatId::from(chat), messages)
    }

    fn put(paths: &RecentPaths, path: Path) {
        let transcript = Transcript::of(&path, true);
        paths.put(Arc::new(Track { path: Arc::new(path), transcript }), Timestamp(7));
    }

    #[test]
    fn the_last_path_of_a_chat_is_given_out_once_and_its_time_always() {
        let paths = RecentPaths::default();
        let of = |chat: &str, length: usize| path(chat, (0..length).map(|at| at.to_string()));
        for (chat, length) in [("a", 1), ("b", 1), ("a", 2)] {
            put(&paths, of(chat, length));
        }
        let take = |chat: &str| {
            let (track, at) = paths.take(&ChatId::from(chat))?;
            assert!(track.iter().all(|track| track.transcript.len() == track.path.items().len()));
            Some((track.map(|track| Arc::unwrap_or_clone(track.path)), at))
        };
        assert_eq!(take("a"), Some((Some(of("a", 2)), Timestamp(7))));
        assert_eq!(take("a"), Some((None, Timestamp(7))));
        assert_eq!(take("b"), Some((Some(of("b", 1)), Timestamp(7))));
        assert_eq!(take("c"), None);
    }

    #[test]
    fn the_story_not_told_for_longest_makes_room() {
        let paths = RecentPaths::default();
        let long = |chat: &str, bytes: usize| path(chat, ["x".repeat(bytes)]);
        for (chat, bytes) in [("a", 1000), ("b", 1000), ("c", MOST_BYTES / 2 - 2000)] {
            put(&paths, long(chat, bytes));
        }
        assert!(paths.take(&ChatId::from("a")).is_none());
        assert!(paths.take(&ChatId::from("b")).is_some());
        put(&paths, long("huge", MOST_BYTES));
        assert!(paths.take(&ChatId::from("b")).is_none());
        assert!(paths.take(&ChatId::from("huge")).is_some(), "the newest stays");
    }
}
