//! Figures: Prometheus text, and turns for the dashboard.

use std::time::Duration;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::header::CONTENT_TYPE;
use loreloom_core::{
    chat::GenerationType,
    ids::ChatId,
    place::{Injection, Provenance},
    report::BudgetUse,
    units::{Timestamp, Tokens},
};
use loreloom_memory::{
    past::stored::StoredChat,
    ports::{JobState, TurnId, TurnSummary},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    extract::{Json, Query},
    paging::{self, Page},
    problem::Problem,
    threads::{Thread, ThreadState, threads},
};
use crate::{app::App, prompt_map::PromptMap, timings::Timing};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(turns)).routes(routes!(prometheus))
}

/// Counts answers of the API.
pub(super) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    app.api().metrics.api_call(response.status());
    response
}

/// Figures of the running server in the text format of Prometheus. Also at `/metrics`.
#[utoipa::path(
    get, path = "/metrics", tag = "system",
    responses((status = 200, description = "The figures", body = String, content_type = "text/plain"))
)]
pub(crate) async fn prometheus(
    State(app): State<App>,
    caller: Caller,
) -> Result<Response, Problem> {
    let jobs = app.store.jobs(&caller.tenant, None, true).await?;
    let states = [
        JobState::Waiting,
        JobState::Running,
        JobState::Done,
        JobState::Failed,
        JobState::Cancelled,
    ];
    let count = |state: JobState| jobs.iter().filter(|job| job.state == state).count();
    let jobs: Vec<(&str, usize)> =
        states.into_iter().map(|state| (state.as_str(), count(state))).collect();
    let text = app.api().metrics.text(&jobs);
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// Which turns.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct TurnsParams {
    /// The chat.
    chat: String,
    /// Only turns stored since then, in milliseconds since 1970.
    from: Option<i64>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
}

/// The figures of a turn.
#[derive(Debug, Serialize, ToSchema)]
struct TurnFigures {
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
}

/// An entry that had no room.
#[derive(Debug, Serialize, ToSchema)]
struct CutEntry {
    /// Its id.
    entry: String,
    /// What people call it.
    title: String,
}

/// Tokens that were woven in, by source.
#[derive(Debug, Serialize, ToSchema)]
struct BySource {
    /// Of books and vaults.
    lore: Tokens,
    /// Of memory.
    memory: Tokens,
}

/// How long a turn took, in milliseconds.
#[derive(Debug, Serialize, ToSchema)]
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

/// The figures of a chat's turns, oldest first.
#[utoipa::path(
    get, path = "/metrics/turns", tag = "system", params(TurnsParams),
    responses((status = 200, body = Page<TurnFigures>))
)]
async fn turns(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<TurnsParams>,
) -> Result<Json<Page<TurnFigures>>, Problem> {
    let (store, id) = (app.store.as_ref(), ChatId(params.chat));
    let mut chat = StoredChat::read(store, &caller.tenant, &id).await?;
    let timings = app.api().timings.of(&caller.tenant, &id);
    let mut turns = std::mem::take(&mut chat.turns);
    turns.retain(|turn| !turn.undone && turn.generation != GenerationType::Quiet);
    turns.retain(|turn| params.from.is_none_or(|from| turn.created.0 >= from));
    let key = |turn: &TurnSummary| turn.id.0;
    let page = paging::page(turns, params.cursor.as_deref(), params.limit, key)?;
    let Page { items, total, next } = page;
    let (mut figures, mut before) = (Vec::with_capacity(items.len()), None);
    for turn in items {
        let record = chat.turn(store, &caller.tenant, turn.id).await?;
        let counter = app.counter_of(record.given.as_deref());
        let (prompt, spans) = (&record.prompt, &record.report.spans);
        let titles = |_: &_| String::new();
        let map = PromptMap::of(prompt, spans, before.as_deref(), titles, counter.as_ref());
        let threads = threads(&record, &record.report, |_| false);
        let timing = timings.iter().find(|(of, _)| *of == turn.id);
        figures.push(TurnFigures {
            turn: turn.id,
            created: turn.created,
            generation: turn.generation,
            prompt_tokens: map.tokens,
            unchanged_tokens: map.unchanged.map(|unchanged| unchanged.tokens),
            woven_tokens: record.injections.iter().map(|one| one.tokens).sum(),
            woven: threads.iter().filter(|one| one.state != ThreadState::Cut).count(),
            cut: threads.iter().filter(|one| one.state == ThreadState::Cut).count(),
            cut_entries: cut_entries(&threads),
            by_source: BySource::of(&record.injections),
            took: timing.map(|(_, timing)| Took::of(*timing)),
            budgets: record.report.budgets.clone(),
        });
        before = Some(record.prompt);
    }
    Ok(Json(Page { items: figures, total, next }))
}
