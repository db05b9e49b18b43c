//! Events for watchers of the API.
//!
//! An event names what changed and its version, never the content: a listener that needs it asks.
//! The last events are kept, so that a watcher that lost its connection can continue; one that was
//! away too long gets a gap event.
//!
//! Ids begin at the start time of the server, a thousand for each millisecond: more than are ever
//! sent. So an id from before a restart is lower than all later ones, and its watcher gets a gap.
//! They stay exact in JavaScript until the year 2255.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use loreloom_core::{ids::TenantId, units::Timestamp};
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::notices;

/// Events that are kept.
const KEPT: usize = 1024;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Happened))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum ServerEvent {
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
    /// A turn is not stored, or soon none can be: little space is left.
    Warning {
        /// Why.
        reason: String,
    },
    /// Something else went wrong beside a generation.
    Trouble {
        /// What.
        reason: String,
    },
    /// Books, rules or settings changed.
    #[serde(rename = "desk")]
    Documents {
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
        /// Its state.
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
        /// Its state.
        state: String,
    },
    /// Events were missed: read everything again.
    Gap,
}

impl ServerEvent {
    /// The event for a notice, if it has one.
    pub(crate) fn noticed(notice: &notices::Happened) -> Option<Self> {
        use notices::Happened as Notice;
        Some(match notice {
            Notice::FailedOpen { reason, .. } => Self::FailOpen { reason: reason.clone() },
            Notice::NotStored { reason, .. } => Self::Warning { reason: reason.clone() },
            Notice::WithoutMemory { reason, .. } | Notice::UpstreamFailed { reason } => {
                Self::Trouble { reason: reason.clone() }
            }
            Notice::TurnStored { chat, turn } => {
                Self::Turn { chat: chat.to_string(), turn: turn.0 }
            }
            // The chat's own event says more.
            Notice::ReplyStored { .. } => return None,
        })
    }
}

/// An event with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Event))]
pub(crate) struct ApiEvent {
    /// Its number; later events have higher ones, after a restart too.
    pub(crate) id: u64,
    /// What happened.
    #[serde(flatten)]
    pub(crate) what: ServerEvent,
}

/// The events of the server.
pub(crate) struct Events {
    ring: Mutex<Ring>,
    sender: broadcast::Sender<(TenantId, ApiEvent)>,
}

struct Ring {
    next: u64,
    kept: VecDeque<(TenantId, ApiEvent)>,
}

impl Default for Events {
    fn default() -> Self {
        Self::since(Timestamp(0))
    }
}

/// A watcher: what it missed, and what comes.
pub(crate) struct Watching {
    missed: VecDeque<ApiEvent>,
    coming: broadcast::Receiver<(TenantId, ApiEvent)>,
}

impl Watching {
    /// The next event of a tenant, once there is one; none when no more can come.
    pub(crate) async fn next(&mut self, events: &Events, tenant: &TenantId) -> Option<ApiEvent> {
        loop {
            if let Some(missed) = self.missed.pop_front() {
                return Some(missed);
            }
            match self.coming.recv().await {
                Ok((whose, event)) if whose == *tenant => return Some(event),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => *self = Self::beyond_a_gap(&events.ring(), events),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Goes on with what comes, after word of a gap: who hears of it reads everything again.
    fn beyond_a_gap(ring: &Ring, events: &Events) -> Self {
        let gap = ApiEvent { id: ring.newest(), what: ServerEvent::Gap };
        Self { missed: VecDeque::from([gap]), coming: events.sender.subscribe() }
    }
}

impl Ring {
    /// The number of the last event, or the one before the first.
    fn newest(&self) -> u64 {
        self.next - 1
    }
}

impl Events {
    /// The events of a server that was started then.
    pub(crate) fn since(started: Timestamp) -> Self {
        let first =
            u64::try_from(started.0).unwrap_or_default().saturating_mul(1000).saturating_add(1);
        let ring = Ring { next: first, kept: VecDeque::with_capacity(KEPT) };
        Self { ring: Mutex::new(ring), sender: broadcast::Sender::new(KEPT) }
    }

    /// Tells everybody.
    pub(crate) fn tell(&self, tenant: &TenantId, what: ServerEvent) {
        let mut ring = self.ring();
        let event = ApiEvent { id: ring.next, what };
        ring.next += 1;
        if ring.kept.len() == KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back((tenant.clone(), event.clone()));
        // Sent under the lock, so that a watcher who begins now misses nothing.
        let _nobody_watches = self.sender.send((tenant.clone(), event));
    }

    /// Begins to watch, after the event of that number if one is given.
    pub(crate) fn watch(&self, tenant: &TenantId, after: Option<u64>) -> Watching {
        let ring = self.ring();
        let oldest = ring.kept.front().map_or(ring.next, |(_, event)| event.id);
        // Events from before a restart are not kept. An id above all others is from a server whose
        // clock was ahead.
        if after.is_some_and(|after| after > ring.newest() || after + 1 < oldest) {
            return Watching::beyond_a_gap(&ring, self);
        }
        let is_missed = |whose: &TenantId, event: &ApiEvent| {
            whose == tenant && after.is_some_and(|after| event.id > after)
        };
        let missed = ring.kept.iter().filter(|(whose, event)| is_missed(whose, event));
        let missed = missed.map(|(_, event)| event.clone()).collect();
        Watching { missed, coming: self.sender.subscribe() }
    }

    /// The number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.ring().newest()
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
        let is_gap = watching.missed.front().is_some_and(|event| event.what == ServerEvent::Gap);
        if is_gap { vec![0] } else { watching.missed.iter().map(|event| event.id).collect() }
    }

    #[test]
    fn a_watcher_goes_on_where_it_was_and_hears_of_a_gap() {
        let events = Events::default();
        for _ in 0..3 {
            events.tell(&TenantId::local(), ServerEvent::Documents { revision: 1 });
            events.tell(&"other".into(), ServerEvent::Documents { revision: 1 });
        }
        assert_eq!(missed(&events, 0), [1, 3, 5]);
        assert_eq!(missed(&events, 3), [5]);
        assert_eq!(missed(&events, 6), Vec::<u64>::new());
        assert_eq!(missed(&events, 99), [0], "from before a restart");
        for revision in 0..KEPT as u64 {
            events.tell(&TenantId::local(), ServerEvent::Documents { revision });
        }
        assert_eq!(missed(&events, 2), [0]);
        assert_eq!(missed(&events, 6).len(), KEPT);
    }

    #[tokio::test]
    async fn a_watcher_that_lags_behind_goes_on_from_the_newest_event_after_a_gap() {
        let (events, tenant) = (Events::since(Timestamp(5)), TenantId::local());
        let mut watching = events.watch(&tenant, None);
        for revision in 0..=KEPT as u64 {
            events.tell(&tenant, ServerEvent::Documents { revision });
        }
        let gap = watching.next(&events, &tenant).await;
        assert_eq!(gap, Some(ApiEvent { id: 6025, what: ServerEvent::Gap }));
        events.tell(&tenant, ServerEvent::Documents { revision: 9 });
        let next = watching.next(&events, &tenant).await;
        assert_eq!(next, Some(ApiEvent { id: 6026, what: ServerEvent::Documents { revision: 9 } }));
        assert_eq!(missed(&events, 6025), [6026], "where the gap was is a place to go on from");
    }

    #[test]
    fn a_number_from_before_a_restart_is_a_gap_whatever_came_since() {
        let before = Events::since(Timestamp(1_000));
        let after = Events::since(Timestamp(1_001));
        for events in [&before, &after] {
            for _ in 0..9 {
                events.tell(&TenantId::local(), ServerEvent::Documents { revision: 1 });
            }
        }
        assert_eq!(before.last(), 1_000_009);
        assert_eq!(missed(&after, 1_000_004), [0]);
        assert_eq!(missed(&after, 1_001_008), [1_001_009]);
        assert_eq!(missed(&before, 1_001_004), [0], "a clock that was set back");
    }
}
