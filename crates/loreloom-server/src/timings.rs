//! How long turns took, for the dashboard.
//!
//! They are figures of the running server, as those of Prometheus, and no part of the story:
//! a restart forgets them, and so does a great many later turns.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::TurnId;

/// Turns that are kept.
const KEPT: usize = 5_000;

/// How long a turn took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// What weaving added.
    pub(crate) weaving: Duration,
    /// Until the model's server began to answer, from when it was asked.
    pub(crate) answered: Duration,
    /// Until the whole reply had come, from when it was asked.
    pub(crate) replied: Duration,
}

type Of = (TenantId, ChatId, TurnId);

/// The last turns.
#[derive(Default)]
pub(crate) struct Timings(Mutex<VecDeque<(Of, Timing)>>);

impl Timings {
    /// A turn is over.
    pub(crate) fn note(&self, tenant: &TenantId, chat: &ChatId, turn: TurnId, timing: Timing) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(((tenant.clone(), chat.clone(), turn), timing));
    }

    /// The turns of a chat that are known.
    pub(crate) fn of(&self, tenant: &TenantId, chat: &ChatId) -> Vec<(TurnId, Timing)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.iter().filter(|((of, timed, _), _)| of == tenant && timed == chat);
        own.map(|((_, _, turn), timing)| (*turn, *timing)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_tenants_see_their_own() {
        let (timings, chat) = (Timings::default(), ChatId::from("inn"));
        let (own, other) = (TenantId::local(), TenantId::from("other"));
        let timing = |ms: u64| {
            let ms = Duration::from_millis(ms);
            Timing { weaving: ms, answered: ms, replied: ms }
        };
        timings.note(&other, &chat, TurnId(7), timing(7));
        for turn in 0..KEPT as u64 {
            timings.note(&own, &chat, TurnId(turn), timing(turn));
        }
        assert_eq!(timings.of(&other, &chat), []);
        let found = timings.of(&own, &chat);
        assert_eq!((found.len(), found[3]), (KEPT, (TurnId(3), timing(3))));
        assert_eq!(timings.of(&own, &ChatId::from("sea")), []);
    }
}
