//! Giving up what old turns can do without.

use deadpool_postgres::{Client, Transaction};
use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_memory::ports::{Retained, Retention, StoreError};
use rustc_hash::FxHashSet;

use super::rows::{Doing, damaged};
use crate::codec::trim;

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
    }
    if !retention.dry_run {
        transaction.commit().await.doing(DOING)?;
    }
    // A dry run did everything, and takes it back here.
    Ok(retained)
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
