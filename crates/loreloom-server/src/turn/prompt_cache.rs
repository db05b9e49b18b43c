//! Placement for the prompt cache, and how much of the prompt before each prompt keeps.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use loreloom_core::{
    assemble::Assembled,
    cache_placement::{self, CacheMark, StableSettings, TokenMemo},
    ids::ChatId,
    place::Provenance,
    report::CacheUse,
};
use loreloom_ports::StoreError;

use super::Turns;
use crate::connections::ModelRoute;

/// Where lore goes in prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LorePlacement {
    /// Where its authors want it, as front ends place it.
    #[default]
    FrontEnd,
    /// Where the prompt cache wants it.
    Stable(StableSettings),
}

/// Chats whose last prompt is remembered.
const MOST_CHATS: usize = 64;

/// The last prompt of each chat. Caches know no branches: the prompt that was sent last counts.
#[derive(Default)]
pub(crate) struct SentLog(Mutex<VecDeque<(ChatId, cache_placement::Sent)>>);

impl SentLog {
    fn take(&self, chat: &ChatId) -> Option<cache_placement::Sent> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = log.iter().position(|(one, _)| one == chat)?;
        log.remove(at).map(|(_, sent)| sent)
    }

    fn put(&self, chat: &ChatId, sent: cache_placement::Sent) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.retain(|(one, _)| one != chat);
        log.push_back((chat.clone(), sent));
        if log.len() > MOST_CHATS {
            log.pop_front();
        }
    }
}

/// Where the breakpoints of a prompt should be, for a provider that needs them.
pub(super) fn breakpoints(
    route: &ModelRoute,
    placement: &LorePlacement,
    now: impl FnOnce() -> Assembled,
    moving: &[Provenance],
) -> Vec<CacheMark> {
    let provider = match (&route.connection.cache, placement) {
        (Some(provider), LorePlacement::Stable(_)) if provider.breakpoints > 0 => *provider,
        _ => return Vec::new(),
    };
    let mut memo = TokenMemo::new(route.counter.as_ref());
    cache_placement::measure(&provider, None, &now(), &|one| moving.contains(one), &mut memo).marks
}

/// Measures how much of its chat's last prompt a prompt keeps. It counts the whole prompt, so only
/// connections with a prompt cache do it.
pub(super) async fn measure(
    turns: &Turns,
    chat: &ChatId,
    route: &ModelRoute,
    now: &Assembled,
    moving: &[Provenance],
) -> Result<Option<CacheUse>, StoreError> {
    let Some(provider) = route.connection.cache else { return Ok(None) };
    let before = match turns.sent_log.take(chat) {
        Some(sent) => Some(sent),
        None => last_sent(turns, chat).await?,
    };
    let mut memo = TokenMemo::new(route.counter.as_ref());
    let moves = |one: &Provenance| moving.contains(one);
    let measured = cache_placement::measure(&provider, before.as_ref(), now, &moves, &mut memo);
    let marks = measured.marks.clone();
    turns.sent_log.put(chat, cache_placement::Sent { prompt: now.messages.clone(), marks });
    let prices = route.connection.prices.as_ref();
    let price = prices.map(|prices| prices.of_bill(&measured.bill, &provider));
    Ok(Some(CacheUse { provider: provider.name.to_owned(), measured, price }))
}

/// The last stored prompt of a chat.
async fn last_sent(
    turns: &Turns,
    chat: &ChatId,
) -> Result<Option<cache_placement::Sent>, StoreError> {
    let last = match turns.store.turns(&turns.tenant, chat).await {
        Ok(turns) => turns.last().map(|turn| turn.id),
        Err(StoreError::NoChat { .. }) => None,
        Err(error) => return Err(error),
    };
    let Some(last) = last else { return Ok(None) };
    let record = turns.store.turn(&turns.tenant, chat, last).await?;
    Ok(record.filter(|record| !record.prompt.is_empty()).map(|record| cache_placement::Sent {
        marks: record.report.cache.map(|cache| cache.measured.marks).unwrap_or_default(),
        prompt: record.prompt,
    }))
}
