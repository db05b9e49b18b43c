//! Taking writes back, whatever they wrote.

use axum::extract::State;
use loreloom_core::ids::ChatId;
use loreloom_ports::{Changed, MemoryWriteId, Revision, StoreError, WriteId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    caller::Caller,
    editing::undo_of,
    extract::{Json, Query},
    notes::{self, NOTES},
    paging::{self, Page},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App, events::ServerEvent, own_connections::CONNECTIONS, routing::ROUTES,
    scoped_settings::is_chat_settings, vaults::VAULTS,
};

routes! {
    POST "/undo" => undo,
    GET "/revisions" => revisions,
}

/// Names a write of a chat for `POST /undo`.
pub(super) fn of_chat(chat: &ChatId, version: u64) -> String {
    format!("chat.{version}.{chat}")
}

/// Names a write of memory for `POST /undo`.
pub(super) fn of_memory(write: &MemoryWriteId) -> String {
    format!("memory.{write}")
}

/// What an undo names.
enum UndoTarget {
    Documents(u64),
    Chat(ChatId, WriteId),
    Memory(MemoryWriteId),
}

impl UndoTarget {
    fn parse(undo: &str) -> Option<Self> {
        let (kind, rest) = undo.split_once('.')?;
        match kind {
            "desk" => rest.parse().ok().map(Self::Documents),
            "memory" if !rest.is_empty() => Some(Self::Memory(MemoryWriteId(rest.to_owned()))),
            "chat" => {
                let (version, chat) = rest.split_once('.')?;
                Some(Self::Chat(chat.into(), WriteId(version.parse().ok()?)))
            }
            _ => None,
        }
    }
}

/// A write to take back.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Undo))]
struct UndoBody {
    /// The `undo` that the write was answered with.
    #[cfg_attr(
        feature = "schema",
        schema(pattern = r"^(desk\.\d+|memory\.[0-9a-f]+|chat\.\d+\..+)$")
    )]
    undo: String,
}

/// A write that was taken back.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Undone {
    /// Does it again, as `POST /undo` takes it.
    undo: String,
}

/// Takes a write back. What it answers with does the write again.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/undo", tag = "system", request_body = UndoBody,
    responses((status = 200, body = Undone))
))]
async fn undo(
    State(app): State<App>,
    caller: Caller,
    Json(UndoBody { undo }): Json<UndoBody>,
) -> Result<Json<Undone>, Problem> {
    let rule = "must be the `undo` of a write";
    let write =
        UndoTarget::parse(&undo).ok_or_else(|| Problem::value("undo", rule, undo.as_str()))?;
    let now = app.clock.now();
    let undo = match write {
        UndoTarget::Documents(revision) => {
            if administers(&app, &caller, revision).await? {
                caller.must_administer()?;
            }
            let changes = changes_of(&app, &caller, revision).await?;
            if let Some(made) = notes::undo(&app, &caller, &changes).await? {
                return Ok(Json(Undone { undo: undo_of(made) }));
            }
            let made = app.store.undo(&caller.tenant, revision, now).await?;
            app.sync.take_up().await?;
            undo_of(made)
        }
        UndoTarget::Chat(chat, write) => {
            let record = app.store.take_back(&caller.tenant, &chat, write, now).await?;
            let version = record.version;
            let happened = ServerEvent::Chat { chat: chat.to_string(), version };
            app.events.tell(&caller.tenant, happened);
            of_chat(&chat, version)
        }
        UndoTarget::Memory(write) => {
            let memory = app.memory.as_ref().ok_or_else(no_memory)?;
            let made = memory.edits.undo(&caller.tenant, &write).await?;
            let happened = ServerEvent::Memory { write: made.to_string() };
            app.events.tell(&caller.tenant, happened);
            of_memory(&made)
        }
    };
    Ok(Json(Undone { undo }))
}

/// What only administrators change: names of its documents begin so.
const ADMINISTERED: [&str; 5] = ["settings", VAULTS, CONNECTIONS, ROUTES, NOTES];

/// Whether a revision changed what only administrators may.
async fn administers(app: &App, caller: &Caller, revision: u64) -> Result<bool, StoreError> {
    let is_theirs = |key: &str| {
        !is_chat_settings(key) && ADMINISTERED.iter().any(|prefix| key.starts_with(prefix))
    };
    Ok(changes_of(app, caller, revision).await?.iter().any(|change| is_theirs(&change.key)))
}

/// What a revision changed; nothing if there is none of that number.
async fn changes_of(app: &App, caller: &Caller, revision: u64) -> Result<Vec<Changed>, StoreError> {
    let found = app.store.revisions(&caller.tenant, revision.checked_add(1), 1).await?;
    let found = found.into_iter().find(|one| one.number == revision);
    Ok(found.map(|one| one.changes).unwrap_or_default())
}

pub(super) fn no_memory() -> Problem {
    Problem::new(Code::SwitchedOff, "memory is switched off on this server")
}

/// A change of books, rules or settings.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RevisionView {
    /// Its number.
    number: u64,
    /// Takes it back, as `POST /undo` takes it.
    undo: String,
    /// When, in milliseconds since 1970.
    created: i64,
    /// The revision that it took back.
    undoes: Option<u64>,
    /// What was changed.
    changes: Vec<ChangedView>,
}

/// A thing that was changed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ChangedView {
    /// Its name: `book/ID`, `rules`, `settings`, `connection/NAME`, `routes`, `note/VAULT:PATH`.
    pub(super) key: String,
    /// What it was; `null` if it was not there.
    pub(super) before: Option<Value>,
    /// What it became; `null` if it was taken away.
    pub(super) after: Option<Value>,
}

impl ChangedView {
    /// Where vaults and connections are is for those who may say so; secrets are for nobody.
    pub(super) fn of(change: Changed, administers: bool) -> Self {
        let change = notes::shown(change);
        let theirs =
            [VAULTS, CONNECTIONS, NOTES].iter().any(|prefix| change.key.starts_with(prefix));
        let hidden = change.key.starts_with("secret") || (theirs && !administers);
        let shown = |value: Option<Value>| value.filter(|_| !hidden);
        Self { before: shown(change.before), after: shown(change.after), key: change.key }
    }
}

impl RevisionView {
    fn of(revision: Revision, administers: bool) -> Self {
        let Revision { number, created, undoes, changes } = revision;
        let changes = changes.into_iter().map(|one| ChangedView::of(one, administers));
        let undo = undo_of(number);
        Self { number, undo, created: created.0, undoes, changes: changes.collect() }
    }
}

/// Which changes.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct RevisionsParams {
    /// Only changes of things whose names begin so: `book/reach`, `rules`, `settings`.
    key: Option<String>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// Changes of books, rules and settings, newest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/revisions", tag = "system", params(RevisionsParams),
    responses((status = 200, body = Page<RevisionView>))
))]
async fn revisions(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<RevisionsParams>,
) -> Result<Json<Page<RevisionView>>, Problem> {
    let mut revisions = app.store.revisions(&caller.tenant, None, u32::MAX).await?;
    if let Some(key) = &params.key {
        revisions.retain(|one| one.changes.iter().any(|change| change.key.starts_with(key)));
    }
    let key = |one: &Revision| std::cmp::Reverse(one.number);
    let page = paging::page(revisions, params.cursor.as_deref(), params.limit, key)?;
    let administers = caller.must_administer().is_ok();
    Ok(Json(page.map(|revision| RevisionView::of(revision, administers))))
}
