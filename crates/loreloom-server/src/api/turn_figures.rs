//! The figures of one turn: what its prompt was made of, how long it took and what it cost.

use std::{collections::HashMap, sync::Arc, time::Duration};

use loreloom_core::{
    cache_placement::Provider,
    chat::{GenerationType, Text},
    ids::{ChatId, PrefixHash},
    place::{Injection, Provenance},
    prompt::PromptMessage,
    report::BudgetUse,
    tokens::TokenCounter,
    units::{Timestamp, Tokens},
};
use loreloom_ports::{StoreError, TurnId, TurnRecord, TurnSummary};
use serde::Serialize;

use super::{
    caller::Caller,
    threads::{Thread, ThreadState, threads},
};
use crate::{
    app::App,
    connection_settings::{Cost, Prices},
    prompt_map::PromptMap,
    timings::Timing,
};

/// The figures of a turn.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct TurnFigures {
    /// The turn.
    turn: TurnId,
    /// When it was stored, in milliseconds since 1970.
    created: Timestamp,
    /// What was asked for.
    generation: GenerationType,
    /// How the pools used their budgets.
    budgets: Vec<BudgetUse>,
    /// Tokens of the whole prompt.
    prompt_tokens: u32,
    /// Tokens of the beginning that the prompt of the turn before on the list had too.
    unchanged_tokens: Option<u32>,
    /// Tokens woven in.
    woven_tokens: Tokens,
    /// Texts woven in.
    woven: usize,
    /// Entries that had no room.
    cut: usize,
    /// Which entries those are, 20 of them at most.
    cut_entries: Vec<CutEntry>,
    /// Tokens by where they come from: books and notes, and memory. The rest is what the
    /// front end sent.
    by_source: BySource,
    /// How long it took, where the server has not been started again since.
    took: Option<Took>,
    /// What it is estimated to have cost, at the prices that its connection has now; none where
    /// that has no price or is gone, and where the prompt was given up.
    cost: Option<Cost>,
}

/// An entry that had no room.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct CutEntry {
    /// Its id.
    entry: String,
    /// What people call it.
    title: String,
}

/// Tokens that were woven in, by source.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BySource {
    /// Of books and vaults.
    lore: Tokens,
    /// Of memory.
    memory: Tokens,
}

/// How long a turn took, in milliseconds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct Took {
    /// What weaving added.
    #[serde(rename = "weaving_ms")]
    weaving: f64,
    /// Until the model's server began to answer.
    #[serde(rename = "answered_ms")]
    answered: f64,
    /// Until the whole reply had come.
    #[serde(rename = "replied_ms")]
    replied: f64,
}

impl BySource {
    fn of(injections: &[Injection]) -> Self {
        let is_memory = |one: &&Injection| matches!(one.source, Provenance::Memory(_));
        let memory: Tokens = injections.iter().filter(is_memory).map(|one| one.tokens).sum();
        let all: Tokens = injections.iter().map(|one| one.tokens).sum();
        Self { lore: Tokens(all.0.saturating_sub(memory.0)), memory }
    }
}

/// The most entries that are named for one turn.
const MOST_CUT: usize = 20;

fn cut_entries(threads: &[Thread]) -> Vec<CutEntry> {
    let cut = threads.iter().filter(|thread| thread.state == ThreadState::Cut);
    let named = cut.take(MOST_CUT);
    named
        .map(|thread| CutEntry { entry: thread.source.clone(), title: thread.title.clone() })
        .collect()
}

impl Took {
    pub(super) fn of(timing: Timing) -> Self {
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        Self {
            weaving: ms(timing.weaving),
            answered: ms(timing.answered),
            replied: ms(timing.replied),
        }
    }
}

/// What the figures of a chat's turns are made from besides the turns.
pub(super) struct Looking {
    app: App,
    timings: Vec<(TurnId, Timing)>,
    /// The texts of replies, on whatever branch; empty where none has a price.
    replies: HashMap<PrefixHash, Text>,
}

impl Looking {
    /// What is known of a chat.
    pub(super) async fn at(app: &App, caller: &Caller, chat: &ChatId) -> Result<Self, StoreError> {
        let connections = app.connections.now();
        let mut prices = connections.all().iter().filter_map(|one| one.prices.as_ref());
        let nodes = if prices.any(|prices| prices.output.is_some()) {
            app.store.tree(&caller.tenant, chat).await?
        } else {
            Vec::new()
        };
        let replies = nodes.into_iter().map(|node| (node.prefix, node.message.text)).collect();
        let timings = app.figures.timings.of(&caller.tenant, chat);
        Ok(Self { app: app.clone(), timings, replies })
    }

    /// The figures of a turn after the prompt before it.
    pub(super) fn figures(
        &self,
        turn: &TurnSummary,
        record: &TurnRecord,
        before: Option<&[PromptMessage]>,
    ) -> TurnFigures {
        let counter = self.app.connections.counter_of(record.input.as_deref());
        let (prompt, spans) = (&record.prompt, &record.report.spans);
        let map = PromptMap::of(prompt, spans, before, |_: &_| String::new(), counter.as_ref());
        let unchanged = map.unchanged.map(|unchanged| unchanged.tokens);
        let threads = threads(record, &record.report, |_| false);
        let timing = self.timings.iter().find(|(of, _)| *of == turn.id);
        let cut = |one: &&Thread| one.state == ThreadState::Cut;
        TurnFigures {
            turn: turn.id,
            created: turn.created,
            generation: turn.generation,
            prompt_tokens: map.tokens,
            unchanged_tokens: unchanged,
            woven_tokens: record.injections.iter().map(|one| one.tokens).sum(),
            woven: threads.iter().filter(|one| !cut(one)).count(),
            cut: threads.iter().filter(cut).count(),
            cut_entries: cut_entries(&threads),
            by_source: BySource::of(&record.injections),
            took: timing.map(|(_, timing)| Took::of(*timing)),
            cost: self.cost(turn, record, &counter, (map.tokens, unchanged)),
            budgets: record.report.budgets.clone(),
        }
    }

    fn cost(
        &self,
        turn: &TurnSummary,
        record: &TurnRecord,
        counter: &Arc<dyn TokenCounter>,
        (tokens, unchanged): (u32, Option<u32>),
    ) -> Option<Cost> {
        // Changes by hand have no prompt, and of old turns it may have been given up.
        if record.prompt.is_empty() {
            return None;
        }
        let connection = self.app.connections.of_turn(record.input.as_deref())?;
        let prices = connection.prices.as_ref()?;
        let billed = billed(prices, record);
        let prompt = billed.unwrap_or_else(|| prices.of_prompt(tokens, unchanged.unwrap_or(0)));
        let reply = turn.reply.and_then(|reply| self.replies.get(&reply));
        Some(prices.cost(prompt, reply.map(|text| counter.count(text).0)))
    }
}

/// What the prompt of a turn costs by the rules of the cache that it was measured for.
fn billed(prices: &Prices, record: &TurnRecord) -> Option<f64> {
    let cache = record.report.cache.as_ref()?;
    let provider = Provider::named(&cache.provider)?;
    Some(prices.of_bill(&cache.measured.bill, &provider))
}
