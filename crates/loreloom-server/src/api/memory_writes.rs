//! Changing what stories remember.

use axum::extract::State;
use loreloom_core::ids::{ChatId, MessageId};
use loreloom_memory::{
    record::MemoryKind,
    service::{NewMemory, Since},
};
use loreloom_ports::MemoryWriteId;
use loreloom_ports::Owner;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    extract::{Json, Path},
    memory::{items, service, unchanged},
    problem::{Code, Problem},
    routes::routes,
    tags::IfMatch,
    undoing,
};
use crate::{app::App, events::ServerEvent};

routes! {
    POST "/memory/records" => add,
    PATCH "/memory/records/{record}" versioned => edit,
    POST "/memory/records/{record}/deeds" versioned => act,
    POST "/memory/merge" => merge,
    POST "/memory/forget" => forget,
}

/// What a write of memory gives back.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct MemoryWrote {
    /// Takes the write back, as `POST /undo` takes it.
    undo: String,
    /// The record it made or changed.
    id: Option<String>,
}

pub(super) fn wrote(
    app: &App,
    caller: &Caller,
    write: &MemoryWriteId,
    id: Option<String>,
) -> Json<MemoryWrote> {
    let happened = ServerEvent::Memory { write: write.to_string() };
    app.events.tell(&caller.tenant, happened);
    Json(MemoryWrote { undo: undoing::of_memory(write), id })
}

/// A memory to note.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewRecord {
    /// Whose it is.
    owner: Owner,
    /// What it is about.
    #[serde(default)]
    kind: MemoryKind,
    /// What to remember.
    content: String,
    /// 1 (minor) to 3 (vital).
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 3))]
    importance: Option<u8>,
    /// The messages it rests on; none for something that holds on every path.
    #[serde(default)]
    receipts: Vec<MessageId>,
}

/// Notes a memory by hand.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/records", tag = "memory", request_body = NewRecord,
    responses((status = 200, body = MemoryWrote))
))]
async fn add(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewRecord>,
) -> Result<Json<MemoryWrote>, Problem> {
    if let Some(found) = new.importance.filter(|importance| !(1..=3).contains(importance)) {
        return Err(Problem::value("importance", "must be from 1 to 3", found));
    }
    let memory = NewMemory {
        kind: new.kind,
        content: new.content,
        importance: new.importance,
        receipts: new.receipts,
    };
    let (key, write) = service(&app)?.edits.add(&caller.tenant, &new.owner, memory).await?;
    Ok(wrote(&app, &caller, &write, Some(key.id)))
}

/// Changes of a record.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RecordPatch {
    /// Whose it is.
    owner: Owner,
    /// Fields to change; `null` takes one away.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    set: Map<String, Value>,
}

/// Changes fields of a record.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/memory/records/{record}", tag = "memory",
    params(
        ("record" = String, Path, description = "The record's id, or the beginning of it"),
        ("if-match" = Option<String>, Header, description = "The version of the record that the caller has seen")
    ),
    request_body = RecordPatch,
    responses((status = 200, body = MemoryWrote))
))]
async fn edit(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    seen: IfMatch,
    Json(patch): Json<RecordPatch>,
) -> Result<Json<MemoryWrote>, Problem> {
    let _alone = unchanged(&app, &caller, (&patch.owner, &id), &seen).await?;
    let write = service(&app)?.edits.edit(&caller.tenant, &patch.owner, &id, patch.set).await?;
    Ok(wrote(&app, &caller, &write, Some(id)))
}

/// Something to do with a record.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = Deed))]
enum MemoryDeed {
    /// Keep it from fading and from being pushed out.
    Pin,
    /// Let it go again.
    Unpin,
    /// Stop using it; it is kept.
    Retire,
    /// Use it again.
    Restore,
    /// Make it never have been so, on every path. With `content`, that is how it always was.
    Retcon,
    /// Let `to` learn what this knowledge keeps from them, from `from` on.
    Reveal,
}

/// What to do with a record.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct DeedBody {
    /// Whose it is.
    owner: Owner,
    /// What to do.
    deed: MemoryDeed,
    /// For `retire` and `reveal`: from where in a story on. A retired record without it is not
    /// used on any path.
    from: Option<FromView>,
    /// For `retcon`: how it always was.
    content: Option<String>,
    /// For `reveal`: who learns it.
    to: Option<String>,
}

/// From where in a story on something is so.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FromView {
    /// The chat.
    chat: ChatId,
    /// Its message; the newest without one.
    message: Option<MessageId>,
}

/// Pins, unpins, retires, restores, retcons or reveals a record.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/records/{record}/deeds", tag = "memory",
    params(
        ("record" = String, Path, description = "The record's id, or the beginning of it"),
        ("if-match" = Option<String>, Header, description = "The version of the record that the caller has seen")
    ),
    request_body = DeedBody,
    responses((status = 200, body = MemoryWrote))
))]
async fn act(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    seen: IfMatch,
    Json(body): Json<DeedBody>,
) -> Result<Json<MemoryWrote>, Problem> {
    let (memory, tenant, owner) = (service(&app)?, &caller.tenant, &body.owner);
    let takes = |field: &'static str, given: bool, deeds: &'static str, fits: bool| {
        let detail = format!("`{field}` goes with the deed {deeds} only");
        let wrong = given && !fits;
        if wrong { Err(Problem::new(Code::WrongValue, detail).at(field)) } else { Ok(()) }
    };
    let (retires, reveals) = match body.deed {
        MemoryDeed::Retire => (true, false),
        MemoryDeed::Reveal => (false, true),
        MemoryDeed::Pin | MemoryDeed::Unpin | MemoryDeed::Restore | MemoryDeed::Retcon => {
            (false, false)
        }
    };
    takes("from", body.from.is_some(), "`retire` or `reveal`", retires || reveals)?;
    takes("to", body.to.is_some(), "`reveal`", reveals)?;
    let retcons = matches!(body.deed, MemoryDeed::Retcon);
    takes("content", body.content.is_some(), "`retcon`", retcons)?;
    let from = match &body.from {
        Some(from) => Some(since(&app, &caller, from).await?),
        None => None,
    };
    let _alone = unchanged(&app, &caller, (owner, &id), &seen).await?;
    let write = match body.deed {
        MemoryDeed::Retcon => {
            memory.edits.retcon(tenant, owner, &id, body.content.as_deref()).await?
        }
        MemoryDeed::Reveal => {
            let missing =
                |field| Problem::value(field, "must be given to reveal something", "none");
            let to = body.to.as_deref().ok_or_else(|| missing("to"))?;
            let from = from.as_ref().ok_or_else(|| missing("from"))?;
            memory.edits.reveal(tenant, owner, &id, to, from).await?
        }
        MemoryDeed::Pin => memory.edits.pin(tenant, owner, &id, true).await?,
        MemoryDeed::Unpin => memory.edits.pin(tenant, owner, &id, false).await?,
        MemoryDeed::Retire => memory.edits.retire_from(tenant, owner, &id, from.as_ref()).await?,
        MemoryDeed::Restore => memory.edits.restore(tenant, owner, &id).await?,
    };
    Ok(wrote(&app, &caller, &write, Some(id)))
}

/// Where in a story something begins to count.
async fn since(app: &App, caller: &Caller, from: &FromView) -> Result<Since, Problem> {
    let chat = from.chat.clone();
    caller.chat(app, &chat).await?;
    let Some(message) = from.message else {
        let newest = items(app, caller, &chat, None).await?.last().map(|item| item.id);
        let none = || Problem::missing("message", "newest").at("from.message");
        return Ok(Since { message: newest.ok_or_else(none)?, chat });
    };
    let tree = app.store.tree(&caller.tenant, &chat).await?;
    if !tree.iter().any(|node| node.message_id == message) {
        return Err(Problem::missing("message", &message.to_string()).at("from.message"));
    }
    Ok(Since { chat, message })
}

/// Memories to put together.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct MergeBody {
    /// Whose they are.
    owner: Owner,
    /// Their ids.
    #[cfg_attr(feature = "schema", schema(min_items = 2))]
    ids: Vec<String>,
    /// What the new one says.
    content: String,
}

/// Puts one memory in the place of several, which are kept.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/merge", tag = "memory", request_body = MergeBody,
    responses((status = 200, body = MemoryWrote))
))]
async fn merge(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<MergeBody>,
) -> Result<Json<MemoryWrote>, Problem> {
    let MergeBody { owner, ids, content } = body;
    let (key, write) = service(&app)?.edits.merge(&caller.tenant, &owner, &ids, &content).await?;
    Ok(wrote(&app, &caller, &write, Some(key.id)))
}

/// What to forget.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ForgetBody {
    /// The chat; without it a character must be named.
    chat: Option<ChatId>,
    /// Everything this character remembers, from all chats: with a chat, a fresh start.
    and_character: Option<String>,
}

/// Forgets what a chat remembers, what a character does, or both. An undo brings it back.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/memory/forget", tag = "memory", request_body = ForgetBody,
    responses((status = 200, body = MemoryWrote))
))]
async fn forget(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<ForgetBody>,
) -> Result<Json<MemoryWrote>, Problem> {
    let memory = service(&app)?;
    let owner = body.and_character.map(|name| Owner::Character(name.into()));
    let write = match (&body.chat, &owner) {
        (Some(chat), Some(owner)) => memory.edits.fresh_start(&caller.tenant, chat, owner).await?,
        (Some(chat), None) => memory.edits.forget_chat(&caller.tenant, chat).await?,
        (None, Some(owner)) => memory.edits.forget_character(&caller.tenant, owner).await?,
        (None, None) => {
            return Err(Problem::value("chat", "must be given, or `and_character`", "neither"));
        }
    };
    Ok(wrote(&app, &caller, &write, None))
}
