//! What was read before: logs, what they fold to, and which messages other chats tell.
//!
//! Everything here can be read again; it is bounded, and what was not used for longest goes
//! first.

use std::{collections::VecDeque, sync::Arc};

use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    units::Tokens,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    event::Live,
    record::{CharacterMemory, ChatMemory},
};
use loreloom_ports::MemoryEvent;
use loreloom_ports::MemoryId;
use loreloom_ports::{Owner, Vector};

/// Logs and chats that are kept at once.
const MOST: usize = 128;
/// Texts whose vectors are kept: those of all memories that are asked about in turn.
const MOST_TEXTS: usize = 20_000;

/// What tiers would have liked to say.
pub(super) type Demand = [Option<Tokens>; 9];

/// The messages a chat tells.
pub(super) type Told = FxHashSet<MessageId>;

/// The messages a chat tells up to a node, which is the end of a path of that length.
#[derive(Debug)]
struct ToldAt {
    tip: PrefixHash,
    length: usize,
    told: Arc<Told>,
}

/// An owner's log as far as it was read, and its last folds.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerLog {
    pub(super) events: Arc<Vec<MemoryEvent>>,
    pub(super) character: Option<(Arc<Live>, Arc<CharacterMemory>)>,
    pub(super) chat: Option<(Arc<Live>, Arc<ChatMemory>)>,
}

/// Values that were used lately.
#[derive(Debug)]
struct Recent<K, V> {
    values: FxHashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { values: FxHashMap::default(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + std::hash::Hash, V> Recent<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    fn put(&mut self, key: K, value: V) {
        if let Some(place) = self.order.iter().position(|known| *known == key) {
            self.order.remove(place);
        }
        self.order.push_back(key.clone());
        self.values.insert(key, value);
        while self.order.len() > MOST {
            let Some(oldest) = self.order.pop_front() else { break };
            self.values.remove(&oldest);
        }
    }
}

/// What was read before.
#[derive(Debug, Default)]
pub(super) struct Caches {
    logs: Recent<(TenantId, Owner), OwnerLog>,
    told: Recent<(TenantId, ChatId), ToldAt>,
    vectors: FxHashMap<String, Vector>,
    shown: Recent<(TenantId, ChatId), Vec<MemoryId>>,
    demand: Recent<(TenantId, ChatId), Demand>,
}

impl Caches {
    /// The log of an owner as far as it was read.
    pub(super) fn log(&self, tenant: &TenantId, owner: &Owner) -> OwnerLog {
        self.logs.get(&(tenant.clone(), owner.clone())).cloned().unwrap_or_default()
    }

    pub(super) fn keep_log(&mut self, tenant: &TenantId, owner: &Owner, log: OwnerLog) {
        self.logs.put((tenant.clone(), owner.clone()), log);
    }

    /// What a chat tells at that node, if that was looked up.
    pub(super) fn told(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Option<Arc<Told>> {
        let known = self.told.get(&(tenant.clone(), chat.clone()))?;
        (known.tip == tip).then(|| Arc::clone(&known.told))
    }

    /// The messages of a path. Where it goes on from the one that was asked about last, only
    /// its new messages are looked at.
    pub(super) fn path_told(
        &mut self,
        tenant: &TenantId,
        chat: &ChatId,
        path: &[PathItem],
    ) -> Arc<Told> {
        let Some(tip) = path.last().map(|last| last.prefix) else { return Arc::default() };
        let key = (tenant.clone(), chat.clone());
        if let Some(known) = self.told.values.get_mut(&key) {
            let end = known.length.checked_sub(1).and_then(|last| path.get(last));
            if end.is_some_and(|end| end.prefix == known.tip) {
                let new = path[known.length..].iter().map(|item| item.id);
                if known.length < path.len() {
                    Arc::make_mut(&mut known.told).extend(new);
                }
                (known.tip, known.length) = (tip, path.len());
                return Arc::clone(&known.told);
            }
        }
        let told: Arc<Told> = Arc::new(path.iter().map(|item| item.id).collect());
        self.told.put(key, ToldAt { tip, length: path.len(), told: Arc::clone(&told) });
        told
    }

    pub(super) fn keep_told(
        &mut self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        length: usize,
        told: Arc<Told>,
    ) {
        self.told.put((tenant.clone(), chat.clone()), ToldAt { tip, length, told });
    }

    /// Notes memories that were put into a prompt of a chat.
    pub(super) fn note_shown(&mut self, tenant: &TenantId, chat: &ChatId, shown: &[MemoryId]) {
        if shown.is_empty() {
            return;
        }
        let key = (tenant.clone(), chat.clone());
        let mut known = self.shown.get(&key).cloned().unwrap_or_default();
        let new: Vec<MemoryId> = shown.iter().filter(|id| !known.contains(id)).cloned().collect();
        known.extend(new);
        self.shown.put(key, known);
    }

    /// The memories that were put into prompts of a chat since this was last asked.
    pub(super) fn take_shown(&mut self, tenant: &TenantId, chat: &ChatId) -> Vec<MemoryId> {
        let key = (tenant.clone(), chat.clone());
        self.shown.values.get_mut(&key).map(std::mem::take).unwrap_or_default()
    }

    /// The vectors of texts, as far as they are known.
    pub(super) fn vectors(&self, texts: &[&str]) -> Vec<Option<Vector>> {
        texts.iter().map(|text| self.vectors.get(*text).cloned()).collect()
    }

    pub(super) fn keep_vectors(&mut self, new: Vec<(&str, Vector)>) {
        if self.vectors.len() + new.len() > MOST_TEXTS {
            self.vectors.clear();
        }
        self.vectors.extend(new.into_iter().map(|(text, vector)| (text.to_owned(), vector)));
    }

    /// Notes what the tiers of a chat would have liked to say; the most of it counts.
    pub(super) fn note_demand(&mut self, tenant: &TenantId, chat: &ChatId, new: &Demand) {
        let mut known = self.demand(tenant, chat);
        for (known, new) in known.iter_mut().zip(new) {
            *known = (*known).max(*new);
        }
        self.demand.put((tenant.clone(), chat.clone()), known);
    }

    /// The most that the tiers of a chat would have liked to say.
    pub(super) fn demand(&self, tenant: &TenantId, chat: &ChatId) -> Demand {
        self.demand.get(&(tenant.clone(), chat.clone())).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::chat::{Message, Path, Role};

    use super::*;

    #[test]
    fn what_a_path_tells_is_the_same_however_it_was_come_by() {
        let mut caches = Caches::default();
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
            let expected: Told = path.items().iter().map(|item| item.id).collect();
            assert_eq!(*caches.path_told(&tenant, &chat, path.items()), expected, "{texts:?}");
        }
    }
}
