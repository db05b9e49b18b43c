//! Personas: who the user plays.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::ids::FileVersion;
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    caller_cast::{CallerCast, CastEdit, Removed, ShownDocument, kept_picture, wrote},
    characters::picture,
    editing::Wrote,
    extract::{Json, Path, Raw},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    cast::{Kept, KeptPersona, id_beside, read_personas},
};

routes! {
    GET "/personas" => list,
    POST "/personas" => create,
    POST "/personas/import" => import,
    PATCH "/personas/{persona}" versioned => change,
    DELETE "/personas/{persona}" versioned => remove,
    GET "/personas/{persona}/portrait" => portrait,
    PUT "/personas/{persona}/portrait" versioned => put_portrait,
}

/// A persona.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct PersonaView {
    /// Its id.
    id: String,
    /// The revision that last changed it.
    revision: u64,
    /// The name: `{{user}}`. Books that are attached to a persona go by it.
    name: String,
    /// Who that is.
    description: String,
    /// A line for lists.
    title: String,
    /// Whether new stories use it.
    usual: bool,
    /// Its picture, which `GET /personas/{persona}/portrait` shows.
    portrait: Option<FileVersion>,
}

impl ShownDocument for KeptPersona {
    type View = PersonaView;

    fn name(&self) -> &str {
        &self.name
    }

    fn view(Kept { id, revision, value }: Kept<Self>) -> PersonaView {
        let KeptPersona { name, description, title, usual, portrait, .. } = value;
        let portrait = portrait.map(|picture| picture.file);
        PersonaView { id, revision, name, description, title, usual, portrait }
    }
}

/// All personas.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PersonasView {
    /// The personas, by name.
    items: Vec<PersonaView>,
}

/// All personas, by name.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/personas", tag = "characters", responses((status = 200, body = PersonasView))))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<PersonasView>, Problem> {
    let items = CallerCast::of(&app, &caller).by_name::<KeptPersona>().await?;
    Ok(Json(PersonasView { items }))
}

/// A persona, or changes of one. What is not given stays.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PersonaBody {
    /// The id of a new one; made of its name without it.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    id: Option<String>,
    /// The name.
    name: Option<String>,
    /// Who that is.
    description: Option<String>,
    /// A line for lists.
    title: Option<String>,
    /// Whether new stories use it. Only one persona is.
    usual: Option<bool>,
}

impl PersonaBody {
    fn apply(self, persona: &mut KeptPersona) -> Result<(), Problem> {
        let KeptPersona { name, description, title, usual, .. } = persona;
        for (new, old) in [(self.name, name), (self.description, description), (self.title, title)]
        {
            if let Some(new) = new {
                *old = new;
            }
        }
        *usual = self.usual.unwrap_or(*usual);
        if persona.name.trim().is_empty() {
            return Err(Problem::value("name", "must not be empty", persona.name.as_str()));
        }
        Ok(())
    }
}

/// Stores a persona. If new stories use it, they use no other.
async fn put(
    edit: CastEdit<'_>,
    id: &str,
    persona: &KeptPersona,
) -> Result<Tagged<Wrote<PersonaView>>, Problem> {
    let mut others = Vec::new();
    if persona.usual {
        let all: Vec<Kept<KeptPersona>> = edit.cast.documents().all().await?;
        for Kept { id: other, mut value, .. } in all {
            if other != id && value.usual {
                value.usual = false;
                others.push(Kept::put(&other, &value)?);
            }
        }
    }
    edit.put(id, persona, others).await
}

/// Makes a persona.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/personas", tag = "characters", request_body = PersonaBody,
    responses((status = 201, body = Wrote<PersonaView>))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(mut new): Json<PersonaBody>,
) -> Result<Response, Problem> {
    let id = new.id.take();
    let mut persona = KeptPersona::default();
    new.apply(&mut persona)?;
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let id = edit.cast.new_id::<KeptPersona>((id, &persona.name)).await?;
    let wrote = put(edit, &id, &persona).await?;
    Ok((StatusCode::CREATED, wrote).into_response())
}

/// Reads the personas of a `SillyTavern` backup. Those whose names are there already are changed.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/personas/import", tag = "characters",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The backup"),
    responses((status = 201, body = Wrote<PersonasView>))
))]
async fn import(
    State(app): State<App>,
    caller: Caller,
    Raw(bytes): Raw,
) -> Result<Response, Problem> {
    let read = read_personas(&bytes);
    let read =
        read.map_err(|error| Problem::new(Code::WrongValue, error.to_string()).at("body"))?;
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let changes = imported(&edit.cast.documents().all().await?, read);
    let changes: Result<Vec<_>, _> = changes.iter().map(|(id, one)| Kept::put(id, one)).collect();
    let revisions = edit.change(&changes?).await?;
    let view = PersonasView { items: edit.cast.by_name::<KeptPersona>().await? };
    let wrote = wrote(&app, &caller, revisions, view).await?;
    Ok((StatusCode::CREATED, Json(wrote)).into_response())
}

/// What an import changes. New stories use at most one persona: the file's, or the one they used.
fn imported(there: &[Kept<KeptPersona>], read: Vec<KeptPersona>) -> Vec<(String, KeptPersona)> {
    let mut all: Vec<(String, KeptPersona)> =
        there.iter().map(|kept| (kept.id.clone(), kept.value.clone())).collect();
    let has_usual = read.iter().any(|new| new.usual);
    for (_, one) in all.iter_mut().filter(|_| has_usual) {
        one.usual = false;
    }
    let known = all.len();
    for mut new in read {
        let same = all[..known].iter_mut().find(|(_, one)| one.name == new.name);
        if let Some((_, one)) = same {
            new.portrait = one.portrait.take();
            new.usual |= one.usual;
            *one = new;
        } else {
            let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
            all.push((id_beside::<KeptPersona>(&new.name, &ids), new));
        }
    }
    let is_new = |(id, one): &(String, KeptPersona)| {
        !there.iter().any(|kept| kept.id == *id && kept.value == *one)
    };
    all.retain(is_new);
    all
}

/// Changes a persona.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/personas/{persona}", tag = "characters",
    params(
        ("persona" = String, Path, description = "The persona's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = PersonaBody,
    responses((status = 200, body = Wrote<PersonaView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(persona): Path<String>,
    seen: IfMatch,
    Json(patch): Json<PersonaBody>,
) -> Result<Tagged<Wrote<PersonaView>>, Problem> {
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let mut kept: Kept<KeptPersona> = edit.find_seen(&persona, &seen).await?;
    if let Some(id) = patch.id {
        return Err(Problem::value("id", "cannot be changed", id));
    }
    patch.apply(&mut kept.value)?;
    put(edit, &persona, &kept.value).await
}

/// Removes a persona.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/personas/{persona}", tag = "characters",
    params(
        ("persona" = String, Path, description = "The persona's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<Removed>))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(persona): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<Removed>>, Problem> {
    CallerCast::of(&app, &caller).edit().await?.remove::<KeptPersona>(persona, &seen).await
}

/// The picture of a persona.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/personas/{persona}/portrait", tag = "characters",
    params(("persona" = String, Path, description = "The persona's id")),
    responses((status = 200, description = "The picture", content((Vec<u8> = "image/png"))))
))]
async fn portrait(
    State(app): State<App>,
    caller: Caller,
    Path(persona): Path<String>,
) -> Result<Response, Problem> {
    let kept: Kept<KeptPersona> = CallerCast::of(&app, &caller).find(&persona).await?;
    picture(&app, &caller, kept.value.portrait).await
}

/// Gives a persona another picture.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/personas/{persona}/portrait", tag = "characters",
    params(
        ("persona" = String, Path, description = "The persona's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The picture"),
    responses((status = 200, body = Wrote<PersonaView>))
))]
async fn put_portrait(
    State(app): State<App>,
    caller: Caller,
    Path(persona): Path<String>,
    seen: IfMatch,
    Raw(bytes): Raw,
) -> Result<Tagged<Wrote<PersonaView>>, Problem> {
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let mut kept: Kept<KeptPersona> = edit.find_seen(&persona, &seen).await?;
    kept.value.portrait = Some(kept_picture(&app, &caller, &bytes).await?);
    put(edit, &persona, &kept.value).await
}
