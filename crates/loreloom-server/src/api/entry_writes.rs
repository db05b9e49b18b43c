//! Writing entries, one at a time.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::{
    book::{Book, Entry},
    ids::{BookId, EntryId},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    editing::{Editing, Wrote},
    entries::{self, EntryView},
    entry_json,
    extract::{Json, Path},
    problem::Problem,
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{app::App, catalog::version_of};

routes! {
    POST "/lore/entries" => create,
    PATCH "/lore/entries/{entry}" versioned => change,
    DELETE "/lore/entries/{entry}" versioned => remove,
}

/// A new entry.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewEntry {
    /// The book it is for.
    book: BookId,
    /// Its fields; those not given have their defaults. Its id is given by the server.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    entry: Map<String, Value>,
}

/// An entry's fields to change (RFC 7396): what is given replaces what is there.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "schema", schema(value_type = Object))]
struct EntryPatch(Map<String, Value>);

/// An id that no entry of the book has.
pub(super) fn free_id(book: &Book) -> EntryId {
    let numbers = (book.entries.len()..).map(|number| EntryId(format!("{}/{number}", book.id)));
    let mut free = numbers.filter(|id| book.entries.iter().all(|entry| entry.id != *id));
    free.next().unwrap_or_else(|| EntryId(format!("{}/new", book.id)))
}

pub(super) fn find<'book>(
    book: &'book mut Book,
    id: &EntryId,
) -> Result<&'book mut Entry, Problem> {
    let found = book.entries.iter_mut().find(|entry| entry.id == *id);
    found.ok_or_else(|| Problem::missing("entry", id.as_str()))
}

/// Adds an entry to a book, at its end.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/lore/entries", tag = "entries", request_body = NewEntry,
    responses((status = 201, body = Wrote<EntryView>))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewEntry>,
) -> Result<Response, Problem> {
    let editing = Editing { app: &app, tenant: &caller.tenant };
    let done = editing.book(&new.book, |book| {
        let entry = Entry::new(free_id(book));
        let entry = entry_json::patched(&entry, &new.entry)?;
        let id = entry.id.clone();
        book.entries.push(entry);
        Ok(id)
    });
    let done = done.await?;
    let Tagged { tag, body } = entries::view(&app, &caller, &done.made).await?;
    let answer = Tagged { tag, body: done.with(body) };
    let mut response = answer.into_response();
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Changes fields of an entry.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/lore/entries/{entry}", tag = "entries",
    params(
        ("entry" = String, Path, description = "The entry's id, its slash written as %2F"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = EntryPatch,
    responses((status = 200, body = Wrote<EntryView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(entry): Path<String>,
    seen: IfMatch,
    Json(EntryPatch(patch)): Json<EntryPatch>,
) -> Result<Tagged<Wrote<EntryView>>, Problem> {
    let (id, editing) = (EntryId(entry), Editing { app: &app, tenant: &caller.tenant });
    let book = editing.book_of(&id).await?;
    let done = editing.book(&book, |book| {
        let entry = find(book, &id)?;
        seen.check(&version_of(entry))?;
        *entry = entry_json::patched(entry, &patch)?;
        Ok(())
    });
    let done = done.await?;
    let Tagged { tag, body } = entries::view(&app, &caller, &id).await?;
    Ok(Tagged { tag, body: done.with(body) })
}

/// An entry that was taken out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Removed {
    /// Its id.
    id: EntryId,
}

/// Takes an entry out of its book.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/lore/entries/{entry}", tag = "entries",
    params(
        ("entry" = String, Path, description = "The entry's id, its slash written as %2F"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<Removed>))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(entry): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<Removed>>, Problem> {
    let (id, editing) = (EntryId(entry), Editing { app: &app, tenant: &caller.tenant });
    let book = editing.book_of(&id).await?;
    let done = editing.book(&book, |book| {
        seen.check(&version_of(find(book, &id)?))?;
        book.entries.retain(|entry| entry.id != id);
        Ok(())
    });
    let done = done.await?;
    Ok(Json(done.with(Removed { id })))
}
