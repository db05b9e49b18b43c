//! Which events count on a path, and the records they add up to.

use loreloom_core::ids::{ChatId, MessageId};
use rustc_hash::FxHashSet;

use loreloom_ports::{MemoryChange, MemoryEvent, MemoryWriteId, Records};

/// Which events of a log count, as flags in order. Equal flags give equal records, so a cached
/// result can be used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live(Vec<bool>);

impl Live {
    /// The events whose messages all satisfy `is_current` and whose write was not undone.
    pub fn of(events: &[MemoryEvent], is_current: impl Fn(&ChatId, &MessageId) -> bool) -> Self {
        let undone = reverted(events);
        let holds = |event: &MemoryEvent| {
            let current = |message: &MessageId| {
                event.chat.as_ref().is_none_or(|chat| is_current(chat, message))
            };
            !undone.contains(&event.write) && event.event.receipts.iter().all(current)
        };
        Self(events.iter().map(holds).collect())
    }

    /// Removes unwanted events.
    pub fn only(&mut self, events: &[MemoryEvent], is_wanted: impl Fn(&MemoryEvent) -> bool) {
        for (live, event) in self.0.iter_mut().zip(events) {
            *live &= is_wanted(event);
        }
    }

    /// The events that count, in order.
    pub fn events<'log>(
        &self,
        events: &'log [MemoryEvent],
    ) -> impl Iterator<Item = &'log MemoryEvent> {
        events.iter().zip(&self.0).filter(|(_, live)| **live).map(|(event, _)| event)
    }

    /// The records of the events that count.
    pub fn records(&self, events: &[MemoryEvent]) -> Records {
        let mut records = Records::default();
        for (number, event) in events.iter().enumerate() {
            if !self.0.get(number).copied().unwrap_or(false) {
                continue;
            }
            if event.event.change == MemoryChange::Forget {
                records.clear();
                let before = events[..number].iter().zip(&self.0);
                let kept = before
                    .filter(|(old, live)| **live && event.chat.is_some() && old.chat != event.chat);
                kept.for_each(|(old, _)| apply(&mut records, old));
            } else {
                apply(&mut records, event);
            }
        }
        records
    }
}

/// The records of the events whose messages all satisfy `is_current`. `events` must be in order.
pub fn fold(events: &[MemoryEvent], is_current: impl Fn(&ChatId, &MessageId) -> bool) -> Records {
    Live::of(events, is_current).records(events)
}

/// The writes that were undone. An undo that was undone does not count.
pub fn reverted(events: &[MemoryEvent]) -> FxHashSet<MemoryWriteId> {
    let mut undone = FxHashSet::default();
    for event in events.iter().rev() {
        if let MemoryChange::Revert(write) = &event.event.change
            && !undone.contains(&event.write)
        {
            undone.insert(write.clone());
        }
    }
    undone
}

fn apply(records: &mut Records, event: &MemoryEvent) {
    let Some(key) = &event.event.record else { return };
    match &event.event.change {
        MemoryChange::New(fields) => records.insert(key.clone(), fields.clone()),
        MemoryChange::Fields(fields) => {
            let Some(known) = records.get_mut(key) else { return };
            for (name, value) in fields {
                if value.is_null() {
                    known.remove(name);
                } else {
                    known.insert(name.clone(), value.clone());
                }
            }
        }
        MemoryChange::Gone => records.remove(key),
        MemoryChange::Revert(_) | MemoryChange::Forget => {}
    }
}
