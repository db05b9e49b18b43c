//! The pinned threads of Smart Memory's groups.
//!
//! Smart Memory keeps them under the number of a group, and nothing in its settings says which
//! chats are that group's. A person does: they say which chat the threads go to.

use loreloom_core::ids::{ChatId, TenantId};
use serde_json::{Map, Value};

use super::{
    ExchangeError, MemoryService,
    exchange::{read, seed, smart_memory},
};
use crate::{
    event::chat_records,
    record::{ChatMemory, StoryArc},
};
use loreloom_ports::MemoryWriteId;
use loreloom_ports::Owner;

/// The groups that have pinned threads in Smart Memory's settings, and how many.
pub fn groups(document: &Value) -> Vec<(String, usize)> {
    let count = |threads: &Value| threads.as_array().map_or(0, Vec::len);
    let all = pinned(document).into_iter().flatten();
    all.map(|(group, threads)| (group.clone(), count(threads))).filter(|one| one.1 > 0).collect()
}

fn pinned(document: &Value) -> Option<&Map<String, Value>> {
    smart_memory(document, "group_arcs")?.as_object()
}

impl MemoryService {
    /// Takes the pinned threads of one of Smart Memory's groups into a chat. What is known
    /// already stays as it is.
    pub async fn import_group(
        &self,
        tenant: &TenantId,
        document: &Value,
        group: &str,
        chat: &ChatId,
    ) -> Result<Option<MemoryWriteId>, ExchangeError> {
        let found = pinned(document).and_then(|groups| groups.get(group));
        let unknown = || ExchangeError::NoGroup { group: group.to_owned() };
        let threads = found.ok_or_else(unknown)?;
        let owner = Owner::Chat(chat.clone());
        let name = seed(&owner, threads);
        let mut threads: Vec<StoryArc> = read(threads.clone())?;
        threads.retain(|thread| !thread.content.trim().is_empty());
        for thread in &mut threads {
            thread.persistent = true;
        }
        let memory = ChatMemory { story_arcs: threads, ..ChatMemory::default() };
        self.take_in(tenant, &owner, name, &chat_records(&memory)).await
    }
}
