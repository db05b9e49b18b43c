//! Telling stories again with other lore.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::{
    book::{Book, Entry},
    ids::{ChatId, EntryId},
    library::Shelf,
    rules::Rules,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    entry_json::{self, merge},
    extract::{Json, Path, Query, read_value},
    paging::{self, Page, PageParams},
    problem::Problem,
};
use crate::{
    app::App,
    replays::{ChangedTurn, Comparison, Progress, Replaying},
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(begin))
        .routes(routes!(list))
        .routes(routes!(one))
        .routes(routes!(turns))
        .routes(routes!(cancel))
}

/// Changes of lore that are tried out and not saved.
#[derive(Debug, Deserialize, ToSchema)]
struct LorePatch {
    /// Changes of entries by their ids (RFC 7396).
    #[serde(default)]
    #[schema(value_type = Object)]
    entries: Map<String, Value>,
    /// Entries to leave out.
    #[serde(default)]
    without: Vec<EntryId>,
    /// Changes of the engine's rules (RFC 7396).
    #[serde(default)]
    #[schema(value_type = Object)]
    rules: Map<String, Value>,
}

/// What to tell again.
#[derive(Debug, Deserialize, ToSchema)]
struct ReplayBody {
    /// The chats; all without it.
    chats: Option<Vec<ChatId>>,
    /// The lore to compare today's with. Without it the lore that each chat was told with is
    /// compared with today's.
    patch: Option<LorePatch>,
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
struct RunView {
    /// Its number.
    id: u64,
    /// How far it is and what it found.
    #[serde(flatten)]
    progress: Progress,
}

impl RunView {
    fn of(run: &Replaying) -> Self {
        Self { id: run.id, progress: run.progress() }
    }
}

/// Today's lore with changes.
fn patched(shelf: &Shelf, patch: &LorePatch) -> Result<Shelf, Problem> {
    let mut shelf = shelf.clone();
    for (id, change) in &patch.entries {
        let change = change.as_object();
        let rule = "must hold changes as objects";
        let change = change.ok_or_else(|| Problem::value("patch.entries", rule, id.as_str()))?;
        let entry = find(&mut shelf, &EntryId::from(id.as_str()))?;
        let after = entry_json::patched(entry, change);
        *entry = after.map_err(|problem| problem.inside("patch.entries"))?;
    }
    for id in &patch.without {
        find(&mut shelf, id)?;
        for volume in &mut shelf.volumes {
            if volume.book.entries.iter().any(|entry| entry.id == *id) {
                Arc::make_mut(&mut volume.book).entries.retain(|entry| entry.id != *id);
            }
        }
    }
    if !patch.rules.is_empty() {
        let mut value = serde_json::to_value(&shelf.rules).unwrap_or_default();
        merge(&mut value, &Value::Object(patch.rules.clone()));
        let rules: Result<Rules, Problem> = read_value(value);
        shelf.rules = rules.map_err(|problem| problem.inside("patch.rules"))?;
    }
    Ok(shelf)
}

fn find<'shelf>(shelf: &'shelf mut Shelf, id: &EntryId) -> Result<&'shelf mut Entry, Problem> {
    let has = |book: &Book| book.entries.iter().any(|entry| entry.id == *id);
    let volume = shelf.volumes.iter_mut().find(|volume| has(&volume.book));
    let entries = volume.map(|volume| Arc::make_mut(&mut volume.book).entries.iter_mut());
    let found = entries.into_iter().flatten().find(|entry| entry.id == *id);
    found.ok_or_else(|| Problem::missing("entry", id.as_str()))
}

/// Tells chats again beside everything else, and says which turns change. Events `run` tell
/// how far it is.
#[utoipa::path(
    post, path = "/replay", tag = "replay", request_body = ReplayBody,
    responses((status = 202, body = RunView))
)]
async fn begin(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<ReplayBody>,
) -> Result<Response, Problem> {
    app.take_up(&caller.tenant).await?;
    let known = app.store.chats(&caller.tenant).await?;
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
        Some(patch) => Comparison::NowAnd(Box::new(patched(app.stacks.lore().shelf(), patch)?)),
        None => Comparison::ThenAndNow,
    };
    let run = app.replay(&caller.tenant, chats, with);
    Ok((StatusCode::ACCEPTED, Json(RunView::of(&run))).into_response())
}

/// All runs.
#[derive(Debug, Serialize, ToSchema)]
struct RunsView {
    /// The last runs, newest first.
    items: Vec<RunView>,
}

/// The last runs, newest first.
#[utoipa::path(get, path = "/replay", tag = "replay", responses((status = 200, body = RunsView)))]
async fn list(State(app): State<App>, caller: Caller) -> Json<RunsView> {
    let runs = app.api().replays.all(&caller.tenant);
    Json(RunsView { items: runs.iter().map(|run| RunView::of(run)).collect() })
}

fn run(app: &App, caller: &Caller, id: u64) -> Result<Arc<Replaying>, Problem> {
    let found = app.api().replays.find(&caller.tenant, id);
    found.ok_or_else(|| Problem::missing("run", &id.to_string()))
}

/// One run: how far it is and what it found.
#[utoipa::path(
    get, path = "/replay/{run}", tag = "replay", params(("run" = u64, Path, description = "The run's number")),
    responses((status = 200, body = RunView))
)]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<RunView>, Problem> {
    Ok(Json(RunView::of(&*run(&app, &caller, id)?)))
}

/// The turns that change, as far as the run is.
#[utoipa::path(
    get, path = "/replay/{run}/turns", tag = "replay",
    params(("run" = u64, Path, description = "The run's number"), PageParams),
    responses((status = 200, body = Page<ChangedTurn>))
)]
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
#[utoipa::path(
    delete, path = "/replay/{run}", tag = "replay", params(("run" = u64, Path, description = "The run's number")),
    responses((status = 200, body = RunView))
)]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<RunView>, Problem> {
    let run = run(&app, &caller, id)?;
    run.cancel();
    Ok(Json(RunView::of(&run)))
}
