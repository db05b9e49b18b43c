//! What was read before: logs, what they fold to, and which messages other chats tell.
//!
//! Everything here can be read again; it is bounded, and what was not used for longest goes
//! first.

use std::{collections::VecDeque, sync::Arc};

use loreloom_core::{
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    units::Tokens,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    event::{Event, Live},
    ports::{Owner, Vector},
    record::{CharacterMemory, ChatMemory, MemoryId},
};

/// Logs and chats that are kept at once.
const MOST: usize = 128;
/// Texts whose vectors are kept.
const MOST_TEXTS: usize = 20_000;

/// What tiers would have liked to say.
pub(super) type Demand = [Option<Tokens>; 9];

/// The messages a chat tells.
pub(super) type Told = FxHashSet<MessageId>;

/// An owner's log as far as it was read, and its last folds.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerLog {
    pub(super) events: Arc<Vec<Event>>,
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
    told: Recent<(TenantId, ChatId), (PrefixHash, Arc<Told>)>,
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
        let (at, told) = self.told.get(&(tenant.clone(), chat.clone()))?;
        (*at == tip).then(|| Arc::clone(told))
    }

    pub(super) fn keep_told(
        &mut self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        told: Arc<Told>,
    ) {
        self.told.put((tenant.clone(), chat.clone()), (tip, told));
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
