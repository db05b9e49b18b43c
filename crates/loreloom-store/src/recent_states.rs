//! The states of stories that were asked for lately.
//!
//! The state of a path is folded from all turns of its chat, so that it takes the longer to read
//! the longer the story is told. Every write to a chat makes another version of it: for as long
//! as that is the same, so is the state, whoever else writes to the database.

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

/// States that are kept; the one not asked for longest goes first.
const MOST: usize = 64;

/// A state, and the last write to the chat that has it.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    pub(crate) after: WriteId,
    pub(crate) state: Arc<StoryState>,
}

#[derive(Debug)]
struct Kept {
    tenant: TenantId,
    chat: ChatId,
    end: PrefixHash,
    recent: Recent,
}

impl Kept {
    fn is_of(&self, tenant: &TenantId, path: &Path) -> bool {
        self.chat == *path.chat() && self.tenant == *tenant
    }
}

/// States, the one asked for last at the end.
#[derive(Debug, Default)]
pub(crate) struct RecentStates(Mutex<VecDeque<Kept>>);

impl RecentStates {
    /// What is known of the state of a path.
    pub(crate) fn get(&self, tenant: &TenantId, path: &Path) -> Option<Recent> {
        let (mut all, end) = (self.lock(), path.prefix());
        let at = all.iter().rposition(|kept| kept.end == end && kept.is_of(tenant, path))?;
        let kept = all.remove(at)?;
        let recent = kept.recent.clone();
        all.push_back(kept);
        Some(recent)
    }

    /// Keeps the state of a path. What older versions of its chat had is of no more use.
    pub(crate) fn put(&self, tenant: &TenantId, path: &Path, recent: Recent) {
        let end = path.prefix();
        let mut all = self.lock();
        all.retain(|kept| {
            let stays = kept.end != end && kept.recent.after == recent.after;
            stays || !kept.is_of(tenant, path)
        });
        let (tenant, chat) = (tenant.clone(), path.chat().clone());
        all.push_back(Kept { tenant, chat, end, recent });
        if all.len() > MOST {
            all.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
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
        let recent = Recent { after: WriteId(write), state: Arc::default() };
        states.put(&TenantId::local(), path, recent);
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
    fn the_state_not_asked_for_longest_makes_room() {
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
