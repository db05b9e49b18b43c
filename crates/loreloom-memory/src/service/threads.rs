//! What happened to threads of the story at a message: they begin, end, or are let go.
//!
//! A thread that ends leaves its record, unless it is pinned: a pass writes down how it ended and
//! removes it. One that goes without that was one too many, or removed by hand.

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::happenings::{Happening, HappeningKind, HappeningOf, beginning, said};
use loreloom_ports::Owner;
use loreloom_ports::{MemoryChange, MemoryEventKind, NewMemoryEvent};
use loreloom_ports::{RecordKey, RecordKind};

/// How the threads of an owner ended that were told to an end, by what they say.
pub(super) struct Threads(FxHashMap<String, String>);

impl Threads {
    pub(super) fn of<'event>(events: impl Iterator<Item = &'event NewMemoryEvent>) -> Self {
        let ended = events.filter_map(|event| {
            let key = event.record.as_ref().filter(|key| key.kind == RecordKind::ArcSummary)?;
            let MemoryChange::New(fields) = &event.change else { return None };
            Some((key.id.clone(), beginning(said(fields, "summary"))))
        });
        Self(ended.collect())
    }

    /// What an event tells of a thread.
    pub(super) fn told(
        &self,
        owner: &Owner,
        event: &NewMemoryEvent,
        key: &RecordKey,
    ) -> Option<Happening> {
        let is_over = |fields: &Map<String, Value>| {
            fields.get("resolved").and_then(Value::as_bool) == Some(true)
        };
        let kind = match (key.kind, &event.change) {
            (RecordKind::Arc, MemoryChange::New(_)) if event.kind == MemoryEventKind::Created => {
                HappeningKind::Created
            }
            (RecordKind::ArcSummary, MemoryChange::New(_)) => HappeningKind::Ended,
            (RecordKind::Arc | RecordKind::PinnedArc, MemoryChange::Fields(fields))
                if is_over(fields) =>
            {
                HappeningKind::Ended
            }
            (RecordKind::Arc, MemoryChange::Gone) if !self.0.contains_key(&key.id) => {
                HappeningKind::Retired
            }
            _ => return None,
        };
        // A thread is named by what it says.
        let text = beginning(&key.id);
        let mut told = Happening::new((HappeningOf::Thread, kind), owner, key, text);
        if kind == HappeningKind::Ended {
            told.ending = self.0.get(&key.id).cloned();
        }
        Some(told)
    }
}
