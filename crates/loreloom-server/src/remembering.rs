//! What memory puts into a turn, and what it is told after a reply.

use loreloom_core::{chat::Path, report::BudgetUse, units::Tokens};
use loreloom_memory::service::{Spoken, TurnAsked, TurnMemory, Who};

use crate::{app::App, story::Names};

/// The pool that memory's tokens are reported under.
const POOL: &str = "memory";

impl App {
    /// What memory has for a turn. A turn goes on without memory that fails.
    pub(crate) async fn remembered(
        &self,
        path: &Path,
        names: &Names,
        seen_from: usize,
    ) -> TurnMemory {
        let Some(memory) = &self.memory else { return TurnMemory::default() };
        let asked = TurnAsked {
            tenant: &self.tenant,
            chat: path.chat(),
            path: path.items(),
            speaker: &who(names),
            group: &[],
            seen_from,
            cap: None,
            counter: self.counter.as_ref(),
        };
        memory.for_turn(&asked).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the turn goes on without memory");
            TurnMemory::default()
        })
    }

    /// Tells memory of a reply; the work it makes is done later.
    pub(crate) async fn remember(&self, path: &Path, names: &Names) {
        let Some(memory) = &self.memory else { return };
        let speakers = [who(names)];
        let spoken = Spoken {
            tenant: &self.tenant,
            chat: path.chat(),
            path: path.items(),
            speakers: &speakers,
        };
        if let Err(error) = memory.after_reply(&spoken).await {
            tracing::warn!(%error, "memory was not told of the reply");
        }
    }
}

/// What memory used of its budget.
pub(crate) fn budget(remembered: &TurnMemory) -> Option<BudgetUse> {
    let slots = &remembered.report.slots;
    let used: Tokens = slots.iter().map(|slot| slot.tokens).sum();
    let limit: Tokens = slots.iter().map(|slot| slot.wanted).sum();
    let overflowed = used < limit || !remembered.report.dropped.is_empty();
    (!slots.is_empty()).then(|| BudgetUse { pool: POOL.to_owned(), limit, used, overflowed })
}

fn who(names: &Names) -> Who {
    names.speaker.as_deref().map(Who::named).unwrap_or_default()
}
