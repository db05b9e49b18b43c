//! Chats: the list, one of them, its path with what was woven, its tree.

use crate::past::stored::StoredChat;
use axum::extract::State;
use loreloom_core::{
    chat::{GenerationType, PathItem, Role},
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    report::BudgetUse,
    units::Timestamp,
};
use loreloom_memory::service::{StoryEvent, StoryEvents};
use loreloom_ports::{ChatRecord, ChatSummary, MemoryError, Node, StoreError, TurnId, TurnSummary};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    paging::{self, Page},
    problem::Problem,
    routes::routes,
    tags::Tagged,
    threads::{Thread, threads},
};
use crate::{
    app::App,
    chat_metadata::{AllChatMetadata, ChatMetadata},
    play,
};

routes! {
    GET "/chats" => list,
    GET "/chats/{chat}" => one,
    GET "/chats/{chat}/path" => path,
    GET "/chats/{chat}/tree" => tree,
}

/// A chat.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct ChatView {
    /// Its id.
    id: ChatId,
    /// Its name.
    title: String,
    /// The node the story is at; all zeros before the first message.
    tip: PrefixHash,
    /// When it was made, in milliseconds since 1970.
    created: Timestamp,
    /// When it last changed.
    updated: Timestamp,
    /// Grows with every write.
    version: u64,
    /// Messages on the current path.
    messages: u64,
    /// Turns of all branches.
    turns: u64,
    /// Words to find it by.
    tags: Vec<String>,
    /// Whether it is put away.
    archived: bool,
}

impl ChatView {
    pub(super) fn of(record: ChatRecord, messages: u64, turns: u64) -> Self {
        let ChatRecord { id, title, tip, created, updated, version } = record;
        let (tags, archived) = (Vec::new(), false);
        Self { id, title, tip, created, updated, version, messages, turns, tags, archived }
    }

    /// The chat with what was said about it.
    fn said(self, metadata: Option<&ChatMetadata>) -> Self {
        let Some(ChatMetadata { tags, archived, .. }) = metadata else { return self };
        Self { tags: tags.clone(), archived: *archived, ..self }
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }
}

/// Which chats.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct ChatsParams {
    /// Only chats whose name, id or tags contain this, whatever its case.
    q: Option<String>,
    /// Only the chat that requests call by this name: its id, or the name that a story got which
    /// began without one.
    called: Option<String>,
    /// The deleted ones instead of the others.
    #[serde(default)]
    deleted: bool,
    /// Those that are put away instead of the others.
    #[serde(default)]
    archived: bool,
    /// Only chats with this tag.
    tag: Option<String>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// All chats, last changed first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats", tag = "chats", params(ChatsParams),
    responses((status = 200, body = Page<ChatView>))
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<ChatsParams>,
) -> Result<Json<Page<ChatView>>, Problem> {
    let mut chats = caller.chats(&app, params.deleted).await?;
    let said = AllChatMetadata::read(app.store.as_ref(), &caller.tenant).await?;
    chats.retain(|one| {
        let metadata = said.of(&one.chat.id);
        let archived = metadata.is_some_and(|metadata| metadata.archived);
        let tagged = params.tag.as_ref().is_none_or(|tag| {
            metadata.is_some_and(|metadata| metadata.tags.iter().any(|own| own == tag))
        });
        tagged && (params.deleted || archived == params.archived)
    });
    if let Some(name) = params.called {
        let id = app.turns.recogniser.id_called(&name).unwrap_or_else(|| name.into());
        chats.retain(|one| one.chat.id == id);
    }
    if let Some(wanted) = params.q.as_deref().map(str::to_lowercase) {
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        chats.retain(|one| {
            let metadata = said.of(&one.chat.id);
            let mut tags = metadata.into_iter().flat_map(|metadata| &metadata.tags);
            has(&one.chat.title) || has(one.chat.id.as_str()) || tags.any(|tag| has(tag))
        });
    }
    let key = |one: &ChatSummary| (-one.chat.updated.0, one.chat.id.0.clone());
    chats.sort_by_key(key);
    let page = paging::page(chats, params.cursor.as_deref(), params.limit, key)?;
    Ok(Json(page.map(|one| {
        let metadata = said.of(&one.chat.id);
        ChatView::of(one.chat, one.messages, one.turns).said(metadata)
    })))
}

/// One chat.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}", tag = "chats", params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = ChatView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Tagged<ChatView>, Problem> {
    view(&app, &caller.tenant, &chat.into()).await
}

/// A chat with its counts.
pub(super) async fn view(
    app: &App,
    tenant: &TenantId,
    chat: &ChatId,
) -> Result<Tagged<ChatView>, Problem> {
    let mut chat = StoredChat::read(app.store.as_ref(), tenant, chat).await?;
    let (messages, turns) = (chat.nodes.len() as u64, chat.turns.len() as u64);
    let metadata = ChatMetadata::read(app.store.as_ref(), tenant, &chat.record.id).await?;
    metadata.name(&mut chat.record);
    let tag = metadata.tag(chat.record.version);
    Ok(Tagged { tag, body: ChatView::of(chat.record, messages, turns).said(Some(&metadata)) })
}

/// The version of a chat and of its metadata.
pub(super) async fn tag(
    app: &App,
    tenant: &TenantId,
    chat: &ChatRecord,
) -> Result<String, StoreError> {
    let metadata = ChatMetadata::read(app.store.as_ref(), tenant, &chat.id).await?;
    Ok(metadata.tag(chat.version))
}

/// A turn as a message of the path shows it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct TurnBrief {
    /// Its number in the chat.
    id: TurnId,
    /// What was asked for.
    generation: GenerationType,
    /// When.
    created: Timestamp,
    /// The node of the reply, once it is there.
    reply: Option<PrefixHash>,
    /// Whether its prompt and verdicts were given up to save space: then `threads` is empty.
    trimmed: bool,
    /// What was woven in, carried on or cut.
    threads: Vec<Thread>,
    /// How the pools used their budgets.
    budgets: Vec<BudgetUse>,
}

/// A message of a path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct PathMessage {
    /// Its number on the path, from 1.
    number: usize,
    /// The node: names the story up to here.
    node: PrefixHash,
    /// The id of the message, the same on all branches.
    message: MessageId,
    /// Who speaks.
    role: Role,
    /// The speaker's name.
    name: Option<String>,
    /// What is said.
    text: String,
    /// Whether the model does not see it.
    hidden: bool,
    /// Whether it is a narrator's line.
    narrator: bool,
    /// All versions of this message, itself among them: the swipes.
    versions: Vec<PrefixHash>,
    /// The turn that was computed on it.
    turn: Option<TurnBrief>,
    /// The turn that it is the reply to.
    reply_to: Option<TurnId>,
    /// What happened to memories at it: those of the chat and of all who speak in it.
    memory: Vec<StoryEvent>,
}

/// A part of a path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct PathView {
    /// The chat.
    chat: ChatId,
    /// The chat's version.
    version: u64,
    /// The end of the path.
    tip: PrefixHash,
    /// Whether the path ends where the story is.
    current: bool,
    /// Messages on the whole path.
    total: usize,
    /// The messages, oldest first.
    messages: Vec<PathMessage>,
    /// Asks for the messages before these, as `before`; none at the beginning.
    before: Option<usize>,
}

/// Which part of which path.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct PathParams {
    /// The node the path ends at; where the story is without it.
    #[cfg_attr(feature = "schema", param(pattern = "^[0-9a-f]{32}$", value_type = Option<String>))]
    tip: Option<PrefixHash>,
    /// Only messages before this number.
    #[cfg_attr(feature = "schema", param(minimum = 1))]
    before: Option<usize>,
    /// The most messages; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// The messages up to a node with what was woven in at each, newest part first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/path", tag = "chats",
    params(("chat" = String, Path, description = "The chat's id"), PathParams),
    responses((status = 200, body = PathView))
))]
async fn path(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<PathParams>,
) -> Result<Tagged<PathView>, Problem> {
    let (store, chat) = (app.store.as_ref(), ChatId(chat));
    if params.before == Some(0) {
        return Err(Problem::value("before", "must be at least 1", 0));
    }
    let mut stored = StoredChat::up_to(store, &caller.tenant, &chat, params.tip).await?;
    let metadata = ChatMetadata::read(store, &caller.tenant, &chat).await?;
    metadata.show_all(&mut stored.nodes);
    let tree = store.tree(&caller.tenant, &chat).await?;
    let total = stored.nodes.len();
    let end = params.before.map_or(total, |before| before.saturating_sub(1).min(total));
    let start = end.saturating_sub(paging::length(params.limit)?);
    let mut happened = happenings(&app, &caller.tenant, &chat, &stored.nodes).await?;
    let mut messages = Vec::with_capacity(end - start);
    for (at, node) in stored.nodes.iter().enumerate().take(end).skip(start) {
        let turn = match stored.turn_at(node.prefix) {
            Some(turn) => Some(brief(&app, &caller.tenant, &stored, turn).await?),
            None => None,
        };
        let memory = happened.at.remove(&node.message_id).unwrap_or_default();
        messages.push(PathMessage { memory, ..path_message(at + 1, node, &stored, &tree, turn) });
    }
    let tip = stored.nodes.last().map(|node| node.prefix).unwrap_or_default();
    let body = PathView {
        chat,
        version: stored.record.version,
        tip,
        current: tip == stored.record.tip,
        total,
        messages,
        before: (start > 0).then_some(start + 1),
    };
    // What is remembered grows without the chat.
    let tag = format!("{}-{tip}-{}", metadata.tag(stored.record.version), happened.seen);
    Ok(Tagged { tag, body })
}

/// What happened to memories at the messages of a path; nothing where memory is off.
async fn happenings(
    app: &App,
    tenant: &TenantId,
    chat: &ChatId,
    nodes: &[Node],
) -> Result<StoryEvents, MemoryError> {
    let Some(memory) = &app.memory else { return Ok(StoryEvents::default()) };
    let items: Vec<PathItem> = nodes
        .iter()
        .map(|node| PathItem {
            id: node.message_id,
            prefix: node.prefix,
            message: node.message.clone(),
        })
        .collect();
    StoryEvents::on_path(&memory.views, tenant, chat, &items).await
}

async fn brief(
    app: &App,
    tenant: &TenantId,
    chat: &StoredChat,
    turn: &TurnSummary,
) -> Result<TurnBrief, StoreError> {
    let record = chat.turn(app.store.as_ref(), tenant, turn.id).await?;
    let lore = app.lore.current();
    let vault = lore.library().vault();
    let is_note = |id: &_| vault.is_some_and(|vault| vault.find(id).is_some());
    Ok(TurnBrief {
        id: turn.id,
        generation: turn.generation,
        created: turn.created,
        reply: turn.reply,
        trimmed: turn.trimmed,
        threads: threads(&record, &record.report, is_note),
        budgets: record.report.budgets,
    })
}

fn path_message(
    number: usize,
    node: &Node,
    chat: &StoredChat,
    tree: &[Node],
    turn: Option<TurnBrief>,
) -> PathMessage {
    let versions = tree.iter().filter(|other| other.parent == node.parent);
    let reply_to = chat.answered(node);
    let message = node.message.clone();
    let narrator = play::is_narrator(&message);
    PathMessage {
        number,
        node: node.prefix,
        message: node.message_id,
        role: message.role,
        name: message.name,
        text: message.text.to_string(),
        hidden: message.hidden,
        narrator,
        versions: versions.map(|other| other.prefix).collect(),
        turn,
        reply_to: reply_to.map(|turn| turn.id),
        memory: Vec::new(),
    }
}

/// A node of the tree.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct TreeNode {
    /// Names the node.
    node: PrefixHash,
    /// The node before; all zeros for a first message.
    parent: PrefixHash,
    /// The message.
    message: MessageId,
    /// Its position on the path, from 1.
    number: usize,
    /// Who speaks.
    role: Role,
    /// The speaker's name.
    name: Option<String>,
    /// The beginning of the text.
    excerpt: String,
    /// Whether it is on the current path.
    current: bool,
    /// The turns that were computed on it.
    turns: Vec<TurnId>,
}

/// All branches of a chat.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct TreeView {
    /// The chat.
    chat: ChatId,
    /// The chat's version.
    version: u64,
    /// Where the story is.
    tip: PrefixHash,
    /// The nodes, parents before children.
    nodes: Vec<TreeNode>,
}

/// How many characters of a message the tree shows.
const EXCERPT: usize = 120;

/// The beginning of a text, with a mark where more follows.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// All branches of a chat.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/tree", tag = "chats", params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = TreeView))
))]
async fn tree(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Tagged<TreeView>, Problem> {
    let (store, chat) = (app.store.as_ref(), ChatId(chat));
    let stored = StoredChat::read(store, &caller.tenant, &chat).await?;
    let mut depths: FxHashMap<PrefixHash, usize> = FxHashMap::default();
    let mut nodes = Vec::new();
    for Node { prefix, parent, message_id, message } in store.tree(&caller.tenant, &chat).await? {
        let number = depths.get(&parent).map_or(1, |depth| depth + 1);
        depths.insert(prefix, number);
        nodes.push(TreeNode {
            node: prefix,
            parent,
            message: message_id,
            number,
            role: message.role,
            name: message.name,
            excerpt: beginning(&message.text),
            current: stored.nodes.iter().any(|node| node.prefix == prefix),
            turns: stored.turns_at(prefix).map(|turn| turn.id).collect(),
        });
    }
    let (version, tip) = (stored.record.version, stored.record.tip);
    Ok(Tagged { tag: version.to_string(), body: TreeView { chat, version, tip, nodes } })
}
