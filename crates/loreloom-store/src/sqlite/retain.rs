//! Giving up what old turns can do without.

use loreloom_core::{
    ids::{ChatId, Digest, TenantId},
    units::Timestamp,
};
use loreloom_ports::{Retained, Retention, StoreError, TurnId};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashSet;

use super::{
    rows::{ChatRow, Doing, Reading},
    unit::Unit,
};
use crate::codec::{PiecesInUse, trim};

const DOING: &str = "trimming old turns";

/// Trims the old turns of all chats, and drops texts that nothing refers to any more.
pub(super) fn retain(
    transaction: Unit<'_>,
    tenant: &TenantId,
    retention: &Retention,
) -> Result<Retained, StoreError> {
    let mut retained = Retained::default();
    let mut libraries = FxHashSet::default();
    let chats: Vec<(i64, i64)> = transaction
        .prepare("SELECT chat, last_turn FROM chats WHERE tenant = ?1")
        .and_then(|mut all| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            all.query_map([tenant.as_str()], row)?.collect()
        })
        .doing(DOING)?;
    for (number, last_turn) in chats {
        let chat = Chat { connection: &transaction, tenant, number, last_turn };
        chat.trim(retention, &mut retained, &mut libraries)?;
    }
    if retention.unused_libraries {
        drop_libraries(&transaction, tenant, &libraries, &mut retained).doing(DOING)?;
        retained.bytes += drop_pieces(&transaction, tenant)?;
    }
    if !retention.dry_run {
        transaction.commit().doing(DOING)?;
    }
    // A dry run did everything, and takes it back here.
    Ok(retained)
}

/// Trims some turns of a chat. Texts that nothing refers to any more stay until the next
/// [`retain`].
pub(super) fn trim(
    transaction: Unit<'_>,
    tenant: &TenantId,
    id: &ChatId,
    turns: &[TurnId],
) -> Result<(), StoreError> {
    let ChatRow { number, last_turn, .. } = ChatRow::get(&transaction, tenant, id)?;
    let chat = Chat { connection: &transaction, tenant, number, last_turn };
    for turn in turns {
        let no_turn = || StoreError::NoTurn { chat: id.clone(), turn: *turn };
        let number = i64::try_from(turn.0).map_err(|_| no_turn())?;
        let (body, report) = chat.columns(number).doing(DOING)?.ok_or_else(no_turn)?;
        let trimmed =
            trim::columns(&body, &report).reading(|| format!("turn {number} of chat `{id}`"))?;
        chat.replace(number, &trimmed).doing(DOING)?;
    }
    transaction.commit().doing(DOING)
}

struct Chat<'a> {
    connection: &'a Connection,
    tenant: &'a TenantId,
    number: i64,
    last_turn: i64,
}

/// A turn's record, as far as trimming looks at it.
struct Old {
    turn: i64,
    created: i64,
    trimmed: bool,
    body: Vec<u8>,
    report: Vec<u8>,
}

impl Chat<'_> {
    fn trim(
        &self,
        retention: &Retention,
        retained: &mut Retained,
        libraries: &mut FxHashSet<[u8; 16]>,
    ) -> Result<(), StoreError> {
        let mut texts = FxHashSet::default();
        let before = retained.turns;
        let mut select = self
            .connection
            .prepare(
                "SELECT t.turn, t.created, t.trimmed, r.body, r.report \
                 FROM turns t JOIN turn_records r USING (tenant, chat, turn) \
                 WHERE t.tenant = ?1 AND t.chat = ?2 ORDER BY t.turn",
            )
            .doing(DOING)?;
        let old = |row: &rusqlite::Row<'_>| {
            Ok(Old {
                turn: row.get(0)?,
                created: row.get(1)?,
                trimmed: row.get(2)?,
                body: row.get(3)?,
                report: row.get(4)?,
            })
        };
        let key = params![self.tenant.as_str(), self.number];
        for old in select.query_map(key, old).doing(DOING)? {
            let mut old = old.doing(DOING)?;
            let what = || format!("turn {}", old.turn);
            let later = (self.last_turn - old.turn).unsigned_abs();
            if !old.trimmed && !retention.keeps(later, Timestamp(old.created)) {
                let trimmed = trim::columns(&old.body, &old.report).reading(what)?;
                let size = |body: &[u8], report: &[u8]| (body.len() + report.len()) as u64;
                let freed = size(&old.body, &old.report)
                    .saturating_sub(size(&trimmed.body, &trimmed.report));
                self.replace(old.turn, &trimmed).doing(DOING)?;
                retained.turns += 1;
                retained.bytes += freed;
                old.body = trimmed.body;
            }
            let (used, library) = trim::references(&old.body).reading(what)?;
            texts.extend(used);
            libraries.insert(library);
        }
        if retained.turns > before {
            retained.bytes += self.drop_texts(&texts).doing(DOING)?;
        }
        Ok(())
    }

    /// The body and the report of a turn.
    fn columns(&self, turn: i64) -> rusqlite::Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.connection
            .prepare_cached(
                "SELECT body, report FROM turn_records \
                 WHERE tenant = ?1 AND chat = ?2 AND turn = ?3",
            )?
            .query_row(params![self.tenant.as_str(), self.number, turn], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
    }

    fn replace(&self, turn: i64, trimmed: &trim::Trimmed) -> rusqlite::Result<()> {
        let (tenant, chat) = (self.tenant.as_str(), self.number);
        self.connection
            .prepare_cached(
                "UPDATE turn_records SET body = ?4, report = ?5 \
                 WHERE tenant = ?1 AND chat = ?2 AND turn = ?3",
            )?
            .execute(params![tenant, chat, turn, trimmed.body, trimmed.report])?;
        self.connection
            .prepare_cached(
                "UPDATE turns SET trimmed = 1 WHERE tenant = ?1 AND chat = ?2 AND turn = ?3",
            )?
            .execute(params![tenant, chat, turn])?;
        Ok(())
    }

    /// Drops the texts that are not used; returns their size.
    fn drop_texts(&self, used: &FxHashSet<i64>) -> rusqlite::Result<u64> {
        let (tenant, chat) = (self.tenant.as_str(), self.number);
        let all: Vec<(i64, i64)> = self
            .connection
            .prepare("SELECT text, length(body) FROM texts WHERE tenant = ?1 AND chat = ?2")?
            .query_map(params![tenant, chat], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut delete = self
            .connection
            .prepare_cached("DELETE FROM texts WHERE tenant = ?1 AND chat = ?2 AND text = ?3")?;
        let mut freed = 0;
        for (text, size) in all.into_iter().filter(|(text, _)| !used.contains(text)) {
            delete.execute(params![tenant, chat, text])?;
            freed += size.unsigned_abs();
        }
        Ok(freed)
    }
}

fn drop_libraries(
    connection: &Connection,
    tenant: &TenantId,
    used: &FxHashSet<[u8; 16]>,
    retained: &mut Retained,
) -> rusqlite::Result<()> {
    let all: Vec<(Vec<u8>, i64)> = connection
        .prepare("SELECT version, length(body) FROM libraries WHERE tenant = ?1")?
        .query_map([tenant.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut delete =
        connection.prepare_cached("DELETE FROM libraries WHERE tenant = ?1 AND version = ?2")?;
    for (version, size) in all {
        if <[u8; 16]>::try_from(version.as_slice()).is_ok_and(|name| used.contains(&name)) {
            continue;
        }
        delete.execute(params![tenant.as_str(), version])?;
        retained.libraries += 1;
        retained.bytes += size.unsigned_abs();
    }
    Ok(())
}

/// Drops the pieces of books that no library and nothing on the desk, now or in its past,
/// refers to; returns their size.
fn drop_pieces(connection: &Connection, tenant: &TenantId) -> Result<u64, StoreError> {
    let mut used = PiecesInUse::default();
    for body in all::<Vec<u8>>(connection, tenant, "SELECT body FROM libraries WHERE tenant = ?1")?
    {
        used.library(&body).reading(|| "a library".to_owned())?;
    }
    let desk = "SELECT value FROM documents WHERE tenant = ?1 \
         UNION ALL SELECT before FROM document_changes WHERE tenant = ?1 AND before IS NOT NULL \
         UNION ALL SELECT after FROM document_changes WHERE tenant = ?1 AND after IS NOT NULL";
    for value in all::<String>(connection, tenant, desk)? {
        used.value(&value);
    }
    let pieces: Vec<(Vec<u8>, Vec<u8>)> = connection
        .prepare("SELECT hash, body FROM book_pieces WHERE tenant = ?1")
        .and_then(|mut select| {
            let piece = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            select.query_map([tenant.as_str()], piece)?.collect()
        })
        .doing(DOING)?;
    let pieces = pieces.into_iter().filter_map(|(hash, body)| {
        let hash = <[u8; 16]>::try_from(hash.as_slice()).ok()?;
        Some((Digest(hash), body))
    });
    let unused = used.unused(&pieces.collect::<Vec<_>>());
    let mut freed = 0;
    for (hash, size) in unused.reading(|| "a book".to_owned())? {
        connection
            .prepare_cached("DELETE FROM book_pieces WHERE tenant = ?1 AND hash = ?2")
            .and_then(|mut delete| delete.execute(params![tenant.as_str(), hash.0]))
            .doing(DOING)?;
        freed += size;
    }
    Ok(freed)
}

fn all<T: rusqlite::types::FromSql>(
    connection: &Connection,
    tenant: &TenantId,
    sql: &str,
) -> Result<Vec<T>, StoreError> {
    connection
        .prepare(sql)
        .and_then(|mut select| select.query_map([tenant.as_str()], |row| row.get(0))?.collect())
        .doing(DOING)
}
