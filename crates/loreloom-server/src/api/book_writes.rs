//! Writing books: making, importing, arranging, taking out, exporting.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};
use loreloom_core::{
    book::Book,
    ids::BookId,
    library::{Binding, BookRules, Dialect, Volume},
};
use loreloom_formats::{
    Card, ExportOptions, Format, FormatError, ImportNote, ImportOptions, Imported, Loss,
    dialect_of, export, import, repeated_texts,
};
use serde::{Deserialize, Serialize};

use super::{
    books::{self, BookView},
    caller::Caller,
    editing::{Done, Editing, Wrote},
    extract::{Json, Path, Query, Raw},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    lore::Lore,
    stored_books::{Maker, Shelved},
};

routes! {
    POST "/books" => create,
    POST "/books/import" => upload,
    PUT "/books/{book}" versioned => replace,
    PATCH "/books/{book}" versioned => change,
    DELETE "/books/{book}" versioned => remove,
    GET "/books/{book}/export" => download,
}

/// A new book.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewBook {
    /// Its id: letters, digits, `-`, `_` and `.`.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    id: String,
    /// Its name.
    name: String,
    /// What it says about itself.
    #[serde(default)]
    description: String,
    /// What it is attached to; to every chat without it.
    bindings: Option<Vec<Binding>>,
    /// The rules it runs by; World Info's without it.
    #[serde(default)]
    dialect: Dialect,
}

fn checked_id(id: &str) -> Result<BookId, Problem> {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if id.is_empty() || id.len() > 120 || !id.chars().all(is_fine) {
        let rule = "must be 1 to 120 letters, digits, `-`, `_` and `.`";
        return Err(Problem::value("id", rule, id));
    }
    Ok(BookId::from(id))
}

/// Puts a new book in. A name that is taken is refused, never written over.
async fn put_new(
    app: &App,
    caller: &Caller,
    volume: Volume,
    bindings: Vec<Binding>,
    by: Maker,
) -> Result<Done<BookId>, Problem> {
    let editing = Editing { app, tenant: &caller.tenant };
    let id = volume.book.id.clone();
    let contents = editing.case().contents().await?;
    if app.lore.is_mounted(&id) || contents.books.iter().any(|standing| standing.id == id) {
        let detail = format!("there is a book `{id}` already: replace it, or choose another id");
        return Err(Problem::new(Code::Conflict, detail).at("id").with(id.to_string()));
    }
    let (seen, now) = (Some(contents.revision), app.clock.now());
    let revision = editing.case().put(vec![(volume, bindings)], by, seen, now).await?;
    editing.done(contents.revision, revision, id).await
}

async fn wrote(
    app: &App,
    caller: &Caller,
    done: Done<BookId>,
) -> Result<Tagged<Wrote<BookView>>, Problem> {
    let Tagged { tag, body } = books::view(app, caller, &done.made).await?;
    Ok(Tagged { tag, body: done.with(body) })
}

/// Refuses a binding without a name.
fn check_bindings(bindings: &[Binding]) -> Result<(), Problem> {
    for (at, binding) in bindings.iter().enumerate() {
        let name = match binding {
            Binding::Everywhere => continue,
            Binding::Character(name)
            | Binding::Card(name)
            | Binding::Persona(name)
            | Binding::Group(name) => name,
            Binding::Chat(id) => id.as_str(),
        };
        if name.trim().is_empty() {
            let field = format!("bindings[{at}].name");
            return Err(Problem::value(&field, "must not be empty", name));
        }
    }
    Ok(())
}

/// Makes an empty book.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/books", tag = "books", request_body = NewBook,
    responses((status = 201, body = Wrote<BookView>))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewBook>,
) -> Result<Response, Problem> {
    let mut book = Book::new(checked_id(&new.id)?, new.name);
    book.description = new.description;
    let volume = Volume { book: Arc::new(book), dialect: new.dialect };
    let bindings = new.bindings.unwrap_or_else(|| vec![Binding::Everywhere]);
    check_bindings(&bindings)?;
    let done = put_new(&app, &caller, volume, bindings, Maker::Hand).await?;
    Ok((StatusCode::CREATED, wrote(&app, &caller, done).await?).into_response())
}

/// How a file becomes a book.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct UploadParams {
    /// The book's id.
    #[cfg_attr(feature = "schema", param(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    id: String,
    /// The file's own name. It identifies plain text, and names a book whose file has no name.
    file_name: Option<String>,
    /// The rules it runs by; without it those of the program that the file comes from.
    dialect: Option<Dialect>,
    /// Read the file and say what is in it; keep nothing.
    #[serde(default)]
    dry_run: bool,
}

/// What became of a file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Uploaded {
    /// What the file was.
    format: String,
    /// How many entries it has.
    entries: usize,
    /// Whether it is a character's card.
    card: bool,
    /// The rules the book runs by.
    dialect: Dialect,
    /// The same in words.
    rules: BookRules,
    /// What the book is attached to.
    bindings: Vec<Binding>,
    /// What was odd, repaired or left out.
    notes: Vec<ImportNote>,
    /// What a card says that a book has no place for.
    losses: Vec<Loss>,
    /// Takes the import back; none for a dry run.
    undo: Option<String>,
    /// The revision of the documents after it.
    revision: u64,
    /// The book; none for a dry run.
    item: Option<BookView>,
}

fn read(bytes: &[u8], id: &BookId, file_name: Option<&str>) -> Result<Imported, Problem> {
    let stem = file_name.map(|name| name.rsplit_once('.').map_or(name, |(stem, _)| stem));
    let mut options = ImportOptions::new(id.clone()).named(stem.unwrap_or(id.as_str()));
    options.file_name = file_name.map(str::to_owned);
    let wrong = |error: FormatError| Problem::new(Code::WrongValue, error.to_string()).at("body");
    import(bytes, &options).map_err(wrong)
}

/// What a new book is attached to: that of a card to its character.
fn bindings_of(imported: &Imported) -> Vec<Binding> {
    imported.card.as_ref().map_or_else(|| vec![Binding::Everywhere], Card::own_bindings)
}

/// A note for each entry whose text another book has already.
fn repeats<'a>(imported: &'a Imported, lore: &'a Lore) -> impl Iterator<Item = ImportNote> + 'a {
    let own = &imported.book;
    let others = lore.library().books().iter().filter(|other| other.id != own.id);
    others.flat_map(|other| repeated_texts(own, other))
}

impl Uploaded {
    fn of(imported: &Imported, dialect: Dialect, app: &App, revision: u64) -> Self {
        let lore = app.lore.current();
        Self {
            format: imported.format.as_str().to_owned(),
            entries: imported.book.entries.len(),
            card: imported.card.is_some(),
            dialect,
            rules: BookRules::of(&imported.book, dialect, lore.rules()),
            bindings: bindings_of(imported),
            notes: imported.notes.iter().cloned().chain(repeats(imported, &lore)).collect(),
            losses: imported.card.as_ref().map(loreloom_formats::card_losses).unwrap_or_default(),
            undo: None,
            revision,
            item: None,
        }
    }

    async fn kept(
        self,
        app: &App,
        caller: &Caller,
        done: Done<BookId>,
    ) -> Result<Tagged<Self>, Problem> {
        let Tagged { tag, body } = books::view(app, caller, &done.made).await?;
        let (undo, revision, item) = (done.undo, done.revision, Some(body));
        Ok(Tagged { tag, body: Self { undo, revision, item, ..self } })
    }
}

/// Reads a file of any known format into a new book, and says what was odd or lost.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/books/import", tag = "books", params(UploadParams),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file as it is"),
    responses(
        (status = 201, description = "The book is kept", body = Uploaded),
        (status = 200, description = "A dry run", body = Uploaded)
    )
))]
async fn upload(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<UploadParams>,
    Raw(bytes): Raw,
) -> Result<Response, Problem> {
    let id = checked_id(&params.id)?;
    let imported = read(&bytes, &id, params.file_name.as_deref())?;
    let dialect = params.dialect.unwrap_or_else(|| dialect_of(&imported.book));
    let revision = app.store.revision(&caller.tenant).await?;
    let uploaded = Uploaded::of(&imported, dialect, &app, revision);
    if params.dry_run {
        return Ok(Json(uploaded).into_response());
    }
    let volume = Volume { book: Arc::new(imported.book), dialect };
    let bindings = uploaded.bindings.clone();
    let done = put_new(&app, &caller, volume, bindings, Maker::Import).await?;
    let uploaded = uploaded.kept(&app, &caller, done).await?;
    Ok((StatusCode::CREATED, uploaded).into_response())
}

/// A file to replace a book with.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct ReplaceParams {
    /// The file's own name.
    file_name: Option<String>,
}

/// Replaces a book by a file. What it is attached to and its dialect stay.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/books/{book}", tag = "books",
    params(
        ("book" = String, Path, description = "The book's id"), ReplaceParams,
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file as it is"),
    responses((status = 200, body = Uploaded))
))]
async fn replace(
    State(app): State<App>,
    caller: Caller,
    (Path(book), Query(params)): (Path<String>, Query<ReplaceParams>),
    seen: IfMatch,
    Raw(bytes): Raw,
) -> Result<Tagged<Uploaded>, Problem> {
    let id = BookId(book);
    let editing = Editing { app: &app, tenant: &caller.tenant };
    let ids = [id.clone()];
    let imported = read(&bytes, &id, params.file_name.as_deref())?;
    let mut dialect = Dialect::default();
    let anything = IfMatch::default();
    let done = editing.books_by(Maker::Import, &anything, &ids, |books| {
        for (standing, there) in books {
            seen.check(&standing.revision.to_string())?;
            dialect = standing.shelved.dialect;
            there.clone_from(&imported.book);
        }
        Ok(id.clone())
    });
    let done = done.await?;
    let uploaded = Uploaded::of(&imported, dialect, &app, done.revision);
    let bindings = app.lore.current().bindings_of(&done.made);
    Uploaded { bindings, ..uploaded }.kept(&app, &caller, done).await
}

/// What to change about a book. What is not given stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BookPatch {
    /// Its name.
    name: Option<String>,
    /// What it says about itself.
    description: Option<String>,
    /// How many messages its entries scan.
    scan_depth: Option<u32>,
    /// Its own budget.
    token_budget: Option<u32>,
    /// Whether its entries bring in others.
    recursive: Option<bool>,
    /// The rules it runs by.
    dialect: Option<Dialect>,
    /// What it is attached to.
    bindings: Option<Vec<Binding>>,
}

impl BookPatch {
    fn apply(&self, shelved: &mut Shelved, book: &mut Book) {
        if let Some(name) = &self.name {
            book.name.clone_from(name);
        }
        if let Some(description) = &self.description {
            book.description.clone_from(description);
        }
        book.scan_depth = self.scan_depth.or(book.scan_depth);
        book.token_budget = self.token_budget.or(book.token_budget);
        book.recursive = self.recursive.or(book.recursive);
        shelved.dialect = self.dialect.unwrap_or(shelved.dialect);
        if let Some(bindings) = &self.bindings {
            shelved.bindings.clone_from(bindings);
            shelved.bindings.sort();
            shelved.bindings.dedup();
        }
    }
}

/// Changes a book: its name, its dialect, what it is attached to.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/books/{book}", tag = "books",
    params(
        ("book" = String, Path, description = "The book's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = BookPatch,
    responses((status = 200, body = Wrote<BookView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(book): Path<String>,
    seen: IfMatch,
    Json(patch): Json<BookPatch>,
) -> Result<Tagged<Wrote<BookView>>, Problem> {
    check_bindings(patch.bindings.as_deref().unwrap_or_default())?;
    let id = BookId(book);
    let editing = Editing { app: &app, tenant: &caller.tenant };
    let ids = [id.clone()];
    let done = editing.books(&ids, |books| {
        for (standing, book) in books {
            seen.check(&standing.revision.to_string())?;
            patch.apply(&mut standing.shelved, book);
        }
        Ok(id.clone())
    });
    wrote(&app, &caller, done.await?).await
}

/// A book that was taken out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RemovedBook {
    /// Its id.
    id: BookId,
}

/// Takes a book out of the bookcase. An undo brings it back.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/books/{book}", tag = "books",
    params(
        ("book" = String, Path, description = "The book's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<RemovedBook>))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(book): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<RemovedBook>>, Problem> {
    let id = BookId(book);
    let editing = Editing { app: &app, tenant: &caller.tenant };
    if app.lore.is_mounted(&id) {
        let detail = format!("book `{id}` was named at start and cannot be taken out here");
        return Err(Problem::new(Code::Conflict, detail).with(id.0));
    }
    let contents = editing.case().contents().await?;
    let standing = editing.case().find(&id).await?;
    seen.check(&standing.revision.to_string())?;
    let revision = editing.case().remove(&id, Some(contents.revision), app.clock.now()).await?;
    let done = editing.done(contents.revision, revision, ()).await?;
    Ok(Json(done.with(RemovedBook { id })))
}

/// In which format.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct DownloadParams {
    /// The format, such as `sillytavern`; the book's own without it.
    format: Option<String>,
    /// Answer with what the format has no place for, instead of the file.
    #[serde(default)]
    losses: bool,
}

/// What a format has no place for.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct LossesView {
    /// The format.
    format: String,
    /// What is not in its file.
    losses: Vec<Loss>,
}

/// A book as a file.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/books/{book}/export", tag = "books",
    params(("book" = String, Path, description = "The book's id"), DownloadParams),
    responses((status = 200, description = "The file, or with `losses` what is not in it", content(
        (LossesView = "application/json"), (Vec<u8> = "application/octet-stream")
    )))
))]
async fn download(
    State(app): State<App>,
    _caller: Caller,
    Path(book): Path<String>,
    Query(params): Query<DownloadParams>,
) -> Result<Response, Problem> {
    app.sync.take_up().await?;
    let lore = app.lore.current();
    let found = lore.library().books().iter().find(|one| one.id.as_str() == book);
    let found = found.ok_or_else(|| Problem::missing("book", &book))?;
    let own = found.origin.as_ref().map(|origin| origin.format.as_str());
    let name = params.format.as_deref().or(own).unwrap_or(Format::Sillytavern.as_str());
    let format = Format::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
        Problem::value("format", &format!("must be one of `{}`", names.join("`, `")), name)
    })?;
    let exported = export(found, format, &ExportOptions::default());
    let exported = exported.map_err(|error| Problem::new(Code::Conflict, error.to_string()))?;
    if params.losses {
        let view = LossesView { format: name.to_owned(), losses: exported.losses };
        return Ok(Json(view).into_response());
    }
    let mut response = exported.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let file: String = book.chars().filter(char::is_ascii_alphanumeric).collect();
    let file = format!("attachment; filename=\"{file}.{}\"", format.file_extension());
    if let Ok(file) = HeaderValue::from_str(&file) {
        headers.insert(CONTENT_DISPOSITION, file);
    }
    Ok(response)
}
