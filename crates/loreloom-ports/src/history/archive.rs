//! A chat as one JSON document: every branch, turn, report and prompt.
//!
//! It works on any store, so it also moves chats between stores. An import writes the chat through
//! [`StoryStore`], so the store refuses what it would refuse from any caller. Only the version of
//! the chat's record differs afterwards: it counts the writes of its own store.

use std::collections::BTreeSet;

use crate::{ChatRecord, Node, Reply, StoreError, StoryStore, TurnId, TurnRecord, TurnSummary};
use loreloom_core::{
    chat::Path,
    ids::{ChatId, LibraryVersion, PrefixHash, TenantId},
    library::LibrarySource,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// The form that this version writes, and the newest it reads.
const VERSION: u32 = 1;

/// A chat with all its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    /// Says what the document is.
    pub format: Format,
    /// The form of the document.
    pub version: u32,
    /// The chat.
    pub chat: ChatRecord,
    /// Its nodes, parents before children.
    pub nodes: Vec<Node>,
    /// Its turns, in order of commit.
    pub turns: Vec<ArchivedTurn>,
    /// The books and rules they were decided with, as far as they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<LibrarySource>,
}

/// Says what the document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// A chat of loreloom's.
    #[serde(rename = "loreloom-chat")]
    Chat,
}

/// A turn and its reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchivedTurn {
    /// The turn.
    pub turn: TurnRecord,
    /// The node of its reply.
    pub reply: Option<PrefixHash>,
    /// Whether it was taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Whether it gave up its prompt and verdicts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trimmed: bool,
}

/// Reads a chat out of a store. Nothing else should write to it meanwhile: turns that are
/// added while it runs are left out.
pub async fn export(
    store: &dyn StoryStore,
    tenant: &TenantId,
    chat: &ChatId,
) -> Result<Archive, StoreError> {
    let no_chat = || StoreError::NoChat { chat: chat.clone() };
    let record = store.chat(tenant, chat).await?.ok_or_else(no_chat)?;
    let mut turns = Vec::new();
    for summary in store.turns(tenant, chat).await? {
        let missing = || StoreError::NoTurn { chat: chat.clone(), turn: summary.id };
        let turn = store.turn(tenant, chat, summary.id).await?.ok_or_else(missing)?;
        let TurnSummary { reply, undone, trimmed, .. } = summary;
        turns.push(ArchivedTurn { turn, reply, undone, trimmed });
    }
    let versions: BTreeSet<LibraryVersion> =
        turns.iter().map(|archived: &ArchivedTurn| archived.turn.library).collect();
    let mut libraries = Vec::new();
    for version in versions {
        libraries.extend(store.library(tenant, version).await?);
    }
    // Read last, so that it holds the nodes of all turns read.
    let nodes = store.tree(tenant, chat).await?;
    Ok(Archive { format: Format::Chat, version: VERSION, chat: record, nodes, turns, libraries })
}

/// Writes an archived chat into a store that has no chat of its id.
///
/// The document is checked as a whole first; if it is refused, nothing is stored.
pub async fn import(
    store: &dyn StoryStore,
    tenant: &TenantId,
    archive: &Archive,
) -> Result<ChatRecord, StoreError> {
    let tree = Tree::of(archive)?;
    let chat = &archive.chat;
    if store.chat(tenant, &chat.id).await?.is_some() {
        return Err(StoreError::Contradiction {
            rule: "a chat is imported where there is none of its id",
            found: format!("chat `{}`", chat.id),
        });
    }
    for library in &archive.libraries {
        store.keep_library(tenant, library.version(), library).await?;
    }
    store.open_chat(tenant, &chat.id, &chat.title, chat.created).await?;
    for archived in &archive.turns {
        let path = tree.path(archived.turn.at)?;
        let stored = store.commit_turn(tenant, &path, &archived.turn, None).await?;
        if archived.undone {
            store.take_back(tenant, &chat.id, stored.write, archived.turn.created).await?;
        }
    }
    let trimmed = (1..).zip(&archive.turns).filter(|(_, archived)| archived.trimmed);
    let trimmed: Vec<TurnId> = trimmed.map(|(number, _)| TurnId(number)).collect();
    if !trimmed.is_empty() {
        store.trim(tenant, &chat.id, &trimmed).await?;
    }
    for tip in loose_ends(archive) {
        store.commit_path(tenant, &tree.path(tip)?, None, chat.updated).await?;
    }
    // Parents come before children, so a reply's parent is there before the reply.
    for node in &archive.nodes {
        let replies = (1..).zip(&archive.turns);
        for (turn, archived) in replies.filter(|(_, turn)| turn.reply == Some(node.prefix)) {
            let created = archived.turn.created;
            let reply = Reply { turn: TurnId(turn), node: node.clone(), created };
            store.commit_reply(tenant, &chat.id, &reply).await?;
        }
    }
    store.move_tip(tenant, &chat.id, chat.tip, None, chat.updated).await
}

/// An archive's nodes, checked.
struct Tree<'archive> {
    chat: &'archive ChatId,
    nodes: FxHashMap<PrefixHash, &'archive Node>,
}

impl<'archive> Tree<'archive> {
    fn of(archive: &'archive Archive) -> Result<Self, StoreError> {
        if archive.version > VERSION {
            let (found, expected) = (archive.version.into(), VERSION.into());
            return Err(StoreError::OtherVersion { found, expected });
        }
        let chat = &archive.chat.id;
        let nodes = archive.nodes.iter().map(|node| (node.prefix, node)).collect();
        let tree = Self { chat, nodes };
        tree.path(archive.chat.tip)?;
        for end in loose_ends(archive) {
            tree.path(end)?;
        }
        for archived in &archive.turns {
            let path = tree.path(archived.turn.at)?;
            super::checks::turn_belongs(&path, &archived.turn)?;
            if let Some(reply) = archived.reply
                && tree.path(reply)?.items().is_empty()
            {
                return Err(StoreError::NoNode { chat: chat.clone(), node: reply });
            }
        }
        Ok(tree)
    }

    /// The path to a node, whose ids must follow from what it says.
    fn path(&self, tip: PrefixHash) -> Result<Path, StoreError> {
        let mut messages = Vec::new();
        let mut at = tip;
        while at != PrefixHash::default() {
            let node = self.nodes.get(&at).filter(|_| messages.len() < self.nodes.len());
            let node =
                node.ok_or_else(|| StoreError::NoNode { chat: self.chat.clone(), node: at })?;
            messages.push(node.message.clone());
            at = node.parent;
        }
        messages.reverse();
        let path = Path::of(self.chat.clone(), messages);
        if path.prefix() == tip {
            return Ok(path);
        }
        Err(StoreError::Contradiction {
            rule: "a node's name follows from the messages up to it",
            found: format!("{tip} where {} was due", path.prefix()),
        })
    }
}

/// The last messages of branches on which no turn was computed.
fn loose_ends(archive: &Archive) -> Vec<PrefixHash> {
    let parents: FxHashSet<PrefixHash> = archive.nodes.iter().map(|node| node.parent).collect();
    let turns = archive.turns.iter();
    let with_turns: FxHashSet<PrefixHash> =
        turns.flat_map(|archived| [Some(archived.turn.at), archived.reply]).flatten().collect();
    let ends = archive.nodes.iter().map(|node| node.prefix);
    ends.filter(|end| !parents.contains(end) && !with_turns.contains(end)).collect()
}
