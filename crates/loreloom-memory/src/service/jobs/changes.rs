//! The events that bring one state of memory to another.

use loreloom_core::ids::{ChatId, MessageId};
use loreloom_ports::{Owner, OwnerEvents, RecordKey, RecordKind, Records};

use crate::{
    event::{between, character_records, chat_records},
    record::{CharacterMemory, ChatMemory},
};

/// A state of memory before and after a pass.
pub(in crate::service) struct StateChange<'state, T> {
    pub(in crate::service) before: &'state T,
    pub(in crate::service) after: &'state T,
    /// The last event of the log that `before` was read from.
    pub(in crate::service) seen: u64,
    /// The last message that was read.
    pub(in crate::service) anchor: Option<MessageId>,
}

pub(in crate::service) fn changed_character(
    owner: Owner,
    changed: &StateChange<'_, CharacterMemory>,
) -> OwnerEvents {
    let (before, after) = (character_records(changed.before), character_records(changed.after));
    let events = between(&before, &after, changed.anchor);
    OwnerEvents { owner, seen: Some(changed.seen), events }
}

pub(in crate::service) fn changed_chat(
    chat: &ChatId,
    changed: &StateChange<'_, ChatMemory>,
) -> OwnerEvents {
    let before = chat_records(changed.before);
    let after = without_clock(chat_records(changed.after), &before);
    let events = between(&before, &after, changed.anchor);
    OwnerEvents { owner: Owner::Chat(chat.clone()), seen: Some(changed.seen), events }
}

/// The records with the old time of the last pass: that a pass ran does not change memory.
fn without_clock(mut after: Records, before: &Records) -> Records {
    const FIELD: &str = "lastActive";
    let key = RecordKey::new(RecordKind::Marks, "");
    let Some(mut marks) = after.get(&key).cloned() else { return after };
    marks.remove(FIELD);
    if let Some(old) = before.get(&key).and_then(|marks| marks.get(FIELD)) {
        marks.insert(FIELD.to_owned(), old.clone());
    }
    if marks.is_empty() {
        after.remove(&key);
    } else {
        after.insert(key, marks);
    }
    after
}
