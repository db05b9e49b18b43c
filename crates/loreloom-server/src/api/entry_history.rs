//! What became of an entry, revision by revision.

use std::cmp::Reverse;

use axum::extract::State;
use loreloom_core::ids::{BookVersion, EntryId};
use serde::Serialize;
use serde_json::Value;

use super::{
    caller::Caller,
    editing::{Editing, undo_of},
    entry_json,
    extract::{Json, Path, Query},
    paging::{self, Page, PageParams},
    problem::Problem,
    routes::routes,
};
use crate::{
    app::App,
    catalog::{maker, version_of},
    stored_books::Maker,
};

routes! {
    GET "/lore/entries/{entry}/history" => history,
}

/// A version of an entry.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct EntryVersion {
    /// The revision that made it.
    revision: u64,
    /// Takes that revision back, as `POST /undo` takes it.
    undo: String,
    /// When, in milliseconds since 1970.
    created: i64,
    /// The revision that it took back.
    undoes: Option<u64>,
    /// Who made it, be it brought back by an undo; none if that was not recorded.
    by: Option<Maker>,
    /// Its version; none if it was taken out.
    version: Option<String>,
    /// The entry as it became; none if it was taken out.
    #[cfg_attr(feature = "schema", schema(value_type = Option<loreloom_core::book::Entry>))]
    entry: Option<Value>,
}

/// How far back revisions are read.
const MOST: u32 = 10_000;

/// All versions of an entry, newest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/lore/entries/{entry}/history", tag = "entries",
    params(
        ("entry" = String, Path, description = "The entry's id, its slash written as %2F"),
        PageParams
    ),
    responses((status = 200, body = Page<EntryVersion>))
))]
async fn history(
    State(app): State<App>,
    caller: Caller,
    Path(entry): Path<String>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<EntryVersion>>, Problem> {
    let (id, tenant) = (EntryId(entry), &caller.tenant);
    let book = Editing { app: &app, tenant }.book_of(&id).await?;
    let key = format!("book/{book}");
    let mut revisions = app.store.revisions(tenant, None, MOST).await?;
    revisions.reverse();
    let mut items: Vec<EntryVersion> = Vec::new();
    for revision in revisions {
        let Some(change) = revision.changes.iter().find(|change| change.key == key) else {
            continue;
        };
        let version = change.after.as_ref().and_then(|shelved| shelved["version"].as_str());
        let kept = match version.and_then(|version| version.parse::<BookVersion>().ok()) {
            Some(version) => app.store.book(tenant, version).await?,
            None => None,
        };
        let entry = kept.and_then(|book| book.entries.into_iter().find(|entry| entry.id == id));
        let version = entry.as_ref().map(version_of);
        let before = items.last().and_then(|last| last.version.clone());
        if version == before {
            continue;
        }
        // An undo takes a whole book back: what comes back with this entry is as old as it was.
        let by = match revision.undoes {
            Some(_) => items.iter().rfind(|one| one.version == version).and_then(|one| one.by),
            None => maker(change.after.as_ref()),
        };
        items.push(EntryVersion {
            revision: revision.number,
            undo: undo_of(revision.number),
            created: revision.created.0,
            undoes: revision.undoes,
            by,
            version,
            entry: entry.as_ref().map(entry_json::shown),
        });
    }
    items.reverse();
    let key = |version: &EntryVersion| Reverse(version.revision);
    Ok(Json(paging::page(items, params.cursor.as_deref(), params.limit, key)?))
}
