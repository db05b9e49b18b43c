//! Settings that can be changed while the server runs.

use axum::extract::State;
use loreloom_core::{chat::Role, rules::Rules};
use loreloom_memory::{
    inject::{MemorySlot, SlotChanges, SlotPlacement, SlotPosition, SlotState},
    settings::Settings,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::{Admin, Caller},
    editing::{Editing, Wrote},
    entry_json::merge,
    extract::{Json, read_value},
    problem::Problem,
    tags::{IfMatch, Tagged},
};
use crate::{app::App, runtime_settings::Overrides, stored_books::StoredBooks};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(change))
}

/// Settings as they work now.
#[derive(Debug, Serialize, ToSchema)]
struct Effective {
    /// Whether lore is woven into requests.
    weaving: bool,
    /// The longest a request waits for its lore, in milliseconds.
    deadline_ms: u64,
    /// The model's context size.
    context: u32,
    /// The user's name, where requests do not say it.
    user: String,
    /// The character's name, where requests do not say it.
    character: Option<String>,
    /// The seed of all rolls.
    seed: u64,
    /// How the slots of memory stand, from lasting to immediate; none where nothing is
    /// remembered.
    slots: Vec<SlotView>,
    /// The most that all of memory takes, in tokens.
    memory_cap: Option<u32>,
    /// Whether all of memory stands in one block.
    memory_unified: bool,
}

/// How a slot of memory stands.
#[derive(Debug, Serialize, ToSchema)]
struct SlotView {
    /// The slot, as `memory` in `set` names it.
    #[schema(value_type = String)]
    slot: MemorySlot,
    /// What prompts and reports call it.
    name: &'static str,
    /// What it may take, in tokens; none for a slot without a budget of its own.
    budget: Option<u32>,
    /// `IN_PROMPT` with the card, `IN_CHAT` so many messages from its end, or `BEFORE` the
    /// main prompt.
    #[schema(value_type = String)]
    position: SlotPosition,
    /// How deep, inside the chat.
    depth: u32,
    /// In whose words.
    role: Role,
    /// How the server was started with it.
    usual: UsualSlot,
}

/// How the server was started with a slot.
#[derive(Debug, Serialize, ToSchema)]
struct UsualSlot {
    /// What it may take, in tokens.
    budget: Option<u32>,
    /// Where it stands.
    #[schema(value_type = String)]
    position: SlotPosition,
    /// How deep, inside the chat.
    depth: u32,
    /// In whose words.
    role: Role,
}

impl SlotView {
    /// The slots as they stand, each with how it was started.
    fn all(own: &Settings, changes: &SlotChanges) -> Vec<Self> {
        let now = SlotState::all(&changes.over(own)).into_iter();
        now.zip(SlotState::all(own)).map(|(now, usual)| Self::of(&now, &usual)).collect()
    }

    fn of(standing: &SlotState, usual: &SlotState) -> Self {
        let SlotState { slot, name, budget, place } = *standing;
        let SlotPlacement { position, depth, role } = place;
        Self {
            slot,
            name,
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
#[derive(Debug, Serialize, ToSchema)]
struct SettingsView {
    /// The revision of the desk.
    revision: u64,
    /// What was set here; what is not is as the server was started.
    set: Overrides,
    /// What works now.
    effective: Effective,
    /// The rules of the engine that work now: scanning, budgets, wrapping and so on.
    #[schema(value_type = Object)]
    rules: Rules,
    /// Whether the rules were set here.
    rules_set: bool,
    /// The tokenizer that counts.
    tokenizer: String,
    /// Whether stories are remembered.
    memory: bool,
}

/// Settings to change. What is not given stays; in `set`, `null` goes back to what the server
/// was started with.
#[derive(Debug, Deserialize, ToSchema)]
struct SettingsPatch {
    /// Changes of the engine's rules (RFC 7396).
    #[serde(default)]
    #[schema(value_type = Object)]
    rules: Map<String, Value>,
    /// Go back to the rules the server was started with, before `rules` is applied.
    #[serde(default)]
    reset_rules: bool,
    /// Changes of the others.
    #[serde(default)]
    #[schema(value_type = Overrides)]
    set: Map<String, Value>,
}

async fn view(app: &App, caller: &Caller) -> Result<Tagged<SettingsView>, Problem> {
    app.sync.take_up().await?;
    let documents = app.store.as_ref();
    let (set, _) = Overrides::read(documents, &caller.tenant).await?;
    let contents = StoredBooks { documents, tenant: &caller.tenant }.contents().await?;
    let live = app.settings.now();
    let deadline = live.weaving.deadline.as_millis();
    let own = app.memory.as_ref().map(|memory| &memory.options.settings);
    let memory = own.map(|own| live.slots.over(own));
    let body = SettingsView {
        revision: contents.revision,
        set,
        effective: Effective {
            weaving: live.weaving.on,
            deadline_ms: u64::try_from(deadline).unwrap_or(u64::MAX),
            context: live.defaults.context.0,
            user: live.defaults.user.clone(),
            character: live.defaults.speaker.as_ref().map(|speaker| speaker.name.clone()),
            seed: live.defaults.seed,
            slots: own.map(|own| SlotView::all(own, &live.slots)).unwrap_or_default(),
            memory_cap: memory.as_ref().and_then(|memory| memory.inject_cap).map(|cap| cap.0),
            memory_unified: memory.is_some_and(|memory| memory.unified_injection),
        },
        rules: app.lore.current().rules().clone(),
        rules_set: contents.rules.is_some(),
        tokenizer: app.connections.counter_of(None).name().to_owned(),
        memory: app.memory.is_some(),
    };
    Ok(Tagged { tag: body.revision.to_string(), body })
}

/// All settings, as they were set and as they work.
#[utoipa::path(get, path = "/settings", tag = "settings", responses((status = 200, body = SettingsView)))]
async fn show(State(app): State<App>, caller: Caller) -> Result<Tagged<SettingsView>, Problem> {
    view(&app, &caller).await
}

/// The longest a deadline may be.
const MOST_DEADLINE: u64 = 600_000;

fn checked(overrides: &Overrides) -> Result<(), Problem> {
    match overrides.deadline_ms {
        Some(found) if !(1..=MOST_DEADLINE).contains(&found) => {
            return Err(Problem::value("set.deadline_ms", "must be from 1 to 600000", found));
        }
        Some(_) | None => {}
    }
    if overrides.context == Some(0) {
        return Err(Problem::value("set.context", "must be at least 1", 0));
    }
    checked_slots(&overrides.memory).map_err(|problem| problem.inside("set.memory"))
}

/// Slots can be moved anywhere; budgets are for those that have one.
pub(super) fn checked_slots(changes: &SlotChanges) -> Result<(), Problem> {
    match changes.without_budget() {
        Some(slot) => {
            let rule = "must name slots that have a budget of their own";
            Err(Problem::value("budgets", rule, slot.name()))
        }
        None => Ok(()),
    }
}

fn checked_rules(rules: &Rules) -> Result<(), Problem> {
    match rules.regex_scripts.iter().find(|script| !script.compiles()) {
        Some(bad) => {
            let rule = "must hold regular expressions";
            Err(Problem::value("rules.regex_scripts", rule, bad.find_regex.clone()))
        }
        None => Ok(()),
    }
}

/// The rules with changes; none if they are those the server was started with.
fn patched_rules(
    set: Option<&Rules>,
    own: &Rules,
    patch: Map<String, Value>,
) -> Result<Option<Rules>, Problem> {
    if patch.is_empty() {
        return Ok(set.cloned());
    }
    let mut value = serde_json::to_value(set.unwrap_or(own)).unwrap_or_default();
    merge(&mut value, &Value::Object(patch));
    let rules: Rules = read_value(&value).map_err(|problem| problem.inside("rules"))?;
    checked_rules(&rules)?;
    Ok(Some(rules))
}

/// Changes settings. They work at once, stay over a restart and can be undone. A key needs the
/// scope `admin`.
#[utoipa::path(
    patch, path = "/settings", tag = "settings",
    params(("if-match" = Option<String>, Header, description = "The version the caller has seen")),
    request_body = SettingsPatch,
    responses((status = 200, body = Wrote<SettingsView>))
)]
async fn change(
    State(app): State<App>,
    Admin(caller): Admin,
    seen: IfMatch,
    Json(patch): Json<SettingsPatch>,
) -> Result<Tagged<Wrote<SettingsView>>, Problem> {
    let editing = Editing { app: &app, tenant: &caller.tenant };
    let contents = editing.case().contents().await?;
    seen.check(&contents.revision.to_string())?;
    let (before, _) = Overrides::read(app.store.as_ref(), &caller.tenant).await?;
    let mut value = serde_json::to_value(&before).unwrap_or_default();
    merge(&mut value, &Value::Object(patch.set));
    let overrides: Overrides = read_value(&value).map_err(|problem| problem.inside("set"))?;
    checked(&overrides)?;
    let mut changes = vec![overrides.change()?];
    if patch.reset_rules || !patch.rules.is_empty() {
        let set = contents.rules.as_ref().filter(|_| !patch.reset_rules);
        let rules = patched_rules(set, app.lore.own_rules(), patch.rules)?;
        changes.push(StoredBooks::rules_change(rules.as_ref())?);
    }
    let (at, now) = (contents.revision, app.clock.now());
    let revision = app.store.change(&caller.tenant, &changes, Some(at), now).await?;
    let done = editing.done(at, revision, ()).await?;
    let Tagged { tag, body } = view(&app, &caller).await?;
    Ok(Tagged { tag, body: done.with(body) })
}
