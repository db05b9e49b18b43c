//! Nodes that were read before.
//!
//! A node never changes once it is stored, so a path that was read once need not be read
//! again: only what was added to it since. That makes the cost of a turn that of the new
//! messages, however long or branched the story is.

use std::sync::Arc;

use loreloom_core::ids::{ChatId, PrefixHash, TenantId};
use loreloom_ports::Node;
use rustc_hash::FxHashMap;

/// Everything is forgotten beyond this many bytes.
const LIMIT: usize = 16 << 20;

/// What a node takes besides its text and itself: its name in the table, counters, and what
/// table and allocator leave empty.
const AROUND: usize = 128;

/// Nodes by chat and prefix.
#[derive(Debug, Default)]
pub(super) struct ToldNodes {
    chats: FxHashMap<(TenantId, ChatId), FxHashMap<PrefixHash, Arc<Node>>>,
    bytes: usize,
}

/// The known end of a path.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Known nodes, newest first.
    pub(super) nodes: Vec<Arc<Node>>,
    /// The node before them; all zeros if nothing is missing.
    pub(super) before: PrefixHash,
}

impl ToldNodes {
    /// Walks back from `tip` as far as nodes are known.
    pub(super) fn walk(&self, tenant: &TenantId, chat: &ChatId, tip: PrefixHash) -> Known {
        let mut known = Known { nodes: Vec::new(), before: tip };
        let Some(nodes) = self.chats.get(&(tenant.clone(), chat.clone())) else { return known };
        while let Some(node) = nodes.get(&known.before) {
            known.before = node.parent;
            known.nodes.push(Arc::clone(node));
        }
        known
    }

    /// Whether anything is known of a chat.
    pub(super) fn knows(&self, tenant: &TenantId, chat: &ChatId) -> bool {
        self.chats.contains_key(&(tenant.clone(), chat.clone()))
    }

    /// Whether a node is known.
    pub(super) fn contains(&self, tenant: &TenantId, chat: &ChatId, node: PrefixHash) -> bool {
        let nodes = self.chats.get(&(tenant.clone(), chat.clone()));
        nodes.is_some_and(|nodes| nodes.contains_key(&node))
    }

    /// Remembers nodes of a chat.
    pub(super) fn learn(&mut self, tenant: &TenantId, chat: &ChatId, nodes: &[Arc<Node>]) {
        let size = |node: &Arc<Node>| node.message.text.len() + size_of::<Node>() + AROUND;
        let new: usize = nodes.iter().map(size).sum();
        let key = (tenant.clone(), chat.clone());
        self.bytes += new;
        if self.bytes > LIMIT {
            self.chats.clear();
            self.bytes = new;
        }
        let known = self.chats.entry(key).or_default();
        known.extend(nodes.iter().map(|node| (node.prefix, Arc::clone(node))));
    }
}
