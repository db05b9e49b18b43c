//! Memory: events, the writes that stored them, and vectors.

use async_trait::async_trait;
use loreloom_core::ids::{ChatId, Digest, TenantId};
use loreloom_ports::{
    MemoryError, MemoryEvent, MemoryLog, MemoryWriteId, Owner, OwnerEvents, StoreError, Vector,
    Write, WriteSummary, Written,
};
use rusqlite::{Connection, params, params_from_iter};

use super::{
    SqliteStore, jobs,
    read::find_chat_if_any,
    statement::{execute, query, query_first},
};
use crate::{
    codec::{author_name, event_body, owners_body, vector_bytes, vector_from},
    errors::not_json,
    memory_writes,
    rows::{StoredRow as _, memory, signed},
};

const READING: &str = "reading from memory";
const WRITING: &str = "writing to memory";

/// The most events that are read on the thread of the caller.
const FEW: u64 = 64;

#[async_trait]
impl MemoryLog for SqliteStore {
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
        let (tenant, write) = (tenant.clone(), write.clone());
        self.write_memory(move |connection| add(connection, &tenant, &write)).await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError> {
        let (tenant, owner) = (tenant.clone(), owner.clone());
        Ok(self.pool.read(move |connection| events(connection, &tenant, &owner, after)).await?)
    }

    async fn news(
        &self,
        tenant: &TenantId,
        known: &[(Owner, u64)],
    ) -> Result<Vec<Vec<MemoryEvent>>, MemoryError> {
        if known.is_empty() {
            return Ok(Vec::new());
        }
        let (tenant, known) = (tenant.clone(), known.to_vec());
        let (of, asked) = (tenant.clone(), known.clone());
        let count = move |connection: &mut Connection| count_newer(connection, &of, &asked);
        let newer = self.pool.read_inline(count).await?;
        if newer.iter().all(|newer| *newer == 0) {
            return Ok(vec![Vec::new(); known.len()]);
        }
        let read = move |connection: &mut Connection| {
            known.iter().map(|(owner, after)| events(connection, &tenant, owner, *after)).collect()
        };
        let few = newer.iter().all(|newer| *newer <= FEW);
        Ok(if few { self.pool.read_inline(read).await? } else { self.pool.read(read).await? })
    }

    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError> {
        let tenant = tenant.clone();
        let read = move |connection: &mut Connection| {
            query(connection, READING, memory::OWNERS, [tenant.as_str()], |row| memory::owner(row))
        };
        let mut owners = self.pool.read(read).await?;
        owners.sort();
        Ok(owners)
    }

    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError> {
        let tenant = tenant.clone();
        let read = move |connection: &mut Connection| {
            let key = (tenant.as_str(), most);
            query(connection, READING, memory::WRITES, key, |row| memory::write_summary(row))
        };
        Ok(self.pool.read(read).await?)
    }

    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError> {
        let (tenant, write) = (tenant.clone(), write.clone());
        Ok(self.pool.read(move |connection| find_write(connection, &tenant, &write)).await?)
    }

    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError> {
        let (tenant, model, texts) = (tenant.clone(), model.to_owned(), texts.to_vec());
        let read = move |connection: &mut Connection| {
            let find =
                "SELECT vector FROM memory_vectors WHERE tenant = $1 AND model = $2 AND hash = $3";
            let vector = |text: &Digest| {
                let key = params![tenant.as_str(), model, text.0];
                query_first(connection, "reading vectors", find, key, |row| {
                    vector_from(row.bytes(0)?)
                })
            };
            texts.iter().map(vector).collect()
        };
        Ok(self.pool.read(read).await?)
    }

    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError> {
        let (tenant, model, vectors) = (tenant.clone(), model.to_owned(), vectors.to_vec());
        let write = move |connection: &Connection| {
            let insert =
                "INSERT INTO memory_vectors VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
            for (text, vector) in vectors {
                let row = params![tenant.as_str(), model, text.0, vector_bytes(&vector)];
                execute(connection, "storing vectors", insert, row)?;
            }
            Ok(())
        };
        self.write_memory(write).await
    }
}

fn add(connection: &Connection, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
    if find_write(connection, tenant, &write.id)?.is_some() {
        return Ok(Written::Before);
    }
    if let Some(story) = &write.story {
        let row = find_chat_if_any(connection, tenant, &story.chat)?;
        memory_writes::story_is_unchanged(story, row.map(|row| row.record.version))?;
    }
    if let Some(step) = &write.job {
        jobs::step(connection, tenant, step)?;
    }
    let number = add_write(connection, tenant, write)?;
    for given in &write.owners {
        add_events(connection, tenant, given, number)?;
    }
    Ok(Written::Stored)
}

fn add_write(connection: &Connection, tenant: &TenantId, write: &Write) -> Result<i64, StoreError> {
    const NEXT: &str = "SELECT coalesce(max(number), 0) + 1 FROM memory_writes WHERE tenant = $1";
    const INSERT: &str = "INSERT INTO memory_writes VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let next = query_first(connection, WRITING, NEXT, [tenant.as_str()], |row| row.number(0))?;
    let number = next.unwrap_or(1);
    let owners =
        owners_body(&memory_writes::summary(write).owners).map_err(|error| not_json(&error))?;
    let (chat, author) = (write.chat.as_ref().map(ChatId::as_str), author_name(write.author));
    let row =
        params![tenant.as_str(), write.id.0, number, author, write.note, chat, write.at.0, owners];
    execute(connection, WRITING, INSERT, row)?;
    Ok(number)
}

fn add_events(
    connection: &Connection,
    tenant: &TenantId,
    given: &OwnerEvents,
    write: i64,
) -> Result<(), MemoryError> {
    const INSERT: &str = "INSERT INTO memory_events VALUES ($1, $2, $3, $4, $5)";
    let (owner, mut last) = find_or_add_owner(connection, tenant, &given.owner)?;
    memory_writes::last_event_was_seen(given, last.unsigned_abs())?;
    for event in &given.events {
        last += 1;
        let body = event_body(event).map_err(|error| not_json(&error))?;
        execute(connection, WRITING, INSERT, params![tenant.as_str(), owner, last, write, body])?;
    }
    let row = params![tenant.as_str(), owner, last];
    execute(connection, WRITING, memory::SET_LAST_EVENT, row)?;
    Ok(())
}

/// The number of an owner and its last event.
fn find_or_add_owner(
    connection: &Connection,
    tenant: &TenantId,
    owner: &Owner,
) -> Result<(i64, i64), StoreError> {
    const FIND: &str = "SELECT owner, last FROM memory_owners \
         WHERE tenant = $1 AND kind = $2 AND id = $3";
    const ADD: &str = "INSERT INTO memory_owners \
         SELECT $1, $2, $3, coalesce(max(owner), 0) + 1, 0 FROM memory_owners WHERE tenant = $1 \
         RETURNING owner, last";
    let key = (tenant.as_str(), owner.kind(), owner.id());
    for sql in [FIND, ADD] {
        let row =
            query_first(connection, WRITING, sql, key, |row| Ok((row.number(0)?, row.number(1)?)))?;
        if let Some(found) = row {
            return Ok(found);
        }
    }
    Ok((0, 0))
}

/// The number of events that each owner has after the given one. Every turn waits for this, so it
/// is one statement.
fn count_newer(
    connection: &Connection,
    tenant: &TenantId,
    known: &[(Owner, u64)],
) -> Result<Vec<u64>, StoreError> {
    let one_of = vec!["kind = ? AND id = ?"; known.len()].join(" OR ");
    let find = format!("SELECT kind, id, last FROM memory_owners WHERE tenant = ? AND ({one_of})");
    let owners = known.iter().flat_map(|(owner, _)| [owner.kind(), owner.id()]);
    let key = params_from_iter(std::iter::once(tenant.as_str()).chain(owners));
    let mut newer = vec![0; known.len()];
    query(connection, READING, &find, key, |row| {
        let (kind, id, last) = (row.str(0)?, row.str(1)?, row.unsigned(2)?);
        for ((owner, after), newer) in known.iter().zip(&mut newer) {
            if owner.kind() == kind && owner.id() == id {
                *newer = last.saturating_sub(*after);
            }
        }
        Ok(())
    })?;
    Ok(newer)
}

fn events(
    connection: &Connection,
    tenant: &TenantId,
    owner: &Owner,
    after: u64,
) -> Result<Vec<MemoryEvent>, StoreError> {
    let key = (tenant.as_str(), owner.kind(), owner.id(), signed(after));
    query(connection, READING, memory::EVENTS, key, |row| memory::event(row))
}

fn find_write(
    connection: &Connection,
    tenant: &TenantId,
    write: &MemoryWriteId,
) -> Result<Option<WriteSummary>, StoreError> {
    let key = (tenant.as_str(), write.0.as_str());
    query_first(connection, READING, memory::FIND_WRITE, key, |row| memory::write_summary(row))
}
