//! What a chat carries on: its notebooks, its scene, and the notes that are pinned or blocked.
//!
//! It belongs to the story's path. A change counts from the last message of the user on, also if
//! the last reply is asked for again, and not in other branches.

use axum::extract::State;
use loreloom_core::{
    dialects::vault::NoteMark, ids::ChatId, state::StoryState, turn::VaultContext,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    extract::{Json, Path},
    problem::Problem,
    routes::routes,
    tags::{IfMatch, Tagged},
    undoing,
};
use crate::{app::App, events::ServerEvent, state_edits::StateEdit};

routes! {
    GET "/chats/{chat}/notebooks" => notebooks,
    PATCH "/chats/{chat}/notebooks" versioned => write_notebooks,
    GET "/chats/{chat}/scene" => scene,
    PATCH "/chats/{chat}/scene" versioned => change_scene,
    PUT "/chats/{chat}/scene" versioned => replace_scene,
    DELETE "/chats/{chat}/scene" versioned => clear_scene,
}

/// The longest text of a notebook, in bytes.
const MOST_NOTEBOOK: usize = 64 << 10;
/// The most pins, blocks and folders.
const MOST_MARKS: usize = 1000;

/// The notebooks of a chat.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NotebooksView {
    /// What the author wrote.
    author: String,
    /// What the model noted, a line each.
    model: String,
}

/// Notebooks to write. What is not given stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct NotebooksPatch {
    /// The author's text; an empty one clears it.
    #[cfg_attr(feature = "schema", schema(max_length = 65536))]
    author: Option<String>,
    /// The model's notes; an empty text clears them.
    #[cfg_attr(feature = "schema", schema(max_length = 65536))]
    model: Option<String>,
}

/// The scene of a chat.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct SceneView {
    /// Era, place and other fields that notes of vaults ask for.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    fields: Map<String, Value>,
    /// Only notes in these folders are used; none means all folders.
    folders: Vec<String>,
    /// Notes that are always in.
    pins: Vec<MarkedNote>,
    /// Notes that are never in.
    blocks: Vec<MarkedNote>,
}

/// A note by its title, and by its vault if there are several.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct MarkedNote {
    /// The title, in any case.
    #[cfg_attr(feature = "schema", schema(min_length = 1))]
    title: String,
    /// The vault; any without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vault: Option<String>,
}

/// A scene to change. What is not given stays; lists are replaced.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct ScenePatch {
    /// Fields to set; `null` removes one.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    fields: Option<Map<String, Value>>,
    /// The folders.
    folders: Option<Vec<String>>,
    /// The pinned notes.
    pins: Option<Vec<MarkedNote>>,
    /// The blocked notes.
    blocks: Option<Vec<MarkedNote>>,
}

/// A change of what a chat carries on.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct StateWrote<T> {
    /// Takes the write back, as `POST /undo` takes it; none if nothing changed.
    undo: Option<String>,
    /// What the chat carries on now.
    item: T,
}

impl From<&StoryState> for NotebooksView {
    fn from(state: &StoryState) -> Self {
        let notebooks = &state.notebooks;
        Self { author: notebooks.author.clone(), model: notebooks.model.clone() }
    }
}

impl From<&StoryState> for SceneView {
    fn from(state: &StoryState) -> Self {
        let scene = &state.vault_context;
        let marks = |marks: &[NoteMark]| marks.iter().map(MarkedNote::from).collect();
        Self {
            fields: scene
                .context
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            folders: scene.folders.clone(),
            pins: marks(&scene.pins),
            blocks: marks(&scene.blocks),
        }
    }
}

impl From<&NoteMark> for MarkedNote {
    fn from(mark: &NoteMark) -> Self {
        Self { title: mark.title.clone(), vault: mark.vault.clone() }
    }
}

impl ScenePatch {
    /// The scene with these changes.
    fn over(self, before: &VaultContext) -> Result<VaultContext, Problem> {
        let mut scene = before.clone();
        if let Some(fields) = self.fields {
            for (name, value) in fields {
                if value.is_null() {
                    scene.context.retain(|known, _| *known != name);
                } else {
                    scene.context.insert(name, value);
                }
            }
        }
        let many = |name: &str, count: usize| {
            let rule = format!("must have at most {MOST_MARKS} items");
            if count > MOST_MARKS { Err(Problem::value(name, &rule, count)) } else { Ok(()) }
        };
        if let Some(folders) = self.folders {
            many("folders", folders.len())?;
            scene.folders = folders;
        }
        for (name, marks, target) in
            [("pins", self.pins, &mut scene.pins), ("blocks", self.blocks, &mut scene.blocks)]
        {
            let Some(marks) = marks else { continue };
            many(name, marks.len())?;
            if marks.iter().any(|mark| mark.title.trim().is_empty()) {
                return Err(Problem::value(name, "must name notes by their titles", ""));
            }
            let mark = |one: MarkedNote| NoteMark { title: one.title, vault: one.vault };
            *target = marks.into_iter().map(mark).collect();
        }
        Ok(scene)
    }
}

/// What a chat carries on at the end of its path.
async fn carried<T: for<'a> From<&'a StoryState>>(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
) -> Result<Tagged<T>, Problem> {
    let tag = caller.chat(app, chat).await?.version.to_string();
    let edit = StateEdit::open(app.store.as_ref(), &caller.tenant, chat).await?;
    Ok(Tagged { tag, body: T::from(&edit.newest) })
}

/// The answer to a change.
async fn wrote<T: for<'a> From<&'a StoryState>>(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    before: u64,
) -> Result<Tagged<StateWrote<T>>, Problem> {
    let version = caller.chat(app, chat).await?.version;
    if version != before {
        let happened = ServerEvent::Chat { chat: chat.to_string(), version };
        app.events.tell(&caller.tenant, happened);
    }
    // Two writes cannot be taken back with one undo.
    let undo = (version == before + 1).then(|| undoing::of_chat(chat, version));
    let Tagged { tag, body } = carried(app, caller, chat).await?;
    Ok(Tagged { tag, body: StateWrote { undo, item: body } })
}

/// The notebooks of a chat.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/notebooks", tag = "chats",
    params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = NotebooksView))
))]
async fn notebooks(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Tagged<NotebooksView>, Problem> {
    carried(&app, &caller, &ChatId(chat)).await
}

/// Writes the notebooks of a chat.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/chats/{chat}/notebooks", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = NotebooksPatch,
    responses((status = 200, body = StateWrote<NotebooksView>))
))]
async fn write_notebooks(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(patch): Json<NotebooksPatch>,
) -> Result<Tagged<StateWrote<NotebooksView>>, Problem> {
    let chat = ChatId(chat);
    for (name, text) in [("author", &patch.author), ("model", &patch.model)] {
        if let Some(text) = text.as_ref().filter(|text| text.len() > MOST_NOTEBOOK) {
            let rule = format!("must have at most {MOST_NOTEBOOK} bytes");
            return Err(Problem::value(name, &rule, text.len()));
        }
    }
    let before = caller.chat(&app, &chat).await?.version;
    seen.check(&before.to_string())?;
    let now = app.clock.now();
    let edit = StateEdit::open(app.store.as_ref(), &caller.tenant, &chat).await?;
    if let Some(author) = patch.author {
        edit.keep(|state| state.notebooks.author.clone_from(&author), now).await?;
    }
    if let Some(model) = patch.model {
        // Replies add to it, so it is written where the next one does.
        let edit = StateEdit::open(app.store.as_ref(), &caller.tenant, &chat).await?;
        let mut after = edit.newest.clone();
        after.notebooks.model = model;
        edit.keep_at_end(&after, now).await?;
    }
    wrote(&app, &caller, &chat, before).await
}

/// The scene of a chat, with the notes that are pinned or blocked in it.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/scene", tag = "chats",
    params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = SceneView))
))]
async fn scene(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Tagged<SceneView>, Problem> {
    carried(&app, &caller, &ChatId(chat)).await
}

/// Changes the scene of a chat, its pins and its blocks.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/chats/{chat}/scene", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = ScenePatch,
    responses((status = 200, body = StateWrote<SceneView>))
))]
async fn change_scene(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(patch): Json<ScenePatch>,
) -> Result<Tagged<StateWrote<SceneView>>, Problem> {
    write_scene(&app, &caller, ChatId(chat), &seen, |before| patch.over(before)).await
}

/// Replaces the scene of a chat, its pins and its blocks. What is not given is empty then.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/chats/{chat}/scene", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = ScenePatch,
    responses((status = 200, body = StateWrote<SceneView>))
))]
async fn replace_scene(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(scene): Json<ScenePatch>,
) -> Result<Tagged<StateWrote<SceneView>>, Problem> {
    let replaced = |_: &VaultContext| scene.over(&VaultContext::default());
    write_scene(&app, &caller, ChatId(chat), &seen, replaced).await
}

/// Clears the scene of a chat: no fields, no folders, no pins and no blocks.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/chats/{chat}/scene", tag = "chats",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = StateWrote<SceneView>))
))]
async fn clear_scene(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
) -> Result<Tagged<StateWrote<SceneView>>, Problem> {
    let cleared = |_: &VaultContext| Ok(VaultContext::default());
    write_scene(&app, &caller, ChatId(chat), &seen, cleared).await
}

/// Writes the scene that `change` makes of the one before.
async fn write_scene(
    app: &App,
    caller: &Caller,
    chat: ChatId,
    seen: &IfMatch,
    change: impl FnOnce(&VaultContext) -> Result<VaultContext, Problem>,
) -> Result<Tagged<StateWrote<SceneView>>, Problem> {
    let before = caller.chat(app, &chat).await?.version;
    seen.check(&before.to_string())?;
    let edit = StateEdit::open(app.store.as_ref(), &caller.tenant, &chat).await?;
    let scene = change(&edit.newest.vault_context)?;
    edit.keep(|state| state.vault_context.clone_from(&scene), app.clock.now()).await?;
    wrote(app, caller, &chat, before).await
}
