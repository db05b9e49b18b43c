//! What a request states in our field of its body and in our headers.
//!
//! Values that cannot be used are left out and reported: a misspelt name must not look accepted.

use http::HeaderMap;
use loreloom_core::{chat::GenerationType, turn::StoryContext};
use loreloom_recognise::wire;
use serde_json::{Value, json};

use super::OWN_FIELD;
use crate::proxy::headers;

/// The parts of our own field that say whose request it is; all are texts.
const SAID: [&str; 5] = ["chat", "type", "user", "char", "placed_note"];

/// What our field states about the story, and the error in it. Each part counts alone.
pub(super) fn stated(own: &Value) -> (StoryContext, Option<String>) {
    let (mut context, mut complaint) = (StoryContext::default(), None);
    for name in OWN_FIELDS {
        let Some(value) = own.get(name).filter(|value| !value.is_null()) else { continue };
        match serde_json::from_value::<StoryContext>(json!({ name: value })) {
            Ok(part) => context = part.after(&context),
            Err(error) => complaint = Some(format!("`{OWN_FIELD}.{name}`: {error}")),
        }
    }
    (context, complaint)
}

/// The parts of our field about the story.
const OWN_FIELDS: [&str; 11] = [
    "group", "scene", "folders", "pins", "blocks", "greeting", "macros", "note", "user", "char",
    "card",
];

/// The parts of our field that are limits.
const LIMITS: [&str; 2] = ["context", "max_tokens"];

/// What is wrong with our own field: what can be read of it counts all the same.
pub(super) fn complaint(own: &Value) -> Option<String> {
    let Some(fields) = own.as_object() else {
        return Some(format!("`{OWN_FIELD}` must be an object, found `{own}`"));
    };
    fields.iter().find_map(|(name, value)| {
        if SAID.contains(&name.as_str()) {
            let Some(text) = value.as_str() else {
                return Some(format!("`{OWN_FIELD}.{name}` must be text, found `{value}`"));
            };
            return match name.as_str() {
                "type" => mistyped("`loreloom.type`", text),
                "chat" => misnamed("`loreloom.chat`", text),
                _ => None,
            };
        }
        if LIMITS.contains(&name.as_str()) {
            let rule = || format!("`{OWN_FIELD}.{name}` must be a number from 1, found `{value}`");
            return value.as_u64().is_none_or(|number| number == 0).then(rule);
        }
        let known = OWN_FIELDS.contains(&name.as_str());
        (!known).then(|| format!("`{OWN_FIELD}` has no field `{name}`"))
    })
}

/// What is wrong with our headers.
pub(super) fn misheaded(headers: &HeaderMap) -> Option<String> {
    if let Some(weave) = headers.get(headers::WEAVE).filter(|value| *value != "on") {
        // One that says `off` never comes here.
        let found = String::from_utf8_lossy(weave.as_bytes());
        return Some(format!("`{}` must be `off` or `on`, found `{found}`", headers::WEAVE));
    }
    let chat = headers.get(wire::CHAT_HEADER).map(|value| std::str::from_utf8(value.as_bytes()));
    match chat {
        Some(Err(_)) => return Some(format!("`{}` must be UTF-8", wire::CHAT_HEADER)),
        Some(Ok(name)) => {
            if let Some(wrong) = misnamed(&format!("`{}`", wire::CHAT_HEADER), name) {
                return Some(wrong);
            }
        }
        None => (),
    }
    let found = String::from_utf8_lossy(headers.get(wire::TYPE_HEADER)?.as_bytes());
    mistyped(&format!("`{}`", wire::TYPE_HEADER), &found)
}

/// What is wrong with the name of a chat; an empty one means no name and is not a mistake.
fn misnamed(place: &str, found: &str) -> Option<String> {
    let name = found.trim();
    let is_fine = name.is_empty() || wire::is_chat_name(name);
    // The name itself would not fit into a header.
    let length = name.chars().count();
    (!is_fine).then(|| format!("{place} {}, found {length} characters", wire::CHAT_NAMES))
}

fn mistyped(place: &str, found: &str) -> Option<String> {
    let known = GenerationType::ASKED.map(|one| format!("`{}`", one.as_str())).join(", ");
    let rule = || format!("{place} must be one of {known}, found `{found}`");
    GenerationType::asked(found).is_none().then(rule)
}
