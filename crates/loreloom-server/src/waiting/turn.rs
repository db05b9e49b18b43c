//! A turn that waits, and how it is written.

use std::sync::Arc;

use loreloom_core::{
    chat::{Message, Path},
    ids::{ChatId, TenantId},
    library::LibrarySource,
    units::Timestamp,
};
use loreloom_memory::service::Who;
use loreloom_ports::{
    EndedResponse, Node, Reply, Store, StoreError, TurnId, TurnRecord, TurnSummary, WriteId,
};
use serde::{Deserialize, Serialize};

/// A turn with its replies, all that the store must get.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WaitingTurn {
    pub(crate) tenant: TenantId,
    /// The title of the chat, if it is new.
    pub(crate) title: String,
    /// The story up to the turn.
    #[serde(with = "path_form")]
    pub(crate) path: Arc<Path>,
    pub(crate) turn: TurnPart,
    pub(crate) replies: Vec<WaitingReply>,
    /// The id of the response, where later requests can name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<String>,
    /// Who speaks in the replies.
    pub(crate) who: Who,
    /// When the replies ended.
    pub(crate) ended: Timestamp,
    /// The books and rules of the turn, if the store may not have them. A spill has them once.
    #[serde(skip)]
    pub(crate) library: Option<Arc<LibrarySource>>,
}

/// What the store has of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnPart {
    /// The turn; its replies are missing.
    Stored(TurnId),
    /// Nothing.
    Unstored(Box<TurnRecord>),
}

/// A reply that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WaitingReply {
    pub(crate) node: Node,
    /// A turn that holds the model's notes in the reply.
    pub(crate) notes: Option<Box<TurnRecord>>,
}

/// What writing a turn gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenTurn {
    pub(crate) turn: TurnId,
    /// The last write, if there was one.
    pub(crate) write: Option<WriteId>,
}

impl WaitingTurn {
    pub(crate) fn chat(&self) -> &ChatId {
        self.path.chat()
    }

    /// Writes what is missing. A write that failed may have reached the disk, so each part is
    /// looked for first: writing twice has no effect.
    pub(crate) async fn write(&self, store: &dyn Store) -> Result<WrittenTurn, StoreError> {
        let (tenant, chat) = (&self.tenant, self.chat());
        if let (Some(library), TurnPart::Unstored(record)) = (&self.library, &self.turn) {
            store.keep_library(tenant, record.library, library).await?;
        }
        store.open_chat(tenant, chat, &self.title, self.ended).await?;
        let stored = store.turns(tenant, chat).await?;
        let mut written = match &self.turn {
            TurnPart::Stored(turn) => WrittenTurn { turn: *turn, write: None },
            TurnPart::Unstored(record) => {
                if let Some(found) = find(&stored, record) {
                    WrittenTurn { turn: found.id, write: None }
                } else {
                    let stored = store.commit_turn(tenant, &self.path, record, None).await?;
                    WrittenTurn { turn: stored.id, write: Some(stored.write) }
                }
            }
        };
        let before = stored.iter().find(|one| one.id == written.turn).and_then(|one| one.reply);
        // Replies are written in order, so the turn's reply is the last one that was stored.
        let done = self.replies.iter().position(|one| Some(one.node.prefix) == before);
        for (at, reply) in self.replies.iter().enumerate() {
            if done.is_none_or(|done| at > done) {
                let (node, created) = (reply.node.clone(), self.ended);
                let reply = Reply { turn: written.turn, node, created };
                written.write = Some(store.commit_reply(tenant, chat, &reply).await?);
            }
            if let Some(notes) =
                reply.notes.as_deref().filter(|notes| find(&stored, notes).is_none())
            {
                let path = self.with_reply(&reply.node);
                written.write = Some(store.commit_turn(tenant, &path, notes, None).await?.write);
            }
        }
        if let Some(id) = &self.response {
            let at = self.replies.first().map_or(self.path.prefix(), |reply| reply.node.prefix);
            let ended = EndedResponse { chat: chat.clone(), at };
            store.keep_response(tenant, id, &ended).await?;
        }
        Ok(written)
    }

    /// The story with the first reply, which is the one that front ends show.
    pub(crate) fn answered(&self) -> Option<Path> {
        self.replies.first().map(|reply| self.with_reply(&reply.node))
    }

    /// The story with a reply. A reply that continues the last message replaces it.
    fn with_reply(&self, node: &Node) -> Path {
        let items = self.path.items();
        let replaces = node.parent != self.path.prefix();
        let kept = items.len().saturating_sub(usize::from(replaces));
        let messages = items[..kept].iter().map(|item| item.message.clone());
        Path::of(self.chat().clone(), messages.chain([node.message.clone()]))
    }
}

/// The stored turn of a record, if it is there.
fn find<'turns>(stored: &'turns [TurnSummary], record: &TurnRecord) -> Option<&'turns TurnSummary> {
    let is_same = |one: &&TurnSummary| {
        one.at == record.at && one.created == record.created && one.generation == record.generation
    };
    stored.iter().rev().find(is_same)
}

/// A path as a chat and its messages.
mod path_form {
    use serde::{Deserializer, Serializer};

    use super::{Arc, ChatId, Deserialize, Message, Path, Serialize};

    #[derive(Deserialize)]
    struct ReadPath {
        chat: ChatId,
        messages: Vec<Message>,
    }

    #[derive(Serialize)]
    struct PathView<'path> {
        chat: &'path ChatId,
        messages: Vec<&'path Message>,
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
        let messages = path.items().iter().map(|item| &item.message).collect();
        PathView { chat: path.chat(), messages }.serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(read: D) -> Result<Arc<Path>, D::Error> {
        let ReadPath { chat, messages } = ReadPath::deserialize(read)?;
        Ok(Arc::new(Path::of(chat, messages)))
    }
}
