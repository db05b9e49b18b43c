//! Events of a list of memories.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use crate::record::{Memory, MemoryId};

/// What happened to a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// It was noted.
    Created,
    /// It was shown again.
    Confirmed,
    /// A pass went by without it.
    Faded,
    /// Another memory took its place.
    Superseded,
    /// It was retired without being replaced.
    Retired,
    /// It came back.
    Restored,
    /// Its text or tags changed.
    Edited,
    /// It is gone for good; only a person does that.
    Removed,
}

/// Something that happened to a memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryEvent {
    /// The memory.
    pub memory: MemoryId,
    /// What happened.
    pub kind: EventKind,
    /// The messages it was drawn from; none for what a person did.
    pub receipts: Vec<MessageId>,
    /// When.
    pub at: i64,
    /// The memory afterwards.
    pub state: Memory,
}

/// What happened between two states of a tier, in the order of `after`, removals last.
///
/// A new memory is drawn from its own receipts, and a replaced one lost its place to what
/// the new one is drawn from. Everything else happened because a pass had read up to
/// `anchor`; `None` stands for a person.
pub fn events(
    before: &[Memory],
    after: &[Memory],
    anchor: Option<MessageId>,
    at: i64,
) -> Vec<MemoryEvent> {
    let find = |id: &MemoryId, list: &'_ [Memory]| list.iter().position(|memory| memory.id == *id);
    let drawn_from = |kind: EventKind, state: &Memory| {
        let own = match kind {
            EventKind::Created => Some(state),
            EventKind::Superseded => state
                .superseded_by
                .as_ref()
                .and_then(|id| find(id, after))
                .map(|place| &after[place]),
            EventKind::Confirmed
            | EventKind::Faded
            | EventKind::Retired
            | EventKind::Restored
            | EventKind::Edited
            | EventKind::Removed => None,
        };
        own.map(|memory| memory.receipts.clone())
            .filter(|receipts| !receipts.is_empty())
            .unwrap_or_else(|| anchor.into_iter().collect())
    };
    let event = |kind: EventKind, state: &Memory| MemoryEvent {
        memory: state.id.clone(),
        kind,
        receipts: drawn_from(kind, state),
        at,
        state: state.clone(),
    };
    let changed = after.iter().filter_map(|new| {
        let old = find(&new.id, before).map(|place| &before[place]);
        kind_of(old, new).map(|kind| event(kind, new))
    });
    let removed = before
        .iter()
        .filter(|old| find(&old.id, after).is_none())
        .map(|old| event(EventKind::Removed, old));
    changed.chain(removed).collect()
}

fn kind_of(old: Option<&Memory>, new: &Memory) -> Option<EventKind> {
    let Some(old) = old else { return Some(EventKind::Created) };
    if old == new {
        return None;
    }
    Some(match (old.is_active(), new.is_active()) {
        (true, false) if new.superseded_by.is_some() => EventKind::Superseded,
        (true, false) => EventKind::Retired,
        (false, true) => EventKind::Restored,
        _ if new.confirmations > old.confirmations => EventKind::Confirmed,
        _ if new.content == old.content && new.unconfirmed_since > old.unconfirmed_since => {
            EventKind::Faded
        }
        _ => EventKind::Edited,
    })
}

/// The memories that hold where all messages satisfy `is_on_path`, in order of creation.
/// `events` must be in the order they happened. What was never created on the path does not
/// come into being by what happened to it later.
pub fn fold<'event>(
    events: impl IntoIterator<Item = &'event MemoryEvent>,
    is_on_path: impl Fn(&MessageId) -> bool,
) -> Vec<Memory> {
    let mut memories: Vec<Memory> = Vec::new();
    for event in events {
        if !event.receipts.iter().all(&is_on_path) {
            continue;
        }
        let place = memories.iter().position(|memory| memory.id == event.memory);
        match (place, event.kind) {
            (Some(place), EventKind::Removed) => {
                memories.remove(place);
            }
            (Some(place), _) => memories[place] = event.state.clone(),
            (None, EventKind::Created) => memories.push(event.state.clone()),
            (None, _) => {}
        }
    }
    memories
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::Digest;

    use super::*;

    fn message(number: u8) -> MessageId {
        MessageId(Digest([number; 16]))
    }

    fn memory(id: &str, content: &str, receipt: u8) -> Memory {
        Memory {
            id: id.into(),
            content: content.into(),
            receipts: vec![message(receipt)],
            ..Memory::default()
        }
    }

    #[test]
    fn what_a_swiped_reply_replaced_is_back() {
        let first = vec![memory("a", "they quarrel", 1)];
        let old = Memory { superseded_by: Some("b".into()), ..first[0].clone() };
        let second = vec![memory("b", "they no longer quarrel", 2), old];
        let mut log = events(&[], &first, Some(message(1)), 10);
        log.extend(events(&first, &second, Some(message(3)), 20));
        let kinds: Vec<EventKind> = log.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::Created, EventKind::Created, EventKind::Superseded]);

        let texts = |path: &[u8]| -> Vec<String> {
            fold(&log, |id| path.iter().any(|number| message(*number) == *id))
                .into_iter()
                .filter(Memory::is_active)
                .map(|memory| memory.content)
                .collect()
        };
        assert_eq!(texts(&[1, 2]), ["they no longer quarrel"]);
        assert_eq!(texts(&[1]), ["they quarrel"]);
        assert_eq!(texts(&[2]), ["they no longer quarrel"]);
        assert!(texts(&[]).is_empty());
    }

    #[test]
    fn what_was_never_noted_on_a_path_cannot_fade_into_it() {
        let noted = vec![memory("a", "x", 1)];
        let faded = vec![Memory { unconfirmed_since: 1, ..noted[0].clone() }];
        let mut log = events(&[], &noted, Some(message(1)), 1);
        log.extend(events(&noted, &faded, Some(message(2)), 2));
        assert!(fold(&log, |id| *id == message(2)).is_empty());
        assert_eq!(fold(&log, |id| *id == message(1))[0].unconfirmed_since, 0);
        assert_eq!(fold(&log, |_| true)[0].unconfirmed_since, 1);
    }

    #[test]
    fn each_change_has_its_name_and_no_change_has_none() {
        let base = memory("a", "x", 1);
        for (after, expected) in [
            (base.clone(), None),
            (Memory { confirmations: 1, ..base.clone() }, Some(EventKind::Confirmed)),
            (Memory { unconfirmed_since: 1, ..base.clone() }, Some(EventKind::Faded)),
            (memory("a", "y", 1), Some(EventKind::Edited)),
            (
                Memory { retired: Some(crate::record::Retirement::Evicted), ..base.clone() },
                Some(EventKind::Retired),
            ),
        ] {
            let found = events(std::slice::from_ref(&base), &[after], None, 0);
            assert_eq!(found.first().map(|event| event.kind), expected);
        }
        let gone = events(std::slice::from_ref(&base), &[], None, 0);
        assert_eq!(gone[0].kind, EventKind::Removed);
        assert!(fold(&gone, |_| true).is_empty());
    }
}
