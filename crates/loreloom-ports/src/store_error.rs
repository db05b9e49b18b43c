//! Why a store could not do as asked.

use loreloom_core::ids::{ChatId, PrefixHash};

use super::{TurnId, WriteId};

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
    /// The write is not in the log.
    #[error("chat `{chat}` has no write {} that could be taken back", write.0)]
    NoWrite {
        /// The chat.
        chat: ChatId,
        /// The write asked for.
        write: WriteId,
    },
    /// Later writes build on it.
    #[error(
        "write {} of chat `{chat}` cannot be taken back: write {} came after it and builds on it; \
         take that back first",
        write.0,
        later.0
    )]
    BuiltUpon {
        /// The chat.
        chat: ChatId,
        /// The write asked for.
        write: WriteId,
        /// The last write that counts.
        later: WriteId,
    },
    /// It was taken back before.
    #[error("write {} of chat `{chat}` was taken back already", write.0)]
    TakenBack {
        /// The chat.
        chat: ChatId,
        /// The write asked for.
        write: WriteId,
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
    /// Somebody else changed the documents in between: read again and retry.
    #[error("the documents are at revision {found}, not at {expected}")]
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
    /// Another version of the program wrote it.
    #[error("it has version {found} of the stored format, this loreloom needs version {expected}")]
    OtherVersion {
        /// The version found.
        found: i64,
        /// The version needed.
        expected: i64,
    },
    /// Nothing is stored there.
    #[error("there are no stories in `{path}`: it is missing or empty")]
    Missing {
        /// The file.
        path: String,
    },
    /// The file is something else.
    #[error("`{path}` is no database")]
    NotADatabase {
        /// The file.
        path: String,
    },
    /// A file is never written over.
    #[error("`{path}` exists already: move it away or choose another name")]
    Exists {
        /// The file.
        path: String,
    },
    /// The file is another one than when it was opened; nothing can be stored.
    #[error(
        "the database file was moved, deleted or replaced while it was open: put it back, or start this server again"
    )]
    Replaced,
    /// There is no room left; nothing was stored.
    #[error("the disk is full: nothing was stored while {doing}")]
    Full {
        /// What was being done.
        doing: &'static str,
    },
    /// The server cannot be reached, or does not let us in.
    #[error("the database `{address}` cannot be reached: {reason}")]
    Unreachable {
        /// The server, without its password.
        address: String,
        /// Why.
        reason: String,
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
