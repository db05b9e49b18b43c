//! Keeping stories: chats, their trees of messages, turns and reports.
//!
//! A chat's tree has a [`Node`] for every prefix hash: the message and the node before
//! it. A [`TurnRecord`] hangs on the node it was computed on. Business code makes ids and
//! timestamps; a store keeps what it is given.

use async_trait::async_trait;
use loreloom_core::{
    chat::{GenerationType, Message, Path},
    given::Given,
    ids::{ChatId, LibraryVersion, MessageId, PrefixHash, TenantId},
    library::Shelf,
    place::Injection,
    prompt::PromptMessage,
    report::Report,
    state::{StateDelta, StoryState},
    units::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::Desk;

/// A turn's number within its chat, in order of commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub u64);

/// A chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatRecord {
    /// Its id.
    pub id: ChatId,
    /// Shown name.
    pub title: String,
    /// The node the story is at; all zeros before the first message.
    pub tip: PrefixHash,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Grows by one with every write: a writer names the version it has seen.
    pub version: u64,
}

/// A line of the list of chats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatSummary {
    /// The chat.
    pub chat: ChatRecord,
    /// Messages on the current path.
    pub messages: u64,
    /// Turns of all branches.
    pub turns: u64,
}

/// A node of a chat's tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Names the node.
    pub prefix: PrefixHash,
    /// The node before; all zeros for the first message.
    pub parent: PrefixHash,
    /// The message's id.
    pub message_id: MessageId,
    /// The message.
    pub message: Message,
}

/// Everything one turn decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The chat.
    pub chat: ChatId,
    /// The node it was computed on.
    pub at: PrefixHash,
    /// The message it answers.
    pub answers: Option<MessageId>,
    /// What was asked for.
    pub generation: GenerationType,
    /// The compiled books.
    pub library: LibraryVersion,
    /// What it changed.
    pub delta: StateDelta,
    /// What was put into the prompt.
    pub injections: Vec<Injection>,
    /// The prompt as sent.
    pub prompt: Vec<PromptMessage>,
    /// Why.
    pub report: Report,
    /// When.
    pub created: Timestamp,
    /// What it was given, so that it can be decided again; `None` for turns that were stored
    /// before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Box<Given>>,
}

/// A line of the list of turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// The turn.
    pub id: TurnId,
    /// The node it was computed on.
    pub at: PrefixHash,
    /// What was asked for.
    pub generation: GenerationType,
    /// When.
    pub created: Timestamp,
    /// The node of the reply, once it is there.
    pub reply: Option<PrefixHash>,
}

/// The model's reply to a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The node of the reply.
    pub node: Node,
    /// When it ended.
    pub created: Timestamp,
}

/// Keeps stories. All writes are atomic and durable when they return.
#[async_trait]
pub trait StoryStore: Send + Sync {
    /// All chats of a tenant, last changed first.
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError>;

    /// One chat.
    async fn chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Option<ChatRecord>, StoreError>;

    /// Makes a chat if there is none of this id; returns what is stored.
    async fn open_chat(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        title: &str,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError>;

    /// Stores a turn together with the path it was computed on, and moves the chat's tip
    /// there. Nodes that are already stored are left alone. Turns are numbered from 1.
    ///
    /// Fails with [`StoreError::Conflict`] if `seen` is given and is not the chat's version,
    /// and with [`StoreError::Contradiction`] if the turn names another chat or node than
    /// the path's.
    async fn commit_turn(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        seen: Option<u64>,
    ) -> Result<TurnId, StoreError>;

    /// Stores the reply to a turn. The chat's tip moves to it if it still is where the turn
    /// left it. A second reply to the same turn becomes another node, and the turn's reply.
    ///
    /// The node's parent must be stored already ([`StoreError::NoNode`]).
    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<(), StoreError>;

    /// Stores the nodes of a path that no turn was computed on (a chat from elsewhere), and
    /// moves the chat's tip to its end. Nodes that are already stored are left alone. Returns
    /// the chat as it now is.
    ///
    /// Fails with [`StoreError::Conflict`] if `seen` is given and is not the chat's version.
    async fn commit_path(
        &self,
        tenant: &TenantId,
        path: &Path,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError>;

    /// Moves the chat's tip to a node that is stored, or to all zeros: going back, or to
    /// another branch, before anything is said there. Returns the chat as it now is.
    ///
    /// Fails with [`StoreError::Conflict`] if `seen` is given and is not the chat's version.
    async fn move_tip(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
        seen: Option<u64>,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError>;

    /// The nodes from the first message to `tip`, oldest first.
    async fn path(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        tip: PrefixHash,
    ) -> Result<Vec<Node>, StoreError>;

    /// All nodes of a chat, parents before children.
    async fn tree(&self, tenant: &TenantId, chat: &ChatId) -> Result<Vec<Node>, StoreError>;

    /// The state of a path: the fold of the deltas along it, from the empty path on. For
    /// each message the last turn computed on exactly this prefix counts, else the last turn
    /// computed on a path that ended in this message id, so that an edit far back does not
    /// wipe the state of what follows.
    ///
    /// The message a turn was computed on decides, not the one it answers: in a group's
    /// round, or when the user is impersonated, several turns answer one message and each
    /// keeps its own. [`GenerationType::Quiet`] turns are not part of the story and never
    /// count. The path itself need not be stored.
    async fn state(&self, tenant: &TenantId, path: &Path) -> Result<StoryState, StoreError>;

    /// All turns of a chat, in order of commit.
    async fn turns(&self, tenant: &TenantId, chat: &ChatId)
    -> Result<Vec<TurnSummary>, StoreError>;

    /// One turn.
    async fn turn(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turn: TurnId,
    ) -> Result<Option<TurnRecord>, StoreError>;

    /// Keeps the books and rules that turns are decided with. What is kept already stays as
    /// it is.
    ///
    /// Fails with [`StoreError::Contradiction`] if `version` is not theirs.
    async fn keep_library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
        library: &Shelf,
    ) -> Result<(), StoreError>;

    /// The books and rules of a version, if they were kept.
    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<Shelf>, StoreError>;
}

/// A store of everything.
pub trait Store: StoryStore + Desk {}

impl<S: StoryStore + Desk> Store for S {}

/// Why a store could not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The chat does not exist.
    #[error("there is no chat `{chat}`")]
    NoChat {
        /// The chat asked for.
        chat: ChatId,
    },
    /// The turn does not exist.
    #[error("chat `{chat}` has no turn {}", turn.0)]
    NoTurn {
        /// The chat.
        chat: ChatId,
        /// The turn asked for.
        turn: TurnId,
    },
    /// The node does not exist.
    #[error("chat `{chat}` has no node {node}")]
    NoNode {
        /// The chat.
        chat: ChatId,
        /// The node asked for.
        node: PrefixHash,
    },
    /// Somebody else wrote in between: read again and retry.
    #[error("chat `{chat}` is at version {found}, not at {expected}")]
    Conflict {
        /// The chat.
        chat: ChatId,
        /// The version the writer had seen.
        expected: u64,
        /// The version it is at.
        found: u64,
    },
    /// Somebody else changed the desk in between: read again and retry.
    #[error("the desk is at revision {found}, not at {expected}")]
    Outdated {
        /// The revision the writer had seen.
        expected: u64,
        /// The revision it is at.
        found: u64,
    },
    /// The revision does not exist.
    #[error("there is no revision {revision}")]
    NoRevision {
        /// The revision asked for.
        revision: u64,
    },
    /// What a revision changed was changed again: undo that first.
    #[error("revision {revision} cannot be undone: `{key}` was changed again by revision {by}")]
    ChangedSince {
        /// The revision.
        revision: u64,
        /// What was changed again.
        key: String,
        /// By which revision.
        by: u64,
    },
    /// What was given contradicts itself; nothing was stored.
    #[error("{rule}, found {found}")]
    Contradiction {
        /// The rule that was broken.
        rule: &'static str,
        /// What was given.
        found: String,
    },
    /// The database was made by a newer version.
    #[error(
        "the database has schema {found}, this version knows up to {known}: use a newer loreloom"
    )]
    TooNew {
        /// The schema found.
        found: i64,
        /// The newest schema known.
        known: i64,
    },
    /// A stored value cannot be read.
    #[error("{what} is damaged: {reason}")]
    Damaged {
        /// What was read.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// The database failed.
    #[error("the database failed while {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
