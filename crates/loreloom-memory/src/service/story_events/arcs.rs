//! What happened to arcs at a message: they begin, end, or are dropped.
//!
//! An arc that ends loses its record, unless it is pinned: a pass stores how it ended and removes
//! it. An arc that is removed without a summary was one too many, or removed by hand.

use loreloom_ports::{MemoryChange, MemoryEventKind, NewMemoryEvent, Owner, RecordKey, RecordKind};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::{StoryEvent, StoryEventKind, StoryEventSubject, beginning, text_field};

/// How the arcs of an owner ended, by their text.
pub(super) struct EndedArcs(FxHashMap<String, String>);

impl EndedArcs {
    pub(super) fn of<'event>(events: impl Iterator<Item = &'event NewMemoryEvent>) -> Self {
        let ended = events.filter_map(|event| {
            let key = event.record.as_ref().filter(|key| key.kind == RecordKind::ArcSummary)?;
            let MemoryChange::New(fields) = &event.change else { return None };
            Some((key.id.clone(), beginning(text_field(fields, "summary"))))
        });
        Self(ended.collect())
    }

    /// What an event does to an arc.
    pub(super) fn event(
        &self,
        owner: &Owner,
        event: &NewMemoryEvent,
        key: &RecordKey,
    ) -> Option<StoryEvent> {
        let is_over = |fields: &Map<String, Value>| {
            fields.get("resolved").and_then(Value::as_bool) == Some(true)
        };
        let kind = match (key.kind, &event.change) {
            (RecordKind::Arc, MemoryChange::New(_)) if event.kind == MemoryEventKind::Created => {
                StoryEventKind::Created
            }
            (RecordKind::ArcSummary, MemoryChange::New(_)) => StoryEventKind::Ended,
            (RecordKind::Arc | RecordKind::PinnedArc, MemoryChange::Fields(fields))
                if is_over(fields) =>
            {
                StoryEventKind::Ended
            }
            (RecordKind::Arc, MemoryChange::Gone) if !self.0.contains_key(&key.id) => {
                StoryEventKind::Retired
            }
            _ => return None,
        };
        // The text of an arc is its id.
        let text = beginning(&key.id);
        let mut found = StoryEvent::new((StoryEventSubject::Thread, kind), owner, key, text);
        if kind == StoryEventKind::Ended {
            found.ending = self.0.get(&key.id).cloned();
        }
        Some(found)
    }
}
