//! Effects that outlive the message that started them: it was edited or hidden since.
//!
//! A hidden message keeps all it started. An edited one keeps what its new text would still start:
//! an entry whose key the edit took away loses its effects, and its variables if it writes any.

use loreloom_core::{
    chat::{Message, Path},
    ids::{ChatId, EntryId},
    state::{StateDelta, StoryState},
};
use loreloom_ports::StoreError;
use loreloom_recognise::Detour;

use super::{Turns, recognise::in_time};
use crate::{lore::Lore, metrics::StoreWork, preview};

/// How macros that write variables begin.
const WRITES: [&str; 10] = [
    "{{setvar",
    "{{addvar",
    "{{incvar",
    "{{decvar",
    "{{deletevar",
    "{{setglobalvar",
    "{{addglobalvar",
    "{{incglobalvar",
    "{{decglobalvar",
    "{{deleteglobalvar",
];

/// The state before the newest message of a path with what detours still carry, and what that is.
pub(super) async fn state(
    turns: &Turns,
    path: &Path,
    detours: &[Detour],
    names: (&str, &str),
) -> Result<(StoryState, StateDelta), StoreError> {
    let state = read(turns, path).await?;
    // A message that is the newest now is answered anew.
    let length = path.items().len();
    let detours: Vec<&Detour> = detours.iter().filter(|detour| detour.before < length).collect();
    if detours.is_empty() {
        return Ok((state, StateDelta::default()));
    }
    let carried = read(turns, &with_detours(path, &detours)).await?;
    let lore = turns.lore.current();
    let edited = detours.iter().filter(|detour| detour.edited);
    let lost = edited.flat_map(|detour| {
        let now = path.items().get(detour.before).map_or("", |item| item.message.text.as_str());
        lost_entries(&lore, names, &detour.message.text, now)
    });
    let whole = joined(&state, carried, &lore, &lost.collect::<Vec<_>>());
    let carried = StateDelta::between(&state, &whole);
    Ok((whole, carried))
}

async fn read(turns: &Turns, path: &Path) -> Result<StoryState, StoreError> {
    let read = in_time(turns, turns.store.state(&turns.tenant, path));
    match turns.figures.metrics.store.measure(StoreWork::Read, read).await {
        // The first turn of a story.
        Err(StoreError::NoChat { .. }) => Ok(StoryState::default()),
        read => read,
    }
}

/// The path with the messages that are no longer on it.
fn with_detours(path: &Path, detours: &[&Detour]) -> Path {
    let chat: ChatId = path.chat().clone();
    let mut messages: Vec<Message> = Vec::new();
    for (at, item) in path.items().iter().enumerate() {
        let here = detours.iter().filter(|detour| detour.before == at);
        messages.extend(here.map(|detour| detour.message.clone()));
        messages.push(item.message.clone());
    }
    Path::of(chat, messages)
}

/// Entries with a key in the old text and none in the new one.
fn lost_entries(lore: &Lore, names: (&str, &str), old: &str, new: &str) -> Vec<EntryId> {
    let found = |text: &str| preview::touched(lore.library(), lore.rules(), names, text);
    let still = found(new);
    found(old).into_iter().filter(|entry| !still.contains(entry)).collect()
}

/// The state with the effects of detours, but for those of lost entries.
fn joined(state: &StoryState, carried: StoryState, lore: &Lore, lost: &[EntryId]) -> StoryState {
    let writes = |id: &EntryId| {
        let library = lore.library();
        let content = library.find(id).map(|ix| library.entry(ix).content.to_ascii_lowercase());
        content.is_some_and(|content| WRITES.iter().any(|start| content.contains(start)))
    };
    let keeps_variables = !lost.iter().any(writes);
    let mut whole = StoryState {
        sticky: carried.sticky,
        cooldown: carried.cooldown,
        first_match: carried.first_match,
        vault: carried.vault,
        variables: if keeps_variables { carried.variables } else { state.variables.clone() },
        ..state.clone()
    };
    for id in lost {
        revert(&mut whole.sticky, &state.sticky, id);
        revert(&mut whole.cooldown, &state.cooldown, id);
        revert(&mut whole.first_match, &state.first_match, id);
    }
    whole
}

fn revert<V: Clone>(
    records: &mut std::collections::BTreeMap<EntryId, V>,
    before: &std::collections::BTreeMap<EntryId, V>,
    id: &EntryId,
) {
    match before.get(id) {
        Some(record) => records.insert(id.clone(), record.clone()),
        None => records.remove(id),
    };
}
