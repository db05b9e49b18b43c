//! What holds where some messages are told and others are not.

use loreloom_core::ids::{ChatId, MessageId};
use rustc_hash::FxHashSet;

use loreloom_ports::{MemoryChange, MemoryEvent, MemoryWriteId, Records};

/// Which events of a log hold, as flags in their order: equal flags fold alike, so that
/// what was folded before can be used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live(Vec<bool>);

impl Live {
    /// The events whose messages all satisfy `is_told` and whose write was not undone.
    pub fn of(events: &[MemoryEvent], is_told: impl Fn(&ChatId, &MessageId) -> bool) -> Self {
        let undone = reverted(events);
        let holds = |event: &MemoryEvent| {
            let told =
                |message: &MessageId| event.chat.as_ref().is_none_or(|chat| is_told(chat, message));
            !undone.contains(&event.write) && event.event.receipts.iter().all(told)
        };
        Self(events.iter().map(holds).collect())
    }

    /// Leaves out events that are not wanted.
    pub fn only(&mut self, events: &[MemoryEvent], is_wanted: impl Fn(&MemoryEvent) -> bool) {
        for (live, event) in self.0.iter_mut().zip(events) {
            *live &= is_wanted(event);
        }
    }

    /// The events that hold, in order.
    pub fn events<'log>(
        &self,
        events: &'log [MemoryEvent],
    ) -> impl Iterator<Item = &'log MemoryEvent> {
        events.iter().zip(&self.0).filter(|(_, live)| **live).map(|(event, _)| event)
    }

    /// The records that hold.
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

/// The records that hold where all messages satisfy `is_told`. `events` must be in the order
/// they happened.
pub fn fold(events: &[MemoryEvent], is_told: impl Fn(&ChatId, &MessageId) -> bool) -> Records {
    Live::of(events, is_told).records(events)
}

/// The writes that were undone. An undo that was undone itself undoes nothing.
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
