//! What happens, for those who watch.
//!
//! An event says what changed and to which version, never the thing itself: whoever wants to
//! know asks. The last ones are kept, so that a watcher who lost the line goes on where it
//! was; one who was away too long is told that there is a gap.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use loreloom_core::ids::TenantId;
use serde::Serialize;
use tokio::sync::broadcast;
use utoipa::ToSchema;

use crate::notices;

/// Events that are kept.
const KEPT: usize = 1024;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Happened {
    /// A chat changed: a turn, a reply, a move.
    Chat {
        /// The chat.
        chat: String,
        /// Its version now.
        version: u64,
    },
    /// A turn was stored.
    Turn {
        /// The chat.
        chat: String,
        /// The turn.
        turn: u64,
    },
    /// A request went on without lore.
    FailOpen {
        /// Why.
        reason: String,
    },
    /// Something else went wrong beside a generation.
    Trouble {
        /// What.
        reason: String,
    },
    /// Books, rules or settings changed.
    Desk {
        /// The revision now.
        revision: u64,
    },
    /// The compiled lore changed.
    Lore {
        /// Its version.
        version: String,
    },
    /// What is remembered changed.
    Memory {
        /// The write.
        write: String,
    },
    /// A job was queued, went on or ended.
    Job {
        /// The job.
        job: u64,
        /// How it stands.
        state: String,
    },
    /// A replay went on.
    Run {
        /// The run.
        run: u64,
        /// Chats done.
        done: usize,
        /// Chats in all.
        total: usize,
        /// How it stands.
        state: String,
    },
    /// Events were missed: read everything again.
    Gap,
}

impl Happened {
    /// The event that watchers are told of a notice, if they are.
    pub(crate) fn noticed(notice: &notices::Happened) -> Option<Self> {
        use notices::Happened as Notice;
        Some(match notice {
            Notice::FailedOpen { reason, .. } => Self::FailOpen { reason: reason.clone() },
            Notice::WithoutMemory { reason, .. }
            | Notice::NotStored { reason, .. }
            | Notice::UpstreamFailed { reason } => Self::Trouble { reason: reason.clone() },
            Notice::TurnStored { chat, turn } => {
                Self::Turn { chat: chat.to_string(), turn: turn.0 }
            }
            // The chat's own event says more.
            Notice::ReplyStored { .. } => return None,
        })
    }
}

/// An event with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Event {
    /// Its number; later events have higher ones.
    pub(crate) id: u64,
    /// What happened.
    #[serde(flatten)]
    pub(crate) what: Happened,
}

/// The events of the server.
pub(crate) struct Events {
    ring: Mutex<Ring>,
    sender: broadcast::Sender<(TenantId, Event)>,
}

struct Ring {
    next: u64,
    kept: VecDeque<(TenantId, Event)>,
}

impl Default for Events {
    fn default() -> Self {
        let ring = Ring { next: 1, kept: VecDeque::with_capacity(KEPT) };
        Self { ring: Mutex::new(ring), sender: broadcast::Sender::new(KEPT) }
    }
}

/// A watcher: what it missed, and what comes.
pub(crate) struct Watching {
    pub(crate) missed: Vec<Event>,
    pub(crate) coming: broadcast::Receiver<(TenantId, Event)>,
}

impl Events {
    /// Tells everybody.
    pub(crate) fn tell(&self, tenant: &TenantId, what: Happened) {
        let mut ring = self.ring();
        let event = Event { id: ring.next, what };
        ring.next += 1;
        if ring.kept.len() == KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back((tenant.clone(), event.clone()));
        // Told under the lock, so that a watcher who begins now misses nothing.
        let _nobody_watches = self.sender.send((tenant.clone(), event));
    }

    /// Begins to watch, after the event of that number if one is given.
    pub(crate) fn watch(&self, tenant: &TenantId, after: Option<u64>) -> Watching {
        let ring = self.ring();
        let coming = self.sender.subscribe();
        let Some(after) = after else { return Watching { missed: Vec::new(), coming } };
        let newest = ring.next - 1;
        let oldest = ring.kept.front().map_or(ring.next, |(_, event)| event.id);
        // A number from the future is from before a restart.
        if after > newest || after + 1 < oldest {
            let gap = Event { id: newest, what: Happened::Gap };
            return Watching { missed: vec![gap], coming };
        }
        let missed = ring.kept.iter().filter(|(whose, event)| whose == tenant && event.id > after);
        Watching { missed: missed.map(|(_, event)| event.clone()).collect(), coming }
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.ring().next - 1
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(events: &Events, after: u64) -> Vec<u64> {
        let watching = events.watch(&TenantId::local(), Some(after));
        let is_gap = watching.missed.first().is_some_and(|event| event.what == Happened::Gap);
        if is_gap { vec![0] } else { watching.missed.iter().map(|event| event.id).collect() }
    }

    #[test]
    fn a_watcher_goes_on_where_it_was_and_hears_of_a_gap() {
        let events = Events::default();
        for _ in 0..3 {
            events.tell(&TenantId::local(), Happened::Desk { revision: 1 });
            events.tell(&"other".into(), Happened::Desk { revision: 1 });
        }
        assert_eq!(missed(&events, 0), [1, 3, 5]);
        assert_eq!(missed(&events, 3), [5]);
        assert_eq!(missed(&events, 6), Vec::<u64>::new());
        assert_eq!(missed(&events, 99), [0], "from before a restart");
        for revision in 0..KEPT as u64 {
            events.tell(&TenantId::local(), Happened::Desk { revision });
        }
        assert_eq!(missed(&events, 2), [0]);
        assert_eq!(missed(&events, 6).len(), KEPT);
    }
}
