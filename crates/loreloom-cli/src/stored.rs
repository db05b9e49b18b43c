//! A stored chat as commands look at it.

use anyhow::Context as _;
use loreloom_core::{
    chat::{GenerationType, Message},
    ids::{ChatId, PrefixHash, TenantId},
};
use loreloom_memory::ports::{ChatRecord, Node, StoryStore, TurnId, TurnRecord, TurnSummary};

/// The current path of a chat, and its turns.
pub(crate) struct StoredChat {
    /// The chat.
    pub(crate) record: ChatRecord,
    /// The messages of the current path.
    pub(crate) nodes: Vec<Node>,
    /// The turns of all branches.
    pub(crate) turns: Vec<TurnSummary>,
}

impl StoredChat {
    /// Reads a chat.
    pub(crate) async fn read(store: &dyn StoryStore, chat: &str) -> anyhow::Result<Self> {
        let (tenant, id) = (TenantId::local(), ChatId::from(chat));
        let record = store.chat(&tenant, &id).await?;
        let record = record.with_context(|| format!("there is no chat `{chat}`"))?;
        let nodes = store.path(&tenant, &id, record.tip).await?;
        let turns = store.turns(&tenant, &id).await?;
        Ok(Self { record, nodes, turns })
    }

    /// The message of that number, from 1.
    pub(crate) fn message(&self, number: usize) -> anyhow::Result<&Node> {
        let node = number.checked_sub(1).and_then(|at| self.nodes.get(at));
        node.with_context(|| {
            let count = self.nodes.len();
            format!("messages are numbered from 1 to {count}, found {number}")
        })
    }

    /// The turns computed on a node, in order.
    pub(crate) fn turns_at(&self, node: PrefixHash) -> impl Iterator<Item = &TurnSummary> {
        self.turns.iter().filter(move |turn| turn.at == node)
    }

    /// The turn that counts at a message: the last one computed on it, or, for a reply, the
    /// one it answered.
    pub(crate) fn turn_of(&self, node: &Node) -> Option<&TurnSummary> {
        let is_turn = |turn: &&TurnSummary| turn.generation != GenerationType::Edit;
        let counts = |turn: &&TurnSummary| {
            turn.generation != GenerationType::Quiet && is_turn(turn) && !turn.undone
        };
        let here = self.turns_at(node.prefix).filter(counts).last();
        let reply = || self.turns.iter().rfind(|turn| turn.reply == Some(node.prefix));
        here.or_else(reply).or_else(|| self.turns_at(node.prefix).filter(is_turn).last())
    }

    /// A turn's record.
    pub(crate) async fn turn(
        &self,
        store: &dyn StoryStore,
        turn: TurnId,
    ) -> anyhow::Result<TurnRecord> {
        let record = store.turn(&TenantId::local(), &self.record.id, turn).await?;
        record.with_context(|| format!("turn {} is missing", turn.0))
    }
}

/// Who says a message, as people are told.
pub(crate) fn speaker(message: &Message) -> &str {
    message.name.as_deref().unwrap_or_else(|| message.role.as_str())
}

/// The beginning of a text, on one line.
pub(crate) fn excerpt(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
