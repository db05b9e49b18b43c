//! The log of writes to a chat.

use loreloom_core::ids::PrefixHash;
use loreloom_ports::{TurnId, WriteId, WriteKind, WriteRecord};

use super::StoredRow;
use crate::errors::Decoded;

/// The writes to a chat, oldest first, for [`record`].
pub(crate) const LIST: &str = "SELECT version, kind, turn, undoes, tip, reply, created \
     FROM writes WHERE tenant = $1 AND chat = $2 ORDER BY version";

/// Adds a write: tenant, chat and the columns of [`LIST`].
pub(crate) const INSERT: &str = "INSERT INTO writes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/// A row of [`LIST`].
pub(crate) fn record(row: &impl StoredRow) -> Decoded<WriteRecord> {
    Ok(WriteRecord {
        id: WriteId(row.unsigned(0)?),
        kind: kind_from(row.number(1)?, row.optional_number(2)?)?,
        undoes: row.optional_number(3)?.map(|version| WriteId(version.unsigned_abs())),
        tip: PrefixHash(row.digest(4)?),
        reply: row.optional_digest(5)?.map(PrefixHash),
        created: row.time(6)?,
    })
}

/// Columns `kind` and `turn`.
pub(crate) fn kind_columns(kind: WriteKind) -> (i64, Option<i64>) {
    let number = |turn: TurnId| Some(turn.0.cast_signed());
    match kind {
        WriteKind::Turn(turn) => (0, number(turn)),
        WriteKind::Reply(turn) => (1, number(turn)),
        WriteKind::Path => (2, None),
        WriteKind::Tip => (3, None),
    }
}

fn kind_from(kind: i64, turn: Option<i64>) -> Decoded<WriteKind> {
    let turn = turn.map(|turn| TurnId(turn.unsigned_abs()));
    match (kind, turn) {
        (0, Some(turn)) => Ok(WriteKind::Turn(turn)),
        (1, Some(turn)) => Ok(WriteKind::Reply(turn)),
        (2, _) => Ok(WriteKind::Path),
        (3, _) => Ok(WriteKind::Tip),
        (other, _) => Err(format!("kind {other} of writes is unknown, or names no turn")),
    }
}
