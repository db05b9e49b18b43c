//! Books, and what they are attached to.

use axum::extract::State;
use loreloom_core::{
    book::Folder,
    ids::{BookId, BookVersion},
    library::{Binding, BookRules, Dialect, Volume},
    rules::Rules,
};
use serde::Serialize;

use super::{caller::Caller, extract::Path, problem::Problem, routes::routes, tags::Tagged};
use crate::{
    app::App,
    stored_books::{Contents, StoredBook, StoredBooks},
};

routes! {
    GET "/books" => list,
    GET "/books/{book}" => one,
}

/// Where a book is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum BookSource {
    /// It was named when the server was started, and cannot be changed here.
    Start,
    /// It is stored.
    Bookcase,
}

/// A book.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct BookView {
    /// Its id.
    id: BookId,
    /// Its name.
    name: String,
    /// What it says about itself.
    description: String,
    /// How many entries it has.
    entries: usize,
    /// The rules it runs by.
    dialect: Dialect,
    /// The same in words.
    rules: BookRules,
    /// What it is attached to; nothing if it is only stored.
    bindings: Vec<Binding>,
    /// Where it is from.
    source: BookSource,
    /// The format of its file.
    format: Option<String>,
    /// How many messages its entries scan, if the book sets it.
    scan_depth: Option<u32>,
    /// Its own budget, if the book sets it.
    token_budget: Option<u32>,
    /// Whether its entries activate others, if the book sets it.
    recursive: Option<bool>,
    /// Its folders.
    folders: Vec<FolderView>,
    /// The revision that last changed it; none for books named at start.
    revision: Option<u64>,
    /// The book as it is kept; none for books named at start.
    version: Option<BookVersion>,
}

/// A folder of a book.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FolderView {
    /// Its id.
    id: String,
    /// Its name.
    name: String,
    /// Whether its entries are switched on.
    enabled: bool,
}

impl FolderView {
    fn of(folder: &Folder) -> Self {
        Self { id: folder.id.clone(), name: folder.name.clone(), enabled: folder.enabled }
    }
}

impl BookView {
    fn of(
        Volume { book, dialect }: &Volume,
        bindings: &[Binding],
        standing: Option<&StoredBook>,
        rules: &Rules,
    ) -> Self {
        Self {
            id: book.id.clone(),
            name: book.name.clone(),
            description: book.description.clone(),
            entries: book.entries.len(),
            dialect: *dialect,
            rules: BookRules::of(book, *dialect, rules),
            bindings: bindings.to_vec(),
            source: if standing.is_some() { BookSource::Bookcase } else { BookSource::Start },
            format: book.origin.as_ref().map(|origin| origin.format.clone()),
            scan_depth: book.scan_depth,
            token_budget: book.token_budget,
            recursive: book.recursive,
            folders: book.folders.iter().map(FolderView::of).collect(),
            revision: standing.map(|standing| standing.revision),
            version: standing.map(|standing| standing.shelved.version),
        }
    }

    /// The version that `If-Match` takes.
    fn tag(&self) -> String {
        self.revision.map_or_else(|| "start".to_owned(), |revision| revision.to_string())
    }
}

/// All books in the order they are woven in.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BooksView {
    /// The revision of the bookcase.
    revision: u64,
    /// The books.
    items: Vec<BookView>,
}

async fn views(app: &App, caller: &Caller) -> Result<(u64, Vec<BookView>), Problem> {
    app.sync.take_up().await?;
    let case = StoredBooks { documents: app.store.as_ref(), tenant: &caller.tenant };
    let Contents { revision, books, .. } = case.contents().await?;
    let lore = app.lore.current();
    let views = lore.volumes().map(|(volume, bindings)| {
        let standing = books.iter().find(|standing| standing.id == volume.book.id);
        let standing = standing.filter(|_| !app.lore.is_mounted(&volume.book.id));
        BookView::of(volume, bindings, standing, lore.rules())
    });
    Ok((revision, views.collect()))
}

/// All books, in the order they are woven in.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/books", tag = "books", responses((status = 200, body = BooksView))))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Tagged<BooksView>, Problem> {
    let (revision, items) = views(&app, &caller).await?;
    Ok(Tagged { tag: revision.to_string(), body: BooksView { revision, items } })
}

/// One book.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/books/{book}", tag = "books", params(("book" = String, Path, description = "The book's id")),
    responses((status = 200, body = BookView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(book): Path<String>,
) -> Result<Tagged<BookView>, Problem> {
    view(&app, &caller, &BookId(book)).await
}

/// A book as it is shown.
pub(super) async fn view(
    app: &App,
    caller: &Caller,
    id: &BookId,
) -> Result<Tagged<BookView>, Problem> {
    let (_, items) = views(app, caller).await?;
    let found = items.into_iter().find(|view| view.id == *id);
    let body = found.ok_or_else(|| Problem::missing("book", id.as_str()))?;
    Ok(Tagged { tag: body.tag(), body })
}
