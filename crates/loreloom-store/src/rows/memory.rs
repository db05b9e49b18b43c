//! Memory: events, the writes that stored them, and their owners.

use loreloom_core::ids::ChatId;
use loreloom_ports::{MemoryEvent, MemoryWriteId, Owner, WriteSummary};

use super::StoredRow;
use crate::{
    codec::{author_from, event_from, owners_from},
    errors::Decoded,
};

/// The events of an owner after a number: tenant, kind, id, number; for [`event`].
pub(crate) const EVENTS: &str = "SELECT e.number, w.id, w.chat, w.at, e.body \
     FROM memory_owners o \
     JOIN memory_events e ON e.tenant = o.tenant AND e.owner = o.owner \
     JOIN memory_writes w ON w.tenant = e.tenant AND w.number = e.write \
     WHERE o.tenant = $1 AND o.kind = $2 AND o.id = $3 AND e.number > $4 ORDER BY e.number";

/// All owners of a tenant, for [`owner`].
pub(crate) const OWNERS: &str = "SELECT kind, id, last FROM memory_owners WHERE tenant = $1";

/// Sets the last event of an owner: tenant, owner, number.
pub(crate) const SET_LAST_EVENT: &str =
    "UPDATE memory_owners SET last = $3 WHERE tenant = $1 AND owner = $2";

/// The last writes, newest first, for [`write_summary`].
pub(crate) const WRITES: &str = "SELECT id, author, note, chat, at, owners FROM memory_writes \
     WHERE tenant = $1 ORDER BY number DESC LIMIT $2";

/// One write, for [`write_summary`].
pub(crate) const FIND_WRITE: &str = "SELECT id, author, note, chat, at, owners \
     FROM memory_writes WHERE tenant = $1 AND id = $2";

/// A row of [`EVENTS`].
pub(crate) fn event(row: &impl StoredRow) -> Decoded<MemoryEvent> {
    let number = row.unsigned(0)?;
    let event = event_from(row.str(4)?);
    Ok(MemoryEvent {
        number,
        write: MemoryWriteId(row.text(1)?),
        chat: row.optional_text(2)?.map(ChatId),
        at: row.time(3)?,
        event: event.map_err(|reason| format!("memory event {number}: {reason}"))?,
    })
}

/// A row of [`OWNERS`]: an owner and its last event.
pub(crate) fn owner(row: &impl StoredRow) -> Decoded<(Owner, u64)> {
    let (kind, id) = (row.str(0)?, row.str(1)?);
    let owner = Owner::of(kind, id).ok_or_else(|| format!("unknown kind of owner `{kind}`"))?;
    Ok((owner, row.unsigned(2)?))
}

/// A row of [`WRITES`] or [`FIND_WRITE`].
pub(crate) fn write_summary(row: &impl StoredRow) -> Decoded<WriteSummary> {
    Ok(WriteSummary {
        id: MemoryWriteId(row.text(0)?),
        author: author_from(row.str(1)?)?,
        note: row.text(2)?,
        chat: row.optional_text(3)?.map(ChatId),
        at: row.time(4)?,
        owners: owners_from(row.str(5)?)?,
    })
}
