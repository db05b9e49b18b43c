//! A stored chat as commands look at it.

use anyhow::Context as _;
use loreloom_core::ids::TenantId;
use loreloom_ports::{Node, StoryStore};
pub(crate) use loreloom_server::past::stored::{StoredChat, speaker};

/// Reads a chat's current path.
pub(crate) async fn read(store: &dyn StoryStore, chat: &str) -> anyhow::Result<StoredChat> {
    Ok(StoredChat::read(store, &TenantId::local(), &chat.into()).await?)
}

pub(crate) fn message(chat: &StoredChat, number: usize) -> anyhow::Result<&Node> {
    let node = number.checked_sub(1).and_then(|at| chat.nodes.get(at));
    node.with_context(|| {
        let count = chat.nodes.len();
        format!("messages are numbered from 1 to {count}, found {number}")
    })
}

/// The beginning of a text, on one line.
pub(crate) fn excerpt(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
