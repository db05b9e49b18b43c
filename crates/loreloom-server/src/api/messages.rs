//! Telling a story through the API: making chats, saying, editing, taking back, moving.
//!
//! A chat is a tree: nothing is overwritten. An edit is a branch in which later messages
//! follow as they were, and every write can be undone.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::{
    chat::{Message, Path as Story, Role},
    ids::{ChatId, PrefixHash},
};
use loreloom_formats::{
    Limits,
    chat::{export_markdown, export_sillytavern, import_chat},
};
use loreloom_memory::service::Who;
use loreloom_ports::{Node, Reply, StoreError, TurnId, history::archive};
use loreloom_recognise::wire::{CHAT_NAMES, is_chat_name};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    characters::attachment,
    chats::{self, ChatView},
    extract::{Json, Path, Query, Raw},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
    undoing,
    weaving::StoryMessage,
};
use crate::{
    app::App,
    chat_export::{exported_archive, exported_chat},
    chat_import::{ChatCounts, ChatImport, ChatImportError, read_archive},
    events::ServerEvent,
    turn,
};

routes! {
    POST "/chats" => create,
    POST "/chats/{chat}/messages" versioned => say,
    PATCH "/chats/{chat}/messages/{node}" versioned => edit,
    DELETE "/chats/{chat}/messages/{node}" versioned => remove,
    PUT "/chats/{chat}/tip" versioned => move_to,
    POST "/chats/{chat}/turns/{turn}/reply" => reply,
    GET "/chats/{chat}/export" => export,
    POST "/chats/import" => import,
}

/// What a write to a chat gives back.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ChatWrote {
    /// Takes the write back, as `POST /undo` takes it; none if nothing changed.
    undo: Option<String>,
    /// The node it leads to.
    node: PrefixHash,
    /// The chat as it now is.
    item: ChatView,
}

pub(super) async fn wrote(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    before: u64,
    node: PrefixHash,
) -> Result<Tagged<ChatWrote>, Problem> {
    let Tagged { tag, body } = chats::view(app, &caller.tenant, chat).await?;
    let version = body.version();
    let changed = version != before;
    if changed {
        let happened = ServerEvent::Chat { chat: chat.to_string(), version };
        app.events.tell(&caller.tenant, happened);
    }
    let undo = changed.then(|| undoing::of_chat(chat, version));
    Ok(Tagged { tag, body: ChatWrote { undo, node, item: body } })
}

/// A new chat.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewChat {
    /// Its id.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 200))]
    id: String,
    /// Its name; the beginning of the first message without it.
    title: Option<String>,
    /// What was said so far.
    #[serde(default)]
    messages: Vec<StoryMessage>,
}

/// Makes a chat. One that is there is refused, never written over.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats", tag = "chats", request_body = NewChat,
    responses((status = 201, body = ChatWrote))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewChat>,
) -> Result<Response, Problem> {
    if !is_chat_name(&new.id) {
        return Err(Problem::value("id", CHAT_NAMES, new.id));
    }
    let chat = ChatId(new.id);
    if app.store.chat(&caller.tenant, &chat).await?.is_some() {
        let detail = format!("there is a chat `{chat}` already");
        return Err(Problem::new(Code::Conflict, detail).at("id").with(chat.0));
    }
    let first = new.messages.first().map(|said| said.content.chars().take(60).collect());
    let title = new.title.or(first).unwrap_or_default();
    let story = Story::of(chat.clone(), new.messages.iter().map(StoryMessage::message));
    let now = app.clock.now();
    let record = app.store.open_chat(&caller.tenant, &chat, &title, now).await?;
    if !story.items().is_empty() {
        app.store.commit_path(&caller.tenant, &story, Some(record.version), now).await?;
    }
    let wrote = wrote(&app, &caller, &chat, record.version, story.prefix()).await?;
    Ok((StatusCode::CREATED, wrote).into_response())
}

/// Changes the path of a chat. `change` gets its messages up to `tip`, or all.
async fn change_path(
    (app, caller): (&App, &Caller),
    chat: &ChatId,
    tip: Option<PrefixHash>,
    seen: &IfMatch,
    change: impl FnOnce(Vec<Node>) -> Result<Vec<Message>, Problem>,
) -> Result<Tagged<ChatWrote>, Problem> {
    let record = caller.chat(app, chat).await?;
    seen.check(&chats::tag(app, &caller.tenant, &record).await?)?;
    let nodes = app.store.path(&caller.tenant, chat, tip.unwrap_or(record.tip)).await?;
    let story = Story::of(chat.clone(), change(nodes)?);
    let (version, now) = (Some(record.version), app.clock.now());
    if story.items().is_empty() {
        let tip = PrefixHash::default();
        app.store.move_tip(&caller.tenant, chat, tip, version, now).await?;
    } else if story.prefix() != record.tip {
        app.store.commit_path(&caller.tenant, &story, version, now).await?;
    }
    wrote(app, caller, chat, record.version, story.prefix()).await
}

/// Something said.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewMessages {
    /// The node it is said after; where the story is without it.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, pattern = "^[0-9a-f]{32}$"))]
    after: Option<PrefixHash>,
    /// What is said, oldest first.
    #[cfg_attr(feature = "schema", schema(min_items = 1))]
    messages: Vec<StoryMessage>,
    /// Whether the messages of the current path that follow stay behind it: something is inserted.
    #[serde(default)]
    insert: bool,
}

/// Says something: the story goes on, or branches off at an earlier node.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/messages", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = NewMessages,
    responses((status = 200, body = ChatWrote))
))]
async fn say(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(new): Json<NewMessages>,
) -> Result<Tagged<ChatWrote>, Problem> {
    if new.messages.is_empty() {
        let detail = "`messages` must have at least one";
        return Err(Problem::new(Code::WrongValue, detail).at("messages"));
    }
    let (chat, said) = (ChatId(chat), new.messages.iter().map(StoryMessage::message));
    let tip = new.after.filter(|_| !new.insert);
    change_path((&app, &caller), &chat, tip, &seen, |nodes| {
        let at = match new.after.filter(|_| new.insert) {
            Some(beginning) if beginning == PrefixHash::default() => 0,
            Some(node) => position(&nodes, &chat, node)? + 1,
            None => nodes.len(),
        };
        let mut messages: Vec<Message> = nodes.into_iter().map(|node| node.message).collect();
        messages.splice(at..at, said);
        Ok(messages)
    })
    .await
}

/// Changes of a message.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct MessagePatch {
    /// What is said instead.
    content: Option<String>,
    /// Who says it.
    name: Option<String>,
}

pub(super) fn position(nodes: &[Node], chat: &ChatId, node: PrefixHash) -> Result<usize, Problem> {
    let found = nodes.iter().position(|one| one.prefix == node);
    found.ok_or_else(|| StoreError::NoNode { chat: chat.clone(), node }.into())
}

pub(super) fn node_of(text: &str) -> Result<PrefixHash, Problem> {
    text.parse().map_err(|error: loreloom_core::ids::DigestError| {
        Problem::new(Code::NotFound, error.to_string()).with(text)
    })
}

/// Edits a message of the current path: a branch in which later messages follow as they were.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/chats/{chat}/messages/{node}", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("node" = String, Path, description = "The message's node on the current path"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = MessagePatch,
    responses((status = 200, body = ChatWrote))
))]
async fn edit(
    State(app): State<App>,
    caller: Caller,
    Path((chat, node)): Path<(String, String)>,
    seen: IfMatch,
    Json(patch): Json<MessagePatch>,
) -> Result<Tagged<ChatWrote>, Problem> {
    let (chat, node) = (ChatId(chat), node_of(&node)?);
    change_path((&app, &caller), &chat, None, &seen, |nodes| {
        let at = position(&nodes, &chat, node)?;
        let mut messages: Vec<Message> = nodes.into_iter().map(|node| node.message).collect();
        if let Some(content) = patch.content {
            messages[at].text = content.into();
        }
        if let Some(name) = patch.name {
            messages[at].name = Some(name);
        }
        Ok(messages)
    })
    .await
}

/// Takes a message out of the current path: a branch without it.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/chats/{chat}/messages/{node}", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("node" = String, Path, description = "The message's node on the current path"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = ChatWrote))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path((chat, node)): Path<(String, String)>,
    seen: IfMatch,
) -> Result<Tagged<ChatWrote>, Problem> {
    let (chat, node) = (ChatId(chat), node_of(&node)?);
    change_path((&app, &caller), &chat, None, &seen, |nodes| {
        let at = position(&nodes, &chat, node)?;
        let kept = nodes.into_iter().enumerate().filter(|(place, _)| *place != at);
        Ok(kept.map(|(_, node)| node.message).collect())
    })
    .await
}

/// Where the story shall be.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewTip {
    /// The node; all zeros for the beginning.
    #[cfg_attr(feature = "schema", schema(value_type = String, pattern = "^[0-9a-f]{32}$"))]
    node: PrefixHash,
}

/// Moves the story to another node: a swipe, a branch, a step back.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/chats/{chat}/tip", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = NewTip,
    responses((status = 200, body = ChatWrote))
))]
async fn move_to(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(NewTip { node }): Json<NewTip>,
) -> Result<Tagged<ChatWrote>, Problem> {
    let chat = ChatId(chat);
    let record = caller.chat(&app, &chat).await?;
    seen.check(&chats::tag(&app, &caller.tenant, &record).await?)?;
    let (version, now) = (Some(record.version), app.clock.now());
    app.store.move_tip(&caller.tenant, &chat, node, version, now).await?;
    wrote(&app, &caller, &chat, record.version, node).await
}

/// The reply to a turn.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewReply {
    /// What the model said; notes alone are no reply.
    content: String,
    /// Who spoke.
    name: Option<String>,
}

/// Stores the reply to a woven turn: the next message of the story. Notes that the model made
/// for itself between tags go into its notebook instead.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/{chat}/turns/{turn}/reply", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    request_body = NewReply,
    responses((status = 200, body = ChatWrote))
))]
async fn reply(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
    Json(new): Json<NewReply>,
) -> Result<Tagged<ChatWrote>, Problem> {
    let (chat, turn) = (ChatId(chat), TurnId(turn));
    let before = caller.chat(&app, &chat).await?.version;
    let no_turn = || StoreError::NoTurn { chat: chat.clone(), turn };
    let record = app.store.turn(&caller.tenant, &chat, turn).await?.ok_or_else(no_turn)?;
    let name = new.name.or_else(|| record.report.facts.speaker.clone());
    let nodes = app.store.path(&caller.tenant, &chat, record.at).await?;
    let mut story = Story::of(chat.clone(), nodes.into_iter().map(|node| node.message));
    let (notes, content) = app.lore.current().rules().notebooks.read(&new.content);
    if content.trim().is_empty() {
        return Err(Problem::value("content", "must say something besides notes", new.content));
    }
    let message = Message::new(Role::Assistant, name.as_deref(), content);
    let item = story.push(message).clone();
    let node =
        Node { prefix: item.prefix, parent: record.at, message_id: item.id, message: item.message };
    let reply = Reply { turn, node, created: app.clock.now() };
    app.store.commit_reply(&caller.tenant, &chat, &reply).await?;
    // The reply is stored. After an error the front end would send it again.
    if let Err(error) = turn::note(&app.turns, &story, notes).await {
        tracing::warn!(%error, "the notes were not stored");
    }
    let who = name.as_deref().map(Who::named).unwrap_or_default();
    turn::tell_memory(&app.turns, &story, who).await;
    wrote(&app, &caller, &chat, before, item.prefix).await
}

/// The form that a chat is written in.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ChatForm {
    /// One document with every branch, turn, report and prompt.
    #[default]
    Loreloom,
    /// The current path with the versions of its messages, as `SillyTavern` reads it (`.jsonl`).
    Sillytavern,
    /// The current path as Markdown.
    Markdown,
}

/// In which form.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct ChatFormParams {
    /// The form.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(inline))]
    format: ChatForm,
}

/// A chat as a file: one document with everything, or the current path for other programs.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/export", tag = "chats",
    params(("chat" = String, Path, description = "The chat's id"), ChatFormParams),
    responses((status = 200, description = "The chat, as `POST /chats/import` reads it, or Markdown", content(
        (Object = "application/json"), (Vec<u8> = "application/octet-stream")
    )))
))]
async fn export(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<ChatFormParams>,
) -> Result<Response, Problem> {
    let chat = ChatId(chat);
    let (extension, text) = match params.format {
        ChatForm::Loreloom => {
            let archive = exported_archive(app.store.as_ref(), &caller.tenant, &chat).await?;
            return Ok(Json(archive).into_response());
        }
        ChatForm::Sillytavern => {
            let (_, file) = exported_chat(app.store.as_ref(), &caller.tenant, &chat).await?;
            ("jsonl", export_sillytavern(&file))
        }
        ChatForm::Markdown => {
            let (title, file) = exported_chat(app.store.as_ref(), &caller.tenant, &chat).await?;
            ("md", export_markdown(&file, if title.is_empty() { chat.as_str() } else { &title }))
        }
    };
    Ok(attachment(text.into_bytes(), &format!("{chat}.{extension}")))
}

/// Where a chat from a file goes.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct ImportParams {
    /// The new chat's id; an export keeps its own.
    #[cfg_attr(feature = "schema", param(min_length = 1, max_length = 200))]
    id: Option<String>,
}

/// What became of a chat's file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ImportedView {
    /// What the file was.
    format: String,
    /// Messages, in all branches.
    messages: usize,
    /// Versions of messages that became branches.
    branches: usize,
    /// Texts of the system that are no part of the story.
    left_out: usize,
    /// Timed effects that were taken over.
    effects: usize,
    /// Variables that were taken over.
    variables: usize,
    /// The chat.
    item: ChatView,
}

/// Reads a chat: what `export` wrote, a `SillyTavern` file or `OpenAI` messages.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/chats/import", tag = "chats", params(ImportParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file as it is"),
    responses((status = 201, body = ImportedView))
))]
async fn import(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<ImportParams>,
    Raw(bytes): Raw,
) -> Result<Response, Problem> {
    let tenant = &caller.tenant;
    let wrong = |detail: String| Problem::new(Code::WrongValue, detail).at("body");
    let archived = read_archive(&bytes)?;
    let (format, counts, chat) = if let Some(archive) = archived {
        let chat = archive.chat.id.clone();
        if app.store.chat(tenant, &chat).await?.is_some() {
            return Err(ChatImportError::Known { chat }.into());
        }
        archive::import(app.store.as_ref(), tenant, &archive).await?;
        ("loreloom-chat", ChatCounts::of(archive.nodes.len()), chat)
    } else {
        let missing = || Problem::value("id", "must name the new chat", "");
        let id = params.id.filter(|id| !id.is_empty()).ok_or_else(missing)?;
        let read = import_chat(&bytes, &Limits::default());
        let read = read.map_err(|error| wrong(error.to_string()))?;
        let (chat, format) = (ChatId(id), read.format.as_str());
        let (store, now) = (app.store.as_ref(), app.clock.now());
        let counts = ChatImport { store, tenant, chat: &chat, now }.run(&[read], false).await?;
        (format, counts, chat)
    };
    let Tagged { tag, body } = chats::view(&app, tenant, &chat).await?;
    let happened = ServerEvent::Chat { chat: chat.to_string(), version: body.version() };
    app.events.tell(tenant, happened);
    let ChatCounts { messages, branches, left_out, effects, variables, .. } = counts;
    let format = format.to_owned();
    let body =
        ImportedView { format, messages, branches, left_out, effects, variables, item: body };
    Ok((StatusCode::CREATED, Tagged { tag, body }).into_response())
}
