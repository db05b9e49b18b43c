//! Figures: Prometheus text, and turns for the dashboard.

use crate::past::stored::StoredChat;
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::header::CONTENT_TYPE;
use loreloom_core::{chat::GenerationType, ids::ChatId, prompt::PromptMessage, units::Timestamp};
use loreloom_ports::{JobState, StoreError, TurnId, TurnRecord, TurnSummary};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    chat_metadata::is_deleted,
    extract::{Json, Query},
    paging::{self, Page},
    problem::Problem,
    routes::routes,
    turn_figures::{Looking, TurnFigures},
};
use crate::{app::App, fail_opens::FailOpen};

routes! {
    GET "/metrics/turns" => turns,
    GET "/metrics" => prometheus,
}

/// Counts answers of the API.
pub(super) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    app.figures.metrics.api_call(response.status());
    response
}

/// Figures of the running server in the text format of Prometheus. Also at `/metrics`.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/metrics", tag = "system",
    responses((status = 200, description = "The figures", body = String, content_type = "text/plain"))
))]
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
    let queue = app.settings.now().weaving.queue.length();
    let text = app.figures.metrics.text(&jobs, queue, app.turns.waiting.count());
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// Which turns.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct TurnsParams {
    /// The chat.
    chat: String,
    /// Only turns stored since then, in milliseconds since 1970.
    from: Option<i64>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// The figures of turns, and what went on without lore meanwhile.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TurnsPage {
    /// The turns.
    items: Vec<TurnFigures>,
    /// How many the whole list has.
    total: usize,
    /// Asks for the next page; none after the last.
    next: Option<String>,
    /// Requests that went on without lore, of all chats: from the first of these turns on, or
    /// from `from` on, until the first of the next page. They are no turns. The last 1000 since
    /// the server was started are known.
    fail_opens: Vec<FailOpen>,
}

/// The figures of a chat's turns, oldest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/metrics/turns", tag = "system", params(TurnsParams),
    responses((status = 200, body = TurnsPage))
))]
async fn turns(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<TurnsParams>,
) -> Result<Json<TurnsPage>, Problem> {
    let (store, id) = (app.store.as_ref(), ChatId(params.chat));
    if is_deleted(&app, &id).await? {
        return Err(StoreError::NoChat { chat: id }.into());
    }
    let mut chat = StoredChat::read(store, &caller.tenant, &id).await?;
    let mut turns = std::mem::take(&mut chat.turns);
    turns.retain(|turn| !turn.undone && turn.generation != GenerationType::Quiet);
    let all: Vec<(TurnId, Timestamp)> = turns.iter().map(|one| (one.id, one.created)).collect();
    turns.retain(|turn| params.from.is_none_or(|from| turn.created.0 >= from));
    let key = |turn: &TurnSummary| turn.id.0;
    let page = paging::page(turns, params.cursor.as_deref(), params.limit, key)?;
    let Page { items, total, next } = page;
    let (first, last) = (items.first(), items.last());
    let started = first.map(|turn| turn.created).filter(|_| params.cursor.is_some());
    // Failures before the first turn count for it.
    let since = started.or(params.from.map(Timestamp)).unwrap_or(Timestamp(0));
    let until = last.and_then(|last| all.iter().find(|(turn, _)| *turn > last.id));
    let until = until.map(|(_, created)| *created);
    let fail_opens = app.figures.fail_opens.within(&caller.tenant, since, until);
    let mut before = match first.and_then(|one| all.iter().rfind(|(turn, _)| *turn < one.id)) {
        Some((turn, _)) => sent(chat.turn(store, &caller.tenant, *turn).await?, None),
        None => None,
    };
    let looking = Looking::at(&app, &caller, &id).await?;
    let mut figures = Vec::with_capacity(items.len());
    for turn in items {
        let record = chat.turn(store, &caller.tenant, turn.id).await?;
        figures.push(looking.figures(&turn, &record, before.as_deref()));
        before = sent(record, before);
    }
    Ok(Json(TurnsPage { items: figures, total, next, fail_opens }))
}

/// The prompt that the next turn is compared with. A change by hand sent none, and of a trimmed
/// turn it is not known any more.
fn sent(record: TurnRecord, before: Option<Vec<PromptMessage>>) -> Option<Vec<PromptMessage>> {
    if record.generation == GenerationType::Edit {
        return before;
    }
    Some(record.prompt).filter(|prompt| !prompt.is_empty())
}
