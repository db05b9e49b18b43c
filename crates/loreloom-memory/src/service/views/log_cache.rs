//! A cache of logs, of what they fold to, and of the messages of paths.
//!
//! Everything here can be read again from the store.

use std::sync::Arc;

use loreloom_core::ids::{ChatId, MessageId, PrefixHash, TenantId};
use loreloom_ports::{MemoryEvent, Owner};
use rustc_hash::FxHashSet;

use super::ChatPath;
use crate::{
    event::Live,
    record::{CharacterMemory, ChatMemory},
    service::recently_used::RecentlyUsed,
};

/// The messages of a path.
pub(super) type MessageSet = FxHashSet<MessageId>;

/// The messages of a path that ends at `tip` and has `length` messages.
#[derive(Debug)]
struct PathMessages {
    tip: PrefixHash,
    length: usize,
    messages: Arc<MessageSet>,
}

/// An owner's log as far as it was read, and its last folds.
#[derive(Clone, Debug, Default)]
pub(in crate::service) struct OwnerLog {
    pub(in crate::service) events: Arc<Vec<MemoryEvent>>,
    pub(super) character: Option<(Arc<Live>, Arc<CharacterMemory>)>,
    pub(super) chat: Option<(Arc<Live>, Arc<ChatMemory>)>,
}

/// What was read lately.
#[derive(Debug, Default)]
pub(super) struct LogCache {
    logs: RecentlyUsed<(TenantId, Owner), OwnerLog>,
    paths: RecentlyUsed<(TenantId, ChatId), PathMessages>,
}

impl LogCache {
    /// The log of an owner as far as it was read.
    pub(super) fn log(&self, tenant: &TenantId, owner: &Owner) -> OwnerLog {
        self.logs.get(&(tenant.clone(), owner.clone())).cloned().unwrap_or_default()
    }

    pub(super) fn put_log(&mut self, tenant: &TenantId, owner: &Owner, log: OwnerLog) {
        self.logs.put((tenant.clone(), owner.clone()), log);
    }

    /// The messages of the path that ends at `tip`, if it was read last.
    pub(super) fn messages_at(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Option<Arc<MessageSet>> {
        let known = self.paths.get(&(tenant.clone(), chat.clone()))?;
        (known.tip == tip).then(|| Arc::clone(&known.messages))
    }

    /// The messages of a path. If it continues the last one, only new messages are read.
    pub(super) fn messages(&mut self, at: ChatPath<'_>) -> Arc<MessageSet> {
        let Some(tip) = at.path.last().map(|last| last.prefix) else { return Arc::default() };
        if let Some(known) = self.paths.get_mut(&(at.tenant.clone(), at.chat.clone())) {
            let end = known.length.checked_sub(1).and_then(|last| at.path.get(last));
            if end.is_some_and(|end| end.prefix == known.tip) {
                if known.length < at.path.len() {
                    let new = at.path[known.length..].iter().map(|item| item.id);
                    Arc::make_mut(&mut known.messages).extend(new);
                }
                (known.tip, known.length) = (tip, at.path.len());
                return Arc::clone(&known.messages);
            }
        }
        let ids = at.path.iter().map(|item| item.id);
        self.put_messages(at.tenant, at.chat, tip, ids)
    }

    /// Stores the messages of a path that ends at `tip`.
    pub(super) fn put_messages(
        &mut self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        ids: impl ExactSizeIterator<Item = MessageId>,
    ) -> Arc<MessageSet> {
        let length = ids.len();
        let messages: Arc<MessageSet> = Arc::new(ids.collect());
        let known = PathMessages { tip, length, messages: Arc::clone(&messages) };
        self.paths.put((tenant.clone(), chat.clone()), known);
        messages
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Path, Role};

    use super::*;

    #[test]
    fn the_messages_of_a_path_do_not_depend_on_the_paths_before() {
        let mut cache = LogCache::default();
        let (tenant, chat) = (TenantId::local(), ChatId::from("c"));
        for texts in [
            &["a", "b"][..],
            &["a", "b", "c", "b"],
            &["a", "b", "c", "b"],
            &["a", "x", "c"],
            &["a"],
            &[],
            &["a", "x", "c", "d"],
        ] {
            let message = |text: &&str| Message::new(Role::User, None, *text);
            let path = Path::of(chat.clone(), texts.iter().map(message));
            let expected: MessageSet = path.items().iter().map(|item| item.id).collect();
            let at = ChatPath { tenant: &tenant, chat: &chat, path: path.items() };
            assert_eq!(*cache.messages(at), expected, "{texts:?}");
        }
    }
}
