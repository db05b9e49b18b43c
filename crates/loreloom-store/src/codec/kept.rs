//! What the last commits found out about their paths, kept for the next one.
//!
//! Nodes and messages are never changed once stored, so this memory cannot go stale by
//! anybody's write; it only saves looking up a long path message by message on every turn.

use std::{collections::VecDeque, sync::Arc};

use loreloom_core::{
    chat::{Message, Role, Text},
    ids::{ChatId, PrefixHash, TenantId},
};
use loreloom_ports::{Node, StoredTurn};

/// Paths are forgotten beyond this many bytes, least recently used first. The last one stays,
/// however long it is.
const LIMIT: usize = 8 << 20;

/// What a node takes besides its text and itself: counters, the pointer to it, and what the
/// allocator rounds up.
const AROUND: usize = 48;

/// One stored node of a path.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The node.
    pub(crate) prefix: PrefixHash,
    /// Number of the stored message that has exactly this role and text, where known.
    pub(crate) number: Option<i64>,
    /// Its role.
    pub(crate) role: Role,
    /// Its text.
    pub(crate) text: Text,
}

impl Kept {
    /// Whether this is what `message` says.
    pub(crate) fn says(&self, message: &Message) -> bool {
        self.role == message.role && self.text == message.text
    }

    fn bytes(&self) -> usize {
        self.text.len() + size_of::<Self>() + AROUND
    }
}

/// A path of stored nodes, oldest first.
pub(crate) type KeptPath = Arc<Vec<Arc<Kept>>>;

/// What became of a draft.
pub(crate) enum Committed {
    /// The turn is stored; its path for the next commit.
    Stored(StoredTurn, KeptPath),
    /// The draft relied on a node that is not there: draft again without.
    Stale,
}

#[derive(Debug)]
struct Recent {
    tenant: TenantId,
    chat: ChatId,
    path: KeptPath,
    bytes: usize,
}

/// The last path of each chat, most recently used first.
#[derive(Debug, Default)]
pub(crate) struct RecentPaths {
    recent: VecDeque<Recent>,
    bytes: usize,
}

impl RecentPaths {
    /// The last path of a chat; empty if it is not known.
    pub(crate) fn get(&self, tenant: &TenantId, chat: &ChatId) -> KeptPath {
        let found = self.recent.iter().find(|recent| recent.is(tenant, chat));
        found.map(|recent| Arc::clone(&recent.path)).unwrap_or_default()
    }

    /// Remembers the last path of a chat.
    pub(crate) fn put(&mut self, tenant: &TenantId, chat: &ChatId, path: KeptPath) {
        self.forget(tenant, chat);
        let bytes = path.iter().map(|kept| kept.bytes()).sum();
        self.bytes += bytes;
        self.recent.push_front(Recent { tenant: tenant.clone(), chat: chat.clone(), path, bytes });
        while self.bytes > LIMIT && self.recent.len() > 1 {
            let Some(oldest) = self.recent.pop_back() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// Remembers what a commit found out.
    pub(crate) fn learn(&mut self, tenant: &TenantId, chat: &ChatId, committed: &Committed) {
        match committed {
            Committed::Stored(_, path) => self.put(tenant, chat, Arc::clone(path)),
            Committed::Stale => self.forget(tenant, chat),
        }
    }

    /// Puts a stored reply at the end of its chat's path, if that is where it belongs.
    pub(crate) fn extend(&mut self, tenant: &TenantId, chat: &ChatId, node: &Node, number: i64) {
        let Some(recent) = self.recent.iter_mut().find(|recent| recent.is(tenant, chat)) else {
            return;
        };
        if recent.path.last().is_none_or(|end| end.prefix != node.parent) {
            return;
        }
        let Message { role, text, .. } = node.message.clone();
        let kept = Kept { prefix: node.prefix, number: Some(number), role, text };
        recent.bytes += kept.bytes();
        self.bytes += kept.bytes();
        Arc::make_mut(&mut recent.path).push(Arc::new(kept));
    }

    fn forget(&mut self, tenant: &TenantId, chat: &ChatId) {
        if let Some(at) = self.recent.iter().position(|recent| recent.is(tenant, chat))
            && let Some(gone) = self.recent.remove(at)
        {
            self.bytes -= gone.bytes;
        }
    }
}

impl Recent {
    fn is(&self, tenant: &TenantId, chat: &ChatId) -> bool {
        self.chat == *chat && self.tenant == *tenant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: usize) -> KeptPath {
        let prefix = PrefixHash::default();
        let text = "x".repeat(bytes);
        Arc::new(vec![Arc::new(Kept {
            prefix,
            number: Some(1),
            role: Role::User,
            text: text.into(),
        })])
    }

    #[test]
    fn the_least_recently_used_path_is_forgotten_first() {
        let mut recent = RecentPaths::default();
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
