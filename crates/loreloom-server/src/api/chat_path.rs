//! The path of a chat as a front end has it.
//!
//! A front end that keeps its own chats sends the messages it shows, instead of each edit, swipe
//! and deletion by itself. Messages that are no longer on the path stay in the tree as branches,
//! so this loses nothing and may be repeated.

use axum::extract::State;
use loreloom_core::{
    chat::Path as Story,
    ids::{ChatId, PrefixHash, TenantId},
};
use loreloom_recognise::wire::{CHAT_NAMES, is_chat_name};
use serde::Deserialize;

use super::{
    caller::Caller,
    extract::{Json, Path},
    messages::{ChatWrote, wrote},
    problem::Problem,
    routes::routes,
    tags::Tagged,
    weaving::StoryMessage,
};
use crate::{app::App, chat_metadata::ChatMetadata};

routes! {
    PUT "/chats/{chat}/path" => set_path,
}

/// The messages that a front end shows.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ShownPath {
    /// The name of the chat, if it has to be made.
    title: Option<String>,
    /// The messages, oldest first; also hidden ones.
    messages: Vec<StoryMessage>,
}

/// Makes these messages the path of a chat. A chat that is not there is made. Messages that are
/// not among them stay as branches. Which of them are hidden is taken over.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/chats/{chat}/path", tag = "chats",
    params(("chat" = String, Path, description = "The chat's id")),
    request_body = ShownPath,
    responses((status = 200, body = ChatWrote))
))]
async fn set_path(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Json(shown): Json<ShownPath>,
) -> Result<Tagged<ChatWrote>, Problem> {
    if !is_chat_name(&chat) {
        return Err(Problem::value("chat", CHAT_NAMES, chat));
    }
    let (chat, tenant, now) = (ChatId(chat), &caller.tenant, app.clock.now());
    app.turns.late.settled(&chat).await;
    let story = Story::of(chat.clone(), shown.messages.iter().map(StoryMessage::message));
    let first = || shown.messages.first().map(|one| one.content.chars().take(60).collect());
    let record = if let Some(record) = app.store.chat(tenant, &chat).await? {
        record
    } else {
        let title = shown.title.clone().or_else(first).unwrap_or_default();
        app.store.open_chat(tenant, &chat, &title, now).await?
    };
    if story.items().is_empty() {
        if record.tip != PrefixHash::default() {
            let (tip, version) = (PrefixHash::default(), Some(record.version));
            app.store.move_tip(tenant, &chat, tip, version, now).await?;
        }
    } else if story.prefix() != record.tip {
        app.store.commit_path(tenant, &story, Some(record.version), now).await?;
    }
    hide(&app, tenant, &story).await?;
    wrote(&app, &caller, &chat, record.version, story.prefix()).await
}

/// Takes over which messages of a path are hidden.
async fn hide(app: &App, tenant: &TenantId, story: &Story) -> Result<(), Problem> {
    let (documents, chat) = (app.store.as_ref(), story.chat());
    if story.items().is_empty() {
        return Ok(());
    }
    let before = documents.revision(tenant).await?;
    let mut metadata = ChatMetadata::read(documents, tenant, chat).await?;
    let known = metadata.clone();
    let stored = app.store.path(tenant, chat, story.prefix()).await?;
    for (node, item) in stored.iter().zip(story.items()) {
        metadata.set_hidden(node.message_id, node.message.hidden, item.message.hidden);
    }
    if metadata != known {
        metadata.write(documents, (tenant, chat), before, app.clock.now()).await?;
        app.sync.take_up().await?;
    }
    Ok(())
}
