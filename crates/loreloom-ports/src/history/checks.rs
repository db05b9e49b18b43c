//! Rules that every store holds its callers to, before anything is written.

use crate::{ChatRecord, Node, StoreError, TurnRecord};
use loreloom_core::{
    chat::{Path, identity},
    ids::LibraryVersion,
    library::LibrarySource,
};

/// A turn must be at the end of the path it comes with.
pub fn turn_belongs(path: &Path, turn: &TurnRecord) -> Result<(), StoreError> {
    if turn.chat != *path.chat() {
        return Err(StoreError::Contradiction {
            rule: "a turn and its path belong to one chat",
            found: format!("turn of `{}`, path of `{}`", turn.chat, path.chat()),
        });
    }
    if turn.at != path.prefix() {
        return Err(StoreError::Contradiction {
            rule: "a turn is computed on the end of its path",
            found: format!("turn at {}, path to {}", turn.at, path.prefix()),
        });
    }
    Ok(())
}

/// A writer that names a version must have seen the last one.
pub fn version_was_seen(chat: &ChatRecord, seen: Option<u64>) -> Result<(), StoreError> {
    match seen {
        Some(expected) if expected != chat.version => {
            Err(StoreError::Conflict { chat: chat.id.clone(), expected, found: chat.version })
        }
        Some(_) | None => Ok(()),
    }
}

/// A node's name must follow from its parent and its message.
pub fn node_is_named_right(node: &Node) -> Result<(), StoreError> {
    let expected = identity::extend(node.parent, node.message_id);
    if node.prefix == expected {
        return Ok(());
    }
    Err(StoreError::Contradiction {
        rule: "a node's prefix is the hash of its parent and its message id",
        found: format!("{} where {expected} was due", node.prefix),
    })
}

/// A library's name must follow from what it holds.
pub fn library_is_named_right(
    version: LibraryVersion,
    library: &LibrarySource,
) -> Result<(), StoreError> {
    let expected = library.version();
    if version == expected {
        return Ok(());
    }
    Err(StoreError::Contradiction {
        rule: "a library's version is the hash of its books and rules",
        found: format!("{version} where {expected} was due"),
    })
}
