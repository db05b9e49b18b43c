//! Keeping stories: chats, their trees of messages, turns and reports.
//!
//! A chat's tree has a [`Node`] for every prefix hash: the message and the node before
//! it. A [`TurnRecord`] hangs on the node it was computed on. Business code makes ids and
//! timestamps; a store keeps what it is given.

use async_trait::async_trait;
use loreloom_core::{
    chat::{GenerationType, Message, Path},
    ids::{ChatId, LibraryVersion, MessageId, PrefixHash, TenantId},
    library::LibrarySource,
    place::Injection,
    prompt::PromptMessage,
    report::{Report, TurnFacts},
    state::{StateDelta, StoryState},
    turn::TurnInput,
    units::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{DocumentStore, JobQueue, MemoryLog, StoreError};

/// A turn's number within its chat, in order of commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct TurnId(pub u64);

/// A write's number within its chat: the version of the chat that it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct WriteId(pub u64);

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteKind {
    /// Stored a turn.
    Turn(TurnId),
    /// Stored the reply to a turn.
    Reply(TurnId),
    /// Stored messages that no turn was computed on.
    Path,
    /// Moved the chat's tip.
    Tip,
}

/// A line of a chat's log of writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// The write.
    pub id: WriteId,
    /// What it did; for one that took another back, what that one did.
    pub kind: WriteKind,
    /// The write it took back. Taking back a write that took another back does that one again.
    pub undoes: Option<WriteId>,
    /// Where the chat's tip was before.
    pub tip: PrefixHash,
    /// What the turn's reply was before.
    pub reply: Option<PrefixHash>,
    /// When.
    pub created: Timestamp,
}

/// What storing a turn gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredTurn {
    /// The turn.
    pub id: TurnId,
    /// The write, for [`StoryStore::take_back`].
    pub write: WriteId,
}

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

impl ChatRecord {
    /// The last write, for [`StoryStore::take_back`].
    pub fn last_write(&self) -> WriteId {
        WriteId(self.version)
    }
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
    /// Its input, to replay it; `None` for turns that no engine decided: edits and imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<TurnInput>>,
}

impl TurnRecord {
    /// A change of a chat's notebooks or scene at the end of a path.
    pub fn edit(path: &Path, delta: StateDelta, now: Timestamp) -> Self {
        let (chat, at, answers) = (path.chat().clone(), path.prefix(), path.last_user());
        let report = Report::undecided(TurnFacts::undecided(path, GenerationType::Edit));
        Self {
            chat,
            at,
            answers,
            generation: GenerationType::Edit,
            library: LibraryVersion::default(),
            delta,
            injections: Vec::new(),
            prompt: Vec::new(),
            report,
            created: now,
            input: None,
        }
    }
}

/// A line of the list of turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    /// Whether it was taken back: it is part of no state.
    #[serde(default, skip_serializing_if = "is_false")]
    pub undone: bool,
    /// Whether its prompt, injections and verdicts were given up to save space.
    #[serde(default, skip_serializing_if = "is_false")]
    pub trimmed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Which turns keep everything: those that fit any of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// So many of the newest of each chat.
    pub newest: Option<u64>,
    /// All that were stored since then.
    pub since: Option<Timestamp>,
    /// Whether books and rules that no turn was decided with go too.
    pub unused_libraries: bool,
    /// Change nothing, only say what would go.
    pub dry_run: bool,
}

impl Retention {
    /// Whether the turn keeps everything, of which there are `later` newer ones in its chat.
    pub fn keeps(&self, later: u64, created: Timestamp) -> bool {
        let everything = self.newest.is_none() && self.since.is_none();
        everything
            || self.newest.is_some_and(|newest| later < newest)
            || self.since.is_some_and(|since| created >= since)
    }
}

/// What was given up, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retained {
    /// Turns that give up their prompts and verdicts.
    pub turns: u64,
    /// Books and rules of old versions that go.
    pub libraries: u64,
    /// Bytes that this frees inside the database.
    pub bytes: u64,
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

/// How far somebody has read the changes of a store. Only the store that gave it understands it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeMark(pub u64);

/// Chats that were written to, by this process or another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedChats {
    /// Where to go on reading.
    pub mark: ChangeMark,
    /// The chats and their versions, in any order.
    pub chats: Vec<(ChatId, u64)>,
}

/// Where a response of the responses API ended. Requests that follow it name its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedResponse {
    /// The chat.
    pub chat: ChatId,
    /// The node.
    pub at: PrefixHash,
}

/// Keeps stories. All writes are atomic and durable when they return.
#[async_trait]
pub trait StoryStore: Send + Sync {
    /// All chats of a tenant, last changed first.
    async fn chats(&self, tenant: &TenantId) -> Result<Vec<ChatSummary>, StoreError>;

    /// The chats of a tenant that were written to since `mark`; all of them for the first mark.
    /// A write is in the answer to the first question after it, and may be in later ones too.
    async fn changed_chats(
        &self,
        tenant: &TenantId,
        mark: ChangeMark,
    ) -> Result<ChangedChats, StoreError>;

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
    /// there; a change by hand ([`GenerationType::Edit`]) leaves the tip where it is. Nodes
    /// that are already stored are left alone. Turns are numbered from 1.
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
    ) -> Result<StoredTurn, StoreError>;

    /// Stores the reply to a turn. The chat's tip moves to it if it still is where the turn
    /// left it. A second reply to the same turn becomes another node, and the turn's reply.
    ///
    /// The node's parent must be stored already ([`StoreError::NoNode`]).
    async fn commit_reply(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        reply: &Reply,
    ) -> Result<WriteId, StoreError>;

    /// Stores a turn and the reply to it: what [`Self::commit_turn`] and [`Self::commit_reply`]
    /// do one after the other, both or neither where the store can do that at once.
    async fn commit_answered(
        &self,
        tenant: &TenantId,
        path: &Path,
        turn: &TurnRecord,
        reply: &Node,
        created: Timestamp,
    ) -> Result<(StoredTurn, WriteId), StoreError> {
        let stored = self.commit_turn(tenant, path, turn, None).await?;
        let reply = Reply { turn: stored.id, node: reply.clone(), created };
        let write = self.commit_reply(tenant, path.chat(), &reply).await?;
        Ok((stored, write))
    }

    /// Keeps where a response ended. It replaces an earlier one of the same id, and is part of no
    /// write: an undo leaves it.
    ///
    /// Fails with [`StoreError::NoChat`] if there is no such chat.
    async fn keep_response(
        &self,
        tenant: &TenantId,
        id: &str,
        ended: &EndedResponse,
    ) -> Result<(), StoreError>;

    /// Where a response ended.
    async fn response(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Option<EndedResponse>, StoreError>;

    /// All writes to a chat that can be taken back or were, in order. Making the chat does
    /// not count, and writes that were stored before there was a log are missing.
    async fn writes(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Vec<WriteRecord>, StoreError>;

    /// Takes a write back, by another write: the tip goes back to where it was, a turn is no
    /// longer part of any state, a turn's reply is the one before. Nothing is deleted. Taking
    /// that write back in turn does the first one again. Returns the chat as it now is.
    ///
    /// Only the last write that still counts can be taken back, because later ones build on
    /// it: fails with [`StoreError::BuiltUpon`] else, with [`StoreError::TakenBack`] if it does
    /// not count any more, and with [`StoreError::NoWrite`] if it is not in the log.
    async fn take_back(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError>;

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
        library: &LibrarySource,
    ) -> Result<(), StoreError>;

    /// Gives up what old turns can do without, to save space: prompts, injections and
    /// verdicts. Never messages, state, what a turn was given, or the books it was decided
    /// with. A dry run only says what would go.
    async fn retain(
        &self,
        tenant: &TenantId,
        retention: &Retention,
    ) -> Result<Retained, StoreError>;

    /// Gives up what these turns of a chat can do without, as [`StoryStore::retain`] does.
    /// Turns that have given it up already stay as they are.
    ///
    /// Fails with [`StoreError::NoTurn`] if there is no such turn; then nothing is given up.
    async fn trim(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        turns: &[TurnId],
    ) -> Result<(), StoreError>;

    /// The books and rules of a version, if they were kept.
    async fn library(
        &self,
        tenant: &TenantId,
        version: LibraryVersion,
    ) -> Result<Option<LibrarySource>, StoreError>;
}

/// A store of everything.
pub trait Store: StoryStore + DocumentStore + MemoryLog + JobQueue {}

impl<S: StoryStore + DocumentStore + MemoryLog + JobQueue> Store for S {}
