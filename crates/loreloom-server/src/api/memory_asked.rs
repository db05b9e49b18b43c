//! What people ask memory for: the timeline of somebody, what happened before, a summary now,
//! whether a model can do memory's work; and what they do to entities, threads and records of
//! any kind.

use axum::extract::State;
use loreloom_core::ids::{ChatId, PrefixHash};
use loreloom_memory::{
    cycle::Demand,
    model_test::{self, TrialRun},
    service::{DemandError, MemoryModel, RecapError, Who},
    timeline::EntityTimeline,
};
use loreloom_ports::{ModelError, Owner};
use loreloom_ports::{RecordKey, RecordKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    memory::{items, service, unchanged},
    memory_writes::{MemoryWrote, wrote},
    problem::{Code, Problem},
    routes::routes,
    tags::IfMatch,
    undoing,
};
use crate::{app::App, events::ServerEvent};

routes! {
    GET "/chats/{chat}/timeline" => timeline,
    POST "/chats/{chat}/recap" => recap,
    POST "/chats/{chat}/memory/now" => now,
    POST "/memory/model-test" => try_model,
    PUT "/memory/records/{record}" versioned => put,
    POST "/memory/entities/merge" => merge_entities,
    PUT "/chats/{chat}/threads/{thread}/pin" versioned => pin_thread,
}

fn asked(app: &App) -> Result<MemoryModel, Problem> {
    let none = || Problem::new(Code::SwitchedOff, "no model is set that memory could ask");
    service(app)?.models.current().ok_or_else(none)
}

/// Whose timeline.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct TimelineParams {
    /// The name of a person, place or thing, or another name it goes by.
    name: String,
    /// Also what this character remembers from its other chats.
    who: Option<String>,
    /// What held at this node; where the story is without it.
    #[cfg_attr(feature = "schema", param(pattern = "^[0-9a-f]{32}$", value_type = Option<String>))]
    at: Option<PrefixHash>,
}

/// What is remembered of a person, place or thing, oldest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/timeline", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id"), TimelineParams),
    responses((status = 200, body = EntityTimeline))
))]
async fn timeline(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<TimelineParams>,
) -> Result<Json<EntityTimeline>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    let path = items(&app, &caller, &chat, params.at).await?;
    let who = params.who.as_deref().map(Who::named).unwrap_or_default();
    let timeline = memory.search.timeline(&caller.tenant, &chat, &path, &who, &params.name).await?;
    let unknown = || {
        let detail = format!("nothing is remembered of `{}`", params.name);
        Problem::new(Code::NotFound, detail).with(params.name.clone())
    };
    Ok(Json(timeline.ok_or_else(unknown)?))
}

/// What the recap is made from.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
struct RecapBody {
    /// How many of the newest messages it is made from; 40 by default.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 500))]
    messages: Option<usize>,
    /// Only if nobody has written for some hours.
    if_away: bool,
}

/// What happened before.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RecapView {
    /// The recap; none if the model has none, or nobody was away.
    recap: Option<String>,
    /// Hours since the last message, if that is long enough for a recap.
    away_hours: Option<u64>,
}

/// Tells what happened before, for somebody who was away. Asks a model; stores nothing.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/recap", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id")), request_body = RecapBody,
    responses((status = 200, body = RecapView))
))]
async fn recap(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(body): Json<RecapBody>,
) -> Result<Json<RecapView>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    let messages = body.messages.unwrap_or(40);
    if !(1..=500).contains(&messages) {
        return Err(Problem::value("messages", "must be from 1 to 500", messages));
    }
    caller.chat(&app, &chat).await?;
    let away_hours = memory.recaps.away(&caller.tenant, &chat).await?;
    if body.if_away && away_hours.is_none() {
        return Ok(Json(RecapView { recap: None, away_hours }));
    }
    let asked = asked(&app)?;
    let recap = memory.recaps.recap(&caller.tenant, &chat, messages, asked.backend().model).await?;
    Ok(Json(RecapView { recap, away_hours }))
}

/// What is wanted now.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct NowBody {
    /// What.
    what: Demand,
    /// The character's name.
    character: String,
}

/// What came of it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NowView {
    /// Takes the write back, as `POST /undo` takes it; none if nothing changed.
    undo: Option<String>,
    /// What the newest reply contradicts.
    contradictions: Vec<String>,
}

/// Asks a model at once for a summary, canon, a profile, a check of the newest reply, or the
/// memories of the newest messages.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/memory/now", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id")), request_body = NowBody,
    responses((status = 200, body = NowView))
))]
async fn now(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(body): Json<NowBody>,
) -> Result<Json<NowView>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    caller.chat(&app, &chat).await?;
    let who = Who::named(&body.character);
    let asked = asked(&app)?;
    let done = memory.demands.run(&caller.tenant, &chat, &who, body.what, asked.backend()).await?;
    if let Some(write) = &done.write {
        let happened = ServerEvent::Memory { write: write.to_string() };
        app.events.tell(&caller.tenant, happened);
    }
    let undo = done.write.as_ref().map(undoing::of_memory);
    Ok(Json(NowView { undo, contradictions: done.contradictions }))
}

/// What a model made of the trials.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TriedView {
    /// The trials, in the order they were run.
    items: Vec<TrialRun>,
}

/// Tries out whether the model that is set can do memory's work. Stores nothing.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/model-test", tag = "memory",
    responses((status = 200, body = TriedView))
))]
async fn try_model(State(app): State<App>, _caller: Caller) -> Result<Json<TriedView>, Problem> {
    let asked = asked(&app)?;
    let items = model_test::run(asked.backend().model).await?;
    Ok(Json(TriedView { items }))
}

/// A record of any kind.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct PutBody {
    /// Whose it is.
    owner: Owner,
    /// What it is.
    tier: RecordKind,
    /// What it says.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    fields: Map<String, Value>,
}

/// Notes a record of any kind, or writes over the one of that id: a thread, a feeling, a state
/// card, an entity.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/memory/records/{record}", tag = "memory",
    params(
        ("record" = String, Path, description = "The record's id"),
        ("if-match" = Option<String>, Header, description = "The version of the record that the caller has seen")
    ),
    request_body = PutBody,
    responses((status = 200, body = MemoryWrote))
))]
async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    seen: IfMatch,
    Json(body): Json<PutBody>,
) -> Result<Json<MemoryWrote>, Problem> {
    let _alone = unchanged(&app, &caller, (&body.owner, &id), &seen).await?;
    let key = RecordKey::named(body.tier, &id);
    let write = service(&app)?.edits.put(&caller.tenant, &body.owner, key, body.fields).await?;
    Ok(wrote(&app, &caller, &write, Some(id)))
}

/// Two entities that are one.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct MergeEntitiesBody {
    /// Whose they are.
    owner: Owner,
    /// The one that goes; its name stays as an alias.
    source: String,
    /// The one that stays, or the new name.
    target: String,
}

/// Makes two entities one.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/entities/merge", tag = "memory", request_body = MergeEntitiesBody,
    responses((status = 200, body = MemoryWrote))
))]
async fn merge_entities(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<MergeEntitiesBody>,
) -> Result<Json<MemoryWrote>, Problem> {
    let MergeEntitiesBody { owner, source, target } = body;
    let write =
        service(&app)?.edits.merge_entities(&caller.tenant, &owner, &source, &target).await?;
    Ok(wrote(&app, &caller, &write, None))
}

/// Whom a thread follows.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct PinThreadBody {
    /// The character.
    character: String,
    /// Whether it follows the character, or no longer.
    pinned: bool,
}

/// Pins a thread of a chat to a character, so that it is in its other chats too, or lets it go.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/chats/{chat}/threads/{thread}/pin", tag = "memory",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("thread" = String, Path, description = "The thread's id, or the beginning of it"),
        ("if-match" = Option<String>, Header, description = "The version of the thread's record that the caller has seen")
    ),
    request_body = PinThreadBody,
    responses((status = 200, body = MemoryWrote))
))]
async fn pin_thread(
    State(app): State<App>,
    caller: Caller,
    Path((chat, thread)): Path<(String, String)>,
    seen: IfMatch,
    Json(body): Json<PinThreadBody>,
) -> Result<Json<MemoryWrote>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    caller.chat(&app, &chat).await?;
    let owner = Owner::Chat(chat.clone());
    let _alone = unchanged(&app, &caller, (&owner, &thread), &seen).await?;
    let owner = Owner::Character(body.character.into());
    let write =
        memory.edits.pin_thread(&caller.tenant, &chat, &owner, &thread, body.pinned).await?;
    Ok(wrote(&app, &caller, &write, Some(thread)))
}

impl From<ModelError> for Problem {
    fn from(error: ModelError) -> Self {
        // What a model's server says is for the person who set it up.
        Self::new(Code::Failed, error.to_string())
    }
}

impl From<RecapError> for Problem {
    fn from(error: RecapError) -> Self {
        match error {
            RecapError::NoChat { ref chat } => Self::missing("chat", chat.as_str()),
            RecapError::Model { error } => Self::new(Code::Failed, error.to_string()),
            RecapError::Memory(error) => error.into(),
        }
    }
}

impl From<DemandError> for Problem {
    fn from(error: DemandError) -> Self {
        match error {
            DemandError::NoChat { ref chat } => Self::missing("chat", chat.as_str()),
            DemandError::Model(error) => Self::new(Code::Failed, error.to_string()),
            DemandError::Memory(error) => error.into(),
        }
    }
}
