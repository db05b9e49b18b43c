//! Asking a selecting model for a single turn, outside of a server.

use loreloom_core::{
    state::StoryState,
    tokens::TokenCounter,
    turn::{Selection, Turn},
};
use loreloom_ports::ChatModel;

use super::{AskRules, Occurrence, Selector, SpeakerNames};
use crate::lore::Lore;

/// The notes that a model selects for one turn; `None` if no model takes part in it.
pub async fn ask_once(
    lore: &Lore,
    (turn, state): (&Turn<'_>, &StoryState),
    counter: &dyn TokenCounter,
    (model, rules): (&dyn ChatModel, AskRules),
) -> Option<Selection> {
    let prepared = lore.prepare_turn(turn, state, counter);
    let (vault, candidates) = (lore.library().vault()?, prepared.open_notes()?);
    let lines = turn.transcript.vault_lines();
    let occurrence = Occurrence {
        vault,
        candidates,
        lines: &lines,
        names: SpeakerNames::of(turn.input),
        state: &state.vault,
        using: &lore.rules().vault,
        counter,
    };
    Some(Selector::new(rules).select(model, occurrence).await)
}
