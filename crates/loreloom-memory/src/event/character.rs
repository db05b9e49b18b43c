//! Events of everything that outlives a chat.

use loreloom_core::ids::MessageId;
use serde::{Deserialize, Serialize};

use super::memory::{EventKind, events};
use crate::record::{
    Canon, CharacterMemory, Entity, EntityId, Insight, Memory, Relationship, StoryArc,
};

/// What changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CharacterChange {
    /// Something happened to a memory.
    Memory {
        /// What.
        kind: EventKind,
        /// The memory afterwards.
        state: Box<Memory>,
    },
    /// An entity is new or changed.
    Entity(Revision<Entity>),
    /// An entity is gone.
    EntityGone(EntityId),
    /// What one person feels for another; `None` for nothing any more.
    Relationship {
        /// `subject→target`.
        pair: String,
        /// The feelings afterwards.
        state: Option<Relationship>,
    },
    /// An insight is new, changed or retired.
    Insight(Revision<Insight>),
    /// An insight is gone.
    InsightGone(String),
    /// A pinned thread is new or changed; threads are told apart by their words.
    Arc(Revision<StoryArc>),
    /// A pinned thread is gone.
    ArcGone(String),
    /// Canon was written, or cleared.
    Canon(Option<Canon>),
}

/// A record after a change. What is not new must be known already: a change of something
/// that was never told on a path does not bring it into being there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revision<T> {
    /// Whether it was not there before.
    pub is_new: bool,
    /// The record afterwards.
    pub state: T,
}

/// A change of what a character remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CharacterEvent {
    /// The chat it comes from.
    pub chat: String,
    /// The messages it rests on; none for what a person did.
    pub receipts: Vec<MessageId>,
    /// When.
    pub at: i64,
    /// What changed.
    pub change: CharacterChange,
}

/// What happened between two states. `anchor` is the last message a pass had read; `None`
/// stands for a person.
pub fn between(
    before: &CharacterMemory,
    after: &CharacterMemory,
    chat: &str,
    anchor: Option<MessageId>,
    at: i64,
) -> Vec<CharacterEvent> {
    let anchored: Vec<MessageId> = anchor.into_iter().collect();
    let event = |receipts: &[MessageId], change: CharacterChange| CharacterEvent {
        chat: chat.to_owned(),
        receipts: if receipts.is_empty() { anchored.clone() } else { receipts.to_vec() },
        at,
        change,
    };
    let mut found: Vec<CharacterEvent> = events(&before.memories, &after.memories, anchor, at)
        .into_iter()
        .map(|one| {
            let change = CharacterChange::Memory { kind: one.kind, state: Box::new(one.state) };
            event(&one.receipts, change)
        })
        .collect();
    let (changed, gone) = compared(&before.entities, &after.entities, |entity| &entity.id);
    found.extend(changed.map(|entity| event(&[], CharacterChange::Entity(entity))));
    found.extend(gone.map(|entity| event(&[], CharacterChange::EntityGone(entity.id.clone()))));
    let (changed, gone) =
        compared(&before.epistemic_knowledge, &after.epistemic_knowledge, |insight| &insight.id);
    found.extend(changed.map(|insight| {
        // What changes an insight is what was read now, not what it once rested on.
        let receipts = if insight.is_new { insight.state.receipts.clone() } else { Vec::new() };
        event(&receipts, CharacterChange::Insight(insight))
    }));
    found.extend(gone.map(|insight| event(&[], CharacterChange::InsightGone(insight.id.clone()))));
    let (changed, gone) =
        compared(&before.persistent_arcs, &after.persistent_arcs, |arc| &arc.content);
    found.extend(changed.map(|arc| event(&[], CharacterChange::Arc(arc))));
    found.extend(gone.map(|arc| event(&[], CharacterChange::ArcGone(arc.content.clone()))));
    found.extend(relationship_changes(before, after).map(|change| event(&[], change)));
    if before.canon != after.canon {
        found.push(event(&[], CharacterChange::Canon(after.canon.clone())));
    }
    found
}

/// Records that are new or different, and records that are gone.
fn compared<'list, T: Clone + PartialEq, K: PartialEq + ?Sized>(
    before: &'list [T],
    after: &'list [T],
    key: impl Fn(&T) -> &K + Copy + 'list,
) -> (impl Iterator<Item = Revision<T>>, impl Iterator<Item = &'list T>) {
    let changed = after.iter().filter(|new| !before.contains(new)).map(move |new| Revision {
        is_new: !before.iter().any(|old| key(old) == key(new)),
        state: new.clone(),
    });
    let gone = before.iter().filter(move |old| !after.iter().any(|new| key(new) == key(old)));
    (changed, gone)
}

fn relationship_changes(
    before: &CharacterMemory,
    after: &CharacterMemory,
) -> impl Iterator<Item = CharacterChange> {
    let (before, after) = (&before.relationship_history, &after.relationship_history);
    let changed = after
        .iter()
        .filter(|(pair, state)| before.get(pair) != Some(state))
        .map(|(pair, state)| (pair, Some(state.clone())));
    let gone =
        before.iter().filter(|(pair, _)| after.get(pair).is_none()).map(|(pair, _)| (pair, None));
    let change =
        |(pair, state): (&str, _)| CharacterChange::Relationship { pair: pair.to_owned(), state };
    changed.chain(gone).map(change).collect::<Vec<_>>().into_iter()
}

/// What a character remembers where messages are live: on the current path of their chat.
/// `events` must be in the order they happened.
pub fn fold_character<'event>(
    events: impl IntoIterator<Item = &'event CharacterEvent>,
    is_live: impl Fn(&str, &MessageId) -> bool,
) -> CharacterMemory {
    let mut state = CharacterMemory::default();
    for event in events {
        if event.receipts.iter().all(|message| is_live(&event.chat, message)) {
            apply(&mut state, &event.change);
        }
    }
    state
}

fn apply(state: &mut CharacterMemory, change: &CharacterChange) {
    match change {
        CharacterChange::Memory { kind, state: memory } => {
            let place = state.memories.iter().position(|known| known.id == memory.id);
            match (place, kind) {
                (Some(place), EventKind::Removed) => {
                    state.memories.remove(place);
                }
                (Some(place), _) => state.memories[place] = (**memory).clone(),
                (None, EventKind::Created) => state.memories.push((**memory).clone()),
                (None, _) => {}
            }
        }
        CharacterChange::Entity(entity) => {
            set(&mut state.entities, entity, |known| known.id == entity.state.id);
        }
        CharacterChange::EntityGone(id) => state.entities.retain(|known| known.id != *id),
        CharacterChange::Relationship { pair, state: Some(relationship) } => {
            state.relationship_history.insert(pair.clone(), relationship.clone());
        }
        CharacterChange::Relationship { pair, state: None } => {
            state.relationship_history.remove(pair);
        }
        CharacterChange::Insight(insight) => {
            set(&mut state.epistemic_knowledge, insight, |known| known.id == insight.state.id);
        }
        CharacterChange::InsightGone(id) => {
            state.epistemic_knowledge.retain(|known| known.id != *id);
        }
        CharacterChange::Arc(arc) => {
            let is_it = |known: &StoryArc| known.content == arc.state.content;
            set(&mut state.persistent_arcs, arc, is_it);
        }
        CharacterChange::ArcGone(content) => {
            state.persistent_arcs.retain(|known| known.content != *content);
        }
        CharacterChange::Canon(canon) => state.canon.clone_from(canon),
    }
}

fn set<T: Clone>(list: &mut Vec<T>, new: &Revision<T>, is_it: impl Fn(&T) -> bool) {
    match list.iter().position(is_it) {
        Some(place) => list[place] = new.state.clone(),
        None if new.is_new => list.push(new.state.clone()),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::ids::Digest;

    use super::*;
    use crate::record::{Descriptor, InsightKind, Magnitude};

    fn message(number: u8) -> MessageId {
        MessageId(Digest([number; 16]))
    }

    fn first() -> CharacterMemory {
        let mut state = CharacterMemory {
            memories: vec![Memory {
                id: "m".into(),
                receipts: vec![message(1)],
                ..Memory::default()
            }],
            entities: vec![Entity {
                id: EntityId("e".into()),
                name: "Odo".into(),
                ..Entity::default()
            }],
            epistemic_knowledge: vec![Insight {
                id: "i".into(),
                kind: InsightKind::Knows,
                subject: "Lis".into(),
                target: None,
                content: "the vault is empty".into(),
                ts: None,
                source_messages: vec![],
                receipts: vec![message(1)],
                retired: None,
            }],
            persistent_arcs: vec![StoryArc {
                content: "Find the bell".into(),
                ..StoryArc::default()
            }],
            canon: Some(Canon { text: "Mara kept the light.".into(), ts: None }),
            ..CharacterMemory::default()
        };
        let feeling = Descriptor { word: "fond".into(), magnitude: Magnitude::High };
        state.relationship_history.entry("Mara→Odo").descriptors.push(feeling);
        state
    }

    #[test]
    fn folding_all_events_gives_the_last_state() {
        let start = CharacterMemory::default();
        let one = first();
        let mut two = one.clone();
        two.entities.clear();
        two.persistent_arcs[0].resolved = true;
        two.epistemic_knowledge[0].retired = Some(2);
        two.relationship_history.remove("Mara→Odo");
        two.canon = None;
        let log = [
            between(&start, &one, "c", Some(message(1)), 1),
            between(&one, &two, "c", Some(message(2)), 2),
        ]
        .concat();
        assert_eq!(fold_character(&log, |_, _| true), two);
        assert_eq!(fold_character(&log, |_, id| *id == message(1)), one);
        assert_eq!(fold_character(&log, |_, id| *id == message(2)), start);
        assert!(between(&two, &two, "c", None, 3).is_empty());
    }
}
