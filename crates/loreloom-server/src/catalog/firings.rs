//! How often entries fired, over all stored turns.
//!
//! Counted once from the store and then kept up: a turn that is stored never changes what
//! fired at it.

use loreloom_core::{
    ids::{ChatId, EntryId, TenantId},
    report::{Verdict, VerdictClass},
};
use loreloom_ports::{StoreError, StoryStore, TurnId};
use rustc_hash::FxHashMap;
use tokio::sync::Mutex;

/// How often an entry fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fires {
    /// Turns at which it fired.
    pub(crate) fired: u64,
    /// Turns at which it had no room.
    pub(crate) cut: u64,
}

/// How often all entries fired.
#[derive(Default)]
pub(crate) struct Firings(Mutex<FxHashMap<TenantId, TenantFirings>>);

#[derive(Default)]
struct TenantFirings {
    /// The last turn of each chat that was counted.
    seen: FxHashMap<ChatId, TurnId>,
    entries: FxHashMap<EntryId, Fires>,
}

impl Firings {
    /// Takes up turns that were stored since, and says how often each entry fired.
    pub(crate) async fn count(
        &self,
        store: &dyn StoryStore,
        tenant: &TenantId,
    ) -> Result<FxHashMap<EntryId, Fires>, StoreError> {
        let mut all = self.0.lock().await;
        let counted = all.entry(tenant.clone()).or_default();
        for summary in store.chats(tenant).await? {
            let chat = summary.chat.id;
            let seen = counted.seen.get(&chat).copied();
            if seen.is_some_and(|seen| seen.0 >= summary.turns) {
                continue;
            }
            for turn in store.turns(tenant, &chat).await? {
                if seen.is_some_and(|seen| turn.id <= seen) {
                    continue;
                }
                if let Some(record) = store.turn(tenant, &chat, turn.id).await? {
                    counted.add(&record.report.verdicts);
                }
                counted.seen.insert(chat.clone(), turn.id);
            }
        }
        Ok(counted.entries.clone())
    }
}

impl TenantFirings {
    fn add(&mut self, verdicts: &[Verdict]) {
        for verdict in verdicts {
            let (fired, cut) = match verdict.class() {
                VerdictClass::Woven => (1, 0),
                VerdictClass::Cut => (0, 1),
                VerdictClass::Lingering
                | VerdictClass::Near
                | VerdictClass::Rule
                | VerdictClass::NoMatch => continue,
            };
            let fires = self.entries.entry(verdict.entry.clone()).or_default();
            fires.fired += fired;
            fires.cut += cut;
        }
    }
}
