//! The states of recent paths.
//!
//! The state of a path is folded from all turns of its chat, so reading it takes longer the longer
//! the story is: of 5,000 messages, hundreds of times as long as asking for the chat's last write.
//! Every write to a chat has a number, so a state is valid while the number is the same, whichever
//! process writes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use loreloom_core::{
    chat::Path,
    ids::{ChatId, PrefixHash, TenantId},
    state::StoryState,
};
use loreloom_ports::WriteId;

/// The most states. The least recently used one goes first.
const MOST: usize = 64;

/// A state, and the last write to its chat.
#[derive(Clone, Debug)]
pub(crate) struct RecentState {
    pub(crate) after: WriteId,
    state: Arc<StoryState>,
}

impl RecentState {
    pub(crate) fn into_state(self) -> StoryState {
        Arc::unwrap_or_clone(self.state)
    }
}

#[derive(Debug)]
struct PathState {
    tenant: TenantId,
    chat: ChatId,
    end: PrefixHash,
    recent: RecentState,
}

impl PathState {
    fn is_of(&self, tenant: &TenantId, path: &Path) -> bool {
        self.chat == *path.chat() && self.tenant == *tenant
    }
}

/// States of recent paths, the last used one at the end.
#[derive(Debug, Default)]
pub(crate) struct RecentStates(Mutex<VecDeque<PathState>>);

impl RecentStates {
    /// The last known state of a path. It may be out of date.
    pub(crate) fn get(&self, tenant: &TenantId, path: &Path) -> Option<RecentState> {
        let (mut all, end) = (self.lock(), path.prefix());
        let at = all.iter().rposition(|known| known.end == end && known.is_of(tenant, path))?;
        let known = all.remove(at)?;
        let recent = known.recent.clone();
        all.push_back(known);
        Some(recent)
    }

    /// Remembers the state of a path, and forgets the states before older writes to its chat.
    pub(crate) fn put(
        &self,
        tenant: &TenantId,
        path: &Path,
        after: WriteId,
        state: StoryState,
    ) -> StoryState {
        let recent = RecentState { after, state: Arc::new(state) };
        let end = path.prefix();
        let mut all = self.lock();
        all.retain(|known| {
            let stays = known.end != end && known.recent.after == after;
            stays || !known.is_of(tenant, path)
        });
        let (tenant, chat) = (tenant.clone(), path.chat().clone());
        all.push_back(PathState { tenant, chat, end, recent: recent.clone() });
        if all.len() > MOST {
            all.pop_front();
        }
        recent.into_state()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PathState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Role};

    use super::*;

    fn path(chat: &str, texts: &[&str]) -> Path {
        let message = |text: &&str| Message::new(Role::User, None, *text);
        Path::of(ChatId::from(chat), texts.iter().map(message))
    }

    fn put(states: &RecentStates, path: &Path, write: u64) {
        states.put(&TenantId::local(), path, WriteId(write), StoryState::default());
    }

    fn version(states: &RecentStates, path: &Path) -> Option<u64> {
        states.get(&TenantId::local(), path).map(|recent| recent.after.0)
    }

    #[test]
    fn several_paths_of_a_chat_are_known_until_it_is_written_to() {
        let states = RecentStates::default();
        let (short, long, other) = (path("a", &["x"]), path("a", &["x", "y"]), path("b", &["x"]));
        for (path, at) in [(&short, 1), (&long, 1), (&other, 1)] {
            put(&states, path, at);
        }
        assert_eq!([&short, &long, &other].map(|path| version(&states, path)), [Some(1); 3]);
        put(&states, &long, 2);
        let known = [&short, &long, &other].map(|path| version(&states, path));
        assert_eq!(known, [None, Some(2), Some(1)]);
        assert!(states.get(&TenantId::from("another"), &long).is_none());
    }

    #[test]
    fn the_least_recently_used_state_goes_first() {
        let states = RecentStates::default();
        let chats: Vec<Path> = (0..=MOST).map(|at| path(&at.to_string(), &[])).collect();
        let (last, others) = chats.split_last().unwrap();
        for path in others {
            put(&states, path, 1);
        }
        assert_eq!(version(&states, &chats[0]), Some(1));
        put(&states, last, 1);
        let known = [&chats[0], &chats[1], &chats[2], last].map(|path| version(&states, path));
        assert_eq!(known, [Some(1), None, Some(1), Some(1)]);
    }
}
