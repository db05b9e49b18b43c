//! Going back to a turn: everything it was decided from.

use loreloom_core::{
    chat::Path,
    given::Given,
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    state::StoryState,
};
use loreloom_memory::ports::{Node, StoreError, StoryStore, TurnId, TurnRecord};
use rustc_hash::FxHashMap;

use crate::fold::{self, Candidate};

/// A turn and what it was decided from.
#[derive(Clone, Debug, PartialEq)]
pub struct Revisited {
    /// The turn.
    pub record: TurnRecord,
    /// The story up to it, under the names it was told with then.
    pub path: Path,
    /// The state it found: what earlier turns had left on the messages before its own.
    pub state: StoryState,
}

/// Goes back to a turn. Turns that were committed later do not count, wherever they are.
pub async fn revisit(
    store: &dyn StoryStore,
    tenant: &TenantId,
    chat: &ChatId,
    turn: TurnId,
) -> Result<Revisited, StoreError> {
    let no_turn = || StoreError::NoTurn { chat: chat.clone(), turn };
    let record = store.turn(tenant, chat, turn).await?.ok_or_else(no_turn)?;
    let nodes = store.path(tenant, chat, record.at).await?;
    let unknown = Given::default();
    let given = record.given.as_deref().unwrap_or(&unknown);
    let path = given.path(chat.clone(), nodes.into_iter().map(|node| node.message));
    let state = state_before(store, tenant, &path, turn).await?;
    Ok(Revisited { record, path, state })
}

async fn state_before(
    store: &dyn StoryStore,
    tenant: &TenantId,
    path: &Path,
    turn: TurnId,
) -> Result<StoryState, StoreError> {
    let chat = path.chat();
    let Some((_, earlier)) = path.items().split_last() else { return Ok(StoryState::default()) };
    let earlier = Path::of(chat.clone(), earlier.iter().map(|item| item.message.clone()));
    let tree: Vec<Node> = store.tree(tenant, chat).await?;
    let messages: FxHashMap<PrefixHash, MessageId> =
        tree.iter().map(|node| (node.prefix, node.message_id)).collect();
    let turns = store.turns(tenant, chat).await?;
    let before = turns.into_iter().filter(|summary| summary.id < turn);
    let candidates = before.map(|summary| Candidate {
        at: summary.at,
        message: messages.get(&summary.at).copied(),
        generation: summary.generation,
        delta: summary.id,
    });
    let mut state = StoryState::default();
    for id in fold::choose(&earlier, candidates) {
        let missing = || StoreError::NoTurn { chat: chat.clone(), turn: id };
        let counting = store.turn(tenant, chat, id).await?.ok_or_else(missing)?;
        state.apply(&counting.delta);
    }
    Ok(state)
}
