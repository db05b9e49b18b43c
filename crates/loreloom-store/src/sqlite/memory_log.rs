//! What is remembered: events, writes and vectors.

use loreloom_core::{
    ids::{ChatId, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    MemoryError, Owner, OwnerEvents, StoreError, Vector, Write, WriteSummary, Written,
};
use loreloom_ports::{MemoryEvent, MemoryWriteId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    jobs,
    rows::{ChatRow, Doing, Hash, Reading},
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
pub(super) fn write(
    transaction: &Connection,
    tenant: &TenantId,
    write: &Write,
) -> Result<Written, MemoryError> {
    if written(transaction, tenant, &write.id)?.is_some() {
        return Ok(Written::Before);
    }
    if let Some(story) = &write.story {
        let row = ChatRow::find(transaction, tenant, &story.chat).doing(DOING)?;
        let found = row.map(|row| row.record.version);
        if found != Some(story.version) {
            return Err(MemoryError::StoryMoved {
                chat: story.chat.clone(),
                expected: story.version,
                found: found.unwrap_or(0),
            });
        }
    }
    if let Some(step) = &write.job {
        jobs::step(transaction, tenant, step)?;
    }
    let number = add_write(transaction, tenant, write)?;
    for given in &write.owners {
        add_events(transaction, tenant, given, number)?;
    }
    Ok(Written::Stored)
}

fn add_write(
    transaction: &Connection,
    tenant: &TenantId,
    write: &Write,
) -> Result<i64, StoreError> {
    const INSERT: &str = "INSERT INTO memory_writes \
         SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6, ?7 \
         FROM memory_writes WHERE tenant = ?1 RETURNING number";
    let owners = owners_body(&summary(write).owners).map_err(|error| not_json(&error))?;
    let chat = write.chat.as_ref().map(ChatId::as_str);
    let author = author_name(write.author);
    transaction
        .prepare_cached(INSERT)
        .and_then(|mut insert| {
            let row =
                params![tenant.as_str(), write.id.0, author, write.note, chat, write.at.0, owners];
            insert.query_row(row, |row| row.get(0))
        })
        .doing(DOING)
}

fn add_events(
    transaction: &Connection,
    tenant: &TenantId,
    given: &OwnerEvents,
    write: i64,
) -> Result<(), MemoryError> {
    const MAKE: &str = "INSERT INTO memory_owners \
         SELECT ?1, ?2, ?3, coalesce(max(owner), 0) + 1, 0 FROM memory_owners WHERE tenant = ?1 \
         ON CONFLICT DO NOTHING";
    const INSERT: &str = "INSERT INTO memory_events VALUES (?1, ?2, ?3, ?4, ?5)";
    const MOVE: &str = "UPDATE memory_owners SET last = ?3 WHERE tenant = ?1 AND owner = ?2";
    let (kind, id) = (given.owner.kind(), given.owner.id());
    let found = find_owner(transaction, tenant, &given.owner)?;
    let last = found.map_or(0, |(_, last)| last);
    if let Some(expected) = given.seen.filter(|seen| *seen != last.unsigned_abs()) {
        let (owner, found) = (given.owner.clone(), last.unsigned_abs());
        return Err(MemoryError::Behind { owner, expected, found });
    }
    if found.is_none() {
        transaction
            .prepare_cached(MAKE)
            .and_then(|mut make| make.execute(params![tenant.as_str(), kind, id]))
            .doing(DOING)?;
    }
    let Some((owner, mut last)) = find_owner(transaction, tenant, &given.owner)? else {
        return Ok(());
    };
    let mut insert = transaction.prepare_cached(INSERT).doing(DOING)?;
    for event in &given.events {
        last += 1;
        let body = event_body(event).map_err(|error| not_json(&error))?;
        insert.execute(params![tenant.as_str(), owner, last, write, body]).doing(DOING)?;
    }
    transaction
        .prepare_cached(MOVE)
        .and_then(|mut update| update.execute(params![tenant.as_str(), owner, last]))
        .doing(DOING)?;
    Ok(())
}

/// How many events each of these owners has that come after the one it is asked for with. One
/// statement for all: every turn waits for it.
pub(super) fn newer(
    connection: &Connection,
    tenant: &TenantId,
    known: &[(Owner, u64)],
) -> Result<Vec<u64>, MemoryError> {
    let one_of = vec!["kind = ? AND id = ?"; known.len()].join(" OR ");
    let find = format!("SELECT kind, id, last FROM memory_owners WHERE tenant = ? AND ({one_of})");
    let doing = "reading from memory";
    let mut find = connection.prepare_cached(&find).doing(doing)?;
    let owners = known.iter().flat_map(|(owner, _)| [owner.kind(), owner.id()]);
    let key = rusqlite::params_from_iter(std::iter::once(tenant.as_str()).chain(owners));
    let mut rows = find.query(key).doing(doing)?;
    let mut newer = vec![0; known.len()];
    while let Some(row) = rows.next().doing(doing)? {
        let name = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
        let (kind, id) = (name(0).doing(doing)?, name(1).doing(doing)?);
        let last: i64 = row.get(2).doing(doing)?;
        for ((owner, after), newer) in known.iter().zip(&mut newer) {
            if owner.kind() == kind && owner.id() == id {
                *newer = last.unsigned_abs().saturating_sub(*after);
            }
        }
    }
    Ok(newer)
}

fn find_owner(
    connection: &Connection,
    tenant: &TenantId,
    owner: &Owner,
) -> Result<Option<(i64, i64)>, StoreError> {
    const FIND: &str = "SELECT owner, last FROM memory_owners \
         WHERE tenant = ?1 AND kind = ?2 AND id = ?3";
    connection
        .prepare_cached(FIND)
        .and_then(|mut find| {
            let key = params![tenant.as_str(), owner.kind(), owner.id()];
            find.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .doing("reading from memory")
}

/// The events of an owner after that number.
pub(super) fn events(
    connection: &Connection,
    tenant: &TenantId,
    owner: &Owner,
    after: u64,
) -> Result<Vec<MemoryEvent>, MemoryError> {
    const FIND: &str = "SELECT e.number, w.id, w.chat, w.at, e.body FROM memory_owners o \
         JOIN memory_events e ON e.tenant = o.tenant AND e.owner = o.owner \
         JOIN memory_writes w ON w.tenant = e.tenant AND w.number = e.write \
         WHERE o.tenant = ?1 AND o.kind = ?2 AND o.id = ?3 AND e.number > ?4 ORDER BY e.number";
    let doing = "reading from memory";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut find = connection.prepare_cached(FIND).doing(doing)?;
    let mut rows =
        find.query(params![tenant.as_str(), owner.kind(), owner.id(), after]).doing(doing)?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().doing(doing)? {
        events.push(event(row)?);
    }
    Ok(events)
}

fn event(row: &Row<'_>) -> Result<MemoryEvent, StoreError> {
    let doing = "reading from memory";
    let number: i64 = row.get(0).doing(doing)?;
    let body: String = row.get(4).doing(doing)?;
    Ok(MemoryEvent {
        number: number.unsigned_abs(),
        write: MemoryWriteId(row.get(1).doing(doing)?),
        chat: row.get::<_, Option<String>>(2).doing(doing)?.map(ChatId),
        at: Timestamp(row.get(3).doing(doing)?),
        event: event_from(&body).reading(|| format!("event {number} of memory"))?,
    })
}

/// Everybody who has events.
pub(super) fn owners(
    connection: &Connection,
    tenant: &TenantId,
) -> Result<Vec<(Owner, u64)>, MemoryError> {
    const FIND: &str = "SELECT kind, id, last FROM memory_owners WHERE tenant = ?1";
    let doing = "reading from memory";
    let mut find = connection.prepare_cached(FIND).doing(doing)?;
    let mut rows = find.query(params![tenant.as_str()]).doing(doing)?;
    let mut owners = Vec::new();
    while let Some(row) = rows.next().doing(doing)? {
        let (kind, id): (String, String) = (row.get(0).doing(doing)?, row.get(1).doing(doing)?);
        let wrong = || format!("there is no kind of owner `{kind}`");
        let owner = Owner::of(&kind, &id).ok_or_else(wrong).reading(|| "an owner".to_owned())?;
        owners.push((owner, row.get::<_, i64>(2).doing(doing)?.unsigned_abs()));
    }
    owners.sort();
    Ok(owners)
}

/// The last writes, newest first.
pub(super) fn writes(
    connection: &Connection,
    tenant: &TenantId,
    most: u32,
) -> Result<Vec<WriteSummary>, MemoryError> {
    const FIND: &str = "SELECT id, author, note, chat, at, owners FROM memory_writes \
         WHERE tenant = ?1 ORDER BY number DESC LIMIT ?2";
    let doing = "reading the writes of memory";
    let mut find = connection.prepare_cached(FIND).doing(doing)?;
    let mut rows = find.query(params![tenant.as_str(), most]).doing(doing)?;
    let mut writes = Vec::new();
    while let Some(row) = rows.next().doing(doing)? {
        writes.push(summary_of(row)?);
    }
    Ok(writes)
}

/// One write.
pub(super) fn written(
    connection: &Connection,
    tenant: &TenantId,
    write: &MemoryWriteId,
) -> Result<Option<WriteSummary>, MemoryError> {
    const FIND: &str = "SELECT id, author, note, chat, at, owners FROM memory_writes \
         WHERE tenant = ?1 AND id = ?2";
    let doing = "reading a write of memory";
    let mut find = connection.prepare_cached(FIND).doing(doing)?;
    let mut rows = find.query(params![tenant.as_str(), write.0]).doing(doing)?;
    let row = rows.next().doing(doing)?;
    Ok(row.map(summary_of).transpose()?)
}

fn summary_of(row: &Row<'_>) -> Result<WriteSummary, StoreError> {
    let doing = "reading a write of memory";
    let text = |at: usize| row.get::<_, String>(at).doing(doing);
    let what = || "a write of memory".to_owned();
    Ok(WriteSummary {
        id: MemoryWriteId(text(0)?),
        author: author_from(&text(1)?).reading(what)?,
        note: text(2)?,
        chat: row.get::<_, Option<String>>(3).doing(doing)?.map(ChatId),
        at: Timestamp(row.get(4).doing(doing)?),
        owners: owners_from(&text(5)?).reading(what)?,
    })
}

/// The vectors of texts.
pub(super) fn vectors(
    connection: &Connection,
    tenant: &TenantId,
    model: &str,
    texts: &[Digest],
) -> Result<Vec<Option<Vector>>, MemoryError> {
    const FIND: &str =
        "SELECT vector FROM memory_vectors WHERE tenant = ?1 AND model = ?2 AND hash = ?3";
    let doing = "reading vectors";
    let mut find = connection.prepare_cached(FIND).doing(doing)?;
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        let key = params![tenant.as_str(), model, Hash(*text)];
        let bytes: Option<Vec<u8>> =
            find.query_row(key, |row| row.get(0)).optional().doing(doing)?;
        let read = |bytes: Vec<u8>| vector_from(&bytes).reading(|| "a vector".to_owned());
        found.push(bytes.map(read).transpose()?);
    }
    Ok(found)
}

/// Keeps vectors.
pub(super) fn keep_vectors(
    transaction: &Connection,
    tenant: &TenantId,
    model: &str,
    vectors: &[(Digest, Vector)],
) -> Result<(), MemoryError> {
    const INSERT: &str =
        "INSERT INTO memory_vectors VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    let doing = "keeping vectors";
    for (text, vector) in vectors {
        let row = params![tenant.as_str(), model, Hash(*text), vector_bytes(vector)];
        let insert = transaction.prepare_cached(INSERT);
        insert.and_then(|mut insert| insert.execute(row)).doing(doing)?;
    }
    Ok(())
}
