//! Asking a model which notes of a vault a turn needs, while a request waits.
//!
//! The wait has its own limit and does not count against the deadline of the turn. A waiting
//! turn takes no other turn's place. The answer, or the failure, becomes part of the turn's
//! input and is stored with it, so a replay asks no model.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::vault_select::{AskRules, Breaker, Occurrence, Selector, Unmet};
use loreloom_core::{
    dialects::vault::Pick,
    ids::ChatId,
    state::StoryState,
    tokens::TokenCounter,
    turn::{Selection, Turn},
};
use loreloom_ports::ChatModel;
use rustc_hash::FxHashMap;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::{app::App, lore::Lore};

/// Chats whose last answer is kept; more than are talked to at a time.
const MOST_CHATS: usize = 256;

/// How a model chooses notes, and the one that does now.
pub struct Choosing {
    rules: AskRules,
    unmet: Arc<Unmet>,
    chooser: RwLock<Option<Result<Arc<Chooser>, String>>>,
}

/// A model that chooses notes, with what is known of its answers.
struct Chooser {
    model: Arc<dyn ChatModel>,
    breaker: Arc<Breaker>,
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
        let choosing = Self::nobody(rules);
        choosing.employ(Some(Ok(model)));
        choosing
    }

    /// No model yet. The one that is set later is asked by these rules.
    pub fn nobody(rules: AskRules) -> Self {
        Self { rules, unmet: Arc::default(), chooser: RwLock::default() }
    }

    /// Sets the model that chooses from now on, none, or why there is none. Waiting turns keep
    /// the model they asked.
    pub(crate) fn employ(&self, model: Option<Result<Arc<dyn ChatModel>, String>>) {
        // Failures and answers of another model do not count for this one.
        let chooser = |model| {
            let (breaker, chats) = (Arc::default(), Mutex::default());
            Arc::new(Chooser { model, breaker, chats })
        };
        let chooser = model.map(|model| model.map(chooser));
        *self.chooser.write().unwrap_or_else(PoisonError::into_inner) = chooser;
    }

    /// Whether a model is set.
    pub(crate) fn is_employed(&self) -> bool {
        self.chooser.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn chooser(&self) -> Option<Result<Arc<Chooser>, String>> {
        self.chooser.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it asked for in vain, and how often. `has` is whether a note has it by now.
    pub(crate) fn unmet(&self, has: impl Fn(&str) -> bool) -> Vec<(String, u32)> {
        self.unmet.met(has);
        self.unmet.list()
    }

    /// The selector of a chat.
    fn selector(&self, chooser: &Chooser, chat: &ChatId) -> Arc<Selector> {
        let mut chats = chooser.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(selector) = chats.get(chat) {
            return Arc::clone(selector);
        }
        if chats.len() >= MOST_CHATS {
            chats.clear();
        }
        let selector = Selector::sharing(self.rules.clone(), Arc::clone(&chooser.breaker));
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

    fn place(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// What the model chooses for a turn among its open notes; `None` if no model is set.
    pub(crate) async fn choose(
        &self,
        (lore, counter): (&Lore, &dyn TokenCounter),
        (turn, open): (&Turn<'_>, &[Pick]),
        state: &StoryState,
        waiting: &Waiting,
    ) -> Option<Selection> {
        let choosing = self.choosing.as_ref()?;
        let vault = lore.library().vault()?;
        let chooser = choosing.chooser()?;
        let chooser = match chooser {
            Ok(chooser) => chooser,
            Err(reason) => return Some(Selection::Failed { reason }),
        };
        let lines = turn.transcript.vault_lines();
        let occurrence = Occurrence {
            vault,
            candidates: open,
            lines: &lines,
            state: &state.vault,
            using: &lore.rules().vault,
            counter,
        };
        let selector = choosing.selector(&chooser, turn.chat);
        let asking = selector.select(chooser.model.as_ref(), occurrence);
        // A moment more than the selector gives itself.
        let longest = choosing.rules.timeout + Duration::from_secs(1);
        let selection = waiting.during(longest, asking).await;
        if let Selection::Failed { reason } = &selection {
            tracing::warn!(%reason, "no notes were chosen");
        }
        Some(selection)
    }
}
