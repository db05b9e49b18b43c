//! Memories that a turn does not need.

use std::borrow::Cow;

use loreloom_core::ids::MessageId;
use loreloom_ports::MemoryId;
use rustc_hash::FxHashSet;

use super::TurnRequest;
use crate::{
    inject::ShownSentences,
    record::{CharacterMemory, ChatMemory, Expiration, Memory},
};

/// Leaves out memories that the messages in the prompt say themselves, and returns them.
pub(super) fn leave_out_window(
    turn: &TurnRequest<'_>,
    character: &mut Cow<'_, CharacterMemory>,
    chat: &mut Cow<'_, ChatMemory>,
) -> Vec<MemoryId> {
    let seen = turn.path[turn.unseen()..].iter().map(|item| &item.message);
    let shown = ShownSentences::of(seen.map(|one| (one.name.as_deref(), one.text.as_str())));
    let repeats = |memory: &Memory| memory.is_active() && shown.has(&memory.content);
    let mut left_out: Vec<MemoryId> = Vec::new();
    for memory in character.memories.iter().chain(&chat.session_memories) {
        if repeats(memory) {
            left_out.push(memory.id.clone());
        }
    }
    if !left_out.is_empty() {
        character.to_mut().memories.retain(|memory| !left_out.contains(&memory.id));
        chat.to_mut().session_memories.retain(|memory| !left_out.contains(&memory.id));
    }
    left_out
}

/// Leaves out notes that held only for a scene that is over.
pub(super) fn leave_out_past_scenes(chat: &mut Cow<'_, ChatMemory>) {
    let past: FxHashSet<MessageId> = chat.scenes().flatten().copied().collect();
    let is_over = |memory: &Memory| {
        memory.expiration == Some(Expiration::Scene)
            && !memory.receipts.is_empty()
            && memory.receipts.iter().all(|id| past.contains(id))
    };
    if chat.session_memories.iter().any(is_over) {
        chat.to_mut().session_memories.retain(|memory| !is_over(memory));
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::Digest;

    use super::*;
    use crate::record::Scene;

    #[test]
    fn a_note_for_one_scene_ends_with_it() {
        let message = |number: u8| MessageId(Digest([number; 16]));
        let note = |id: &str, expiration, receipts: &[u8]| Memory {
            id: id.into(),
            expiration: Some(expiration),
            receipts: receipts.iter().map(|number| message(*number)).collect(),
            ..Memory::default()
        };
        let memory = ChatMemory {
            session_memories: vec![
                note("past", Expiration::Scene, &[1, 2]),
                note("lasting", Expiration::Session, &[1]),
                note("long past", Expiration::Scene, &[4]),
                note("now", Expiration::Scene, &[2, 3]),
                note("by hand", Expiration::Scene, &[]),
            ],
            older_scenes: vec![Scene { receipts: vec![message(4)], ..Scene::default() }],
            scene_history: vec![Scene {
                receipts: vec![message(1), message(2)],
                ..Scene::default()
            }],
            ..ChatMemory::default()
        };
        let mut chat = Cow::Borrowed(&memory);
        leave_out_past_scenes(&mut chat);
        let left: Vec<&str> = chat.session_memories.iter().map(|one| one.id.0.as_str()).collect();
        assert_eq!(left, ["lasting", "now", "by hand"]);
    }
}
