//! Characters: the list, one of them, its picture, its card as a file.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
};
use loreloom_core::ids::{BookId, FileVersion};
use loreloom_formats::{Card, Format, Loss};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    paging::{self, Page},
    problem::{Code, Problem},
    routes::routes,
    tags::Tagged,
};
use crate::{
    app::App,
    cast::{CastError, Kept, KeptCharacter, KeptPicture, StoredCharacters},
};

routes! {
    GET "/characters" => list,
    GET "/characters/{character}" => one,
    GET "/characters/{character}/portrait" => portrait,
    GET "/characters/{character}/export" => download,
}

impl From<CastError> for Problem {
    fn from(error: CastError) -> Self {
        match error {
            CastError::Missing { what, id } => Self::missing(what, &id),
            CastError::Format(error) => Self::new(Code::WrongValue, error.to_string()).at("body"),
            CastError::Book(error) => error.into(),
            CastError::Store(error) => error.into(),
        }
    }
}

/// The characters of a caller.
pub(super) fn stored<'a>(app: &'a App, caller: &'a Caller) -> StoredCharacters<'a> {
    StoredCharacters { documents: app.store.as_ref(), tenant: &caller.tenant }
}

/// A character in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct CharacterBrief {
    /// Its id.
    id: String,
    /// Its name.
    name: String,
    /// The name it speaks under: its nickname, or its name.
    speaks_as: String,
    /// The beginning of its description, or what its maker says of it.
    about: String,
    /// For searching.
    tags: Vec<String>,
    /// Who made the card.
    creator: String,
    /// How many greetings it has.
    greetings: usize,
    /// Its picture, which `GET /characters/{character}/portrait` shows.
    portrait: Option<FileVersion>,
    /// Its book.
    book: Option<BookId>,
    /// The revision that last changed it.
    revision: u64,
}

/// How much of a description a list shows, in characters.
const ABOUT: usize = 160;

impl CharacterBrief {
    fn of(kept: Kept<KeptCharacter>) -> Self {
        let Kept { id, revision, value: KeptCharacter { card, book, portrait, .. } } = kept;
        let about = if card.creator_notes.trim().is_empty() {
            &card.description
        } else {
            &card.creator_notes
        };
        Self {
            id,
            speaks_as: card.spoken_name().to_owned(),
            about: about
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(ABOUT)
                .collect(),
            greetings: greetings(&card).count(),
            portrait: portrait.map(|picture| picture.file),
            book,
            revision,
            name: card.name,
            tags: card.tags,
            creator: card.creator,
        }
    }
}

/// The greetings of a card, the usual one first.
pub(crate) fn greetings(card: &Card) -> impl Iterator<Item = &String> {
    let all = [&card.first_mes].into_iter().chain(&card.alternate_greetings);
    all.filter(|text| !text.trim().is_empty())
}

/// A character.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct CharacterView {
    /// Its id.
    pub(super) id: String,
    /// The revision that last changed it.
    pub(super) revision: u64,
    /// The name it speaks under: its nickname, or its name.
    speaks_as: String,
    /// The card, with all fields.
    card: Card,
    /// Its book; none if it has none.
    book: Option<BookId>,
    /// Its picture, which `GET /characters/{character}/portrait` shows.
    portrait: Option<FileVersion>,
    /// The format of the file it came from; none if it was made here.
    format: Option<String>,
}

impl CharacterView {
    pub(super) fn of(kept: Kept<KeptCharacter>) -> Self {
        let Kept { id, revision, value: KeptCharacter { card, book, portrait, original } } = kept;
        Self {
            id,
            revision,
            speaks_as: card.spoken_name().to_owned(),
            card,
            book,
            portrait: portrait.map(|picture| picture.file),
            format: original.map(|file| file.format),
        }
    }
}

/// Which characters.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct CharactersParams {
    /// Only characters whose name, tags, creator or id contains this, whatever its case.
    q: Option<String>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// All characters, by name.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/characters", tag = "characters", params(CharactersParams),
    responses((status = 200, body = Page<CharacterBrief>))
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<CharactersParams>,
) -> Result<Json<Page<CharacterBrief>>, Problem> {
    let mut all = stored(&app, &caller).all().await?;
    if let Some(wanted) = params.q.as_deref().map(str::to_lowercase) {
        all.retain(|one| {
            let card = &one.value.card;
            let texts = [&card.name, card.spoken_name(), &card.creator, &one.id];
            let texts = texts.into_iter().chain(card.tags.iter().map(String::as_str));
            texts.into_iter().any(|text| text.to_lowercase().contains(&wanted))
        });
    }
    let key = |one: &Kept<KeptCharacter>| (one.value.card.name.to_lowercase(), one.id.clone());
    all.sort_by_key(key);
    let page = paging::page(all, params.cursor.as_deref(), params.limit, key)?;
    Ok(Json(page.map(CharacterBrief::of)))
}

/// One character.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/characters/{character}", tag = "characters",
    params(("character" = String, Path, description = "The character's id")),
    responses((status = 200, body = CharacterView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
) -> Result<Tagged<CharacterView>, Problem> {
    view(&app, &caller, &character).await
}

/// A character as it is shown.
pub(super) async fn view(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<Tagged<CharacterView>, Problem> {
    let kept = stored(app, caller).find(id).await?;
    Ok(Tagged { tag: kept.revision.to_string(), body: CharacterView::of(kept) })
}

/// A kept picture as an answer. A picture is a stranger's file: browsers may show it and nothing
/// else.
pub(super) async fn picture(
    app: &App,
    caller: &Caller,
    picture: Option<KeptPicture>,
) -> Result<Response, Problem> {
    let missing = || Problem::new(Code::NotFound, "there is no picture");
    let picture = picture.ok_or_else(missing)?;
    let bytes = stored(app, caller).file(picture.file).await?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(&picture.media_type) {
        headers.insert(CONTENT_TYPE, kind);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// The picture of a character.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/characters/{character}/portrait", tag = "characters",
    params(("character" = String, Path, description = "The character's id")),
    responses((status = 200, description = "The picture", content((Vec<u8> = "image/png"))))
))]
async fn portrait(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
) -> Result<Response, Problem> {
    let kept = stored(&app, &caller).find(&character).await?;
    picture(&app, &caller, kept.value.portrait).await
}

/// In which format.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct CardParams {
    /// The format: `card-v2`, `card-v3`, `card-v2-png`, `card-v3-png`, `charx`, `byaf` or another
    /// format of cards. Without it that of the character's own file.
    format: Option<String>,
    /// Answer with what the format has no place for, instead of the file.
    #[serde(default)]
    losses: bool,
}

/// What a format has no place for.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct CardLosses {
    /// The format.
    format: String,
    /// What is not in its file.
    losses: Vec<Loss>,
}

/// The formats that a character can be written in.
fn formats() -> impl Iterator<Item = Format> {
    let is_card = |format: &Format| format.card().is_some() || *format == Format::Byaf;
    Format::ALL.iter().copied().filter(is_card)
}

/// A character as a card. The file it came from is patched: what was not changed stays.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/characters/{character}/export", tag = "characters",
    params(("character" = String, Path, description = "The character's id"), CardParams),
    responses((status = 200, description = "The card, or with `losses` what is not in it", content(
        (CardLosses = "application/json"), (Vec<u8> = "application/octet-stream")
    )))
))]
async fn download(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
    Query(params): Query<CardParams>,
) -> Result<Response, Problem> {
    let characters = stored(&app, &caller);
    let kept = characters.find(&character).await?;
    let format = match params.format.as_deref() {
        None => None,
        Some(name) => {
            let names: Vec<&str> = formats().map(Format::as_str).collect();
            let rule = format!("must be one of `{}`", names.join("`, `"));
            let found = formats().find(|format| format.as_str() == name);
            Some(found.ok_or_else(|| Problem::value("format", &rule, name))?)
        }
    };
    let (format, exported) = characters.export(&kept.value, format).await?;
    if params.losses {
        let view = CardLosses { format: format.as_str().to_owned(), losses: exported.losses };
        return Ok(Json(view).into_response());
    }
    Ok(attachment(exported.bytes, &format!("{character}.{}", format.file_extension())))
}

/// An answer that is saved as a file.
pub(super) fn attachment(bytes: Vec<u8>, name: &str) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let is_plain = |one: &char| one.is_ascii_alphanumeric() || "-_.".contains(*one);
    let name: String = name.chars().filter(is_plain).collect();
    if let Ok(file) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, file);
    }
    response
}
