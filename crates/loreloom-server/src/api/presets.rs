//! Presets: ways of writing that somebody named, to use again in other stories.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    caller_cast::{CallerCast, Removed, ShownDocument},
    editing::Wrote,
    extract::{Json, Path},
    problem::Problem,
    routes::routes,
    stories::checked_choice,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    cast::{CastDocument, Kept},
    play::ModelChoice,
};

routes! {
    GET "/presets" => list,
    POST "/presets" => create,
    PATCH "/presets/{preset}" versioned => change,
    DELETE "/presets/{preset}" versioned => remove,
}

/// A stored preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct KeptPreset {
    name: String,
    choice: ModelChoice,
}

impl CastDocument for KeptPreset {
    const PREFIX: &'static str = "preset/";
    const WHAT: &'static str = "preset";
}

/// A preset.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PresetView {
    /// Its id.
    id: String,
    /// The revision that last changed it.
    revision: u64,
    /// Its name.
    name: String,
    /// How a model writes with it. If it names a model, it chooses that, too.
    choice: ModelChoice,
}

impl ShownDocument for KeptPreset {
    type View = PresetView;

    fn name(&self) -> &str {
        &self.name
    }

    fn view(Kept { id, revision, value }: Kept<Self>) -> PresetView {
        PresetView { id, revision, name: value.name, choice: value.choice }
    }
}

/// All presets.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PresetsView {
    /// The presets, by name.
    items: Vec<PresetView>,
}

/// A preset, or changes of one. What is not given stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PresetBody {
    /// Its name.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 80))]
    name: Option<String>,
    /// How a model writes with it.
    choice: Option<ModelChoice>,
}

impl PresetBody {
    fn apply(self, preset: &mut KeptPreset) -> Result<(), Problem> {
        if let Some(name) = self.name {
            name.trim().clone_into(&mut preset.name);
        }
        if preset.name.is_empty() || preset.name.chars().count() > 80 {
            let rule = "must have 1 to 80 characters";
            return Err(Problem::value("name", rule, preset.name.as_str()));
        }
        if let Some(choice) = self.choice {
            checked_choice(&choice)?;
            preset.choice = choice;
        }
        Ok(())
    }
}

/// All presets of how a model writes, by name.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/presets", tag = "characters", responses((status = 200, body = PresetsView))))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<PresetsView>, Problem> {
    let items = CallerCast::of(&app, &caller).by_name::<KeptPreset>().await?;
    Ok(Json(PresetsView { items }))
}

/// Saves a way of writing under a name.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/presets", tag = "characters", request_body = PresetBody,
    responses((status = 201, body = Wrote<PresetView>))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<PresetBody>,
) -> Result<Response, Problem> {
    let mut preset = KeptPreset::default();
    new.apply(&mut preset)?;
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let id = edit.cast.new_id::<KeptPreset>((None, &preset.name)).await?;
    let wrote = edit.put(&id, &preset, Vec::new()).await?;
    Ok((StatusCode::CREATED, wrote).into_response())
}

/// Renames a preset, or changes how a model writes with it.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/presets/{preset}", tag = "characters",
    params(
        ("preset" = String, Path, description = "The preset's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = PresetBody,
    responses((status = 200, body = Wrote<PresetView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(preset): Path<String>,
    seen: IfMatch,
    Json(patch): Json<PresetBody>,
) -> Result<Tagged<Wrote<PresetView>>, Problem> {
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let mut kept: Kept<KeptPreset> = edit.find_seen(&preset, &seen).await?;
    patch.apply(&mut kept.value)?;
    edit.put(&preset, &kept.value, Vec::new()).await
}

/// Removes a preset. Stories that used it keep its values.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/presets/{preset}", tag = "characters",
    params(
        ("preset" = String, Path, description = "The preset's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<Removed>))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(preset): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<Removed>>, Problem> {
    CallerCast::of(&app, &caller).edit().await?.remove::<KeptPreset>(preset, &seen).await
}
