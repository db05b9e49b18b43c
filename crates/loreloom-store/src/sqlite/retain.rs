//! Trimming old turns, and deleting what nothing refers to any more.

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{Retained, Retention, StoreError, TurnId};
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::{
    read::find_chat,
    statement::{execute, query, query_first},
    unit_of_work::UnitOfWork,
};
use crate::{
    codec::{
        PiecesInUse,
        trim::{self, TrimmedColumns},
    },
    errors::{DatabaseResult as _, DecodeResult as _},
    retention::RetentionRun,
    rows::{
        StoredRow as _, library, signed,
        turn::{self, OldTurn},
    },
};

const DOING: &str = "trimming old turns";

/// Trims the old turns of all chats, and deletes texts and libraries that are not in use.
pub(super) fn retain(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    retention: &Retention,
) -> Result<Retained, StoreError> {
    let mut run = RetentionRun::new(retention);
    let chats = "SELECT chat, last_turn FROM chats WHERE tenant = $1";
    let chats =
        query(&unit, DOING, chats, [tenant.as_str()], |row| Ok((row.number(0)?, row.number(1)?)))?;
    for (number, last) in chats {
        retain_chat(&unit, tenant, (number, last), &mut run)?;
    }
    if retention.unused_libraries {
        delete_libraries(&unit, tenant, &mut run)?;
        run.retained.bytes += delete_pieces(&unit, tenant)?;
    }
    if !retention.dry_run {
        unit.commit().doing(DOING)?;
    }
    // A dry run does everything, and is rolled back here.
    Ok(run.retained)
}

/// Trims some turns of a chat. Texts that are no longer in use stay until the next [`retain`].
pub(super) fn trim(
    unit: UnitOfWork<'_>,
    tenant: &TenantId,
    id: &ChatId,
    turns: &[TurnId],
) -> Result<(), StoreError> {
    let chat = find_chat(&unit, tenant, id)?.number;
    for turn in turns {
        let number = signed(turn.0);
        let key = params![tenant.as_str(), chat, number];
        let found =
            query_first(&unit, DOING, turn::FIND_RECORD, key, |row| turn::body_and_report(row))?;
        let no_turn = || StoreError::NoTurn { chat: id.clone(), turn: *turn };
        let (body, report) = found.ok_or_else(no_turn)?;
        let what = || format!("turn {number} of chat `{id}`");
        let trimmed = trim::columns(&body, &report).reading(what)?;
        replace(&unit, tenant, (chat, number), &trimmed)?;
    }
    unit.commit().doing(DOING)
}

fn retain_chat(
    connection: &Connection,
    tenant: &TenantId,
    (chat, last): (i64, i64),
    run: &mut RetentionRun<'_>,
) -> Result<(), StoreError> {
    let before = run.retained.turns;
    run.texts.clear();
    let key = params![tenant.as_str(), chat];
    // One turn at a time: all records of a long chat are many megabytes.
    query(connection, DOING, turn::ALL_RECORDS, key, |row| {
        let old = OldTurn::of(row)?;
        let trimmed = run.turn(&old, last).map_err(|reason| format!("turn {}: {reason}", old.turn));
        let Some(trimmed) = trimmed? else { return Ok(()) };
        let replaced = replace(connection, tenant, (chat, old.turn), &trimmed);
        replaced.map_err(|error| error.to_string())
    })?;
    if run.retained.turns > before {
        run.retained.bytes += delete_texts(connection, tenant, chat, &run.texts)?;
    }
    Ok(())
}

fn replace(
    connection: &Connection,
    tenant: &TenantId,
    (chat, turn): (i64, i64),
    trimmed: &TrimmedColumns,
) -> Result<(), StoreError> {
    let tenant = tenant.as_str();
    let set = "UPDATE turn_records SET body = $4, report = $5 \
         WHERE tenant = $1 AND chat = $2 AND turn = $3";
    execute(connection, DOING, set, params![tenant, chat, turn, trimmed.body, trimmed.report])?;
    let mark = "UPDATE turns SET trimmed = 1 WHERE tenant = $1 AND chat = $2 AND turn = $3";
    execute(connection, DOING, mark, params![tenant, chat, turn]).map(drop)
}

/// Deletes the texts that are not in use. Returns their size.
fn delete_texts(
    connection: &Connection,
    tenant: &TenantId,
    chat: i64,
    used: &FxHashSet<i64>,
) -> Result<u64, StoreError> {
    let all = "SELECT text, length(body) FROM texts WHERE tenant = $1 AND chat = $2";
    let key = params![tenant.as_str(), chat];
    let all = query(connection, DOING, all, key, |row| Ok((row.number(0)?, row.unsigned(1)?)))?;
    let mut freed = 0;
    for (text, size) in all.into_iter().filter(|(text, _)| !used.contains(text)) {
        let delete = "DELETE FROM texts WHERE tenant = $1 AND chat = $2 AND text = $3";
        execute(connection, DOING, delete, params![tenant.as_str(), chat, text])?;
        freed += size;
    }
    Ok(freed)
}

fn delete_libraries(
    connection: &Connection,
    tenant: &TenantId,
    run: &mut RetentionRun<'_>,
) -> Result<(), StoreError> {
    let all = "SELECT version, length(body) FROM libraries WHERE tenant = $1";
    let all = query(connection, DOING, all, [tenant.as_str()], |row| {
        Ok((row.digest(0)?.0, row.unsigned(1)?))
    })?;
    for (version, size) in all.into_iter().filter(|(version, _)| !run.libraries.contains(version)) {
        let delete = "DELETE FROM libraries WHERE tenant = $1 AND version = $2";
        execute(connection, DOING, delete, params![tenant.as_str(), version])?;
        run.retained.libraries += 1;
        run.retained.bytes += size;
    }
    Ok(())
}

/// Deletes the pieces of books that are not in use. Returns their size.
fn delete_pieces(connection: &Connection, tenant: &TenantId) -> Result<u64, StoreError> {
    let mut used = PiecesInUse::default();
    let key = [tenant.as_str()];
    query(connection, DOING, library::ALL_BODIES, key, |row| used.library(row.bytes(0)?))?;
    query(connection, DOING, library::ALL_REFERENCES, key, |row| {
        used.document(row.str(0)?);
        Ok(())
    })?;
    let pieces =
        query(connection, DOING, library::ALL_PIECES, key, |row| library::piece_size(row))?;
    let named: Vec<_> = pieces.iter().filter(|(hash, _)| used.is_named(hash)).collect();
    for (hash, _) in named {
        let key = params![tenant.as_str(), hash.0];
        let body = query(connection, DOING, library::PIECE, key, |row| Ok(row.bytes(0)?.to_vec()))?;
        for body in body {
            used.piece(hash, &body).reading(|| "a book".to_owned())?;
        }
    }
    let mut freed = 0;
    for (hash, size) in pieces.into_iter().filter(|(hash, _)| !used.is_named(hash)) {
        let delete = "DELETE FROM book_pieces WHERE tenant = $1 AND hash = $2";
        execute(connection, DOING, delete, params![tenant.as_str(), hash.0])?;
        freed += size;
    }
    Ok(freed)
}
