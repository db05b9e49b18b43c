//! What is remembered: events, writes and vectors.
//!
//! Writers of one owner wait for each other at the owner's row; the story's row is locked
//! for sharing, so that it cannot move between the check and the commit.

use deadpool_postgres::{Client, GenericClient, Transaction};
use loreloom_core::{
    ids::{ChatId, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    MemoryError, Owner, OwnerEvents, StoreError, Vector, Write, WriteSummary, Written,
};
use loreloom_ports::{MemoryEvent, MemoryWriteId};
use tokio_postgres::{Row, error::SqlState, types::ToSql};

use super::{
    jobs,
    rows::{Doing, damaged, text},
};
use crate::{
    codec::{
        author_from, author_name, event_body, event_from, not_json, owners_body, owners_from,
        vector_bytes, vector_from,
    },
    in_process::summary,
};

const DOING: &str = "writing to memory";

/// Stores a write.
pub(super) async fn write(
    client: &mut Client,
    tenant: &TenantId,
    write: &Write,
) -> Result<Written, MemoryError> {
    let transaction = client.transaction().await.doing(DOING)?;
    let Some(number) = add_write(&transaction, tenant, write).await? else {
        return Ok(Written::Before);
    };
    if let Some(story) = &write.story {
        let sql = "SELECT version FROM chats WHERE tenant = $1 AND id = $2 FOR SHARE";
        let row = query(&transaction, sql, &[&tenant.as_str(), &story.chat.as_str()]).await?.pop();
        let found = row.map(|row| row.try_get::<_, i64>(0)).transpose().doing(DOING)?;
        let found = found.map(i64::unsigned_abs);
        if found != Some(story.version) {
            return Err(MemoryError::StoryMoved {
                chat: story.chat.clone(),
                expected: story.version,
                found: found.unwrap_or(0),
            });
        }
    }
    if let Some(step) = &write.job {
        jobs::step(&transaction, tenant, step).await?;
    }
    // One order for all writers, so that two never wait for each other.
    let mut owners: Vec<&OwnerEvents> = write.owners.iter().collect();
    owners.sort_by_key(|given| &given.owner);
    for given in owners {
        add_events(&transaction, tenant, given, number).await?;
    }
    transaction.commit().await.doing(DOING)?;
    Ok(Written::Stored)
}

/// Adds the write's row; `None` if it is there.
async fn add_write(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    write: &Write,
) -> Result<Option<i64>, MemoryError> {
    const NUMBER: &str = "INSERT INTO memory_numbers VALUES ($1, 0, 1) \
         ON CONFLICT (tenant) DO UPDATE SET last_write = memory_numbers.last_write + 1 \
         RETURNING last_write";
    const INSERT: &str = "INSERT INTO memory_writes VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (tenant, id) DO NOTHING";
    let row = query(transaction, NUMBER, &[&tenant.as_str()]).await?.pop();
    let number: i64 = row.map(|row| row.try_get(0)).transpose().doing(DOING)?.unwrap_or(1);
    let owners = owners_body(&summary(write).owners).map_err(|error| not_json(&error))?;
    let (author, chat) = (author_name(write.author), write.chat.as_ref().map(ChatId::as_str));
    let added = execute(
        transaction,
        INSERT,
        &[
            &tenant.as_str(),
            &write.id.0,
            &number,
            &author,
            &write.note.as_bytes(),
            &chat,
            &write.at.0,
            &owners.as_bytes(),
        ],
    )
    .await?;
    Ok((added > 0).then_some(number))
}

async fn add_events(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    given: &OwnerEvents,
    write: i64,
) -> Result<(), MemoryError> {
    const INSERT: &str = "INSERT INTO memory_events \
         SELECT $1, $2, n.number, $3, n.body FROM unnest($4::bigint[], $5::bytea[]) AS n (number, body)";
    const MOVE: &str = "UPDATE memory_owners SET last = $3 WHERE tenant = $1 AND owner = $2";
    let (owner, last) = lock_owner(transaction, tenant, &given.owner).await?;
    if let Some(expected) = given.seen.filter(|seen| *seen != last.unsigned_abs()) {
        let (owner, found) = (given.owner.clone(), last.unsigned_abs());
        return Err(MemoryError::Behind { owner, expected, found });
    }
    let bodies = given.events.iter().map(|event| event_body(event).map(String::into_bytes));
    let bodies: Vec<Vec<u8>> =
        bodies.collect::<Result<_, _>>().map_err(|error| not_json(&error))?;
    let numbers: Vec<i64> = (last + 1..).take(bodies.len()).collect();
    let end = numbers.last().copied().unwrap_or(last);
    execute(transaction, INSERT, &[&tenant.as_str(), &owner, &write, &numbers, &bodies]).await?;
    execute(transaction, MOVE, &[&tenant.as_str(), &owner, &end]).await?;
    Ok(())
}

/// The owner's number and last event, made if it is missing and locked until the end.
async fn lock_owner(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    owner: &Owner,
) -> Result<(i64, i64), MemoryError> {
    const FIND: &str = "SELECT owner, last FROM memory_owners \
         WHERE tenant = $1 AND kind = $2 AND id = $3 FOR UPDATE";
    // The row of numbers is locked already: nobody else makes owners of this tenant.
    const MAKE: &str = "WITH next AS (UPDATE memory_numbers SET last_owner = last_owner + 1 \
             WHERE tenant = $1 RETURNING last_owner) \
         INSERT INTO memory_owners SELECT $1, $2, $3, last_owner, 0 FROM next RETURNING owner, last";
    let key: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &owner.kind(), &owner.id()];
    let found = query(transaction, FIND, &key).await?.pop();
    let row = match found {
        Some(row) => Some(row),
        None => query(transaction, MAKE, &key).await?.pop(),
    };
    let row = row.ok_or_else(|| damaged("the numbers of memory", "they are missing"))?;
    Ok((row.try_get(0).doing(DOING)?, row.try_get(1).doing(DOING)?))
}

/// The events of an owner after that number.
pub(super) async fn events(
    client: &Client,
    tenant: &TenantId,
    owner: &Owner,
    after: u64,
) -> Result<Vec<MemoryEvent>, MemoryError> {
    const FIND: &str = "SELECT e.number, w.id, w.chat, w.at, e.body FROM memory_owners o \
         JOIN memory_events e ON e.tenant = o.tenant AND e.owner = o.owner \
         JOIN memory_writes w ON w.tenant = e.tenant AND w.number = e.write \
         WHERE o.tenant = $1 AND o.kind = $2 AND o.id = $3 AND e.number > $4 ORDER BY e.number";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let key: [&(dyn ToSql + Sync); 4] = [&tenant.as_str(), &owner.kind(), &owner.id(), &after];
    let rows = query(client, FIND, &key).await?;
    Ok(rows.iter().map(event).collect::<Result<_, _>>()?)
}

fn event(row: &Row) -> Result<MemoryEvent, StoreError> {
    let doing = "reading from memory";
    let number: i64 = row.try_get(0).doing(doing)?;
    let body = text(row, 4)?.unwrap_or_default();
    let wrong = |reason| damaged(format!("event {number} of memory"), reason);
    Ok(MemoryEvent {
        number: number.unsigned_abs(),
        write: MemoryWriteId(row.try_get(1).doing(doing)?),
        chat: row.try_get::<_, Option<String>>(2).doing(doing)?.map(ChatId),
        at: Timestamp(row.try_get(3).doing(doing)?),
        event: event_from(&body).map_err(wrong)?,
    })
}

/// Everybody who has events.
pub(super) async fn owners(
    client: &Client,
    tenant: &TenantId,
) -> Result<Vec<(Owner, u64)>, MemoryError> {
    let doing = "reading from memory";
    let sql = "SELECT kind, id, last FROM memory_owners WHERE tenant = $1";
    let mut owners = Vec::new();
    for row in query(client, sql, &[&tenant.as_str()]).await? {
        let (kind, id): (&str, &str) = (row.try_get(0).doing(doing)?, row.try_get(1).doing(doing)?);
        let wrong = || damaged("an owner", format!("there is no kind of owner `{kind}`"));
        let owner = Owner::of(kind, id).ok_or_else(wrong)?;
        owners.push((owner, row.try_get::<_, i64>(2).doing(doing)?.unsigned_abs()));
    }
    owners.sort();
    Ok(owners)
}

/// The last writes, newest first.
pub(super) async fn writes(
    client: &Client,
    tenant: &TenantId,
    most: u32,
) -> Result<Vec<WriteSummary>, MemoryError> {
    let sql = "SELECT id, author, note, chat, at, owners FROM memory_writes \
         WHERE tenant = $1 ORDER BY number DESC LIMIT $2";
    let rows = query(client, sql, &[&tenant.as_str(), &i64::from(most)]).await?;
    Ok(rows.iter().map(summary_of).collect::<Result<_, _>>()?)
}

/// One write.
pub(super) async fn written(
    client: &Client,
    tenant: &TenantId,
    write: &MemoryWriteId,
) -> Result<Option<WriteSummary>, MemoryError> {
    let sql = "SELECT id, author, note, chat, at, owners FROM memory_writes \
         WHERE tenant = $1 AND id = $2";
    let rows = query(client, sql, &[&tenant.as_str(), &write.0]).await?;
    Ok(rows.first().map(summary_of).transpose()?)
}

fn summary_of(row: &Row) -> Result<WriteSummary, StoreError> {
    let doing = "reading a write of memory";
    let wrong = |reason| damaged("a write of memory", reason);
    Ok(WriteSummary {
        id: MemoryWriteId(row.try_get(0).doing(doing)?),
        author: author_from(row.try_get(1).doing(doing)?).map_err(wrong)?,
        note: text(row, 2)?.unwrap_or_default(),
        chat: row.try_get::<_, Option<String>>(3).doing(doing)?.map(ChatId),
        at: Timestamp(row.try_get(4).doing(doing)?),
        owners: owners_from(&text(row, 5)?.unwrap_or_default()).map_err(wrong)?,
    })
}

/// The vectors of texts.
pub(super) async fn vectors(
    client: &Client,
    tenant: &TenantId,
    model: &str,
    texts: &[Digest],
) -> Result<Vec<Option<Vector>>, MemoryError> {
    let sql = "SELECT v.vector FROM unnest($3::bytea[]) WITH ORDINALITY AS t (hash, place) \
         LEFT JOIN memory_vectors v ON v.tenant = $1 AND v.model = $2 AND v.hash = t.hash \
         ORDER BY t.place";
    let hashes: Vec<&[u8]> = texts.iter().map(|text| text.0.as_slice()).collect();
    let mut found = Vec::with_capacity(texts.len());
    for row in query(client, sql, &[&tenant.as_str(), &model, &hashes]).await? {
        let bytes: Option<&[u8]> = row.try_get(0).doing("reading vectors")?;
        let read = |bytes| vector_from(bytes).map_err(|reason| damaged("a vector", reason));
        found.push(bytes.map(read).transpose()?);
    }
    Ok(found)
}

/// Keeps vectors.
pub(super) async fn keep_vectors(
    client: &Client,
    tenant: &TenantId,
    model: &str,
    vectors: &[(Digest, Vector)],
) -> Result<(), MemoryError> {
    let sql = "INSERT INTO memory_vectors \
         SELECT $1, $2, n.hash, n.vector FROM unnest($3::bytea[], $4::bytea[]) AS n (hash, vector) \
         ON CONFLICT DO NOTHING";
    let hashes: Vec<&[u8]> = vectors.iter().map(|(text, _)| text.0.as_slice()).collect();
    let bytes: Vec<Vec<u8>> = vectors.iter().map(|(_, vector)| vector_bytes(vector)).collect();
    execute(client, sql, &[&tenant.as_str(), &model, &hashes, &bytes]).await?;
    Ok(())
}

/// The rows of a query.
pub(super) async fn query(
    client: &impl GenericClient,
    sql: &str,
    key: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, StoreError> {
    let doing = "reading from memory";
    let find = client.prepare_cached(sql).await.doing(doing)?;
    client.query(&find, key).await.doing(doing)
}

/// How many rows a statement changed.
pub(super) async fn execute(
    client: &impl GenericClient,
    sql: &str,
    key: &[&(dyn ToSql + Sync)],
) -> Result<u64, StoreError> {
    let change = client.prepare_cached(sql).await.doing(DOING)?;
    client.execute(&change, key).await.doing(DOING)
}

/// Whether the database refused something because it was there already.
pub(super) fn is_taken(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    let cause = source.downcast_ref::<tokio_postgres::Error>();
    cause.and_then(tokio_postgres::Error::code) == Some(&SqlState::UNIQUE_VIOLATION)
}
