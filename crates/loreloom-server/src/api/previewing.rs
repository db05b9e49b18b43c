//! A turn decided again with other rules, before they are saved.

use axum::extract::State;
use loreloom_core::{
    ids::{ChatId, EntryId, LibraryVersion},
    library::Shelf,
    place::Provenance,
    report::BudgetUse,
    rules::Rules,
};
use loreloom_memory::{past::again::Again, ports::TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    entry_json::merge,
    extract::{Json, Path, read_value},
    problem::{Code, Problem},
    threads::{Thread, of_report},
};
use crate::{app::App, prompt_map::PromptMap};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(preview))
}

/// What to try out.
#[derive(Debug, Deserialize, ToSchema)]
struct PreviewBody {
    /// Changes of the engine's rules (RFC 7396).
    #[serde(default)]
    #[schema(value_type = Object)]
    rules: Map<String, Value>,
}

/// A turn as it would be.
#[derive(Debug, Serialize, ToSchema)]
struct PreviewView {
    /// What would be woven in, carried on or cut.
    threads: Vec<Thread>,
    /// How the pools would use their budgets.
    budgets: Vec<BudgetUse>,
    /// The prompt, measured; `unchanged` compares it with the prompt that was sent.
    prompt: PromptMap,
}

/// Decides a past turn again with the books of its day and other rules. Nothing is stored.
#[utoipa::path(
    post, path = "/chats/{chat}/turns/{turn}/preview", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    request_body = PreviewBody,
    responses((status = 200, body = PreviewView))
)]
async fn preview(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
    Json(body): Json<PreviewBody>,
) -> Result<Json<PreviewView>, Problem> {
    app.take_up(&caller.tenant).await?;
    let looked = app.look_at(&caller.tenant, &ChatId(chat), TurnId(turn)).await?;
    let unknown = || Problem::new(Code::Conflict, "the books of the turn were not kept");
    let mut shelf =
        shelf_of(&app, &caller, looked.past.record.library).await?.ok_or_else(unknown)?;
    // What is changed are the rules that work now.
    shelf.rules = app.stacks.lore().rules().clone();
    let mut value = serde_json::to_value(&shelf.rules).unwrap_or_default();
    merge(&mut value, &Value::Object(body.rules));
    let rules: Result<Rules, Problem> = read_value(value);
    shelf.rules = rules.map_err(|problem| problem.inside("rules"))?;
    let counter = app.counter_of(looked.past.record.given.as_deref());
    let working = tokio::task::spawn_blocking(move || {
        let (past, sent) = (&looked.past, looked.past.record.prompt.as_slice());
        let unknown = || Problem::new(Code::Conflict, "what the turn was given was not kept");
        let given = past.record.given.as_deref().ok_or_else(unknown)?;
        let library = shelf.compile();
        let again = Again::decide(past, given, &library, &shelf.rules, counter.as_ref())?;
        let titles = |source: &Provenance| match source {
            Provenance::Lore { entry, .. } => library.title(entry).unwrap_or_default().to_owned(),
            Provenance::AuthorsNote => "authors_note".to_owned(),
            Provenance::Memory(slot) => slot.clone(),
        };
        let report = &again.woven.report;
        let vault = library.vault();
        let is_note = |id: &EntryId| vault.is_some_and(|vault| vault.find(id).is_some());
        let prompt =
            PromptMap::of(&again.messages, &report.spans, Some(sent), titles, counter.as_ref());
        Ok(PreviewView {
            threads: of_report(&again.woven.injections, report, is_note),
            budgets: report.budgets.clone(),
            prompt,
        })
    });
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    working.await.map_err(failed)?.map(Json)
}

/// The books of a version: who a book follows was decided by their places among them.
async fn shelf_of(
    app: &App,
    caller: &Caller,
    version: LibraryVersion,
) -> Result<Option<Shelf>, Problem> {
    let lore = app.stacks.lore();
    if lore.library().version() == version {
        return Ok(Some(lore.shelf().clone()));
    }
    Ok(app.store.library(&caller.tenant, version).await?)
}
