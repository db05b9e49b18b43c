//! Turns.

use loreloom_core::{
    ids::{ChatId, MessageId, PrefixHash},
    units::Timestamp,
};
use loreloom_ports::{TurnId, TurnRecord, TurnSummary, WriteId};

use super::StoredRow;
use crate::{
    codec::{
        ChosenDeltas, ReferencedTexts, RestoredTurn, TurnBody, delta_from, generation_from,
        report_from,
    },
    errors::Decoded,
    fold::OfferedTurn,
};

/// All turns of a chat, for [`summary`].
pub(crate) const LIST: &str = "SELECT turn, at, generation, created, reply, undone, trimmed \
     FROM turns WHERE tenant = $1 AND chat = $2 ORDER BY turn";

/// One turn, for [`TurnRow::of`].
pub(crate) const FIND: &str = "SELECT t.at, t.generation, t.created, t.delta, r.body, r.report \
     FROM turns t JOIN turn_records r USING (tenant, chat, turn) \
     WHERE t.tenant = $1 AND t.chat = $2 AND t.turn = $3";

/// All turns that count for the state of a chat, newest first, for [`offer`]. One statement sees
/// one snapshot.
pub(crate) const FOR_STATE: &str = "SELECT t.at, t.at_message, t.generation, t.delta, c.version FROM chats c \
     LEFT JOIN turns t ON t.tenant = c.tenant AND t.chat = c.chat AND t.undone = 0 \
     WHERE c.tenant = $1 AND c.id = $2 ORDER BY t.turn DESC";

/// The node of a turn and its reply, for [`node_and_reply`].
pub(crate) const NODE_AND_REPLY: &str =
    "SELECT at, reply FROM turns WHERE tenant = $1 AND chat = $2 AND turn = $3";

pub(crate) const SET_REPLY: &str =
    "UPDATE turns SET reply = $4 WHERE tenant = $1 AND chat = $2 AND turn = $3";

pub(crate) const SET_UNDONE: &str =
    "UPDATE turns SET undone = $4 WHERE tenant = $1 AND chat = $2 AND turn = $3";

/// Adds a turn: tenant, chat, turn, node, message, generation, time, delta.
pub(crate) const INSERT: &str =
    "INSERT INTO turns VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8, 0, 0)";

/// Adds the record of a turn: tenant, chat, turn, body, report.
pub(crate) const INSERT_RECORD: &str = "INSERT INTO turn_records VALUES ($1, $2, $3, $4, $5)";

/// Body and report of all turns of a chat, for [`OldTurn::of`].
pub(crate) const ALL_RECORDS: &str = "SELECT t.turn, t.created, t.trimmed, r.body, r.report \
     FROM turns t JOIN turn_records r USING (tenant, chat, turn) \
     WHERE t.tenant = $1 AND t.chat = $2 ORDER BY t.turn";

/// Body and report of one turn.
pub(crate) const FIND_RECORD: &str =
    "SELECT body, report FROM turn_records WHERE tenant = $1 AND chat = $2 AND turn = $3";

/// A row of [`LIST`].
pub(crate) fn summary(row: &impl StoredRow) -> Decoded<TurnSummary> {
    Ok(TurnSummary {
        id: TurnId(row.unsigned(0)?),
        at: PrefixHash(row.digest(1)?),
        generation: generation_from(row.number(2)?)?,
        created: row.time(3)?,
        reply: row.optional_digest(4)?.map(PrefixHash),
        undone: row.flag(5)?,
        trimmed: row.flag(6)?,
    })
}

/// A row of [`FIND`].
pub(crate) struct TurnRow {
    at: PrefixHash,
    generation: i64,
    created: Timestamp,
    delta: Option<String>,
    body: Vec<u8>,
    report: Vec<u8>,
}

impl TurnRow {
    pub(crate) fn of(row: &impl StoredRow) -> Decoded<Self> {
        Ok(Self {
            at: PrefixHash(row.digest(0)?),
            generation: row.number(1)?,
            created: row.time(2)?,
            delta: row.optional_text(3)?,
            body: row.bytes(4)?.to_vec(),
            report: row.bytes(5)?.to_vec(),
        })
    }

    pub(crate) fn body(&self) -> Decoded<TurnBody> {
        TurnBody::from_bytes(&self.body)
    }

    /// The turn, given its body and the texts that the body refers to.
    pub(crate) fn record(
        self,
        chat: &ChatId,
        body: TurnBody,
        texts: &ReferencedTexts,
    ) -> Decoded<TurnRecord> {
        let (answers, library) = (body.answers, body.library);
        let RestoredTurn { injections, prompt, input } = body.restore(texts)?;
        Ok(TurnRecord {
            chat: chat.clone(),
            at: self.at,
            answers,
            generation: generation_from(self.generation)?,
            library,
            delta: delta_from(self.delta.as_deref())?,
            injections,
            prompt,
            report: report_from(&self.report)?,
            created: self.created,
            input,
        })
    }
}

/// Offers the turn in a row of [`FOR_STATE`]. Returns the chat's last write.
pub(crate) fn offer(choice: &mut ChosenDeltas, row: &impl StoredRow) -> Decoded<WriteId> {
    // A chat without turns has one row without a turn.
    if let Some(at) = row.optional_digest(0)? {
        let turn = OfferedTurn {
            at: PrefixHash(at),
            message: row.optional_digest(1)?.map(MessageId),
            generation: generation_from(row.number(2)?)?,
        };
        choice.offer(turn, || row.optional_text(3))?;
    }
    row.unsigned(4).map(WriteId)
}

/// A row of [`NODE_AND_REPLY`].
pub(crate) fn node_and_reply(row: &impl StoredRow) -> Decoded<(PrefixHash, Option<PrefixHash>)> {
    Ok((PrefixHash(row.digest(0)?), row.optional_digest(1)?.map(PrefixHash)))
}

/// A row of [`ALL_RECORDS`].
pub(crate) struct OldTurn {
    pub(crate) turn: i64,
    pub(crate) created: Timestamp,
    pub(crate) trimmed: bool,
    pub(crate) body: Vec<u8>,
    pub(crate) report: Vec<u8>,
}

impl OldTurn {
    pub(crate) fn of(row: &impl StoredRow) -> Decoded<Self> {
        Ok(Self {
            turn: row.number(0)?,
            created: row.time(1)?,
            trimmed: row.flag(2)?,
            body: row.bytes(3)?.to_vec(),
            report: row.bytes(4)?.to_vec(),
        })
    }
}

/// A row of [`FIND_RECORD`].
pub(crate) fn body_and_report(row: &impl StoredRow) -> Decoded<(Vec<u8>, Vec<u8>)> {
    Ok((row.bytes(0)?.to_vec(), row.bytes(1)?.to_vec()))
}
