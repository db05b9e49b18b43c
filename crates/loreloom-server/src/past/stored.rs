//! A stored chat, read-only, for replays and reports.

use loreloom_core::{
    chat::{GenerationType, Message, Role},
    ids::{ChatId, PrefixHash, TenantId},
};

use loreloom_ports::{ChatRecord, Node, StoreError, StoryStore, TurnId, TurnRecord, TurnSummary};

/// A path of a chat, and the chat's turns.
#[derive(Clone, Debug)]
pub struct StoredChat {
    /// The chat.
    pub record: ChatRecord,
    /// The messages of the path.
    pub nodes: Vec<Node>,
    /// The turns of all branches.
    pub turns: Vec<TurnSummary>,
}

impl StoredChat {
    /// Reads a chat's current path.
    pub async fn read(
        store: &dyn StoryStore,
        tenant: &TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        Self::up_to(store, tenant, chat, None).await
    }

    /// Reads a chat's path to a node; to where the story is without one.
    pub async fn up_to(
        store: &dyn StoryStore,
        tenant: &TenantId,
        chat: &ChatId,
        tip: Option<PrefixHash>,
    ) -> Result<Self, StoreError> {
        let no_chat = || StoreError::NoChat { chat: chat.clone() };
        let record = store.chat(tenant, chat).await?.ok_or_else(no_chat)?;
        let nodes = store.path(tenant, chat, tip.unwrap_or(record.tip)).await?;
        let turns = store.turns(tenant, chat).await?;
        Ok(Self { record, nodes, turns })
    }

    /// The turns computed on a node, in order.
    pub fn turns_at(&self, node: PrefixHash) -> impl Iterator<Item = &TurnSummary> {
        self.turns.iter().filter(move |turn| turn.at == node)
    }

    /// The turn that counts at a message: the last one computed on it, or, for a reply, the
    /// one it answered.
    pub fn turn_of(&self, node: &Node) -> Option<&TurnSummary> {
        let here = self.turn_at(node.prefix);
        let reply = || self.answered(node);
        let any = || {
            self.turns_at(node.prefix).filter(|turn| turn.generation != GenerationType::Edit).last()
        };
        here.or_else(reply).or_else(any)
    }

    /// The turn that a reply answers. Of one with several choices the turn names the last: the others
    /// are known by what they follow.
    pub fn answered(&self, reply: &Node) -> Option<&TurnSummary> {
        let named = self.turns.iter().rfind(|turn| turn.reply == Some(reply.prefix));
        let beside = || {
            let turn = self.turn_at(reply.parent).filter(|turn| turn.reply.is_some())?;
            (reply.message.role == Role::Assistant).then_some(turn)
        };
        named.or_else(beside)
    }

    /// The turn that counts of those computed on a node.
    pub fn turn_at(&self, node: PrefixHash) -> Option<&TurnSummary> {
        let counts = |turn: &&TurnSummary| {
            let beside = matches!(turn.generation, GenerationType::Quiet | GenerationType::Edit);
            !beside && !turn.undone
        };
        self.turns_at(node).filter(counts).last()
    }

    /// A turn's record.
    pub async fn turn(
        &self,
        store: &dyn StoryStore,
        tenant: &TenantId,
        turn: TurnId,
    ) -> Result<TurnRecord, StoreError> {
        let missing = || StoreError::NoTurn { chat: self.record.id.clone(), turn };
        store.turn(tenant, &self.record.id, turn).await?.ok_or_else(missing)
    }
}

/// The speaker of a message, for people.
pub fn speaker(message: &Message) -> &str {
    message.name.as_deref().unwrap_or_else(|| message.role.as_str())
}
