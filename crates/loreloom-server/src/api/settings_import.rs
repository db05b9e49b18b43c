//! Settings that other programs keep: SillyTavern's World Info and regex scripts, DeepLore's and
//! Smart Memory's.
//!
//! An import takes over what it can and lists the rest, so that nothing is lost silently.

use std::collections::BTreeMap;

use axum::extract::State;
use loreloom_core::ids::TenantId;
use loreloom_settings::{Program, Setting, SettingScope, TakesEffect, find, import_settings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    caller::Caller,
    extract::{Json, Query},
    problem::Problem,
    routes::routes,
    settings::{refused, server_change, story_change},
    tags::IfMatch,
};
use crate::{app::App, scoped_settings::SettingsOwner};

routes! {
    POST "/settings/import" => import,
}

/// Where imported settings go.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct ImportSettingsParams {
    /// Only for this chat; for the whole server without it.
    #[cfg_attr(feature = "schema", param(min_length = 1))]
    chat: Option<String>,
}

/// A setting of another program that means nothing here.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct UnmappedSetting {
    /// The program.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    program: Program,
    /// Its name there.
    name: String,
}

/// What became of settings of other programs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ImportedSettingsView {
    /// The programs that were found.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    programs: Vec<Program>,
    /// The settings that were taken over, by our names.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    taken: BTreeMap<String, Value>,
    /// Settings that have a counterpart here, but cannot be set this way.
    elsewhere: Vec<String>,
    /// Settings without a counterpart here.
    unmapped: Vec<UnmappedSetting>,
    /// Values that were refused, and why.
    refused: Vec<String>,
    /// Takes it back, as `POST /undo` takes it; none if nothing changed.
    undo: Option<String>,
}

/// Takes over the settings of SillyTavern, DeepLore and Smart Memory from SillyTavern's settings,
/// or a part of them. For the whole server, a key needs the scope `admin`.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/settings/import", tag = "settings", params(ImportSettingsParams),
    request_body(content = Object),
    responses((status = 200, body = ImportedSettingsView))
))]
async fn import(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<ImportSettingsParams>,
    Json(file): Json<Value>,
) -> Result<Json<ImportedSettingsView>, Problem> {
    if params.chat.is_none() {
        caller.must_administer()?;
    }
    let imported = import_settings(&file).map_err(refused)?;
    let owner = params.chat.map(SettingsOwner::Chat);
    let is_local = caller.tenant == TenantId::local();
    let fits = |setting: &Setting| match owner {
        Some(_) => setting.scopes.contains(&SettingScope::Chat),
        None => {
            setting.takes_effect != TakesEffect::AtStart && (is_local || !setting.is_server_wide())
        }
    };
    let (mut taken, mut elsewhere) = (BTreeMap::new(), Vec::new());
    for (name, value) in imported.changes.iter() {
        if find(name).is_some_and(fits) {
            taken.insert(name.to_owned(), value.clone());
        } else {
            elsewhere.push(name.to_owned());
        }
    }
    let (seen, patch) = (IfMatch::default(), taken.clone());
    let done = match &owner {
        _ if taken.is_empty() => None,
        Some(owner) => Some(story_change(&app, &caller, owner, &seen, patch).await?),
        None => Some(server_change(&app, &caller, &seen, patch).await?),
    };
    let unmapped = imported.unmapped.into_iter();
    Ok(Json(ImportedSettingsView {
        programs: imported.programs,
        taken,
        elsewhere,
        unmapped: unmapped.map(|(program, name)| UnmappedSetting { program, name }).collect(),
        refused: imported.refused,
        undo: done.and_then(|done| done.undo),
    }))
}
