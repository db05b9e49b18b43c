//! What a turn's prompt kept of the one sent before it, and what that is estimated to save.
//!
//! A connection with a cache of its own has its turns measured when they are stored, with
//! breakpoints and cost. For all others it is counted here, when somebody asks: both prompts are
//! stored, and no turn has to wait for it or read the one before.

use loreloom_core::{
    cache_placement::{Bill, CacheMark, Measured, SharedPrefix, TokenMemo, kept},
    ids::ChatId,
    prompt::PromptMessage,
    report::CacheUse,
};
use loreloom_ports::{StoreError, TurnSummary};
use serde::Serialize;

use super::caller::Caller;
use crate::{app::App, past_turns::LookedAt};

/// What a prompt kept of the one sent before in its chat.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct KeptPrefix {
    /// Tokens of the common beginning, of the prompt before and of this one.
    kept: SharedPrefix,
    /// What the cache of the connection made of it; none where it has none.
    estimate: Option<CacheEstimate>,
}

/// What the cache of a connection is estimated to make of a prompt.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct CacheEstimate {
    /// Whose cache.
    provider: String,
    /// Tokens by what they cost.
    bill: Bill,
    /// Where its breakpoints are; none for a provider that needs none.
    marks: Vec<CacheMark>,
    /// The price of the prompt; none where the connection has no price.
    price: Option<f64>,
}

impl KeptPrefix {
    /// As it was measured, or counted now from the prompts that are stored.
    pub(super) async fn of(
        app: &App,
        caller: &Caller,
        chat: &ChatId,
        looked: &LookedAt,
    ) -> Result<Option<Self>, StoreError> {
        let record = &looked.past.record;
        if let Some(CacheUse { provider, measured, price }) = record.report.cache.clone() {
            let Measured { kept, bill, marks } = measured;
            let estimate = Some(CacheEstimate { provider, bill, marks, price });
            return Ok(Some(Self { kept, estimate }));
        }
        if record.prompt.is_empty() {
            return Ok(None);
        }
        let Some(before) = sent_before(app, caller, chat, &looked.summary).await? else {
            return Ok(None);
        };
        let counter = app.connections.counter_of(record.input.as_deref());
        let mut memo = TokenMemo::new(counter.as_ref());
        let kept = kept(&before, &record.prompt, &mut memo);
        Ok(Some(Self { kept, estimate: None }))
    }
}

/// The prompt that was sent before in the chat, on whatever branch: caches know none. It is empty
/// at the first, and none where it was trimmed.
async fn sent_before(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    turn: &TurnSummary,
) -> Result<Option<Vec<PromptMessage>>, StoreError> {
    let turns = app.store.turns(&caller.tenant, chat).await?;
    for earlier in turns.iter().rev().filter(|one| one.id < turn.id) {
        if earlier.trimmed {
            return Ok(None);
        }
        let record = app.store.turn(&caller.tenant, chat, earlier.id).await?;
        // Turns that were changed by hand or imported have no prompt.
        if let Some(record) = record.filter(|record| !record.prompt.is_empty()) {
            return Ok(Some(record.prompt));
        }
    }
    Ok(Some(Vec::new()))
}
