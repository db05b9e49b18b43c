//! What stories remember: looking at it.

use std::cmp::Reverse;

use axum::extract::State;
use loreloom_core::{
    chat::PathItem,
    ids::{ChatId, MessageId, PrefixHash},
    report::{ChannelScore, RecallChannel},
};
use loreloom_memory::{
    event::{character_records, chat_records},
    record::InsightKind,
    service::{MemoryServices, SearchQuery, Who},
};
use loreloom_ports::{MemoryEvent, MemoryEventKind};
use loreloom_ports::{Owner, WriteSummary};
use loreloom_ports::{RecordKey, RecordKind, Records};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::MutexGuard;

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    paging::{self, Page, PageParams},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
    undoing::no_memory,
};
use crate::app::App;

routes! {
    GET "/chats/{chat}/memory" => on_path,
    GET "/chats/{chat}/knowledge" => knowledge,
    POST "/chats/{chat}/memory/search" => search,
    GET "/memory/owners" => owners,
    GET "/memory/writes" => writes,
    GET "/memory/records/{record}" => history,
}

pub(super) fn service(app: &App) -> Result<&MemoryServices, Problem> {
    app.memory.as_deref().ok_or_else(no_memory)
}

/// The messages of a chat up to a node.
pub(super) async fn items(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    at: Option<PrefixHash>,
) -> Result<Vec<PathItem>, Problem> {
    let record = caller.chat(app, chat).await?;
    let nodes = app.store.path(&caller.tenant, chat, at.unwrap_or(record.tip)).await?;
    let item = |node: loreloom_ports::Node| PathItem {
        id: node.message_id,
        prefix: node.prefix,
        message: node.message,
    };
    Ok(nodes.into_iter().map(item).collect())
}

/// Something remembered.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RecordView {
    /// Its id among its owner's records; its tier, where there is only one of it.
    id: String,
    /// What it is.
    tier: RecordKind,
    /// Whose it is.
    owner: Owner,
    /// Whether it is in use: neither retired nor replaced nor held.
    active: bool,
    /// What it says.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    fields: Map<String, Value>,
}

fn is_active(fields: &Map<String, Value>) -> bool {
    !["retired", "superseded_by", "ungrounded"].iter().any(|name| fields.contains_key(*name))
}

fn views(owner: &Owner, records: &Records) -> Vec<RecordView> {
    // Of older scenes only the messages are left.
    let is_old =
        |fields: &Map<String, Value>| fields.get("summary").and_then(Value::as_str) == Some("");
    let shown = records.iter().filter(|(key, fields)| {
        key.kind != RecordKind::Marks && !(key.kind == RecordKind::Scene && is_old(fields))
    });
    let view = |(key, fields): (&RecordKey, &Map<String, Value>)| RecordView {
        id: key.name().to_owned(),
        tier: key.kind,
        owner: owner.clone(),
        active: is_active(fields),
        fields: fields.clone(),
    };
    shown.map(view).collect()
}

/// Which memory.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct OnPathParams {
    /// Only records of this kind.
    #[cfg_attr(feature = "schema", param(value_type = Option<RecordKind>))]
    tier: Option<RecordKind>,
    /// What held at this node; where the story is without it.
    #[cfg_attr(feature = "schema", param(pattern = "^[0-9a-f]{32}$", value_type = Option<String>))]
    at: Option<PrefixHash>,
    /// Also what this character remembers.
    who: Option<String>,
    /// Also what is retired, replaced or held.
    #[serde(default)]
    all: bool,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// What is remembered on a path of a chat: by the chat, and by a character in it.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/memory", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id"), OnPathParams),
    responses((status = 200, body = Page<RecordView>))
))]
async fn on_path(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<OnPathParams>,
) -> Result<Json<Page<RecordView>>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    let path = items(&app, &caller, &chat, params.at).await?;
    let who = params.who.as_deref().map(Who::named).unwrap_or_default();
    let view = memory.views.view(&caller.tenant, &chat, &path, &who).await?;
    let mut records = views(&Owner::Chat(chat), &chat_records(&view.chat));
    if params.who.is_some() {
        records.extend(views(&who.owner(), &character_records(&view.character)));
    }
    records.retain(|one| {
        (params.all || one.active) && params.tier.is_none_or(|tier| one.tier == tier)
    });
    let numbered: Vec<(usize, RecordView)> = records.into_iter().enumerate().collect();
    let page = paging::page(numbered, params.cursor.as_deref(), params.limit, |one| one.0)?;
    Ok(Json(page.map(|(_, record)| record)))
}

/// What one person knows, guesses, believes, misses or hides.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Knows {
    /// Its id.
    id: String,
    /// Whose knowledge it is.
    subject: String,
    /// How they relate to it.
    kind: InsightKind,
    /// Who it is hidden from.
    target: Option<String>,
    /// The knowledge.
    content: String,
    /// The messages it was drawn from.
    receipts: Vec<MessageId>,
}

/// Who knows what.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct KnowledgeView {
    /// Everybody named.
    people: Vec<String>,
    /// What each knows.
    items: Vec<Knows>,
}

/// Whose knowledge.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct KnowledgeParams {
    /// The character whose memory holds it.
    who: String,
    /// What held at this node; where the story is without it.
    #[cfg_attr(feature = "schema", param(pattern = "^[0-9a-f]{32}$", value_type = Option<String>))]
    at: Option<PrefixHash>,
}

/// Who knows, suspects, believes falsely, misses or hides what, at a node of a chat.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/knowledge", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id"), KnowledgeParams),
    responses((status = 200, body = KnowledgeView))
))]
async fn knowledge(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<KnowledgeParams>,
) -> Result<Json<KnowledgeView>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    let path = items(&app, &caller, &chat, params.at).await?;
    let who = Who::named(&params.who);
    let view = memory.views.view(&caller.tenant, &chat, &path, &who).await?;
    let insights = view.character.epistemic_knowledge.iter();
    let items: Vec<Knows> = insights
        .filter(|insight| insight.retired.is_none())
        .map(|insight| Knows {
            id: insight.id.clone(),
            subject: insight.subject.clone(),
            kind: insight.kind,
            target: insight.target.clone(),
            content: insight.content.clone(),
            receipts: insight.receipts.clone(),
        })
        .collect();
    let named = items.iter().flat_map(|one| [Some(&one.subject), one.target.as_ref()]);
    let mut people: Vec<String> = named.flatten().cloned().collect();
    people.sort();
    people.dedup();
    Ok(Json(KnowledgeView { people, items }))
}

/// What to look for.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct SearchBody {
    /// What to look for.
    text: String,
    /// Also in what this character remembers.
    character: Option<String>,
    /// How many of each; 10 without it.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 100))]
    most: Option<usize>,
    /// How like it a memory must be; 0.3 without it.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1))]
    min: Option<f64>,
}

/// A passage of the story.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PassageFound {
    /// The message's number on the path, from 1.
    message: usize,
    /// The message's node.
    node: PrefixHash,
    /// How well it fits.
    score: f64,
    /// The channel that counted most.
    found_by: RecallChannel,
    /// All channels that found it, most important first.
    channels: Vec<ChannelScore>,
    /// The words of the query that it has.
    shared: Vec<String>,
    /// The part of the message that fits best.
    text: String,
}

/// A memory.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct MemoryFound {
    /// Its id.
    id: String,
    /// How well it fits.
    score: f64,
    /// What it says.
    text: String,
}

/// What was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FoundView {
    /// Passages of the story, best first.
    passages: Vec<PassageFound>,
    /// Memories, best first.
    memories: Vec<MemoryFound>,
}

/// How like a question a memory must be.
const LEAST: f64 = 0.3;

/// Finds passages of a chat, and memories, by what they say. No model is asked.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/memory/search", tag = "memory",
    params(("chat" = String, Path, description = "The chat's id")), request_body = SearchBody,
    responses((status = 200, body = FoundView))
))]
async fn search(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(body): Json<SearchBody>,
) -> Result<Json<FoundView>, Problem> {
    let (memory, chat) = (service(&app)?, ChatId(chat));
    let most = body.most.unwrap_or(10);
    if !(1..=100).contains(&most) {
        return Err(Problem::value("most", "must be from 1 to 100", most));
    }
    let least = body.min.unwrap_or(LEAST);
    if !(0.0..=1.0).contains(&least) {
        return Err(Problem::value("min", "must be from 0 to 1", least));
    }
    let path = items(&app, &caller, &chat, None).await?;
    let who = body.character.as_deref().map(Who::named).unwrap_or_default();
    let asked = SearchQuery { text: &body.text, most, least };
    let found = memory.search.search(&caller.tenant, &chat, &path, &who, asked).await?;
    let passages = found.passages.into_iter().filter_map(|hit| {
        let node = path.get(hit.at)?.prefix;
        Some(PassageFound {
            message: hit.at + 1,
            node,
            score: hit.score,
            found_by: hit.found_by,
            channels: hit.channels,
            shared: hit.shared,
            text: hit.text,
        })
    });
    let memories = found.memories.into_iter().map(|found| MemoryFound {
        id: found.memory.id.0,
        score: found.score,
        text: found.memory.content,
    });
    Ok(Json(FoundView { passages: passages.collect(), memories: memories.collect() }))
}

/// Somebody who remembers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct OwnerView {
    /// Who.
    owner: Owner,
    /// The number of the last event.
    events: u64,
    /// Whether it waits for a chat that is not stored yet: its memory was imported first.
    waiting: bool,
}

/// Everybody who remembers something, by name.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/memory/owners", tag = "memory", params(PageParams),
    responses((status = 200, body = Page<OwnerView>))
))]
async fn owners(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<OwnerView>>, Problem> {
    let mut owners = app.store.owners(&caller.tenant).await?;
    let key = |(owner, _): &(Owner, u64)| owner.to_string();
    owners.sort_by_cached_key(key);
    let page = paging::page(owners, params.cursor.as_deref(), params.limit, key)?;
    let stored = app.store.chats(&caller.tenant).await?;
    let waits = |owner: &Owner| match owner {
        Owner::Chat(chat) => !stored.iter().any(|one| one.chat.id == *chat),
        Owner::Character(_) | Owner::World(_) => false,
    };
    Ok(Json(page.map(|(owner, events)| OwnerView { waiting: waits(&owner), owner, events })))
}

/// All writes of memory, newest first: `POST /undo` takes `memory.` and the id.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/memory/writes", tag = "memory", params(PageParams),
    responses((status = 200, body = Page<WriteSummary>))
))]
async fn writes(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<WriteSummary>>, Problem> {
    let writes = app.store.memory_writes(&caller.tenant, u32::MAX).await?;
    // Their numbers from the oldest on: new ones do not change them.
    let numbered: Vec<(usize, WriteSummary)> = (0..writes.len()).rev().zip(writes).collect();
    let key = |(number, _): &(usize, WriteSummary)| Reverse(*number);
    let page = paging::page(numbered, params.cursor.as_deref(), params.limit, key)?;
    Ok(Json(page.map(|(_, write)| write)))
}

/// Whose record.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct OwnerParams {
    /// A chat's.
    chat: Option<String>,
    /// A character's.
    character: Option<String>,
    /// A world's.
    world: Option<String>,
}

impl OwnerParams {
    fn owner(self) -> Result<Owner, Problem> {
        match (self.chat, self.character, self.world) {
            (Some(chat), None, None) => Ok(Owner::Chat(chat.into())),
            (None, Some(character), None) => Ok(Owner::Character(character.into())),
            (None, None, Some(world)) => Ok(Owner::World(world)),
            _ => {
                let detail = "say whose memory: exactly one of `chat`, `character` and `world`";
                Err(Problem::new(Code::WrongValue, detail).at("chat"))
            }
        }
    }
}

/// Something that happened to a record.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RecordEvent {
    /// Its number among its owner's events.
    number: u64,
    /// The write it belongs to.
    write: String,
    /// The chat it comes from.
    chat: Option<ChatId>,
    /// When, in milliseconds since 1970.
    at: i64,
    /// What happened.
    kind: MemoryEventKind,
    /// The messages it rests on.
    receipts: Vec<MessageId>,
    /// What it changed.
    change: Value,
}

impl RecordEvent {
    fn of(event: &MemoryEvent) -> Self {
        Self {
            number: event.number,
            write: event.write.to_string(),
            chat: event.chat.clone(),
            at: event.at.0,
            kind: event.event.kind,
            receipts: event.event.receipts.clone(),
            change: serde_json::to_value(&event.event.change).unwrap_or_default(),
        }
    }
}

/// A record with everything that happened to it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RecordHistory {
    /// The record as it is; none if it is gone.
    record: Option<RecordView>,
    /// What happened, oldest first.
    events: Vec<RecordEvent>,
}

/// One record with everything that happened to it.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/memory/records/{record}", tag = "memory",
    params(("record" = String, Path, description = "The record's id"), OwnerParams),
    responses((status = 200, body = RecordHistory))
))]
async fn history(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(params): Query<OwnerParams>,
) -> Result<Tagged<RecordHistory>, Problem> {
    let owner = params.owner()?;
    let found = find(&app, &caller, &owner, &id).await?;
    found.ok_or_else(|| Problem::new(Code::NotFound, format!("{owner} has no record `{id}`")))
}

/// A record of that id with all that happened to it, and its version.
async fn find(
    app: &App,
    caller: &Caller,
    owner: &Owner,
    id: &str,
) -> Result<Option<Tagged<RecordHistory>>, Problem> {
    let records = service(app)?.views.records(&caller.tenant, owner).await?;
    let events = app.store.events(&caller.tenant, owner, 0).await?;
    let is_it =
        |event: &&MemoryEvent| event.event.record.as_ref().is_some_and(|key| key.name() == id);
    let events: Vec<RecordEvent> = events.iter().filter(is_it).map(RecordEvent::of).collect();
    let Some(last) = events.last().map(|event| event.number) else { return Ok(None) };
    let record = views(owner, &records).into_iter().find(|view| view.id == id);
    // Undoing a write adds no event to the record, but changes its fields.
    Ok(Some(Tagged::by_content(last, RecordHistory { record, events })))
}

/// Refuses a change of a record that the caller has not seen as it is. While what it returns is
/// held, no other change that names a version is made.
///
/// The work beside the stories writes without it: what that changes between the look and the
/// change is not seen here.
pub(super) async fn unchanged<'a>(
    app: &'a App,
    caller: &Caller,
    (owner, id): (&Owner, &str),
    seen: &IfMatch,
) -> Result<MutexGuard<'a, ()>, Problem> {
    let alone = app.api.records.lock().await;
    if !seen.is_given() {
        return Ok(alone);
    }
    let records = service(app)?.views.records(&caller.tenant, owner).await?;
    // As the service finds it: by its id or the beginning of it.
    let keys = || records.iter().map(|(key, _)| key);
    let mut begin = keys().filter(|key| !id.is_empty() && key.id.starts_with(id));
    let only = begin.next().filter(|_| begin.next().is_none());
    let name = keys().find(|key| key.name() == id).or(only).map_or(id, RecordKey::name);
    match find(app, caller, owner, name).await? {
        Some(Tagged { tag, .. }) => seen.check(&tag)?,
        None => seen.check_none("record", id)?,
    }
    Ok(alone)
}
