//! All of what stories remember: taking it out and in, sessions that may be dropped, and
//! catching up with a chat.

use axum::extract::State;
use loreloom_core::ids::{ChatId, PrefixHash};
use loreloom_memory::service::{ExchangeError, Who};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    memory::{items, service},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{app::App, events::ServerEvent};

routes! {
    GET "/memory/export" => export,
    POST "/memory/import" => import,
    POST "/chats/{chat}/scratch" => begin_scratch,
    DELETE "/chats/{chat}/scratch" => end_scratch,
    POST "/chats/{chat}/catch-up" => catch_up,
}

/// Everything that is remembered, as one document.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/memory/export", tag = "memory",
    responses((status = 200, description = "An archive, as `POST /memory/import` reads it", body = Object))
))]
async fn export(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    let archive = service(&app)?.exchange.export(&caller.tenant).await?;
    Ok(Json(serde_json::to_value(archive).unwrap_or_default()))
}

/// What an import took in.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ImportedMemory {
    /// Writes that are new.
    new: usize,
}

/// Reads an archive of memory, or Smart Memory's data of characters or of a chat. What is
/// known already stays.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/import", tag = "memory", params(ImportMemoryParams),
    request_body(content = Object),
    responses((status = 200, body = ImportedMemory))
))]
async fn import(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<ImportMemoryParams>,
    Json(value): Json<Value>,
) -> Result<Json<ImportedMemory>, Problem> {
    let chat = params.chat.map(ChatId);
    if let Some(group) = params.group {
        let chat = chat.ok_or(ExchangeError::NoChat)?;
        let new =
            service(&app)?.exchange.import_group(&caller.tenant, &value, &group, &chat).await?;
        return Ok(Json(ImportedMemory { new: usize::from(new.is_some()) }));
    }
    let taken = service(&app)?.exchange.import_any(&caller.tenant, value, chat.as_ref()).await?;
    Ok(Json(ImportedMemory { new: taken.new_writes() }))
}

/// Where imported data go.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct ImportMemoryParams {
    /// The chat that a chat's data go to.
    chat: Option<String>,
    /// Only the pinned threads of this group of Smart Memory's; they go to `chat`.
    group: Option<String>,
}

/// A session that leaves no trace unless it is kept.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ScratchView {
    /// Whether one is open.
    open: bool,
    /// The node it began at.
    from: Option<PrefixHash>,
    /// The job that extracts memories from it, if it was kept and a model is set.
    job: Option<u64>,
}

/// Begins a session that leaves no trace unless it is kept.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/scratch", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = ScratchView))
))]
async fn begin_scratch(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Json<ScratchView>, Problem> {
    let chat = ChatId(chat);
    let path = items(&app, &caller, &chat, None).await?;
    service(&app)?.read_only.begin(&caller.tenant, &chat, &path).await?;
    let from = path.last().map(|item| item.prefix);
    Ok(Json(ScratchView { open: true, from, job: None }))
}

/// How a session ends.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct EndScratchParams {
    /// Whether its messages are kept; otherwise the chat goes back to where it began.
    keep: bool,
    /// Whose memory it becomes.
    character: Option<String>,
}

/// Ends a session: keeps its messages, or goes back to where it began.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/chats/{chat}/scratch", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id"), EndScratchParams),
    responses((status = 200, body = ScratchView))
))]
async fn end_scratch(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<EndScratchParams>,
) -> Result<Json<ScratchView>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    caller.chat(&app, &chat).await?;
    let (mut from, mut job) = (None, None);
    if params.keep {
        let who: Vec<Who> = params.character.as_deref().map(Who::named).into_iter().collect();
        job = memory.read_only.keep(&caller.tenant, &chat, &who).await?.map(|job| job.0);
    } else {
        from = Some(memory.read_only.discard(&caller.tenant, &chat).await?);
    }
    Ok(Json(ScratchView { open: false, from, job }))
}

/// Whose memory a chat becomes.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct CatchUpBody {
    /// The character's name.
    character: String,
}

/// A job that was queued.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Queued {
    /// The job.
    job: u64,
}

/// Reads a chat that is there already, piece by piece, and remembers.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/catch-up", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id")), request_body = CatchUpBody,
    responses((status = 200, body = Queued))
))]
async fn catch_up(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(body): Json<CatchUpBody>,
) -> Result<Json<Queued>, Problem> {
    let chat = ChatId(chat);
    caller.chat(&app, &chat).await?;
    let who = [Who::named(&body.character)];
    let job = service(&app)?.planner.catch_up(&caller.tenant, &chat, &who).await?;
    let no_model = || Problem::new(Code::SwitchedOff, "no model is set that could read a chat");
    let job = job.ok_or_else(no_model)?;
    let happened = ServerEvent::Job { job: job.0, state: "waiting".to_owned() };
    app.events.tell(&caller.tenant, happened);
    Ok(Json(Queued { job: job.0 }))
}
