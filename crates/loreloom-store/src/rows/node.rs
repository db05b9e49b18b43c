//! Nodes and messages.

use loreloom_core::ids::PrefixHash;

use super::StoredRow;
use crate::{
    codec::{MessageText, NodeColumns},
    errors::Decoded,
};

/// Where a node is in the tree: its branch, `None` above the first message, and its depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreePosition {
    pub(crate) branch: Option<i64>,
    pub(crate) depth: i64,
}

impl TreePosition {
    /// Above the first message.
    pub(crate) const ROOT: Self = Self { branch: None, depth: 0 };

    /// Columns `branch` and `depth`, from column `first` on.
    pub(crate) fn of(row: &impl StoredRow, first: usize) -> Decoded<Self> {
        Ok(Self { branch: Some(row.number(first)?), depth: row.number(first + 1)? })
    }

    /// The position of the empty path.
    pub(crate) fn if_root(prefix: PrefixHash) -> Option<Self> {
        (prefix == PrefixHash::default()).then_some(Self::ROOT)
    }
}

/// Columns `name`, `hidden` and `extensions`, from column `first` on.
pub(crate) fn columns(row: &impl StoredRow, first: usize) -> Decoded<NodeColumns> {
    Ok(NodeColumns {
        name: row.optional_text(first)?,
        hidden: row.flag(first + 1)?,
        extensions: row.optional_text(first + 2)?,
    })
}

/// Columns `role` and `text`, from column `first` on.
pub(crate) fn message_text(row: &impl StoredRow, first: usize) -> Decoded<MessageText> {
    MessageText::from_columns(row.number(first)?, row.text(first + 1)?)
}
