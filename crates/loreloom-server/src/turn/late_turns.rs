//! Turns that are stored after their answer.
//!
//! A commit waits for the disk, and a front end needs its texts before it asks the model. So the
//! texts go first. Code that needs the stored turn waits for it here.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use loreloom_core::ids::ChatId;
use loreloom_ports::TurnId;
use tokio::sync::watch;

/// How many turns that are stored are remembered.
const MOST: usize = 64;

/// What became of a turn: its number, or why it is not stored.
pub(crate) type Outcome = Result<TurnId, String>;

struct LateTurn {
    generation: u64,
    chat: ChatId,
    /// `None` while it is being stored.
    outcome: watch::Receiver<Option<Outcome>>,
}

impl LateTurn {
    fn is_over(&self) -> bool {
        self.outcome.borrow().is_some() || self.outcome.has_changed().is_err()
    }
}

/// Turns that are being stored, and the last ones that were.
#[derive(Default)]
pub(crate) struct LateTurns(Mutex<VecDeque<LateTurn>>);

impl LateTurns {
    fn lock(&self) -> MutexGuard<'_, VecDeque<LateTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a generation is being stored. The sender says what became of it.
    pub(super) fn begin(&self, generation: u64, chat: ChatId) -> watch::Sender<Option<Outcome>> {
        let (sender, outcome) = watch::channel(None);
        let mut turns = self.lock();
        turns.push_back(LateTurn { generation, chat, outcome });
        while turns.len() > MOST && turns.front().is_some_and(LateTurn::is_over) {
            turns.pop_front();
        }
        sender
    }

    /// Waits until the turn of a generation is stored; `None` if it has none.
    pub(crate) async fn outcome(&self, generation: u64) -> Option<Outcome> {
        let found = self.lock().iter().find(|turn| turn.generation == generation)?.outcome.clone();
        Some(over(found).await)
    }

    /// Waits until no turn of a chat is being stored any more.
    pub(crate) async fn settled(&self, chat: &ChatId) {
        let open: Vec<_> = {
            let turns = self.lock();
            let open = turns.iter().filter(|turn| turn.chat == *chat && !turn.is_over());
            open.map(|turn| turn.outcome.clone()).collect()
        };
        for turn in open {
            let _either_way = over(turn).await;
        }
    }
}

async fn over(mut turn: watch::Receiver<Option<Outcome>>) -> Outcome {
    let outcome = turn.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
    outcome.unwrap_or_else(|| Err("the server failed while it stored this turn".to_owned()))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_turn_is_waited_for_until_it_is_stored() {
        let turns = LateTurns::default();
        let [inn, ship] = ["inn", "ship"].map(ChatId::from);
        let stored = turns.begin(7, inn.clone());
        assert!(turns.outcome(8).now_or_never().unwrap().is_none());
        assert!(turns.settled(&ship).now_or_never().is_some(), "another chat");
        let (mut outcome, mut settled) =
            (Box::pin(turns.outcome(7)), Box::pin(turns.settled(&inn)));
        assert_eq!((&mut outcome).now_or_never(), None);
        assert_eq!((&mut settled).now_or_never(), None);
        stored.send_replace(Some(Ok(TurnId(3))));
        assert_eq!(outcome.now_or_never(), Some(Some(Ok(TurnId(3)))));
        assert_eq!(settled.now_or_never(), Some(()));
        assert_eq!(turns.outcome(7).await, Some(Ok(TurnId(3))), "it may be asked again");
    }

    #[tokio::test]
    async fn a_turn_whose_writer_fails_is_not_waited_for() {
        let turns = LateTurns::default();
        drop(turns.begin(1, ChatId::from("inn")));
        let failed = Err("the server failed while it stored this turn".to_owned());
        assert_eq!(turns.outcome(1).await, Some(failed));
        turns.settled(&ChatId::from("inn")).await;
    }

    #[tokio::test]
    async fn only_the_last_turns_are_remembered_and_all_that_are_being_stored() {
        let turns = LateTurns::default();
        let first = turns.begin(0, ChatId::from("inn"));
        let many = u64::try_from(2 * MOST).unwrap();
        for generation in 1..=many {
            turns.begin(generation, ChatId::from("ship")).send_replace(Some(Ok(TurnId(1))));
        }
        assert!(turns.outcome(0).now_or_never().is_none(), "it is being stored");
        first.send_replace(Some(Ok(TurnId(1))));
        turns.begin(many + 1, ChatId::from("ship")).send_replace(Some(Ok(TurnId(1))));
        assert_eq!(turns.lock().len(), MOST);
        assert_eq!(turns.outcome(0).await, None);
    }
}
