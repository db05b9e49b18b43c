//! Asking a model which notes of a vault a turn needs, while a request waits.
//!
//! The wait is the model's, not the engine's: it has its own limit and is not held against
//! the deadline of the turn, and a turn that waits takes no other's place. What the model
//! answered, or that it failed, is given to the turn and stored with it, so that the turn
//! can be decided again without asking anybody.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use loreloom_core::{
    ids::ChatId,
    state::StoryState,
    tokens::TokenCounter,
    turn::{Selection, Turn},
};
use loreloom_memory::{
    ports::ChatModel,
    vault_select::{AskRules, Breaker, Occurrence, Selector, Unmet},
};
use rustc_hash::FxHashMap;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::{app::App, lore::Lore};

/// Chats whose last answer is kept; more than are talked to at a time.
const MOST_CHATS: usize = 256;

/// A model that chooses notes.
pub struct Choosing {
    model: Arc<dyn ChatModel>,
    rules: AskRules,
    breaker: Arc<Breaker>,
    unmet: Arc<Unmet>,
    chats: Mutex<FxHashMap<ChatId, Arc<Selector>>>,
}

impl fmt::Debug for Choosing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choosing").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Choosing {
    /// A model that is asked by these rules.
    pub fn new(model: Arc<dyn ChatModel>, rules: AskRules) -> Self {
        let (breaker, unmet) = (Arc::default(), Arc::default());
        Self { model, rules, breaker, unmet, chats: Mutex::default() }
    }

    /// What it asked for though no note has it, and how often; `has` tells what notes have by
    /// now.
    pub(crate) fn unmet(&self, has: impl Fn(&str) -> bool) -> Vec<(String, u32)> {
        self.unmet.met(has);
        self.unmet.list()
    }

    /// Who asks for a chat.
    fn selector(&self, chat: &ChatId) -> Arc<Selector> {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(selector) = chats.get(chat) {
            return Arc::clone(selector);
        }
        if chats.len() >= MOST_CHATS {
            chats.clear();
        }
        let selector = Selector::sharing(self.rules.clone(), Arc::clone(&self.breaker));
        let selector = Arc::new(selector.telling(Arc::clone(&self.unmet)));
        chats.insert(chat.clone(), Arc::clone(&selector));
        selector
    }
}

/// A turn's place among those that are decided at once, and the time that it spends waiting
/// for others, which its deadline does not count.
#[derive(Debug)]
pub(crate) struct Waiting {
    micros: AtomicU64,
    room: Arc<Semaphore>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Waiting {
    /// A turn that has no place yet.
    pub(crate) fn new(room: &Arc<Semaphore>) -> Self {
        Self { micros: AtomicU64::new(0), room: Arc::clone(room), place: Mutex::default() }
    }

    /// The time so far. While the turn waits, all that it may wait.
    pub(crate) fn so_far(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    /// Takes a place, as soon as there is one.
    pub(crate) async fn enter(&self) -> Result<(), AcquireError> {
        let place = Arc::clone(&self.room).acquire_owned().await?;
        *self.place() = Some(place);
        Ok(())
    }

    /// Waits, at the most `longest`; meanwhile the place is free for others.
    pub(crate) async fn during<T>(&self, longest: Duration, wait: impl Future<Output = T>) -> T {
        let before = self.micros.load(Ordering::Relaxed);
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.micros.store(before.saturating_add(micros(longest)), Ordering::Relaxed);
        let begun = Instant::now();
        drop(self.place().take());
        let waited = wait.await;
        self.micros.store(before.saturating_add(micros(begun.elapsed())), Ordering::Relaxed);
        // A server that stops lets what it began come to its end.
        let _stopping = self.enter().await;
        waited
    }

    /// Gives the place away.
    pub(crate) fn leave(&self) {
        drop(self.place().take());
    }

    fn place(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// What the model chooses for a turn; `None` where no model is to choose.
    pub(crate) async fn choose(
        &self,
        (lore, counter): (&Lore, &dyn TokenCounter),
        turn: &Turn<'_>,
        state: &StoryState,
        waiting: &Waiting,
    ) -> Option<Selection> {
        let choosing = self.choosing.as_ref()?;
        let vault = lore.library().vault()?;
        let candidates = lore.vault_candidates(turn, state, counter)?;
        let lines = turn.transcript.vault_lines();
        let occurrence = Occurrence {
            vault,
            candidates: &candidates,
            lines: &lines,
            state: &state.vault,
            using: &lore.rules().vault,
            counter,
        };
        let selector = choosing.selector(turn.chat);
        let asking = selector.select(choosing.model.as_ref(), occurrence);
        // A moment more than the selector gives itself.
        let longest = choosing.rules.timeout + Duration::from_secs(1);
        let selection = waiting.during(longest, asking).await;
        if let Selection::Failed { reason } = &selection {
            tracing::warn!(%reason, "no notes were chosen");
        }
        Some(selection)
    }
}
