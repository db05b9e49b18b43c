//! Where responses of the responses API ended.

use loreloom_core::ids::{ChatId, PrefixHash};
use loreloom_ports::EndedResponse;

use super::StoredRow;
use crate::errors::Decoded;

/// Keeps a response: tenant, its id, the id of its chat, node.
pub(crate) const KEEP: &str = "INSERT INTO responses (tenant, id, chat, at) \
     SELECT $1, $2, chat, $4 FROM chats WHERE tenant = $1 AND id = $3 \
     ON CONFLICT (tenant, id) DO UPDATE SET chat = excluded.chat, at = excluded.at";

/// A response by tenant and id, for [`ended`].
pub(crate) const FIND: &str = "SELECT c.id, r.at FROM responses r \
     JOIN chats c ON c.tenant = r.tenant AND c.chat = r.chat WHERE r.tenant = $1 AND r.id = $2";

/// A row of [`FIND`].
pub(crate) fn ended(row: &impl StoredRow) -> Decoded<EndedResponse> {
    Ok(EndedResponse { chat: ChatId(row.text(0)?), at: PrefixHash(row.digest(1)?) })
}
