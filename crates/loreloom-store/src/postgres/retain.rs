//! Trimming old turns, and deleting what nothing refers to any more.

use deadpool_postgres::{Client, Transaction};
use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::{Retained, Retention, StoreError, TurnId};

use super::{
    read::find_chat,
    statement::{Parameters, decode_all, execute, query, query_first},
};
use crate::{
    codec::{
        PiecesInUse,
        trim::{self, TrimmedColumns},
    },
    errors::{DatabaseResult as _, DecodeResult as _},
    retention::RetentionRun,
    rows::{
        StoredRow as _, chat, library, signed,
        turn::{self, OldTurn},
    },
};

const DOING: &str = "trimming old turns";

/// Trims the old turns of all chats, and deletes texts and libraries that are not in use. Chats
/// are locked, so writers wait.
pub(super) async fn retain(
    client: &mut Client,
    tenant: &TenantId,
    retention: &Retention,
) -> Result<Retained, StoreError> {
    const CHATS: &str =
        "SELECT chat, last_turn FROM chats WHERE tenant = $1 ORDER BY chat FOR UPDATE";
    let transaction = client.transaction().await.doing(DOING)?;
    let mut run = RetentionRun::new(retention);
    let chats = query(&transaction, DOING, CHATS, &[&tenant.as_str()]).await?;
    for chat in decode_all(&chats, DOING, |row| Ok((row.number(0)?, row.number(1)?)))? {
        retain_chat(&transaction, tenant, chat, &mut run).await?;
    }
    if retention.unused_libraries {
        let used: Vec<&[u8]> = run.libraries.iter().map(<[u8; 16]>::as_slice).collect();
        let delete = "DELETE FROM libraries WHERE tenant = $1 AND version <> ALL ($2) \
             RETURNING octet_length(body)::bigint";
        let freed = query(&transaction, DOING, delete, &[&tenant.as_str(), &used]).await?;
        let freed = decode_all(&freed, DOING, |row| row.unsigned(0))?;
        run.retained.libraries += freed.len() as u64;
        run.retained.bytes += freed.iter().sum::<u64>();
        run.retained.bytes += delete_pieces(&transaction, tenant).await?;
    }
    if !retention.dry_run {
        transaction.commit().await.doing(DOING)?;
    }
    // A dry run does everything, and is rolled back here.
    Ok(run.retained)
}

/// Trims some turns of a chat. Texts that are no longer in use stay until the next [`retain`].
pub(super) async fn trim(
    client: &mut Client,
    tenant: &TenantId,
    id: &ChatId,
    turns: &[TurnId],
) -> Result<(), StoreError> {
    let transaction = client.transaction().await.doing(DOING)?;
    let chat = find_chat(&transaction, chat::LOCK, tenant, id).await?.number;
    for turn in turns {
        let number = signed(turn.0);
        let key: &Parameters<'_> = &[&tenant.as_str(), &chat, &number];
        let row = query_first(&transaction, DOING, turn::FIND_RECORD, key).await?;
        let row = row.ok_or_else(|| StoreError::NoTurn { chat: id.clone(), turn: *turn })?;
        let trimmed = turn::body_and_report(&row)
            .and_then(|(body, report)| trim::columns(&body, &report))
            .reading(|| format!("turn {number} of chat `{id}`"))?;
        replace(&transaction, tenant, (chat, number), &trimmed).await?;
    }
    transaction.commit().await.doing(DOING)
}

async fn retain_chat(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    (chat, last): (i64, i64),
    run: &mut RetentionRun<'_>,
) -> Result<(), StoreError> {
    let before = run.retained.turns;
    run.texts.clear();
    let key: &Parameters<'_> = &[&tenant.as_str(), &chat];
    for row in query(transaction, DOING, turn::ALL_RECORDS, key).await? {
        let old = OldTurn::of(&row).row_while(DOING)?;
        let trimmed = run.turn(&old, last).reading(|| format!("turn {}", old.turn))?;
        if let Some(trimmed) = trimmed {
            replace(transaction, tenant, (chat, old.turn), &trimmed).await?;
        }
    }
    if run.retained.turns > before {
        let used: Vec<i64> = run.texts.iter().copied().collect();
        let delete = "DELETE FROM texts WHERE tenant = $1 AND chat = $2 AND text <> ALL ($3) \
             RETURNING octet_length(body)::bigint";
        let freed = query(transaction, DOING, delete, &[&tenant.as_str(), &chat, &used]).await?;
        let freed = decode_all(&freed, DOING, |row| row.unsigned(0))?;
        run.retained.bytes += freed.iter().sum::<u64>();
    }
    Ok(())
}

async fn replace(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    (chat, turn): (i64, i64),
    trimmed: &TrimmedColumns,
) -> Result<(), StoreError> {
    let tenant = tenant.as_str();
    let set = "UPDATE turn_records SET body = $4, report = $5 \
         WHERE tenant = $1 AND chat = $2 AND turn = $3";
    let row: &Parameters<'_> = &[&tenant, &chat, &turn, &trimmed.body, &trimmed.report];
    execute(transaction, DOING, set, row).await?;
    let mark = "UPDATE turns SET trimmed = 1 WHERE tenant = $1 AND chat = $2 AND turn = $3";
    execute(transaction, DOING, mark, &[&tenant, &chat, &turn]).await.map(drop)
}

/// Deletes the pieces of books that are not in use. Returns their size.
async fn delete_pieces(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
) -> Result<u64, StoreError> {
    let key: &Parameters<'_> = &[&tenant.as_str()];
    let mut used = PiecesInUse::default();
    for row in query(transaction, DOING, library::ALL_BODIES, key).await? {
        row.bytes(0).and_then(|body| used.library(body)).row_while(DOING)?;
    }
    for row in query(transaction, DOING, library::ALL_REFERENCES, key).await? {
        used.document(row.str(0).row_while(DOING)?);
    }
    let pieces = query(transaction, DOING, library::ALL_PIECES, key).await?;
    let pieces = decode_all(&pieces, DOING, library::piece_size)?;
    let named: Vec<_> = pieces.iter().filter(|(hash, _)| used.is_named(hash)).collect();
    for (hash, _) in named {
        let key: &Parameters<'_> = &[&tenant.as_str(), &hash.0.as_slice()];
        if let Some(row) = query_first(transaction, DOING, library::PIECE, key).await? {
            row.bytes(0).and_then(|body| used.piece(hash, body)).reading(|| "a book".to_owned())?;
        }
    }
    let unused: Vec<_> = pieces.iter().filter(|(hash, _)| !used.is_named(hash)).collect();
    let names: Vec<&[u8]> = unused.iter().map(|(hash, _)| hash.0.as_slice()).collect();
    let delete = "DELETE FROM book_pieces WHERE tenant = $1 AND hash = ANY ($2)";
    execute(transaction, DOING, delete, &[&tenant.as_str(), &names]).await?;
    Ok(unused.iter().map(|(_, size)| size).sum())
}
