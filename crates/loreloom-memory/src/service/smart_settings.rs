//! Converts Smart Memory's settings to a file for [`Options::read`](super::Options::read).

use serde_json::{Map, Value, json};

use crate::{
    inject::{MemorySlot, SlotPosition},
    settings::Settings,
};

/// The prefixes of movable slots in Smart Memory's settings.
const MOVABLE: &[(&str, &str)] = &[
    ("arcs", "arcs"),
    ("canon", "canon"),
    ("compaction", "summary"),
    ("epistemic", "epistemic"),
    ("longterm", "long_term"),
    ("profiles", "profiles"),
    ("relationships", "relationships"),
    ("scene", "scenes"),
    ("session", "session"),
    ("state_ledger", "ledger"),
    ("unified", "unified"),
];

/// Settings with another name here.
const RENAMED: &[(&str, &str)] = &[
    ("longterm_consolidation_threshold_event", "consolidation_threshold_event"),
    ("longterm_consolidation_threshold_fact", "consolidation_threshold_fact"),
    ("longterm_consolidation_threshold_preference", "consolidation_threshold_preference"),
    ("longterm_consolidation_threshold_relationship", "consolidation_threshold_relationship"),
    ("longterm_triggers_enabled", "triggers_enabled"),
    ("session_consolidation_threshold_detail", "consolidation_threshold_detail"),
    ("session_consolidation_threshold_development", "consolidation_threshold_development"),
    ("session_consolidation_threshold_revelation", "consolidation_threshold_revelation"),
    ("session_consolidation_threshold_scene", "consolidation_threshold_scene"),
    ("session_consolidation_threshold", "consolidation_threshold_session"),
];

/// The known settings, as a file for `Options::read`. Others, such as the address of a model, are
/// left out.
pub fn smart_memory_settings(theirs: &Map<String, Value>) -> Value {
    let usual = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut settings = Map::new();
    for (name, value) in theirs {
        let renamed = RENAMED.iter().find(|(known, _)| known == name).map(|(_, ours)| *ours);
        let ours = renamed.unwrap_or(name);
        // A value of another type comes from another program. Settings that are null by default are
        // numbers.
        let same = |known: &Value| {
            std::mem::discriminant(known) == std::mem::discriminant(value)
                || known.is_null() && value.is_u64()
        };
        if usual.get(ours).is_some_and(same) {
            settings.insert(ours.to_owned(), value.clone());
        }
    }
    let every = ["longterm_extract_every", "session_extract_every"];
    let every = every.iter().filter_map(|name| theirs.get(*name)?.as_u64()).min();
    settings.extend(every.map(|every| ("extract_every".to_owned(), json!(every.max(1)))));
    let places: Map<String, Value> = MOVABLE
        .iter()
        .filter_map(|(prefix, slot)| {
            let known = serde_json::from_value(json!(slot)).ok()?;
            Some(((*slot).to_owned(), place(theirs, prefix, known)?))
        })
        .collect();
    if !places.is_empty() {
        settings.insert("places".to_owned(), Value::Object(places));
    }
    let hardware = theirs.get("hardware_profile").and_then(Value::as_str);
    let hardware = hardware.filter(|name| matches!(*name, "a" | "b"));
    json!({ "settings": settings, "hardware": hardware })
}

/// The place of a slot: a number for the position, one for the depth, one for the role. Missing
/// numbers have the default.
fn place(theirs: &Map<String, Value>, prefix: &str, slot: MemorySlot) -> Option<Value> {
    let number = |part: &str| theirs.get(&format!("{prefix}_{part}")).and_then(Value::as_u64);
    if ["position", "depth", "role"].iter().all(|part| number(part).is_none()) {
        return None;
    }
    let (usual, depth) = slot.usual_place();
    let position = match number("position") {
        None => usual,
        Some(0) => SlotPosition::InPrompt,
        Some(1) => SlotPosition::InChat,
        Some(2) => SlotPosition::Before,
        Some(_) => return None,
    };
    let role = match number("role") {
        Some(1) => "user",
        Some(2) => "assistant",
        _ => "system",
    };
    let depth = number("depth").unwrap_or(u64::from(depth.0));
    Some(json!({ "position": position, "depth": depth, "role": role }))
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::Role,
        units::{Depth, Tokens},
    };

    use super::*;
    use crate::{
        inject::{MemorySlot, SlotPosition},
        model_profile::ModelProfile,
        service::Options,
    };

    #[test]
    fn what_smart_memory_was_set_to_is_read_and_the_rest_is_as_usual() {
        let theirs = json!({
            "longterm_inject_budget": 750, "arcs_max": 4, "unified_injection": true,
            "longterm_extract_every": 5, "session_extract_every": 2,
            "longterm_consolidation_threshold_fact": 6, "session_consolidation_threshold": 5,
            "session_consolidation_threshold_scene": 7, "longterm_triggers_enabled": true,
            "arcs_depth": 8,
            "session_position": 1, "session_depth": 9, "session_role": 2,
            "hardware_profile": "a", "ollama_url": "http://x", "characters": {}, "canon_enabled": "no",
        });
        let file = smart_memory_settings(theirs.as_object().unwrap());
        let options = Options::read(&file.to_string()).unwrap();
        let settings = options.settings;
        assert_eq!((settings.budgets.longterm, settings.arcs_max), (Tokens(750), 4));
        assert_eq!((settings.extract_every, settings.unified_injection), (2, true));
        assert_eq!((settings.consolidation.fact, settings.consolidation.session), (6, 5));
        assert_eq!((settings.consolidation.scene, settings.triggers_enabled), (Some(7), true));
        assert_eq!((settings.canon_enabled, options.model_profile), (true, Some(ModelProfile::A)));
        let moved = settings.places[&MemorySlot::Session];
        let expected = (SlotPosition::InChat, Depth(9), Role::Assistant);
        assert_eq!((moved.position, moved.depth, moved.role), expected);
        let threads = settings.places[&MemorySlot::Arcs];
        assert_eq!((threads.position, threads.depth), (SlotPosition::InChat, Depth(8)));
        assert_eq!(settings.places.len(), 2);
    }
}
