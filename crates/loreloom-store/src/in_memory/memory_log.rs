//! Memory in memory: events, the writes that stored them, and vectors.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use async_trait::async_trait;
use loreloom_core::ids::{Digest, TenantId};
use loreloom_ports::{
    MemoryError, MemoryEvent, MemoryLog, MemoryWriteId, Owner, StoryStore as _, Vector, Write,
    WriteSummary, Written,
};

use super::{InMemoryStore, jobs::JobList};
use crate::memory_writes;

/// Memory and jobs. A write may change both.
#[derive(Debug, Default)]
pub(super) struct MemoryTables {
    events: BTreeMap<(TenantId, Owner), Vec<MemoryEvent>>,
    writes: BTreeMap<TenantId, Vec<WriteSummary>>,
    vectors: BTreeMap<(TenantId, String, Digest), Vector>,
    pub(super) jobs: JobList,
}

impl MemoryTables {
    fn last_event(&self, tenant: &TenantId, owner: &Owner) -> u64 {
        let events = self.events.get(&(tenant.clone(), owner.clone()));
        events.map_or(0, |events| events.len() as u64)
    }

    fn find_write(&self, tenant: &TenantId, write: &MemoryWriteId) -> Option<&WriteSummary> {
        let mut writes = self.writes.get(tenant).into_iter().flatten();
        writes.find(|known| known.id == *write)
    }

    fn add(&mut self, tenant: &TenantId, write: &Write) {
        for given in &write.owners {
            let log = self.events.entry((tenant.clone(), given.owner.clone())).or_default();
            for event in &given.events {
                log.push(MemoryEvent {
                    number: log.len() as u64 + 1,
                    write: write.id.clone(),
                    chat: write.chat.clone(),
                    at: write.at,
                    event: event.clone(),
                });
            }
        }
        let summary = memory_writes::summary(write);
        self.writes.entry(tenant.clone()).or_default().push(summary);
    }
}

impl InMemoryStore {
    pub(super) fn memory(&self) -> MutexGuard<'_, MemoryTables> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl MemoryLog for InMemoryStore {
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
        let found = match &write.story {
            Some(story) => self.chat(tenant, &story.chat).await?.map(|chat| chat.version),
            None => None,
        };
        let mut memory = self.memory();
        if memory.find_write(tenant, &write.id).is_some() {
            return Ok(Written::Before);
        }
        if let Some(story) = &write.story {
            memory_writes::story_is_unchanged(story, found)?;
        }
        for given in &write.owners {
            let last = memory.last_event(tenant, &given.owner);
            memory_writes::last_event_was_seen(given, last)?;
        }
        if let Some(step) = &write.job {
            memory.jobs.step(tenant, step)?;
        }
        memory.add(tenant, write);
        Ok(Written::Stored)
    }

    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError> {
        let memory = self.memory();
        let events = memory.events.get(&(tenant.clone(), owner.clone()));
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(events.into_iter().flatten().skip(skipped).cloned().collect())
    }

    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError> {
        let memory = self.memory();
        let own = memory.events.iter().filter(|((holder, _), _)| holder == tenant);
        Ok(own.map(|((_, owner), events)| (owner.clone(), events.len() as u64)).collect())
    }

    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError> {
        let memory = self.memory();
        let writes = memory.writes.get(tenant).into_iter().flatten().rev();
        Ok(writes.take(most as usize).cloned().collect())
    }

    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError> {
        let memory = self.memory();
        Ok(memory.find_write(tenant, write).cloned())
    }

    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError> {
        let memory = self.memory();
        let find =
            |text: &Digest| memory.vectors.get(&(tenant.clone(), model.to_owned(), *text)).cloned();
        Ok(texts.iter().map(find).collect())
    }

    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError> {
        let mut memory = self.memory();
        for (text, vector) in vectors {
            let key = (tenant.clone(), model.to_owned(), *text);
            memory.vectors.entry(key).or_insert_with(|| vector.clone());
        }
        Ok(())
    }
}
