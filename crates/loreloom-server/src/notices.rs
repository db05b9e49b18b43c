//! Notices of what happened, for all that listen.
//!
//! A generation never fails because of Loreloom, so failures here would go unseen. A notice is
//! sent and forgotten: it never waits for a listener, and a slow listener misses some and learns
//! how many. What must not be lost belongs in the store.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use loreloom_core::{
    ids::{ChatId, TenantId},
    units::Timestamp,
};
use loreloom_ports::TurnId;
use serde::Serialize;
use tokio::sync::broadcast;

/// How many notices wait for a slow listener before it misses some.
const ROOM: usize = 256;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Whom it concerns.
    pub tenant: TenantId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub what: Happened,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Happened {
    /// A request was sent on without lore: the engine failed or took too long.
    FailedOpen {
        /// The path that was asked.
        path: String,
        /// Why.
        reason: String,
    },
    /// A turn went on without what its chat remembers.
    WithoutMemory {
        /// The chat.
        chat: ChatId,
        /// Why.
        reason: String,
    },
    /// A turn was stored.
    TurnStored {
        /// The chat.
        chat: ChatId,
        /// Its turn.
        turn: TurnId,
    },
    /// A reply became part of its story.
    ReplyStored {
        /// The chat.
        chat: ChatId,
        /// The turn it answers.
        turn: TurnId,
    },
    /// A turn or its reply reached the front end and could not be stored.
    NotStored {
        /// The chat.
        chat: ChatId,
        /// Why.
        reason: String,
    },
    /// The model's server gave no answer, or stopped in the middle of one.
    UpstreamFailed {
        /// Why.
        reason: String,
    },
}

/// Where notices go. Cloning it is cheap; all clones are one.
#[derive(Clone)]
pub struct Notices(Arc<Board>);

struct Board {
    listeners: broadcast::Sender<Arc<Notice>>,
    failed_open: AtomicU64,
}

impl Default for Notices {
    fn default() -> Self {
        let (listeners, _nobody_yet) = broadcast::channel(ROOM);
        Self(Arc::new(Board { listeners, failed_open: AtomicU64::new(0) }))
    }
}

impl Notices {
    /// Tells everybody who listens now.
    pub fn tell(&self, notice: Notice) {
        if matches!(notice.what, Happened::FailedOpen { .. }) {
            self.0.failed_open.fetch_add(1, Ordering::Relaxed);
        }
        // Nobody needs to listen.
        let _nobody = self.0.listeners.send(Arc::new(notice));
    }

    /// Listens from now on, to what concerns every tenant: a caller who may see only its own
    /// leaves the others out.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.0.listeners.subscribe()
    }

    /// How many requests went on without lore since the server started.
    pub fn failed_open(&self) -> u64 {
        self.0.failed_open.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str) -> Notice {
        let what = Happened::FailedOpen { path: "/v1/x".to_owned(), reason: reason.to_owned() };
        Notice { tenant: TenantId::local(), at: Timestamp(7), what }
    }

    #[test]
    fn listeners_hear_what_comes_after_them_and_a_slow_one_is_told_what_it_missed() {
        let notices = Notices::default();
        notices.tell(failed("before"));
        let mut slow = notices.listen();
        for number in 0..ROOM + 2 {
            notices.tell(failed(&number.to_string()));
        }
        assert_eq!(notices.failed_open(), ROOM as u64 + 3);
        assert_eq!(slow.try_recv(), Err(broadcast::error::TryRecvError::Lagged(2)));
        assert_eq!(slow.try_recv().unwrap().as_ref(), &failed("2"));
    }

    #[test]
    fn a_notice_is_written_flat() {
        let written = serde_json::to_value(failed("slow")).unwrap();
        let expected = serde_json::json!({
            "tenant": "local", "at": 7, "kind": "failed_open", "path": "/v1/x", "reason": "slow",
        });
        assert_eq!(written, expected);
    }
}
