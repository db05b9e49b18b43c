//! Choose: a model selects the vault notes of a turn while its request waits.
//!
//! The model has its own time limit. Waiting for it does not count against the deadline of the
//! turn and takes no slot from other turns. The answer, or that the model failed, is stored with
//! the turn, so that a replay asks nobody.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use loreloom_core::{
    dialects::vault::Pick,
    ids::ChatId,
    state::StoryState,
    tokens::TokenCounter,
    turn::{Selection, Turn},
};
use loreloom_ports::ChatModel;
use rustc_hash::FxHashMap;

use super::deadline::Deadline;
use crate::{
    lore::Lore,
    vault_select::{AskRules, Breaker, Occurrence, Selector, SpeakerNames, Unmet},
};

/// Chats whose last answer is kept. More are rarely active at a time.
const MOST_CHATS: usize = 256;

/// How a model selects vault notes, and the model that does so now.
pub struct Choosing {
    rules: AskRules,
    unmet: Arc<Unmet>,
    chooser: RwLock<Option<Result<Arc<Chooser>, String>>>,
}

/// A model that selects notes, with its failures and its last answers.
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
    /// This model is asked by these rules.
    pub fn new(model: Arc<dyn ChatModel>, rules: AskRules) -> Self {
        let choosing = Self::nobody(rules);
        choosing.employ(Some(Ok(model)));
        choosing
    }

    /// No model yet. One that is set later is asked by these rules.
    pub fn nobody(rules: AskRules) -> Self {
        Self { rules, unmet: Arc::default(), chooser: RwLock::default() }
    }

    /// Sets the model that selects from now on: none, or the reason why the configured one cannot
    /// be asked. Turns that wait keep the model they asked.
    pub(crate) fn employ(&self, model: Option<Result<Arc<dyn ChatModel>, String>>) {
        // Failures and answers of the model before do not count for this one.
        let chooser = |model| {
            let (breaker, chats) = (Arc::default(), Mutex::default());
            Arc::new(Chooser { model, breaker, chats })
        };
        let chooser = model.map(|model| model.map(chooser));
        *self.chooser.write().unwrap_or_else(PoisonError::into_inner) = chooser;
    }

    /// Whether a model selects.
    pub(crate) fn is_employed(&self) -> bool {
        self.chooser.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn chooser(&self) -> Option<Result<Arc<Chooser>, String>> {
        self.chooser.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Topics that the model asked for and no note covers, with how often. `has` says which are
    /// covered by now.
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

    /// The notes that the model selects for a turn; `None` if no model selects.
    pub(super) async fn choose(
        &self,
        (lore, counter): (&Lore, &dyn TokenCounter),
        (turn, open): (&Turn<'_>, &[Pick]),
        state: &StoryState,
        deadline: &Deadline,
    ) -> Option<Selection> {
        let vault = lore.library().vault()?;
        let chooser = self.chooser()?;
        let chooser = match chooser {
            Ok(chooser) => chooser,
            Err(reason) => return Some(Selection::Failed { reason }),
        };
        let lines = turn.transcript.vault_lines();
        let occurrence = Occurrence {
            vault,
            candidates: open,
            lines: &lines,
            names: SpeakerNames::of(turn.input),
            state: &state.vault,
            using: &lore.rules().vault,
            counter,
        };
        let selector = self.selector(&chooser, turn.chat);
        let asking = selector.select(chooser.model.as_ref(), occurrence);
        // A moment more than the selector gives itself.
        let longest = self.rules.timeout + Duration::from_secs(1);
        let selection = deadline.pause(longest, asking).await;
        if let Selection::Failed { reason } = &selection {
            tracing::warn!(%reason, "no notes were chosen");
        }
        Some(selection)
    }
}
