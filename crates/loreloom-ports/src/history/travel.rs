//! Going back to a turn: everything it was decided from.

use crate::{Node, StoreError, StoryStore, TurnId, TurnRecord, WriteKind, WriteRecord};
use loreloom_core::{
    chat::Path,
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    state::StoryState,
    turn::TurnInput,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::fold::{Choice, OfferedTurn};

/// A turn and what it was decided from.
#[derive(Clone, Debug, PartialEq)]
pub struct Revisited {
    /// The turn.
    pub record: TurnRecord,
    /// The path up to it, with the names of that time.
    pub path: Path,
    /// The state before it: what earlier turns left on the messages before its own.
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
    let unknown = TurnInput::default();
    let input = record.input.as_deref().unwrap_or(&unknown);
    let path = input.path(chat.clone(), nodes.into_iter().map(|node| node.message));
    let mut state = state_before(store, tenant, &path, turn).await?;
    state.apply(&input.carried);
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
    let mut choice = Choice::on(&earlier);
    let turns = store.turns(tenant, chat).await?;
    let undone = undone_before(&store.writes(tenant, chat).await?, turn);
    let earlier = turns.into_iter().rev().filter(|summary| summary.id < turn);
    for summary in earlier.filter(|summary| !undone.contains(&summary.id)) {
        let candidate = OfferedTurn {
            at: summary.at,
            message: messages.get(&summary.at).copied(),
            generation: summary.generation,
        };
        choice.offer(candidate, || Ok::<_, StoreError>(summary.id))?;
    }
    let mut state = StoryState::default();
    for id in choice.chosen() {
        let missing = || StoreError::NoTurn { chat: chat.clone(), turn: id };
        let counting = store.turn(tenant, chat, id).await?.ok_or_else(missing)?;
        state.apply(&counting.delta);
    }
    Ok(state)
}

/// The turns that had been taken back when `turn` was stored.
fn undone_before(log: &[WriteRecord], turn: TurnId) -> FxHashSet<TurnId> {
    let mut undone = FxHashSet::default();
    for write in log {
        match (write.kind, write.undoes) {
            (WriteKind::Turn(id), None) if id == turn => break,
            // Undo and redo alternate.
            (WriteKind::Turn(id), Some(_)) => {
                if !undone.remove(&id) {
                    undone.insert(id);
                }
            }
            (WriteKind::Turn(_) | WriteKind::Reply(_) | WriteKind::Path | WriteKind::Tip, _) => (),
        }
    }
    undone
}
