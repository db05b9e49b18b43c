//! Memory: events, the writes that stored them, and vectors.
//!
//! Writers of one owner wait for each other at the owner's row. The story's row is locked for
//! sharing, so the story cannot change between the check and the commit.

use async_trait::async_trait;
use deadpool_postgres::{Client, Transaction};
use loreloom_core::ids::{ChatId, Digest, TenantId};
use loreloom_ports::{
    MemoryError, MemoryEvent, MemoryLog, MemoryWriteId, Owner, OwnerEvents, StoreError, Vector,
    Write, WriteSummary, Written,
};

use super::{
    PostgresStore, jobs,
    statement::{Parameters, client, decode_all, execute, query, query_first},
};
use crate::{
    codec::{author_name, event_body, owners_body, vector_bytes, vector_from},
    errors::{DatabaseResult as _, DecodeResult as _, not_json},
    memory_writes,
    rows::{StoredRow as _, memory, signed},
};

const READING: &str = "reading from memory";
const WRITING: &str = "writing to memory";

#[async_trait]
impl MemoryLog for PostgresStore {
    async fn write(&self, tenant: &TenantId, write: &Write) -> Result<Written, MemoryError> {
        add(&mut client(&self.pool).await?, tenant, write).await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        owner: &Owner,
        after: u64,
    ) -> Result<Vec<MemoryEvent>, MemoryError> {
        let client = client(&self.pool).await?;
        let key: &Parameters<'_> = &[&tenant.as_str(), &owner.kind(), &owner.id(), &signed(after)];
        let rows = query(&client, READING, memory::EVENTS, key).await?;
        Ok(decode_all(&rows, READING, memory::event)?)
    }

    async fn owners(&self, tenant: &TenantId) -> Result<Vec<(Owner, u64)>, MemoryError> {
        let client = client(&self.pool).await?;
        let rows = query(&client, READING, memory::OWNERS, &[&tenant.as_str()]).await?;
        let mut owners = decode_all(&rows, READING, memory::owner)?;
        owners.sort();
        Ok(owners)
    }

    async fn memory_writes(
        &self,
        tenant: &TenantId,
        most: u32,
    ) -> Result<Vec<WriteSummary>, MemoryError> {
        let client = client(&self.pool).await?;
        let key: &Parameters<'_> = &[&tenant.as_str(), &i64::from(most)];
        let rows = query(&client, READING, memory::WRITES, key).await?;
        Ok(decode_all(&rows, READING, memory::write_summary)?)
    }

    async fn written(
        &self,
        tenant: &TenantId,
        write: &MemoryWriteId,
    ) -> Result<Option<WriteSummary>, MemoryError> {
        let client = client(&self.pool).await?;
        let key: &Parameters<'_> = &[&tenant.as_str(), &write.0];
        let row = query_first(&client, READING, memory::FIND_WRITE, key).await?;
        Ok(row.map(|row| memory::write_summary(&row)).transpose().row_while(READING)?)
    }

    async fn vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vector>>, MemoryError> {
        const FIND: &str = "SELECT v.vector FROM unnest($3::bytea[]) WITH ORDINALITY AS t (hash, place) \
             LEFT JOIN memory_vectors v ON v.tenant = $1 AND v.model = $2 AND v.hash = t.hash \
             ORDER BY t.place";
        let doing = "reading vectors";
        let client = client(&self.pool).await?;
        let hashes: Vec<&[u8]> = texts.iter().map(|text| text.0.as_slice()).collect();
        let rows = query(&client, doing, FIND, &[&tenant.as_str(), &model, &hashes]).await?;
        let vector = |row: &_| row_vector(row);
        Ok(decode_all(&rows, doing, vector)?)
    }

    async fn keep_vectors(
        &self,
        tenant: &TenantId,
        model: &str,
        vectors: &[(Digest, Vector)],
    ) -> Result<(), MemoryError> {
        const INSERT: &str = "INSERT INTO memory_vectors SELECT $1, $2, n.hash, n.vector \
             FROM unnest($3::bytea[], $4::bytea[]) AS n (hash, vector) ON CONFLICT DO NOTHING";
        let client = client(&self.pool).await?;
        let hashes: Vec<&[u8]> = vectors.iter().map(|(text, _)| text.0.as_slice()).collect();
        let bytes: Vec<Vec<u8>> = vectors.iter().map(|(_, vector)| vector_bytes(vector)).collect();
        let row: &Parameters<'_> = &[&tenant.as_str(), &model, &hashes, &bytes];
        execute(&client, "storing vectors", INSERT, row).await?;
        Ok(())
    }
}

fn row_vector(row: &tokio_postgres::Row) -> crate::errors::Decoded<Option<Vector>> {
    row.optional_bytes(0)?.map(vector_from).transpose()
}

async fn add(
    client: &mut Client,
    tenant: &TenantId,
    write: &Write,
) -> Result<Written, MemoryError> {
    const LOCK_STORY: &str = "SELECT version FROM chats WHERE tenant = $1 AND id = $2 FOR SHARE";
    let transaction = client.transaction().await.doing(WRITING)?;
    let Some(number) = add_write(&transaction, tenant, write).await? else {
        return Ok(Written::Before);
    };
    if let Some(story) = &write.story {
        let key: &Parameters<'_> = &[&tenant.as_str(), &story.chat.as_str()];
        let row = query_first(&transaction, WRITING, LOCK_STORY, key).await?;
        let found = row.map(|row| row.unsigned(0)).transpose().row_while(WRITING)?;
        memory_writes::story_is_unchanged(story, found)?;
    }
    if let Some(step) = &write.job {
        jobs::step(&transaction, tenant, step).await?;
    }
    // All writers lock owners in the same order, so no two wait for each other.
    let mut owners: Vec<&OwnerEvents> = write.owners.iter().collect();
    owners.sort_by_key(|given| &given.owner);
    for given in owners {
        add_events(&transaction, tenant, given, number).await?;
    }
    transaction.commit().await.doing(WRITING)?;
    Ok(Written::Stored)
}

/// Adds the row of a write. `None` if it exists.
async fn add_write(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    write: &Write,
) -> Result<Option<i64>, StoreError> {
    const NUMBER: &str = "INSERT INTO memory_numbers VALUES ($1, 0, 1) \
         ON CONFLICT (tenant) DO UPDATE SET last_write = memory_numbers.last_write + 1 \
         RETURNING last_write";
    const INSERT: &str = "INSERT INTO memory_writes VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (tenant, id) DO NOTHING";
    let row = query_first(transaction, WRITING, NUMBER, &[&tenant.as_str()]).await?;
    let number = row.map_or(Ok(1), |row| row.number(0)).row_while(WRITING)?;
    let owners = owners_body(&memory_writes::summary(write).owners);
    let owners = owners.map_err(|error| not_json(&error))?;
    let (author, chat) = (author_name(write.author), write.chat.as_ref().map(ChatId::as_str));
    let row: &Parameters<'_> = &[
        &tenant.as_str(),
        &write.id.0,
        &number,
        &author,
        &write.note.as_bytes(),
        &chat,
        &write.at.0,
        &owners.as_bytes(),
    ];
    Ok((execute(transaction, WRITING, INSERT, row).await? > 0).then_some(number))
}

async fn add_events(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    given: &OwnerEvents,
    write: i64,
) -> Result<(), MemoryError> {
    const INSERT: &str = "INSERT INTO memory_events SELECT $1, $2, n.number, $3, n.body \
         FROM unnest($4::bigint[], $5::bytea[]) AS n (number, body)";
    let (owner, last) = lock_owner(transaction, tenant, &given.owner).await?;
    memory_writes::last_event_was_seen(given, last.unsigned_abs())?;
    let bodies = given.events.iter().map(|event| event_body(event).map(String::into_bytes));
    let bodies: Vec<Vec<u8>> =
        bodies.collect::<Result<_, _>>().map_err(|error| not_json(&error))?;
    let numbers: Vec<i64> = (last + 1..).take(bodies.len()).collect();
    let end = numbers.last().copied().unwrap_or(last);
    let row: &Parameters<'_> = &[&tenant.as_str(), &owner, &write, &numbers, &bodies];
    execute(transaction, WRITING, INSERT, row).await?;
    let row: &Parameters<'_> = &[&tenant.as_str(), &owner, &end];
    execute(transaction, WRITING, memory::SET_LAST_EVENT, row).await?;
    Ok(())
}

/// The number of an owner and its last event. Adds the owner if it is new, and locks its row.
async fn lock_owner(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    owner: &Owner,
) -> Result<(i64, i64), StoreError> {
    const FIND: &str = "SELECT owner, last FROM memory_owners \
         WHERE tenant = $1 AND kind = $2 AND id = $3 FOR UPDATE";
    // The write has locked the row of numbers: nobody else adds owners of this tenant.
    const ADD: &str = "WITH next AS (UPDATE memory_numbers SET last_owner = last_owner + 1 \
             WHERE tenant = $1 RETURNING last_owner) \
         INSERT INTO memory_owners SELECT $1, $2, $3, last_owner, 0 FROM next RETURNING owner, last";
    let key: &Parameters<'_> = &[&tenant.as_str(), &owner.kind(), &owner.id()];
    let mut row = query_first(transaction, WRITING, FIND, key).await?;
    if row.is_none() {
        row = query_first(transaction, WRITING, ADD, key).await?;
    }
    let row = row.ok_or_else(|| "they are missing".to_owned());
    let row = row.reading(|| "the numbers of memory".to_owned())?;
    Ok((row.number(0).row_while(WRITING)?, row.number(1).row_while(WRITING)?))
}
