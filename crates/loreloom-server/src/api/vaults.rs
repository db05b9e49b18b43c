//! Vaults: folders of notes that the server was started with.

use axum::extract::State;
use loreloom_core::vault::{Severity, inspect_use};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{caller::Caller, extract::Json, problem::Problem};
use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(lint))
}

/// A vault.
#[derive(Debug, Serialize, ToSchema)]
struct VaultView {
    /// Its name; empty where there is only one.
    name: String,
    /// How many notes it has.
    notes: usize,
    /// Tokens of all their texts.
    tokens: u64,
}

/// All vaults.
#[derive(Debug, Serialize, ToSchema)]
struct VaultsView {
    /// The vaults. Which there are is said when the server is started.
    items: Vec<VaultView>,
}

/// The vaults whose notes are in use. Their notes are in the table of entries.
#[utoipa::path(get, path = "/vaults", tag = "books", responses((status = 200, body = VaultsView)))]
async fn list(State(app): State<App>, _caller: Caller) -> Json<VaultsView> {
    let lore = app.stacks.lore();
    let mut items: Vec<VaultView> = Vec::new();
    for note in &lore.shelf().notes {
        let at = items.iter().position(|vault| vault.name == note.vault);
        let at = at.unwrap_or_else(|| {
            items.push(VaultView { name: note.vault.clone(), notes: 0, tokens: 0 });
            items.len() - 1
        });
        items[at].notes += 1;
        items[at].tokens += u64::from(note.tokens.0);
    }
    Json(VaultsView { items })
}

/// Something odd about lore.
#[derive(Debug, Serialize, ToSchema)]
struct LintFinding {
    /// The book or vault.
    book: String,
    /// The entry or note; none where it is about the whole.
    entry: Option<String>,
    /// What people call it.
    title: String,
    /// How much it matters: `error`, `warning` or `hint`.
    severity: Severity,
    /// What it is.
    code: String,
    /// The same with its parameters.
    #[schema(value_type = Object)]
    parameters: Value,
}

/// What is odd.
#[derive(Debug, Serialize, ToSchema)]
struct LintView {
    /// The findings.
    items: Vec<LintFinding>,
}

/// Looks for mistakes in all lore: keys that never match, entries without keys or text, notes
/// that shut themselves out.
#[utoipa::path(get, path = "/lint", tag = "entries", responses((status = 200, body = LintView)))]
async fn lint(State(app): State<App>, caller: Caller) -> Result<Json<LintView>, Problem> {
    app.take_up(&caller.tenant).await?;
    let lore = app.stacks.lore();
    let library = lore.library();
    let books = loreloom_core::book::lint(library).into_iter().map(|finding| LintFinding {
        book: finding.book.to_string(),
        entry: finding.entry.map(|id| id.0),
        title: finding.title,
        severity: finding.severity,
        code: finding.kind.code().to_owned(),
        parameters: serde_json::to_value(&finding.kind).unwrap_or_default(),
    });
    let notes: Vec<_> = lore.shelf().notes.iter().map(|note| (**note).clone()).collect();
    let issues = inspect_use(&notes, &lore.rules().vault);
    let notes = issues.into_iter().map(|issue| {
        let parameters = serde_json::to_value(&issue.kind).unwrap_or_default();
        let code = parameters["code"].as_str().unwrap_or_default().to_owned();
        let severity = issue.kind.severity();
        let note = lore.shelf().notes.iter().find(|note| note.title == issue.title);
        LintFinding {
            book: note.map(|note| note.vault.clone()).unwrap_or_default(),
            entry: note.map(|note| note.id().0),
            title: issue.title,
            severity,
            code,
            parameters,
        }
    });
    Ok(Json(LintView { items: books.chain(notes).collect() }))
}
