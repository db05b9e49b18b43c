//! The last stored path of each chat.
//!
//! The next turn of a chat mostly extends its last path, so the store need not look up a long
//! path message by message. Stored nodes and messages never change, so no write of another
//! process makes this cache wrong.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use loreloom_core::{
    chat::{Message, Path, PathItem, Role, Text},
    ids::{ChatId, PrefixHash, TenantId},
};
use loreloom_ports::{Node, StoreError, StoredTurn, TurnRecord};

use crate::codec::TurnDraft;

/// The most bytes of all paths. The least recently used path goes first; the last one stays,
/// however long it is.
const LIMIT: usize = 8 << 20;

/// What a node costs besides its text and itself: counters, the pointer to it, and what the
/// allocator rounds up.
const OVERHEAD: usize = 48;

#[derive(Debug)]
pub(crate) struct StoredNode {
    pub(crate) prefix: PrefixHash,
    /// The number of the stored message with this role and text, if known.
    pub(crate) number: Option<i64>,
    pub(crate) role: Role,
    pub(crate) text: Text,
}

impl StoredNode {
    /// A node whose message has no number yet.
    pub(crate) fn of(item: PathItem) -> Self {
        let PathItem { prefix, message, .. } = item;
        Self { prefix, number: None, role: message.role, text: message.text }
    }

    /// Whether the number of exactly this message is known.
    pub(crate) fn has_number_of(&self, message: &Message) -> bool {
        self.number.is_some() && self.role == message.role && self.text == message.text
    }

    fn bytes(&self) -> usize {
        self.text.len() + size_of::<Self>() + OVERHEAD
    }
}

/// A path of stored nodes, oldest first.
pub(crate) type StoredPath = Arc<Vec<Arc<StoredNode>>>;

/// What became of a draft.
#[derive(Debug)]
pub(crate) enum DraftOutcome {
    /// The turn is stored, with this path.
    Stored(StoredTurn, StoredPath),
    /// The draft relies on a node that is not stored. Draft again without it.
    Stale,
}

#[derive(Debug)]
struct RecentPath {
    tenant: TenantId,
    chat: ChatId,
    path: StoredPath,
    bytes: usize,
}

impl RecentPath {
    fn is_of(&self, tenant: &TenantId, chat: &ChatId) -> bool {
        self.chat == *chat && self.tenant == *tenant
    }
}

/// The last path of each chat, most recently used first.
#[derive(Debug, Default)]
pub(crate) struct RecentPaths(Mutex<PathList>);

#[derive(Debug, Default)]
struct PathList {
    paths: VecDeque<RecentPath>,
    bytes: usize,
}

impl RecentPaths {
    /// Drafts a turn, based on the last path of its chat.
    pub(crate) fn draft(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
    ) -> Result<TurnDraft, StoreError> {
        let stored = self.lock().get(tenant, path.chat());
        TurnDraft::of(path, turn, &stored)
    }

    /// Learns from the outcome of a draft. Returns the stored turn.
    pub(crate) fn learn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        outcome: DraftOutcome,
    ) -> Option<StoredTurn> {
        match outcome {
            DraftOutcome::Stored(turn, path) => {
                self.lock().put(tenant, chat, path);
                Some(turn)
            }
            DraftOutcome::Stale => {
                self.lock().forget(tenant, chat);
                None
            }
        }
    }

    /// Adds a stored reply to its chat's path, if it extends that path.
    pub(crate) fn extend(&self, tenant: &TenantId, chat: &ChatId, node: &Node, number: i64) {
        self.lock().extend(tenant, chat, node, number);
    }

    fn lock(&self) -> MutexGuard<'_, PathList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PathList {
    fn get(&self, tenant: &TenantId, chat: &ChatId) -> StoredPath {
        let found = self.paths.iter().find(|recent| recent.is_of(tenant, chat));
        found.map(|recent| Arc::clone(&recent.path)).unwrap_or_default()
    }

    fn put(&mut self, tenant: &TenantId, chat: &ChatId, path: StoredPath) {
        self.forget(tenant, chat);
        let bytes = path.iter().map(|node| node.bytes()).sum();
        self.bytes += bytes;
        let (tenant, chat) = (tenant.clone(), chat.clone());
        self.paths.push_front(RecentPath { tenant, chat, path, bytes });
        while self.bytes > LIMIT && self.paths.len() > 1 {
            let Some(oldest) = self.paths.pop_back() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    fn extend(&mut self, tenant: &TenantId, chat: &ChatId, node: &Node, number: i64) {
        let Some(recent) = self.paths.iter_mut().find(|recent| recent.is_of(tenant, chat)) else {
            return;
        };
        if recent.path.last().is_none_or(|end| end.prefix != node.parent) {
            return;
        }
        let Message { role, text, .. } = node.message.clone();
        let node = StoredNode { prefix: node.prefix, number: Some(number), role, text };
        recent.bytes += node.bytes();
        self.bytes += node.bytes();
        Arc::make_mut(&mut recent.path).push(Arc::new(node));
    }

    fn forget(&mut self, tenant: &TenantId, chat: &ChatId) {
        if let Some(at) = self.paths.iter().position(|recent| recent.is_of(tenant, chat))
            && let Some(gone) = self.paths.remove(at)
        {
            self.bytes -= gone.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: usize) -> StoredPath {
        let prefix = PrefixHash::default();
        let text = "x".repeat(bytes).into();
        Arc::new(vec![Arc::new(StoredNode { prefix, number: Some(1), role: Role::User, text })])
    }

    #[test]
    fn the_least_recently_used_path_is_forgotten_first() {
        let mut recent = PathList::default();
        let tenant = TenantId::local();
        for chat in ["a", "b", "a", "c"] {
            recent.put(&tenant, &chat.into(), path(LIMIT / 2 - 1000));
        }
        let known: Vec<bool> = ["a", "b", "c"]
            .into_iter()
            .map(|chat| !recent.get(&tenant, &chat.into()).is_empty())
            .collect();
        assert_eq!(known, [true, false, true]);
        assert!(recent.get(&"other".into(), &"a".into()).is_empty());
    }
}
