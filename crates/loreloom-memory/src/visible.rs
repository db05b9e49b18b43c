//! What a chat remembers on one of its paths.
//!
//! A chat's memory is kept with the message it was made at; a path uses the one kept at its
//! newest such message. That leaves edits and deletions further back: what rests on a
//! message that is not on the path any more is left out, and what it had replaced is back.

use loreloom_core::{chat::PathItem, ids::MessageId};
use rustc_hash::FxHashMap;

use crate::record::{ChatMemory, Memory};

/// The part of a chat's memory that holds on this path.
pub fn on_path(chat: &ChatMemory, path: &[PathItem]) -> ChatMemory {
    let places: FxHashMap<MessageId, usize> =
        path.iter().enumerate().map(|(at, item)| (item.id, at)).collect();
    let holds = |receipts: &[MessageId]| receipts.iter().all(|id| places.contains_key(id));
    let after = |receipt: Option<MessageId>| receipt.map(|id| places.get(&id).map(|at| at + 1));
    let mut view = chat.clone();
    view.session_memories = memories(&chat.session_memories, holds);
    view.scene_history.retain(|scene| holds(&scene.receipts));
    match after(chat.summary_receipt) {
        Some(Some(end)) => view.summary_end = end,
        Some(None) => {
            view.summary = None;
            view.summary_end = 0;
            view.summary_receipt = None;
        }
        None => view.summary_end = chat.summary_end.min(path.len()),
    }
    view.last_extract_cutoff = match after(chat.extract_receipt) {
        Some(place) => place,
        None => chat.last_extract_cutoff.filter(|cutoff| *cutoff <= path.len()),
    };
    view
}

/// Memories whose receipts hold. One that was replaced by a memory that does not hold is
/// active again.
pub fn memories(all: &[Memory], holds: impl Fn(&[MessageId]) -> bool) -> Vec<Memory> {
    let dropped: Vec<&Memory> = all.iter().filter(|memory| !holds(&memory.receipts)).collect();
    let is_dropped = |memory: &Memory| dropped.iter().any(|other| other.id == memory.id);
    all.iter()
        .filter(|memory| !is_dropped(memory))
        .map(|memory| {
            let mut memory = memory.clone();
            let by_dropped = |other: &&Memory| memory.superseded_by.as_ref() == Some(&other.id);
            if dropped.iter().any(by_dropped) {
                memory.superseded_by = None;
                memory.valid_to = None;
            }
            memory
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path, Role},
        ids::ChatId,
    };

    use super::*;
    use crate::record::Scene;

    fn path(texts: &[&str]) -> Vec<PathItem> {
        let message = |text: &&str| Message::new(Role::User, Some("N"), *text);
        Path::of(ChatId::from("c"), texts.iter().map(message)).items().to_vec()
    }

    #[test]
    fn an_edit_takes_away_what_rests_on_the_message_and_nothing_else() {
        let before = path(&["one", "two", "three", "four"]);
        let memory = |id: &str, at: usize| Memory {
            id: id.into(),
            receipts: vec![before[at].id],
            ..Memory::default()
        };
        let replaced = Memory { superseded_by: Some("b".into()), ..memory("a", 0) };
        let chat = ChatMemory {
            session_memories: vec![replaced, memory("b", 1), memory("c", 3)],
            scene_history: vec![
                Scene { receipts: vec![before[0].id], ..Scene::default() },
                Scene { receipts: vec![before[0].id, before[1].id], ..Scene::default() },
            ],
            summary: Some("S".into()),
            summary_end: 3,
            summary_receipt: Some(before[2].id),
            last_extract_cutoff: Some(2),
            extract_receipt: Some(before[1].id),
            ..ChatMemory::default()
        };
        assert_eq!(on_path(&chat, &before), chat);

        let view = on_path(&chat, &path(&["one", "zwei", "three", "four"]));
        let ids: Vec<&str> = view.session_memories.iter().map(|m| m.id.0.as_str()).collect();
        assert_eq!(ids, ["a", "c"]);
        assert!(view.session_memories.iter().all(Memory::is_active));
        assert_eq!(view.scene_history.len(), 1);
        assert_eq!((view.summary.as_deref(), view.summary_end), (Some("S"), 3));
        assert_eq!(view.last_extract_cutoff, None);

        let view = on_path(&chat, &path(&["two", "three"]));
        assert_eq!((view.summary.as_deref(), view.summary_end), (Some("S"), 2));
        let view = on_path(&chat, &path(&["one"]));
        assert_eq!((view.summary, view.summary_end), (None, 0));
    }
}
