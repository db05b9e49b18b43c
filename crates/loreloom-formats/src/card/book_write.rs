//! An entry of a card's book in the words of the standard and of `SillyTavern`.

use loreloom_core::book::{Entry, Key, Position};
use serde_json::{Map, Value, json};

use crate::{
    json::{Node, layout::number},
    sillytavern::{logic_number, outlet_name, position_number, raw_keys, role_number},
    tolerant::meant_as_true,
};

/// The fields of an entry. `use_regex` stays as the row has it where that is true: to
/// some programs it says nothing about the keys.
pub(super) fn entry(entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
    let when = &entry.activation;
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    put("keys", raw_keys(&when.keys).into());
    put("secondary_keys", raw_keys(&when.secondary.keys).into());
    if !entry.name.is_empty() {
        put("name", json!(entry.name));
    }
    put("comment", json!(entry.comment));
    put("content", json!(entry.content));
    put("constant", json!(when.constant));
    put("selective", json!(when.secondary.active));
    put("insertion_order", number(entry.placement.order.unwrap_or(0.0)));
    put("enabled", json!(when.enabled));
    if let Some(position) = position_name(&entry.placement.position) {
        put("position", json!(position));
    }
    if let Some(priority) = entry.budget.priority {
        put("priority", number(priority));
    }
    if let Some(case_sensitive) = when.case_sensitive {
        put("case_sensitive", json!(case_sensitive));
    }
    let mut extensions = extensions(entry);
    for (key, value) in &entry.extensions {
        match (key.as_str(), value) {
            ("extensions", Value::Object(others)) => extensions.extend(others.clone()),
            _ => {
                map.insert(key.clone(), value.clone());
            }
        }
    }
    map.insert("use_regex".into(), json!(uses_regex(entry, row)));
    if row.is_some_and(|row| !has_number(row)) && is_standard(&entry.placement.position) {
        extensions.shift_remove("position");
    }
    map.insert("extensions".into(), Value::Object(extensions));
    if let Some(row) = row {
        world_info_names(&mut map, row);
    }
    map
}

/// Whether keys are said to be patterns. A row that did not say so keeps its plain keys:
/// only with slashes are patterns known without it.
fn uses_regex(entry: &Entry, row: Option<&Node<'_>>) -> bool {
    let when = &entry.activation;
    let is_pattern = |key: &Key| matches!(key, Key::Regex(_));
    if when.use_regex {
        return true;
    }
    let Some(row) = row else { return when.keys.iter().any(is_pattern) };
    let mut all = when.keys.iter().chain(&when.secondary.keys);
    // SillyTavern sets it on all entries, and means nothing by it.
    let was_set = row.get("use_regex").is_some_and(meant_as_true) && by_sillytavern(row);
    was_set || !when.keys.is_empty() && all.all(is_pattern)
}

/// Whether SillyTavern wrote a row.
pub(super) fn by_sillytavern(row: &Node<'_>) -> bool {
    let has = |name: &str| {
        let extensions = row.get("extensions").and_then(|extensions| extensions.get(name));
        extensions.is_some_and(|value| !value.is_null())
    };
    has("position") || has("display_index")
}

/// Whether a row has SillyTavern's number of the position: with it, keys are read as that
/// program reads them, so a row without it must not get one by the way.
fn has_number(row: &Node<'_>) -> bool {
    row.get("extensions").is_some_and(|extensions| extensions.get("position").is_some())
}

/// Whether the standard has a word for the position.
fn is_standard(position: &Position) -> bool {
    matches!(position, Position::Default | Position::BeforeCharacter | Position::AfterCharacter)
}

/// World Info names that the row has beside those of the standard, kept in step: sites
/// write both and programs read either.
fn world_info_names(map: &mut Map<String, Value>, row: &Node<'_>) {
    for (name, twin) in
        [("key", "keys"), ("keysecondary", "secondary_keys"), ("order", "insertion_order")]
    {
        if let (Some(_), Some(value)) = (row.get(name), map.get(twin)) {
            map.insert(name.to_owned(), value.clone());
        }
    }
    if row.get("disable").is_some() {
        let disabled = map.get("enabled") == Some(&Value::Bool(false));
        map.insert("disable".to_owned(), Value::Bool(disabled));
    }
}

/// The two positions that the standard knows; others only have SillyTavern's number.
fn position_name(position: &Position) -> Option<&'static str> {
    match position_number(position)? {
        _ if *position == Position::Default => None,
        0 => Some("before_char"),
        _ => Some("after_char"),
    }
}

fn extensions(entry: &Entry) -> Map<String, Value> {
    let when = &entry.activation;
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
    if entry.placement.position != Position::Default {
        put("position", json!(position_number(&entry.placement.position)));
    }
    put("exclude_recursion", json!(entry.recursion.exclude));
    put("prevent_recursion", json!(entry.recursion.prevent));
    put("delay_until_recursion", json!(entry.recursion.delay_level));
    if let Some(index) = entry.rest.display_index {
        put("display_index", json!(index));
    }
    put("probability", number(when.probability.unwrap_or(100.0)));
    put("useProbability", json!(when.probability.is_some()));
    if let Some(depth) = entry.placement.depth {
        put("depth", json!(depth));
    }
    put("selectiveLogic", json!(logic_number(when.secondary.logic)));
    let outlet = outlet_name(&entry.placement.position);
    put("outlet_name", json!(outlet));
    put("group", json!(entry.group.names));
    put("group_override", json!(entry.group.prioritize));
    if let Some(weight) = entry.group.weight {
        put("group_weight", number(weight));
    }
    put("use_group_scoring", json!(entry.group.use_scoring));
    put("scan_depth", json!(when.scan.messages.map(number)));
    put("case_sensitive", json!(when.case_sensitive));
    put("match_whole_words", json!(when.whole_words));
    put("automation_id", json!(entry.rest.automation_id));
    put("role", json!(entry.placement.role.and_then(role_number)));
    put("vectorized", json!(when.vectorized));
    put("sticky", json!(when.timed.sticky));
    put("cooldown", json!(when.timed.cooldown));
    put("delay", json!(when.timed.delay));
    put("match_persona_description", json!(when.sources.persona));
    put("match_character_description", json!(when.sources.description));
    put("match_character_personality", json!(when.sources.personality));
    put("match_character_depth_prompt", json!(when.sources.depth_prompt));
    put("match_scenario", json!(when.sources.scenario));
    put("match_creator_notes", json!(when.sources.creator_notes));
    put("triggers", json!(when.filters.triggers));
    put("ignore_budget", json!(entry.budget.ignore));
    map
}
