//! Ways to make an entry fire at a past turn, as changes that can be tried out and saved.
//!
//! Each way was run before it is shown. What it changes of the entry and of the settings is given
//! as a patch, so that a replay tries exactly what a save would write.

use std::sync::Arc;

use axum::extract::State;
use loreloom_core::{
    book::{Entry, Key},
    explain::{self, FixCandidate, FixChange},
    ids::{ChatId, EntryId},
    library::Library,
    rules::Rules,
};
use loreloom_ports::TurnId;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    entry_json::{difference, shown},
    extract::{Json, Path},
    problem::Problem,
    routes::routes,
};
use crate::{app::App, past_turns::LookedAt};

routes! {
    GET "/chats/{chat}/turns/{turn}/fixes/{entry}" => list,
}

/// Where rules are in the engine, and the settings that set them.
const SETTINGS: [(&str, &str); 15] = [
    ("/world_info/budget_percent", "world_info.budget_percent"),
    ("/world_info/budget_cap", "world_info.budget_cap"),
    ("/world_info/vectors/threshold", "world_info.vectors.threshold"),
    ("/world_info/vectors/max_entries", "world_info.vectors.max_entries"),
    ("/cards/budget_floor", "cards.budget_floor"),
    ("/budget/total_tokens", "budget.total_tokens"),
    ("/budget/total_percent", "budget.total_percent"),
    ("/vault/rules/recursion/steps", "vault.max_recursion_steps"),
    ("/vault/rules/fuzzy/min_score", "vault.fuzzy_min_score"),
    ("/vault/rules/fuzzy/most", "vault.fuzzy_most"),
    ("/vault/rules/budget/entries", "vault.max_entries"),
    ("/vault/rules/budget/tokens", "vault.max_tokens"),
    ("/vault/rules/repetition/cooldown", "vault.reinjection_cooldown"),
    ("/vault/rules/repetition/strip", "vault.strip_duplicates"),
    ("/vault/rules/keys/depth", "vault.scan_depth"),
];

/// What a way changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum FixTarget {
    /// The entry.
    Entry,
    /// Settings.
    Settings,
    /// The entry and settings.
    Both,
    /// The scene of the story: pins, blocks, folders or fields.
    Scene,
    /// What is said, or how long the story is. Nobody can save that.
    Story,
    /// A note of a vault.
    Note,
}

/// One way to make an entry fire.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FixOption {
    /// What to change, in order. The turn was run again with these, and the entry fired.
    changes: Vec<FixChange>,
    /// The same in English.
    words: Vec<String>,
    /// How many more tokens of lore the turn has; negative if others give way.
    tokens: i64,
    /// What is changed.
    target: FixTarget,
    /// The changed fields of the entry (RFC 7396), over the entry of today.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    entry: Map<String, Value>,
    /// The changed rules of the engine, as a replay tries them.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    rules: Map<String, Value>,
    /// The changed settings by name, as `PATCH /settings` takes them.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    settings: Map<String, Value>,
}

/// The ways to make an entry fire.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FixOptions {
    /// The ways, the smallest change first.
    items: Vec<FixOption>,
}

/// Several ways to make an entry fire at a turn, the smallest first. Each was tried.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}/fixes/{entry}", tag = "turns",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("turn" = u64, Path, description = "The turn's number"),
        ("entry" = String, Path, description = "The entry's id, its slash written as %2F")
    ),
    responses((status = 200, body = FixOptions))
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn, entry)): Path<(String, u64, String)>,
) -> Result<Json<FixOptions>, Problem> {
    let looked = app.past.look_at(&caller.tenant, &ChatId(chat), TurnId(turn)).await?;
    let id = EntryId(entry);
    if looked.verdicts().iter().all(|verdict| verdict.entry != id) {
        return Err(Problem::missing("entry", id.as_str()));
    }
    let found = app.past.fixes(Arc::clone(&looked), id.clone()).await;
    let lore = app.lore.current();
    let today = entry_of(lore.library(), &id);
    let items = found.iter().map(|one| option(one, &looked, &id, today)).collect();
    Ok(Json(FixOptions { items }))
}

fn entry_of<'library>(library: &'library Library, id: &EntryId) -> Option<&'library Entry> {
    library.books().iter().flat_map(|book| &book.entries).find(|entry| entry.id == *id)
}

fn option(
    found: &FixCandidate,
    looked: &LookedAt,
    id: &EntryId,
    today: Option<&Entry>,
) -> FixOption {
    let books = looked.books.as_ref();
    let then = books.and_then(|books| entry_of(books.library(), id));
    let entry = match (then, found.entry.as_deref()) {
        (Some(then), Some(after)) => over_today(then, after, today.unwrap_or(then)),
        _ => Map::new(),
    };
    let rules = match (books, found.rules.as_deref()) {
        (Some(books), Some(after)) => changed_rules(books.rules(), after),
        _ => Map::new(),
    };
    let changes = &found.fix.changes;
    FixOption {
        words: changes.iter().map(explain::words).collect(),
        tokens: found.tokens,
        target: target(changes, !entry.is_empty(), !rules.is_empty()),
        settings: settings(&rules),
        changes: changes.clone(),
        entry,
        rules,
    }
}

/// The changed fields, as they change the entry of today: keys that it got since then stay.
fn over_today(then: &Entry, after: &Entry, today: &Entry) -> Map<String, Value> {
    let mut change = difference(&shown(then), &shown(after));
    let raw = |key: &Key| key.raw().to_owned();
    let old: Vec<String> = then.activation.keys.iter().map(raw).collect();
    let mut keys: Vec<String> = today.activation.keys.iter().map(raw).collect();
    for key in after.activation.keys.iter().map(raw) {
        if !old.contains(&key) && !keys.contains(&key) {
            keys.push(key);
        }
    }
    if let Some(slot) = change.get_mut("activation").and_then(|one| one.get_mut("keys")) {
        *slot = Value::from(keys);
    }
    change
}

fn changed_rules(before: &Rules, after: &Rules) -> Map<String, Value> {
    let json = |rules: &Rules| serde_json::to_value(rules).unwrap_or_default();
    difference(&json(before), &json(after))
}

/// The settings behind changed rules; `none` is how a setting says that there is none.
fn settings(rules: &Map<String, Value>) -> Map<String, Value> {
    let rules = Value::Object(rules.clone());
    let named = SETTINGS.iter().filter_map(|(pointer, name)| {
        let value = rules.pointer(pointer)?;
        let value = if value.is_null() { Value::from("none") } else { value.clone() };
        Some(((*name).to_owned(), value))
    });
    named.collect()
}

fn target(changes: &[FixChange], entry: bool, rules: bool) -> FixTarget {
    let any = |test: fn(&FixChange) -> bool| changes.iter().any(test);
    if any(|one| matches!(one, FixChange::Say { .. } | FixChange::Wait { .. })) {
        return FixTarget::Story;
    }
    match (entry, rules) {
        (true, true) => return FixTarget::Both,
        (true, false) => return FixTarget::Entry,
        (false, true) => return FixTarget::Settings,
        (false, false) => {}
    }
    let is_scene = |one: &FixChange| {
        matches!(
            one,
            FixChange::Pin { .. }
                | FixChange::Unblock
                | FixChange::Scene { .. }
                | FixChange::LookInto { .. }
        )
    };
    if changes.iter().all(is_scene) { FixTarget::Scene } else { FixTarget::Note }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_keeps_the_keys_that_came_since_then() {
        let mut then = Entry::new("b/0");
        then.activation.keys = vec![Key::parse("gong")];
        let (mut after, mut today) = (then.clone(), then.clone());
        after.activation.keys.push(Key::parse("bell"));
        today.activation.keys.push(Key::parse("chime"));
        let change = Value::Object(over_today(&then, &after, &today));
        let keys = serde_json::json!({"activation": {"keys": ["gong", "chime", "bell"]}});
        assert_eq!(change, keys);
    }

    #[test]
    fn changed_rules_have_the_names_of_settings() {
        let before = Rules::default();
        let mut after = before.clone();
        after.world_info.budget_cap = 512;
        after.budget.total_tokens = Some(9);
        let changed = changed_rules(&before, &after);
        let expected = serde_json::json!({
            "world_info.budget_cap": 512,
            "budget.total_tokens": 9,
            "budget.total_percent": "none",
        });
        assert_eq!(Value::Object(settings(&changed)), expected);
    }
}
