//! An entry in the words of the program, fields in the order of its template.

use loreloom_core::{
    book::{Entry, Key, Position, SelectiveLogic},
    chat::Role,
};
use serde_json::{Map, Value, json};

use super::fields::Field;
use crate::{
    json::{Node, layout::number},
    keys::only_name,
};

/// The fields of an entry. Of a row whose file has card names beside its own, both are
/// written.
pub(super) fn entry(entry: &Entry, row: Option<&Node<'_>>) -> Map<String, Value> {
    let mut map = Map::new();
    activation(entry, &mut map);
    placement(entry, &mut map);
    recursion_and_group(entry, &mut map);
    rest(entry, &mut map);
    for (key, value) in &entry.extensions {
        map.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(row) = row {
        card_names(&mut map, row);
    }
    map
}

fn put(map: &mut Map<String, Value>, field: Field, value: impl Into<Value>) {
    map.insert(field.name().to_owned(), value.into());
}

fn activation(entry: &Entry, map: &mut Map<String, Value>) {
    let when = &entry.activation;
    put(map, Field::Key, raw(&when.keys));
    put(map, Field::KeySecondary, raw(&when.secondary.keys));
    put(map, Field::Comment, only_name(entry));
    put(map, Field::Content, entry.content.as_str());
    put(map, Field::Constant, when.constant);
    put(map, Field::Vectorized, when.vectorized);
    put(map, Field::Selective, when.secondary.active);
    put(map, Field::SelectiveLogic, logic_number(when.secondary.logic));
    put(map, Field::AddMemo, entry.rest.add_memo);
    put(map, Field::Disable, !when.enabled);
    put(map, Field::MatchPersonaDescription, when.sources.persona);
    put(map, Field::MatchCharacterDescription, when.sources.description);
    put(map, Field::MatchCharacterPersonality, when.sources.personality);
    put(map, Field::MatchCharacterDepthPrompt, when.sources.depth_prompt);
    put(map, Field::MatchScenario, when.sources.scenario);
    put(map, Field::MatchCreatorNotes, when.sources.creator_notes);
    put(map, Field::Probability, number(when.probability.unwrap_or(100.0)));
    put(map, Field::UseProbability, when.probability.is_some());
    put(map, Field::ScanDepth, when.scan.messages.map(number));
    put(map, Field::CaseSensitive, when.case_sensitive);
    put(map, Field::MatchWholeWords, when.whole_words);
    put(map, Field::Sticky, when.timed.sticky);
    put(map, Field::Cooldown, when.timed.cooldown);
    put(map, Field::Delay, when.timed.delay);
    put(map, Field::Triggers, when.filters.triggers.clone());
    let filters = &when.filters;
    if filters.exclude || !filters.characters.is_empty() || !filters.tags.is_empty() {
        let filter = json!({
            "isExclude": filters.exclude,
            "names": filters.characters,
            "tags": filters.tags,
        });
        put(map, Field::CharacterFilter, filter);
    }
}

fn placement(entry: &Entry, map: &mut Map<String, Value>) {
    let place = &entry.placement;
    if let Some(order) = place.order {
        put(map, Field::Order, number(order));
    }
    // Carried here from a card's book, which the program reads so.
    let is_after = place.position == Position::Default && entry.unstated_is_after("");
    let position = if is_after { Some(1) } else { position_number(&place.position) };
    put(map, Field::Position, position);
    if let Some(depth) = place.depth {
        put(map, Field::Depth, depth.0);
    }
    let outlet = outlet_name(&place.position);
    put(map, Field::OutletName, outlet);
    put(map, Field::Role, place.role.and_then(role_number));
    put(map, Field::IgnoreBudget, entry.budget.ignore);
}

fn recursion_and_group(entry: &Entry, map: &mut Map<String, Value>) {
    put(map, Field::ExcludeRecursion, entry.recursion.exclude);
    put(map, Field::PreventRecursion, entry.recursion.prevent);
    put(map, Field::DelayUntilRecursion, entry.recursion.delay_level);
    put(map, Field::Group, entry.group.names.as_str());
    put(map, Field::GroupOverride, entry.group.prioritize);
    if let Some(weight) = entry.group.weight {
        put(map, Field::GroupWeight, number(weight));
    }
    put(map, Field::UseGroupScoring, entry.group.use_scoring);
}

fn rest(entry: &Entry, map: &mut Map<String, Value>) {
    put(map, Field::AutomationId, entry.rest.automation_id.as_str());
    if let Some(index) = entry.rest.display_index {
        put(map, Field::DisplayIndex, index);
    }
}

/// Card names that the row has and what they must say to agree with the program's names.
fn card_names(map: &mut Map<String, Value>, row: &Node<'_>) {
    let pairs = [
        (Field::Key, "keys"),
        (Field::KeySecondary, "secondary_keys"),
        (Field::Order, "insertion_order"),
    ];
    for (field, card_name) in pairs {
        if let (Some(_), Some(value)) = (row.get(card_name), map.get(field.name())) {
            map.insert(card_name.to_owned(), value.clone());
        }
    }
    if row.get("enabled").is_some() {
        let enabled = map.get(Field::Disable.name()) == Some(&Value::Bool(false));
        map.insert("enabled".to_owned(), Value::Bool(enabled));
    }
}

/// The keys as they are written.
pub(crate) fn raw(keys: &[Key]) -> Vec<Value> {
    keys.iter().map(|key| Value::from(key.raw())).collect()
}

/// The number of a logic; unknown ones have none that any version knows.
pub(crate) fn logic_number(logic: SelectiveLogic) -> u8 {
    match logic {
        SelectiveLogic::AndAny => 0,
        SelectiveLogic::NotAll => 1,
        SelectiveLogic::NotAny => 2,
        SelectiveLogic::AndAll => 3,
        SelectiveLogic::Unknown => 4,
    }
}

pub(crate) fn role_number(role: Role) -> Option<u8> {
    match role {
        Role::System => Some(0),
        Role::User => Some(1),
        Role::Assistant => Some(2),
        Role::Tool => None,
    }
}

pub(crate) fn outlet_name(position: &Position) -> &str {
    if let Position::Outlet(name) | Position::Slot(name) = position { name } else { "" }
}

/// The number of a position, or of the nearest one that the program has.
pub(crate) fn position_number(position: &Position) -> Option<u8> {
    match position {
        Position::BeforeCharacter | Position::BeforeDescription | Position::Default => Some(0),
        Position::AfterCharacter
        | Position::AfterDescription
        | Position::Personality
        | Position::Scenario => Some(1),
        Position::NoteTop => Some(2),
        Position::NoteBottom => Some(3),
        Position::AtDepth { .. } => Some(4),
        Position::ExamplesTop => Some(5),
        Position::ExamplesBottom => Some(6),
        Position::Outlet(_) | Position::Slot(_) => Some(7),
        Position::Nowhere => None,
    }
}
