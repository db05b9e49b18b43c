//! Saying something about a chat: naming it, deleting it, hiding a message.

use axum::{
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use loreloom_core::ids::ChatId;
use loreloom_ports::{ChatRecord, StoreError};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    chats::{self, ChatView},
    editing::{Wrote, undo_of},
    extract::{Json, Path},
    messages::{node_of, position},
    problem::Problem,
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{app::App, chat_metadata::ChatMetadata, events::ServerEvent};

routes! {
    PATCH "/chats/{chat}" versioned => rename,
    DELETE "/chats/{chat}" versioned => delete,
    PUT "/chats/{chat}/messages/{node}/hidden" versioned => hide,
}

/// Nothing that is asked of a deleted chat is found.
pub(super) async fn there(
    State(app): State<App>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let chat = params.iter().flatten().find(|(name, _)| *name == "chat");
    let chat = chat.map(|(_, chat)| ChatId::from(chat));
    if let Some(chat) = chat {
        match is_deleted(&app, &chat).await {
            Ok(false) => {}
            Ok(true) => return Problem::from(StoreError::NoChat { chat }).into_response(),
            Err(error) => return Problem::from(error).into_response(),
        }
    }
    next.run(request).await
}

pub(super) async fn is_deleted(app: &App, chat: &ChatId) -> Result<bool, StoreError> {
    let metadata = ChatMetadata::read(app.store.as_ref(), &app.tenant, chat).await?;
    if metadata.deleted.is_none() {
        return Ok(false);
    }
    let record = app.store.chat(&app.tenant, chat).await?;
    Ok(record.is_some_and(|record| metadata.is_deleted(&record)))
}

/// Changes the metadata of a chat. Returns the revision of the documents, and the undo.
async fn say(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    seen: &IfMatch,
    change: impl FnOnce(&mut ChatMetadata, &ChatRecord),
) -> Result<(u64, Option<String>, ChatRecord), Problem> {
    let record = caller.chat(app, chat).await?;
    let (documents, tenant) = (app.store.as_ref(), &caller.tenant);
    let before = documents.revision(tenant).await?;
    let mut metadata = ChatMetadata::read(documents, tenant, chat).await?;
    seen.check(&metadata.tag(record.version))?;
    change(&mut metadata, &record);
    let revision = metadata.write(documents, (tenant, chat), before, app.clock.now()).await?;
    app.sync.take_up().await?;
    if revision != before {
        let happened = ServerEvent::Chat { chat: chat.to_string(), version: record.version };
        app.events.tell(tenant, happened);
    }
    Ok((revision, (revision != before).then(|| undo_of(revision)), record))
}

async fn labelled(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    (revision, undo): (u64, Option<String>),
) -> Result<Tagged<Wrote<ChatView>>, Problem> {
    let Tagged { tag, body } = chats::view(app, &caller.tenant, chat).await?;
    Ok(Tagged { tag, body: Wrote { undo, revision, item: body } })
}

/// What to change about a chat. What is not given stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ChatPatch {
    /// Its name; empty for the one it had at first.
    #[cfg_attr(feature = "schema", schema(max_length = 200))]
    title: Option<String>,
    /// Words to find it by.
    #[cfg_attr(feature = "schema", schema(max_items = 50))]
    tags: Option<Vec<String>>,
    /// Whether it is put away.
    archived: Option<bool>,
}

/// The longest tag, and the most tags of a chat.
const LONGEST_TAG: usize = 60;
const MOST_TAGS: usize = 50;

/// Tags without blanks around them, each once.
fn checked_tags(tags: Vec<String>) -> Result<Vec<String>, Problem> {
    let mut kept: Vec<String> = Vec::new();
    for tag in tags {
        let tag = tag.trim();
        if tag.is_empty() || tag.chars().count() > LONGEST_TAG {
            return Err(Problem::value("tags", "must have 1 to 60 characters each", tag));
        }
        if !kept.iter().any(|own| own == tag) {
            kept.push(tag.to_owned());
        }
    }
    if kept.len() > MOST_TAGS {
        return Err(Problem::value("tags", "must be at most 50", kept.len()));
    }
    Ok(kept)
}

/// Renames or tags a chat, or puts it away.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/chats/{chat}", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = ChatPatch,
    responses((status = 200, body = Wrote<ChatView>))
))]
async fn rename(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(patch): Json<ChatPatch>,
) -> Result<Tagged<Wrote<ChatView>>, Problem> {
    let chat = ChatId(chat);
    if let Some(title) = patch.title.as_ref().filter(|title| title.chars().count() > 200) {
        return Err(Problem::value("title", "must have at most 200 characters", title.as_str()));
    }
    let tags = patch.tags.map(checked_tags).transpose()?;
    let (revision, undo, _) = say(&app, &caller, &chat, &seen, |metadata, _| {
        if let Some(title) = patch.title {
            metadata.title = Some(title).filter(|title| !title.is_empty());
        }
        if let Some(tags) = tags {
            metadata.tags = tags;
        }
        metadata.archived = patch.archived.unwrap_or(metadata.archived);
    })
    .await?;
    labelled(&app, &caller, &chat, (revision, undo)).await
}

/// A chat that was deleted.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct DeletedChat {
    /// Its id.
    id: ChatId,
}

/// Deletes a chat: it is in no list and answers to no question, until it is undone or a front
/// end goes on telling it.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/chats/{chat}", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<DeletedChat>))
))]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<DeletedChat>>, Problem> {
    let id = ChatId(chat);
    let (revision, undo, _) = say(&app, &caller, &id, &seen, |metadata, record| {
        metadata.deleted = Some(record.version);
    })
    .await?;
    Ok(Json(Wrote { undo, revision, item: DeletedChat { id } }))
}

/// Whether a message is hidden.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Hiding {
    /// Whether the model shall not see it.
    hidden: bool,
}

/// Hides a message from the model, or shows it again, on every branch that has it. It applies to
/// the prompts of `POST /weave`; a front end that builds its own prompt decides itself what it
/// sends.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/chats/{chat}/messages/{node}/hidden", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("node" = String, Path, description = "The message's node"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = Hiding,
    responses((status = 200, body = Wrote<ChatView>))
))]
async fn hide(
    State(app): State<App>,
    caller: Caller,
    Path((chat, node)): Path<(String, String)>,
    seen: IfMatch,
    Json(Hiding { hidden }): Json<Hiding>,
) -> Result<Tagged<Wrote<ChatView>>, Problem> {
    let (chat, node) = (ChatId(chat), node_of(&node)?);
    caller.chat(&app, &chat).await?;
    let tree = app.store.tree(&caller.tenant, &chat).await?;
    let found = &tree[position(&tree, &chat, node)?];
    let (revision, undo, _) = say(&app, &caller, &chat, &seen, |metadata, _| {
        metadata.set_hidden(found.message_id, found.message.hidden, hidden);
    })
    .await?;
    labelled(&app, &caller, &chat, (revision, undo)).await
}
