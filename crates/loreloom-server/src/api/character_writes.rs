//! Writing characters: importing cards, making, changing and removing characters.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::ids::BookId;
use loreloom_formats::{Card, ImportNote, named_card};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    caller_cast::{CallerCast, Removed, checked, kept_picture, wrote},
    characters::{self, CharacterView, stored},
    editing::{Editing, Wrote},
    extract::{Json, Path, Query, Raw},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    cast::{Kept, KeptCharacter, NewCharacter},
};

routes! {
    POST "/characters" => create,
    POST "/characters/import" => import,
    PATCH "/characters/{character}" versioned => change,
    DELETE "/characters/{character}" versioned => remove,
    PUT "/characters/{character}/portrait" versioned => put_portrait,
    DELETE "/characters/{character}/portrait" versioned => remove_portrait,
}

async fn shown(
    app: &App,
    caller: &Caller,
    revisions: (u64, u64),
    id: &str,
) -> Result<Tagged<Wrote<CharacterView>>, Problem> {
    let Tagged { tag, body } = characters::view(app, caller, id).await?;
    Ok(Tagged { tag, body: wrote(app, caller, revisions, body).await? })
}

/// A card with some fields changed. A field that cards do not have is refused.
fn changed(card: &Card, fields: Map<String, Value>) -> Result<Card, Problem> {
    let wrong = |error: serde_json::Error| Problem::new(Code::WrongValue, error.to_string());
    let mut whole = serde_json::to_value(card).map_err(wrong)?;
    for (name, value) in fields {
        let known = whole.get_mut(&name).filter(|_| name != "version");
        *known.ok_or_else(|| Problem::unknown_field(&name))? = value;
    }
    let card: Card = serde_json::from_value(whole).map_err(|error| wrong(error).at("card"))?;
    if card.name.trim().is_empty() {
        return Err(Problem::value("name", "must not be empty", card.name));
    }
    Ok(card)
}

/// A new character.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewCharacterBody {
    /// Its id; made of its name without it.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    id: Option<String>,
    /// The fields of its card; `name` must be there.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    card: Map<String, Value>,
}

/// Makes a character.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/characters", tag = "characters", request_body = NewCharacterBody,
    responses((status = 201, body = Wrote<CharacterView>))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewCharacterBody>,
) -> Result<Response, Problem> {
    if !new.card.contains_key("name") {
        return Err(Problem::value("card.name", "must be given", Value::Null));
    }
    let card = changed(&named_card("new"), new.card)?;
    let before = app.store.revision(&caller.tenant).await?;
    let id = CallerCast::of(&app, &caller).new_id::<KeptCharacter>((new.id, &card.name)).await?;
    let kept = KeptCharacter { card, book: None, portrait: None, original: None };
    let now = app.clock.now();
    let revision = stored(&app, &caller).put(&id, &kept, Some(before), now).await?;
    let wrote = shown(&app, &caller, (before, revision), &id).await?;
    Ok((StatusCode::CREATED, wrote).into_response())
}

/// How a file becomes a character.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct CardUpload {
    /// The character's id; made of its name without it.
    #[cfg_attr(feature = "schema", param(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    id: Option<String>,
    /// The file's own name.
    file_name: Option<String>,
    /// Replace the character of this id, if there is one. Its book keeps its id and what it is
    /// attached to.
    #[serde(default)]
    replace: bool,
    /// Read the file and say what is in it; keep nothing.
    #[serde(default)]
    dry_run: bool,
}

/// What became of a card.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ImportedCharacterView {
    /// What the file was.
    format: String,
    /// The card as it was read.
    card: Card,
    /// How many entries its book has.
    entries: usize,
    /// What was odd, repaired or left out.
    notes: Vec<ImportNote>,
    /// Takes the import back; none for a dry run, or if nothing changed.
    undo: Option<String>,
    /// The revision of the documents after it.
    revision: u64,
    /// The character; none for a dry run.
    item: Option<CharacterView>,
}

/// Reads a card (PNG, JSON, YAML, CHARX or BYAF) into a character with its book and picture. The
/// file is kept, so that nothing of it is lost.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/characters/import", tag = "characters", params(CardUpload),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file as it is"),
    responses(
        (status = 201, description = "The character is kept", body = ImportedCharacterView),
        (status = 200, description = "A dry run", body = ImportedCharacterView)
    )
))]
async fn import(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<CardUpload>,
    Raw(bytes): Raw,
) -> Result<Response, Problem> {
    let wrong = |error: loreloom_formats::FormatError| {
        Problem::new(Code::WrongValue, error.to_string()).at("body")
    };
    let new = NewCharacter::read(bytes.to_vec(), params.file_name.as_deref()).map_err(wrong)?;
    let before = app.store.revision(&caller.tenant).await?;
    let imported = &new.imported;
    let view = ImportedCharacterView {
        format: imported.format.as_str().to_owned(),
        card: imported.card.clone(),
        entries: imported.book.entries.len(),
        notes: imported.notes.clone(),
        undo: None,
        revision: before,
        item: None,
    };
    if params.dry_run {
        return Ok(Json(view).into_response());
    }
    let id = match params.id {
        Some(id) if params.replace => checked(&id).map(|()| id)?,
        id => {
            let cast = CallerCast::of(&app, &caller);
            cast.new_id::<KeptCharacter>((id, &view.card.name)).await?
        }
    };
    let now = app.clock.now();
    let revision = stored(&app, &caller).put_file(&id, new, Some(before), now).await?;
    let Tagged { tag, body } = shown(&app, &caller, (before, revision), &id).await?;
    let Wrote { undo, revision, item } = body;
    let body = ImportedCharacterView { undo, revision, item: Some(item), ..view };
    Ok((StatusCode::CREATED, Tagged { tag, body }).into_response())
}

/// Changes a character, and stores it if nobody else changed it meanwhile.
async fn edited(
    (app, caller): (&App, &Caller),
    id: &str,
    seen: &IfMatch,
    change: impl FnOnce(&mut KeptCharacter) -> Result<(), Problem>,
) -> Result<Tagged<Wrote<CharacterView>>, Problem> {
    let before = app.store.revision(&caller.tenant).await?;
    let Kept { mut value, revision, .. } = stored(app, caller).find(id).await?;
    seen.check(&revision.to_string())?;
    change(&mut value)?;
    let now = app.clock.now();
    let revision = stored(app, caller).put(id, &value, Some(before), now).await?;
    shown(app, caller, (before, revision), id).await
}

/// What to change about a character. What is not given stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct CharacterPatch {
    /// Fields of its card.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    card: Map<String, Value>,
    /// Its book, which must be there; empty for none. The book itself is not removed.
    book: Option<String>,
}

/// Changes a character. Its book follows a new name.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/characters/{character}", tag = "characters",
    params(
        ("character" = String, Path, description = "The character's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = CharacterPatch,
    responses((status = 200, body = Wrote<CharacterView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
    seen: IfMatch,
    Json(patch): Json<CharacterPatch>,
) -> Result<Tagged<Wrote<CharacterView>>, Problem> {
    let books = Editing { app: &app, tenant: &caller.tenant }.case().contents().await?.books;
    edited((&app, &caller), &character, &seen, |kept| {
        kept.card = changed(&kept.card, patch.card)?;
        if let Some(book) = patch.book {
            let new = Some(BookId(book)).filter(|book| !book.as_str().is_empty());
            // Its own may have been removed since.
            if let Some(new) = &new
                && kept.book.as_ref() != Some(new)
                && !books.iter().any(|book| book.id == *new)
            {
                let rule = "must name a book that is kept here";
                return Err(Problem::value("book", rule, new.as_str()));
            }
            kept.book = new;
        }
        Ok(())
    })
    .await
}

/// Removes a character, and its book unless another character names it or it is attached to
/// something else. An undo brings both back.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/characters/{character}", tag = "characters",
    params(
        ("character" = String, Path, description = "The character's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<Removed>))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<Removed>>, Problem> {
    let before = app.store.revision(&caller.tenant).await?;
    let kept = stored(&app, &caller).find(&character).await?;
    seen.check(&kept.revision.to_string())?;
    let now = app.clock.now();
    let revision = stored(&app, &caller).remove(&character, Some(before), now).await?;
    Ok(Json(wrote(&app, &caller, (before, revision), Removed { id: character }).await?))
}

/// Gives a character another picture.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/characters/{character}/portrait", tag = "characters",
    params(
        ("character" = String, Path, description = "The character's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The picture"),
    responses((status = 200, body = Wrote<CharacterView>))
))]
async fn put_portrait(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
    seen: IfMatch,
    Raw(bytes): Raw,
) -> Result<Tagged<Wrote<CharacterView>>, Problem> {
    let picture = kept_picture(&app, &caller, &bytes).await?;
    edited((&app, &caller), &character, &seen, |kept| {
        kept.portrait = Some(picture);
        Ok(())
    })
    .await
}

/// Takes a character's picture away.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/characters/{character}/portrait", tag = "characters",
    params(
        ("character" = String, Path, description = "The character's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<CharacterView>))
))]
async fn remove_portrait(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
    seen: IfMatch,
) -> Result<Tagged<Wrote<CharacterView>>, Problem> {
    edited((&app, &caller), &character, &seen, |kept| {
        kept.portrait = None;
        Ok(())
    })
    .await
}
