//! Entries of all books, as a table and one by one.

use axum::extract::State;
use loreloom_core::{
    ids::{BookId, EntryId, LibraryVersion},
    library::Dialect,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    caller::Caller,
    entry_json,
    extract::{Path, Query},
    paging::{self, Page},
    problem::Problem,
    routes::routes,
    tags::Tagged,
};
use crate::{
    app::App,
    catalog::{self, CatalogFacts, EntryRow, Filter, Fires, Order, Row, Subject},
};

routes! {
    GET "/lore/entries" => list,
    GET "/lore/entries/{entry}" => one,
}

/// Which entries.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct EntriesParams {
    /// A filter such as `key:bell book:reach -is:disabled tokens>200 lint:any changed:7d
    /// cracked`.
    f: Option<String>,
    /// `book`, `title`, `tokens`, `order` or `fired`; with `-` before it, the other way
    /// round.
    #[cfg_attr(feature = "schema", param(pattern = "^-?(book|title|tokens|order|fired)$"))]
    sort: Option<String>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// A page of the table of entries.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct EntriesView {
    /// The compiled books that the table shows.
    library: LibraryVersion,
    /// The rows.
    #[serde(flatten)]
    page: Page<EntryRow>,
}

/// All entries of all books, and the notes of vaults, as rows.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/lore/entries", tag = "entries", params(EntriesParams),
    responses((status = 200, body = EntriesView))
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<EntriesParams>,
) -> Result<Tagged<EntriesView>, Problem> {
    let filter = Filter::parse(params.f.as_deref().unwrap_or_default())
        .map_err(|error| Problem::value("f", error.rule, error.term))?;
    let order = match params.sort.as_deref() {
        Some(sort) => {
            let rule = "must be `book`, `title`, `tokens`, `order` or `fired`";
            Order::parse(sort).ok_or_else(|| Problem::value("sort", rule, sort))?
        }
        None => Order::default(),
    };
    app.sync.take_up().await?;
    let lore = app.lore.current();
    let known = CatalogFacts::gather(&app, &caller.tenant, &lore, &filter).await?;
    let rows = catalog::rows(&lore).into_iter();
    let rows = rows.filter(|row| filter.fits(row, &known));
    let mut rows: Vec<((i64, String, i64), Row<'_>)> =
        rows.map(|row| (order.key(&row, &known), row)).collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    let page = paging::page(rows, params.cursor.as_deref(), params.limit, |row| row.0.clone())?;
    let page = page.map(|(_, row)| {
        row.shown(known.counter.as_ref(), known.fires(row.id), is_editable(&app, &row))
    });
    let library = lore.library().version();
    let mut tag = format!("{library}-{}", app.events.last());
    // What changed within a time is another table a moment later.
    if filter.spans().next().is_some() {
        tag = format!("{tag}-{}", app.clock.now().0);
    }
    Ok(Tagged { tag, body: EntriesView { library, page } })
}

/// Whether the entry's book can be changed.
fn is_editable(app: &App, row: &Row<'_>) -> bool {
    !row.is_note() && !app.lore.is_mounted(&BookId::from(row.book))
}

/// An entry with everything it says.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct EntryView {
    /// The row of the table.
    #[serde(flatten)]
    row: EntryRow,
    /// How its book is read; none for notes.
    dialect: Option<Dialect>,
    /// The entry; none for notes. Keys are texts as the format writes them: `/…/i` is a
    /// regular expression.
    #[cfg_attr(feature = "schema", schema(value_type = Option<loreloom_core::book::Entry>))]
    entry: Option<Value>,
    /// The text.
    content: String,
}

/// An entry as it is shown.
pub(super) async fn view(
    app: &App,
    caller: &Caller,
    id: &EntryId,
) -> Result<Tagged<EntryView>, Problem> {
    app.sync.take_up().await?;
    let firings = app.api.firings.count(app.store.as_ref(), &caller.tenant).await?;
    let fires: Fires = firings.get(id).copied().unwrap_or_default();
    let lore = app.lore.current();
    let found = catalog::rows(&lore).into_iter().find(|row| row.id == id);
    let row = found.ok_or_else(|| Problem::missing("entry", id.as_str()))?;
    let (dialect, entry) = match row.subject {
        Subject::Entry { entry, dialect } => (Some(dialect), Some(entry_json::shown(entry))),
        Subject::Note(_) => (None, None),
    };
    let content = row.content().to_owned();
    let row = row.shown(app.connections.counter_of(None).as_ref(), fires, is_editable(app, &row));
    Ok(Tagged { tag: row.version.clone(), body: EntryView { row, dialect, entry, content } })
}

/// One entry.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/lore/entries/{entry}", tag = "entries",
    params(("entry" = String, Path, description = "The entry's id, its slash written as %2F")),
    responses((status = 200, body = EntryView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(entry): Path<String>,
) -> Result<Tagged<EntryView>, Problem> {
    view(&app, &caller, &EntryId(entry)).await
}
