//! Giving up what old turns can do without.

use deadpool_postgres::{Client, Transaction};
use loreloom_core::{
    ids::{ChatId, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Retained, Retention, StoreError, TurnId};
use rustc_hash::FxHashSet;

use super::rows::{Doing, damaged};
use crate::codec::{PiecesInUse, trim};

const DOING: &str = "trimming old turns";

/// Trims the old turns of all chats, and drops texts that nothing refers to any more. Chats
/// are locked while it runs: a writer waits.
pub(super) async fn retain(
    client: &mut Client,
    tenant: &TenantId,
    retention: &Retention,
) -> Result<Retained, StoreError> {
    let transaction = client.transaction().await.doing(DOING)?;
    let mut retained = Retained::default();
    let mut libraries = FxHashSet::default();
    let chats = "SELECT chat, last_turn FROM chats WHERE tenant = $1 ORDER BY chat FOR UPDATE";
    for row in transaction.query(chats, &[&tenant.as_str()]).await.doing(DOING)? {
        let (number, last_turn) = (row.try_get(0).doing(DOING)?, row.try_get(1).doing(DOING)?);
        let chat = Chat { transaction: &transaction, tenant: tenant.as_str(), number, last_turn };
        chat.trim(retention, &mut retained, &mut libraries).await?;
    }
    if retention.unused_libraries {
        let used: Vec<&[u8]> = libraries.iter().map(<[u8; 16]>::as_slice).collect();
        let sql = "DELETE FROM libraries WHERE tenant = $1 AND version <> ALL ($2) \
             RETURNING octet_length(body)::bigint";
        let rows = transaction.query(sql, &[&tenant.as_str(), &used]).await.doing(DOING)?;
        for row in rows {
            retained.libraries += 1;
            retained.bytes += row.try_get::<_, i64>(0).doing(DOING)?.unsigned_abs();
        }
        retained.bytes += drop_pieces(&transaction, tenant).await?;
    }
    if !retention.dry_run {
        transaction.commit().await.doing(DOING)?;
    }
    // A dry run did everything, and takes it back here.
    Ok(retained)
}

/// Trims some turns of a chat. Texts that nothing refers to any more stay until the next
/// [`retain`].
pub(super) async fn trim(
    client: &mut Client,
    tenant: &TenantId,
    id: &ChatId,
    turns: &[TurnId],
) -> Result<(), StoreError> {
    let transaction = client.transaction().await.doing(DOING)?;
    let find = "SELECT chat, last_turn FROM chats WHERE tenant = $1 AND id = $2 FOR UPDATE";
    let row = transaction.query_opt(find, &[&tenant.as_str(), &id.as_str()]).await.doing(DOING)?;
    let row = row.ok_or_else(|| StoreError::NoChat { chat: id.clone() })?;
    let (number, last_turn) = (row.try_get(0).doing(DOING)?, row.try_get(1).doing(DOING)?);
    let chat = Chat { transaction: &transaction, tenant: tenant.as_str(), number, last_turn };
    for turn in turns {
        let no_turn = || StoreError::NoTurn { chat: id.clone(), turn: *turn };
        let number = i64::try_from(turn.0).map_err(|_| no_turn())?;
        let find = "SELECT body, report FROM turn_records \
             WHERE tenant = $1 AND chat = $2 AND turn = $3";
        let key: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&chat.tenant, &chat.number, &number];
        let row = transaction.query_opt(find, &key).await.doing(DOING)?.ok_or_else(no_turn)?;
        let (body, report): (Vec<u8>, Vec<u8>) =
            (row.try_get(0).doing(DOING)?, row.try_get(1).doing(DOING)?);
        let broken = |reason| damaged(format!("turn {number} of chat `{id}`"), reason);
        chat.replace(number, &trim::columns(&body, &report).map_err(broken)?).await?;
    }
    transaction.commit().await.doing(DOING)
}

/// Drops the pieces of books that no library and nothing on the desk, now or in its past,
/// refers to; returns their size.
async fn drop_pieces(transaction: &Transaction<'_>, tenant: &TenantId) -> Result<u64, StoreError> {
    let tenant = tenant.as_str();
    let mut used = PiecesInUse::default();
    let libraries = "SELECT body FROM libraries WHERE tenant = $1";
    for row in transaction.query(libraries, &[&tenant]).await.doing(DOING)? {
        let body: &[u8] = row.try_get(0).doing(DOING)?;
        used.library(body).map_err(|reason| damaged("a library".to_owned(), reason))?;
    }
    let desk = "SELECT value FROM documents WHERE tenant = $1 \
         UNION ALL SELECT before FROM document_changes WHERE tenant = $1 AND before IS NOT NULL \
         UNION ALL SELECT after FROM document_changes WHERE tenant = $1 AND after IS NOT NULL";
    for row in transaction.query(desk, &[&tenant]).await.doing(DOING)? {
        used.value(row.try_get(0).doing(DOING)?);
    }
    let mut pieces = Vec::new();
    let all = "SELECT hash, body FROM book_pieces WHERE tenant = $1";
    for row in transaction.query(all, &[&tenant]).await.doing(DOING)? {
        let hash: &[u8] = row.try_get(0).doing(DOING)?;
        if let Ok(hash) = <[u8; 16]>::try_from(hash) {
            pieces.push((Digest(hash), row.try_get(1).doing(DOING)?));
        }
    }
    let unused = used.unused(&pieces).map_err(|reason| damaged("a book".to_owned(), reason))?;
    let names: Vec<&[u8]> = unused.iter().map(|(hash, _)| hash.0.as_slice()).collect();
    let delete = "DELETE FROM book_pieces WHERE tenant = $1 AND hash = ANY ($2)";
    transaction.execute(delete, &[&tenant, &names]).await.doing(DOING)?;
    Ok(unused.iter().map(|(_, size)| size).sum())
}

struct Chat<'a> {
    transaction: &'a Transaction<'a>,
    tenant: &'a str,
    number: i64,
    last_turn: i64,
}

impl Chat<'_> {
    async fn trim(
        &self,
        retention: &Retention,
        retained: &mut Retained,
        libraries: &mut FxHashSet<[u8; 16]>,
    ) -> Result<(), StoreError> {
        let mut texts = FxHashSet::default();
        let before = retained.turns;
        let sql = "SELECT t.turn, t.created, t.trimmed, r.body, r.report \
             FROM turns t JOIN turn_records r USING (tenant, chat, turn) \
             WHERE t.tenant = $1 AND t.chat = $2 ORDER BY t.turn";
        let rows = self.transaction.query(sql, &[&self.tenant, &self.number]).await.doing(DOING)?;
        for row in rows {
            let number = |at| row.try_get::<_, i64>(at).doing(DOING);
            let (turn, created, trimmed) = (number(0)?, number(1)?, number(2)? != 0);
            let mut body: Vec<u8> = row.try_get(3).doing(DOING)?;
            let report: Vec<u8> = row.try_get(4).doing(DOING)?;
            let broken = |reason| damaged(format!("turn {turn}"), reason);
            let later = (self.last_turn - turn).unsigned_abs();
            if !trimmed && !retention.keeps(later, Timestamp(created)) {
                let trimmed = trim::columns(&body, &report).map_err(broken)?;
                let size = |body: &[u8], report: &[u8]| (body.len() + report.len()) as u64;
                let freed =
                    size(&body, &report).saturating_sub(size(&trimmed.body, &trimmed.report));
                self.replace(turn, &trimmed).await?;
                retained.turns += 1;
                retained.bytes += freed;
                body = trimmed.body;
            }
            let (used, library) = trim::references(&body).map_err(broken)?;
            texts.extend(used);
            libraries.insert(library);
        }
        if retained.turns > before {
            let used: Vec<i64> = texts.into_iter().collect();
            let sql = "DELETE FROM texts WHERE tenant = $1 AND chat = $2 AND text <> ALL ($3) \
                 RETURNING octet_length(body)::bigint";
            let key: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                [&self.tenant, &self.number, &used];
            for row in self.transaction.query(sql, &key).await.doing(DOING)? {
                retained.bytes += row.try_get::<_, i64>(0).doing(DOING)?.unsigned_abs();
            }
        }
        Ok(())
    }

    async fn replace(&self, turn: i64, trimmed: &trim::Trimmed) -> Result<(), StoreError> {
        let set = "UPDATE turn_records SET body = $4, report = $5 \
             WHERE tenant = $1 AND chat = $2 AND turn = $3";
        let key: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&self.tenant, &self.number, &turn, &trimmed.body, &trimmed.report];
        self.transaction.execute(set, &key).await.doing(DOING)?;
        let mark = "UPDATE turns SET trimmed = 1 WHERE tenant = $1 AND chat = $2 AND turn = $3";
        self.transaction.execute(mark, &[&self.tenant, &self.number, &turn]).await.doing(DOING)?;
        Ok(())
    }
}
