//! What the turns of each chat showed and wanted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use loreloom_core::{
    ids::{ChatId, TenantId},
    units::Tokens,
};
use loreloom_ports::MemoryId;

use crate::service::recently_used::RecentlyUsed;

/// How many tokens each tier wanted, in the order of `Budgets::tiers`.
pub(super) type TierDemand = [Option<Tokens>; 9];

type ChatKey = (TenantId, ChatId);

#[derive(Debug, Default)]
struct UsageByChat {
    shown: RecentlyUsed<ChatKey, Vec<MemoryId>>,
    demand: RecentlyUsed<ChatKey, TierDemand>,
}

/// Collects what turns showed and wanted, until a job or a later turn reads it.
#[derive(Debug, Default)]
pub(in crate::service) struct TurnUsage(Mutex<UsageByChat>);

impl TurnUsage {
    fn chats(&self) -> MutexGuard<'_, UsageByChat> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a turn: the memories it showed, and what the tiers wanted. The largest demand
    /// counts.
    pub(super) fn record(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        shown: &[MemoryId],
        demand: &TierDemand,
    ) {
        let key = (tenant.clone(), chat.clone());
        let mut chats = self.chats();
        let mut known = chats.demand.get(&key).copied().unwrap_or_default();
        for (known, new) in known.iter_mut().zip(demand) {
            *known = (*known).max(*new);
        }
        chats.demand.put(key.clone(), known);
        if shown.is_empty() {
            return;
        }
        let mut known = chats.shown.get(&key).cloned().unwrap_or_default();
        let new: Vec<MemoryId> = shown.iter().filter(|id| !known.contains(id)).cloned().collect();
        known.extend(new);
        chats.shown.put(key, known);
    }

    /// The memories shown in a chat since the last call.
    pub(in crate::service) fn take_shown(&self, tenant: &TenantId, chat: &ChatId) -> Vec<MemoryId> {
        let key = (tenant.clone(), chat.clone());
        self.chats().shown.get_mut(&key).map(std::mem::take).unwrap_or_default()
    }

    /// The most that the tiers of a chat wanted.
    pub(super) fn demand(&self, tenant: &TenantId, chat: &ChatId) -> TierDemand {
        self.chats().demand.get(&(tenant.clone(), chat.clone())).copied().unwrap_or_default()
    }
}
