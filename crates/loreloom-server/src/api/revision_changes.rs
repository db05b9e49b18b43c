//! What a revision changed, field by field.
//!
//! Books are compared entry by entry; other documents as JSON. It is computed when somebody asks:
//! reading two versions of a book costs more than a line of the list.

use axum::extract::State;
use loreloom_core::{
    book::Book,
    ids::{BookVersion, TenantId},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    batch::{EntryChange, FieldChange, differ},
    caller::Caller,
    extract::{Json, Path},
    problem::Problem,
    routes::routes,
    undoing::ChangedView,
};
use crate::app::App;

routes! {
    GET "/revisions/{number}/changes" => changes,
}

/// What a revision did to one document.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct DocumentChange {
    /// Its name: `book/ID`, `settings`, `character/ID` and others.
    key: String,
    /// Whether it is new.
    added: bool,
    /// Whether it was taken away.
    removed: bool,
    /// The entries of a book that differ.
    entries: Vec<EntryChange>,
    /// The other fields that differ.
    fields: Vec<FieldChange>,
}

/// What a revision changed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RevisionChanges {
    /// Its number.
    number: u64,
    /// What differs, document by document.
    items: Vec<DocumentChange>,
}

/// What a revision changed, field by field.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/revisions/{number}/changes", tag = "system",
    params(("number" = u64, Path, description = "The revision's number")),
    responses((status = 200, body = RevisionChanges))
))]
async fn changes(
    State(app): State<App>,
    caller: Caller,
    Path(number): Path<u64>,
) -> Result<Json<RevisionChanges>, Problem> {
    let found = app.store.revisions(&caller.tenant, number.checked_add(1), 1).await?;
    let missing = || Problem::missing("revision", &number.to_string());
    let found = found.into_iter().find(|one| one.number == number).ok_or_else(missing)?;
    let administers = caller.must_administer().is_ok();
    let mut items = Vec::new();
    for change in found.changes {
        let (added, removed) = (change.before.is_none(), change.after.is_none());
        let ChangedView { key, before, after } = ChangedView::of(change, administers);
        let mut item =
            DocumentChange { key, added, removed, entries: Vec::new(), fields: Vec::new() };
        if item.key.starts_with("book/") {
            let old = book(&app, &caller.tenant, before.as_ref()).await?;
            let new = book(&app, &caller.tenant, after.as_ref()).await?;
            item.entries = EntryChange::between(old.as_ref(), new.as_ref());
        }
        if let (Some(before), Some(after)) = (&before, &after) {
            differ("", before, after, &mut item.fields);
            // What these say about a book, its entries say better.
            item.fields.retain(|one| !matches!(one.field.as_str(), "version" | "by"));
        }
        items.push(item);
    }
    Ok(Json(RevisionChanges { number, items }))
}

/// The version of a book that a document names, where it is kept.
async fn book(
    app: &App,
    tenant: &TenantId,
    document: Option<&Value>,
) -> Result<Option<Book>, Problem> {
    let version = document.and_then(|one| one["version"].as_str());
    match version.and_then(|version| version.parse::<BookVersion>().ok()) {
        Some(version) => Ok(app.store.book(tenant, version).await?),
        None => Ok(None),
    }
}
