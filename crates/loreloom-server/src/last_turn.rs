//! The turn that was stored last, for pages and tests.

use loreloom_core::{chat::GenerationType, ids::ChatId};
use loreloom_ports::{StoreError, TurnId, TurnRecord};

use crate::app::App;

/// The last turn of a chat.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LastTurn {
    /// The chat.
    pub chat: ChatId,
    /// The turn's number.
    pub turn: TurnId,
    /// Everything it decided.
    pub record: TurnRecord,
    /// The reply, once there is one.
    pub reply: Option<String>,
}

impl App {
    /// The turn that was stored last.
    pub async fn last_turn(&self) -> Result<Option<LastTurn>, StoreError> {
        let Some(chat) = self.store.chats(&self.tenant).await?.into_iter().next() else {
            return Ok(None);
        };
        let chat = chat.chat.id;
        let turns = self.store.turns(&self.tenant, &chat).await?;
        let last = turns.into_iter().rfind(|turn| turn.generation != GenerationType::Edit);
        let Some(summary) = last else {
            return Ok(None);
        };
        let Some(record) = self.store.turn(&self.tenant, &chat, summary.id).await? else {
            return Ok(None);
        };
        let reply = match summary.reply {
            Some(node) => self.store.path(&self.tenant, &chat, node).await?.pop(),
            None => None,
        };
        let reply = reply.map(|node| node.message.text.into());
        Ok(Some(LastTurn { chat, turn: summary.id, record, reply }))
    }
}
