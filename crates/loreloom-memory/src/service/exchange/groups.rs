//! The pinned arcs of Smart Memory's groups.
//!
//! Smart Memory stores them under the number of a group, and its settings do not say which
//! chats belong to that group. So a person says which chat the arcs go to.

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{MemoryWriteId, Owner};
use serde_json::{Map, Value};

use super::{ExchangeError, MemoryExchange, read, seed, smart_memory};
use crate::{
    event::chat_records,
    record::{ChatMemory, StoryArc},
};

/// The groups with pinned arcs in Smart Memory's settings, and how many each has.
pub fn pinned_groups(document: &Value) -> Vec<(String, usize)> {
    let count = |arcs: &Value| arcs.as_array().map_or(0, Vec::len);
    let all = pinned(document).into_iter().flatten();
    all.map(|(group, arcs)| (group.clone(), count(arcs))).filter(|one| one.1 > 0).collect()
}

fn pinned(document: &Value) -> Option<&Map<String, Value>> {
    smart_memory(document, "group_arcs")?.as_object()
}

impl MemoryExchange {
    /// Imports the pinned arcs of one of Smart Memory's groups into a chat. Known arcs stay
    /// unchanged.
    pub async fn import_group(
        &self,
        tenant: &TenantId,
        document: &Value,
        group: &str,
        chat: &ChatId,
    ) -> Result<Option<MemoryWriteId>, ExchangeError> {
        let found = pinned(document).and_then(|groups| groups.get(group));
        let unknown = || ExchangeError::NoGroup { group: group.to_owned() };
        let arcs = found.ok_or_else(unknown)?;
        let owner = Owner::Chat(chat.clone());
        let name = seed(&owner, arcs);
        let mut arcs: Vec<StoryArc> = read(arcs.clone())?;
        arcs.retain(|arc| !arc.content.trim().is_empty());
        for arc in &mut arcs {
            arc.persistent = true;
        }
        let memory = ChatMemory { story_arcs: arcs, ..ChatMemory::default() };
        self.store_new(tenant, &owner, name, &chat_records(&memory)).await
    }
}
