//! Settings that can be changed while the server runs, by the names of the table.

use std::collections::BTreeMap;

use axum::extract::State;
use loreloom_core::{chat::Role, ids::TenantId, rules::Rules};
use loreloom_memory::{
    inject::{MemorySlot, SlotPlacement, SlotPosition, SlotState},
    settings::Settings as MemorySettings,
};
use loreloom_settings::{
    Changes, Program, SETTINGS, Setting, SettingError, SettingScope, SettingsView, TakesEffect,
    ValueKind, ValueSource, find, section_title,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    caller::{Admin, Caller},
    editing::{Done, Editing, Wrote},
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    runtime_settings::{settings_change, stored_change, stored_settings},
    scoped_settings::SettingsOwner,
};

routes! {
    GET "/settings" => show,
    PATCH "/settings" versioned => change,
    GET "/settings/chats/{chat}" => show_chat,
    PATCH "/settings/chats/{chat}" versioned => change_chat,
    GET "/settings/characters/{character}" => show_character,
    PATCH "/settings/characters/{character}" versioned => change_character,
}

/// A setting with its value.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct SettingRow {
    /// Its name.
    name: &'static str,
    /// The part of its name before the first dot.
    section: &'static str,
    /// What the section is about.
    section_title: &'static str,
    /// What it does.
    help: &'static str,
    /// `switch`, `integer`, `number`, `text`, `choice`, `texts` or `data`.
    kind: &'static str,
    /// The smallest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<f64>,
    /// The largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<f64>,
    /// What a number counts; empty for none.
    unit: &'static str,
    /// The words of a choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<&'static str>,
    /// Whether it may be `"none"`.
    optional: bool,
    /// Our default.
    default: Value,
    /// Its values in other profiles, by their names.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    profiles: BTreeMap<&'static str, Value>,
    /// What works now. An address has no password.
    value: Value,
    /// Where the value comes from: `default`, `profile`, `file`, `flag`, `stored`, or `character`
    /// or `chat` if it was set for one.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    source: ValueSource,
    /// Whether the value differs from the default.
    changed: bool,
    /// Where it can be set: `server`, `book`, `vault`, `character`, `chat`.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    scopes: &'static [SettingScope],
    /// What other programs call it.
    elsewhere: Vec<NameElsewhere>,
    /// When a change takes effect: `at_once`, `after_restart`, or `at_start` if only the
    /// configuration file and flags can set it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    takes_effect: TakesEffect,
}

/// What another program calls a setting.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NameElsewhere {
    /// The program.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    program: Program,
    /// Its name there.
    name: &'static str,
}

impl SettingRow {
    fn of(setting: &'static Setting, values: &SettingsView<'_>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "shown to people")]
        let (least, most) = match setting.kind {
            ValueKind::Integer { least, most } => (Some(least as f64), Some(most as f64)),
            ValueKind::Number { least, most } => (Some(least), Some(most)),
            ValueKind::Switch
            | ValueKind::Text
            | ValueKind::Choice(_)
            | ValueKind::Texts
            | ValueKind::Data => (None, None),
        };
        let choices = match setting.kind {
            ValueKind::Choice(words) => words.to_vec(),
            ValueKind::Switch
            | ValueKind::Integer { .. }
            | ValueKind::Number { .. }
            | ValueKind::Text
            | ValueKind::Texts
            | ValueKind::Data => Vec::new(),
        };
        let names = setting.names_elsewhere().into_iter();
        Self {
            name: setting.name,
            section: setting.section(),
            section_title: section_title(setting.section()),
            help: setting.help,
            kind: setting.kind.as_str(),
            least,
            most,
            unit: setting.unit,
            choices,
            optional: setting.optional,
            default: setting.default_value(),
            profiles: setting.profile_values().into_iter().collect(),
            value: without_password(setting, values.value(setting)),
            source: values.source(setting),
            changed: values.is_changed(setting),
            scopes: setting.scopes,
            elsewhere: names.map(|(program, name)| NameElsewhere { program, name }).collect(),
            takes_effect: setting.takes_effect,
        }
    }
}

/// Callers who may see settings may not see the password of the database.
fn without_password(setting: &Setting, value: Value) -> Value {
    let is_server = value.as_str().is_some_and(|text| text.contains("://"));
    if setting.name == "store.address" && is_server { json!("(a server)") } else { value }
}

/// How a slot of memory goes into prompts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct SlotView {
    /// The slot, as `memory.places` names it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    slot: MemorySlot,
    /// What prompts and reports call it.
    name: &'static str,
    /// The setting of its budget; none for a slot without a budget of its own.
    budget_setting: Option<&'static str>,
    /// What it may take, in tokens; none for a slot without a budget of its own.
    budget: Option<u32>,
    /// `IN_PROMPT` with the card, `IN_CHAT` so many messages from its end, or `BEFORE` the
    /// main prompt.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    position: SlotPosition,
    /// How deep, inside the chat.
    depth: u32,
    /// The role of its message.
    role: Role,
    /// How the server was started with it.
    usual: UsualSlot,
}

/// How the server was started with a slot.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct UsualSlot {
    /// What it may take, in tokens.
    budget: Option<u32>,
    /// Its place.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    position: SlotPosition,
    /// How deep, inside the chat.
    depth: u32,
    /// The role of its message.
    role: Role,
}

/// The setting of a slot's budget.
fn budget_setting(slot: MemorySlot) -> Option<&'static str> {
    match slot {
        MemorySlot::Canon => Some("memory.canon_inject_budget"),
        MemorySlot::Profiles => Some("memory.profiles_inject_budget"),
        MemorySlot::LongTerm => Some("memory.longterm_inject_budget"),
        MemorySlot::Summary => Some("memory.compaction_response_length"),
        MemorySlot::Scenes => Some("memory.scene_inject_budget"),
        MemorySlot::Session => Some("memory.session_inject_budget"),
        MemorySlot::Arcs => Some("memory.arcs_inject_budget"),
        MemorySlot::Relationships => Some("memory.relationships_inject_budget"),
        MemorySlot::Epistemic => Some("memory.epistemic_inject_budget"),
        MemorySlot::Ledger => Some("memory.state_ledger_inject_budget"),
        MemorySlot::Recall => Some("memory.recall_inject_budget"),
        MemorySlot::Triggered | MemorySlot::Repair | MemorySlot::Unified => None,
    }
}

impl SlotView {
    /// The slots, each with how it was started.
    fn all(own: &MemorySettings, now: &MemorySettings) -> Vec<Self> {
        let now = SlotState::all(now).into_iter();
        now.zip(SlotState::all(own)).map(|(now, usual)| Self::of(&now, &usual)).collect()
    }

    fn of(now: &SlotState, usual: &SlotState) -> Self {
        let SlotState { slot, name, budget, place } = *now;
        let SlotPlacement { position, depth, role } = place;
        Self {
            slot,
            name,
            budget_setting: budget_setting(slot),
            budget: budget.map(|tokens| tokens.0),
            position,
            depth: depth.0,
            role,
            usual: UsualSlot {
                budget: usual.budget.map(|tokens| tokens.0),
                position: usual.place.position,
                depth: usual.place.depth.0,
                role: usual.place.role,
            },
        }
    }
}

/// All settings.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct AllSettings {
    /// The revision of the stored documents.
    revision: u64,
    /// Every setting, by section.
    rows: Vec<SettingRow>,
    /// How the slots of memory go into prompts, from lasting to immediate; none if nothing is
    /// remembered.
    slots: Vec<SlotView>,
    /// The rules of the engine that work now, as previews take them.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    rules: Rules,
    /// The tokenizer that counts.
    tokenizer: String,
    /// Whether stories are remembered.
    memory: bool,
}

async fn view(app: &App, caller: &Caller) -> Result<Tagged<AllSettings>, Problem> {
    app.sync.take_up().await?;
    let revision = app.store.revision(&caller.tenant).await?;
    let live = app.settings.now();
    let started = app.settings.started();
    let values = started.view(&live.stored).map_err(refused)?;
    let slots = |own: &MemorySettings| SlotView::all(own, &live.memory);
    let body = AllSettings {
        revision,
        rows: SETTINGS.iter().map(|setting| SettingRow::of(setting, &values)).collect(),
        slots: app
            .memory
            .as_ref()
            .map(|_| slots(&started.settings.memory.settings))
            .unwrap_or_default(),
        rules: app.lore.current().rules().clone(),
        tokenizer: app.connections.counter_of(None).name().to_owned(),
        memory: app.memory.is_some(),
    };
    Ok(Tagged { tag: revision.to_string(), body })
}

/// All settings, with their values and where these come from.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/settings", tag = "settings", responses((status = 200, body = AllSettings))))]
async fn show(State(app): State<App>, caller: Caller) -> Result<Tagged<AllSettings>, Problem> {
    view(&app, &caller).await
}

/// A refused setting as a problem.
#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by value")]
pub(super) fn refused(error: SettingError) -> Problem {
    let code = match error {
        SettingError::Unknown { .. } | SettingError::Elsewhere { .. } => Code::UnknownField,
        SettingError::Value { .. }
        | SettingError::Scope { .. }
        | SettingError::Form { .. }
        | SettingError::Foreign { .. } => Code::WrongValue,
    };
    let problem = Problem::new(code, error.to_string());
    match error.name() {
        Some(name) => problem.at(name),
        None => problem,
    }
}

/// What is stored after a patch.
fn patched(
    caller: &Caller,
    before: &Changes,
    patch: BTreeMap<String, Value>,
) -> Result<Changes, Problem> {
    let mut stored = before.clone();
    for (name, value) in patch {
        if let Some(setting) = find(&name).filter(|one| one.takes_effect == TakesEffect::AtStart) {
            let rule =
                "must be set in the configuration file or with `--set`, before the server starts";
            return Err(Problem::value(setting.name, rule, value));
        }
        let is_elsewhere = caller.tenant != TenantId::local();
        if let Some(setting) = find(&name).filter(|one| is_elsewhere && one.is_server_wide()) {
            let rule = "is for the whole server: only its own tenant may set it";
            return Err(Problem::value(setting.name, rule, value));
        }
        if value.is_null() {
            stored.reset(&name).map_err(refused)?;
        } else {
            stored.set(&name, value).map_err(refused)?;
        }
    }
    Ok(stored)
}

/// Changes settings by their names; `null` goes back to what the server was started with. A change
/// stays over a restart and can be undone. A key needs the scope `admin`.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/settings", tag = "settings",
    params(("if-match" = Option<String>, Header, description = "The version the caller has seen")),
    request_body(content = Object, description = "Values by the names of settings"),
    responses((status = 200, body = Wrote<AllSettings>))
))]
async fn change(
    State(app): State<App>,
    Admin(caller): Admin,
    seen: IfMatch,
    Json(patch): Json<BTreeMap<String, Value>>,
) -> Result<Tagged<Wrote<AllSettings>>, Problem> {
    let done = server_change(&app, &caller, &seen, patch).await?;
    let Tagged { tag, body } = view(&app, &caller).await?;
    Ok(Tagged { tag, body: done.with(body) })
}

/// Changes settings of the server.
pub(super) async fn server_change(
    app: &App,
    caller: &Caller,
    seen: &IfMatch,
    patch: BTreeMap<String, Value>,
) -> Result<Done<()>, Problem> {
    let at = app.store.revision(&caller.tenant).await?;
    seen.check(&at.to_string())?;
    let before = stored_settings(app.store.as_ref(), &caller.tenant).await?;
    let stored = patched(caller, &before, patch)?;
    app.settings.started().with(&stored).map_err(refused)?;
    let changes = [settings_change(&stored)?];
    let revision = app.store.change(&caller.tenant, &changes, Some(at), app.clock.now()).await?;
    Editing { app, tenant: &caller.tenant }.done(at, revision, ()).await
}

/// The settings of one character or one chat.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct StorySettings {
    /// The revision of the stored documents.
    revision: u64,
    /// Every setting that can be set there, with the value that counts there.
    rows: Vec<SettingRow>,
}

async fn owned_view(
    app: &App,
    caller: &Caller,
    owner: &SettingsOwner,
) -> Result<Tagged<StorySettings>, Problem> {
    app.sync.take_up().await?;
    let revision = app.store.revision(&caller.tenant).await?;
    let own = app.settings.scoped().get(owner);
    let stored = Changes::clone(&app.settings.now().stored).then(own.clone());
    let values = app.settings.started().view(&stored).map_err(refused)?;
    let scope = owner.scope();
    let source = match owner {
        SettingsOwner::Character(_) => ValueSource::Character,
        SettingsOwner::Chat(_) => ValueSource::Chat,
    };
    let server = app.settings.now();
    let of_server = app.settings.started().view(&server.stored).map_err(refused)?;
    let rows = SETTINGS.iter().filter(|setting| setting.scopes.contains(&scope)).map(|setting| {
        let row = SettingRow::of(setting, &values);
        let is_own = own.get(setting.name).is_some();
        let source = if is_own { source } else { of_server.source(setting) };
        SettingRow { source, ..row }
    });
    let body = StorySettings { revision, rows: rows.collect() };
    Ok(Tagged { tag: revision.to_string(), body })
}

/// Changes the settings of a character or a chat, and shows them.
async fn owned_change(
    app: &App,
    caller: &Caller,
    owner: &SettingsOwner,
    seen: IfMatch,
    patch: BTreeMap<String, Value>,
) -> Result<Tagged<Wrote<StorySettings>>, Problem> {
    let done = story_change(app, caller, owner, &seen, patch).await?;
    let Tagged { tag, body } = owned_view(app, caller, owner).await?;
    Ok(Tagged { tag, body: done.with(body) })
}

/// Changes the settings of a character or a chat.
pub(super) async fn story_change(
    app: &App,
    caller: &Caller,
    owner: &SettingsOwner,
    seen: &IfMatch,
    patch: BTreeMap<String, Value>,
) -> Result<Done<()>, Problem> {
    let editing = Editing { app, tenant: &caller.tenant };
    app.sync.take_up().await?;
    let at = app.store.revision(&caller.tenant).await?;
    seen.check(&at.to_string())?;
    let mut own = app.settings.scoped().get(owner);
    for (name, value) in patch {
        if value.is_null() {
            own.reset(&name).map_err(refused)?;
        } else {
            own.set_for(owner.scope(), &name, value).map_err(refused)?;
        }
    }
    // Some values only make sense together with others that the server has.
    let together = Changes::clone(&app.settings.now().stored).then(own.clone());
    app.settings.started().with(&together).map_err(refused)?;
    let changes = [stored_change(owner.key(), &own)?];
    let revision = app.store.change(&caller.tenant, &changes, Some(at), app.clock.now()).await?;
    editing.done(at, revision, ()).await
}

/// The settings that one chat can have itself. A chat's own value wins over its character's.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/settings/chats/{chat}", tag = "settings",
    params(("chat" = String, Path, description = "The chat's id")),
    responses((status = 200, body = StorySettings))
))]
async fn show_chat(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
) -> Result<Tagged<StorySettings>, Problem> {
    owned_view(&app, &caller, &SettingsOwner::Chat(chat)).await
}

/// Changes settings of one chat; `null` removes its own value. A key needs the scope `write`.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/settings/chats/{chat}", tag = "settings",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body(content = Object, description = "Values by the names of settings"),
    responses((status = 200, body = Wrote<StorySettings>))
))]
async fn change_chat(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    seen: IfMatch,
    Json(patch): Json<BTreeMap<String, Value>>,
) -> Result<Tagged<Wrote<StorySettings>>, Problem> {
    owned_change(&app, &caller, &SettingsOwner::Chat(chat), seen, patch).await
}

/// The settings that all chats with one character can have.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/settings/characters/{character}", tag = "settings",
    params(("character" = String, Path, description = "The character's name")),
    responses((status = 200, body = StorySettings))
))]
async fn show_character(
    State(app): State<App>,
    caller: Caller,
    Path(character): Path<String>,
) -> Result<Tagged<StorySettings>, Problem> {
    owned_view(&app, &caller, &SettingsOwner::Character(character)).await
}

/// Changes settings of one character; `null` removes its own value. A key needs the scope
/// `admin`.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/settings/characters/{character}", tag = "settings",
    params(
        ("character" = String, Path, description = "The character's name"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body(content = Object, description = "Values by the names of settings"),
    responses((status = 200, body = Wrote<StorySettings>))
))]
async fn change_character(
    State(app): State<App>,
    Admin(caller): Admin,
    Path(character): Path<String>,
    seen: IfMatch,
    Json(patch): Json<BTreeMap<String, Value>>,
) -> Result<Tagged<Wrote<StorySettings>>, Problem> {
    owned_change(&app, &caller, &SettingsOwner::Character(character), seen, patch).await
}
