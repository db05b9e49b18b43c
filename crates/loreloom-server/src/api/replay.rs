//! Telling stories again with other lore.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::ids::ChatId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    lore_patch::LorePatch,
    paging::{self, Page, PageParams},
    problem::Problem,
    routes::routes,
};
use crate::{
    app::App,
    replays::{ChangedTurn, Comparison, Progress, Replaying},
};

routes! {
    POST "/replay" => begin,
    GET "/replay" => list,
    GET "/replay/{run}" => one,
    GET "/replay/{run}/turns" => turns,
    DELETE "/replay/{run}" => cancel,
}

/// What to replay.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ReplayBody {
    /// The chats; all without it.
    chats: Option<Vec<ChatId>>,
    /// The lore to compare with today's. By default, the lore that each chat had.
    patch: Option<LorePatch>,
}

/// A run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RunView {
    /// Its number.
    id: u64,
    /// The change that it tries out; none if it compares the lore of then with today's.
    #[cfg_attr(feature = "schema", schema(value_type = Option<LorePatch>))]
    patch: Option<Value>,
    /// How far it is and what it found.
    #[serde(flatten)]
    progress: Progress,
}

impl RunView {
    fn of(run: &Replaying) -> Self {
        Self { id: run.id, patch: run.patch().cloned(), progress: run.progress() }
    }
}

/// Replays chats in the background, and reports which turns change. Events `run` report the
/// progress.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/replay", tag = "replay", request_body = ReplayBody,
    responses((status = 202, body = RunView))
))]
async fn begin(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<ReplayBody>,
) -> Result<Response, Problem> {
    app.sync.take_up().await?;
    let known = caller.chats(&app, false).await?;
    let known: Vec<ChatId> = known.into_iter().map(|one| one.chat.id).collect();
    let chats = match body.chats {
        Some(chats) => {
            if let Some(missing) = chats.iter().find(|chat| !known.contains(chat)) {
                return Err(Problem::missing("chat", missing.as_str()).at("chats"));
            }
            chats
        }
        None => known,
    };
    let with = match &body.patch {
        Some(patch) => {
            let source = patch.over(app.lore.current().library_source(), Some("patch"))?;
            let patch = serde_json::to_value(patch).unwrap_or_default();
            Comparison::NowAnd { source: Arc::new(source), patch }
        }
        None => Comparison::ThenAndNow,
    };
    let run = app.replays.start(&caller.tenant, chats, with);
    Ok((StatusCode::ACCEPTED, Json(RunView::of(&run))).into_response())
}

/// All runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RunsView {
    /// The last runs, newest first.
    items: Vec<RunView>,
}

/// The last runs, newest first.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/replay", tag = "replay", responses((status = 200, body = RunsView))))]
async fn list(State(app): State<App>, caller: Caller) -> Json<RunsView> {
    let runs = app.replays.runs.all(&caller.tenant);
    Json(RunsView { items: runs.iter().map(|run| RunView::of(run)).collect() })
}

pub(super) fn run(app: &App, caller: &Caller, id: u64) -> Result<Arc<Replaying>, Problem> {
    let found = app.replays.runs.find(&caller.tenant, id);
    found.ok_or_else(|| Problem::missing("run", &id.to_string()))
}

/// One run: how far it is and what it found.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/replay/{run}", tag = "replay", params(("run" = u64, Path, description = "The run's number")),
    responses((status = 200, body = RunView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<RunView>, Problem> {
    Ok(Json(RunView::of(&*run(&app, &caller, id)?)))
}

/// The turns that change, as far as the run is.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/replay/{run}/turns", tag = "replay",
    params(("run" = u64, Path, description = "The run's number"), PageParams),
    responses((status = 200, body = Page<ChangedTurn>))
))]
async fn turns(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<ChangedTurn>>, Problem> {
    let turns = run(&app, &caller, id)?.turns();
    let key = |turn: &ChangedTurn| turn.number;
    Ok(Json(paging::page(turns, params.cursor.as_deref(), params.limit, key)?))
}

/// Stops a run after the chat it is at. What it found stays.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/replay/{run}", tag = "replay", params(("run" = u64, Path, description = "The run's number")),
    responses((status = 200, body = RunView))
))]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<RunView>, Problem> {
    let run = run(&app, &caller, id)?;
    run.cancel();
    Ok(Json(RunView::of(&run)))
}
