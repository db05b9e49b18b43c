//! Reading the answer of a selecting model.
//!
//! Models wrap their answer in prose, fences, objects and envelopes of their providers. All of
//! these are searched for a list.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::js_value::is_truthy;

/// A note that the selecting model chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteChoice {
    /// The title as the model wrote it.
    pub title: String,
    /// How sure it was.
    pub confidence: Confidence,
    /// Why, in its words.
    pub reason: String,
}

/// How sure the selecting model was.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Not very: all that is asked for, unless the rules say more.
    #[default]
    Low,
    /// Somewhat, also if it did not say.
    Medium,
    /// Very.
    High,
}

impl Confidence {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Keys under which models put their list.
const WRAPPERS: [&str; 4] = ["results", "entries", "titles", "selected"];
/// Keys under which providers put the model's text.
const ENVELOPES: [&str; 9] = [
    "candidates",
    "choices",
    "output",
    "message",
    "content",
    "parts",
    "text",
    "output_text",
    "response",
];
/// Envelopes inside envelopes at the most.
const DEEPEST: u32 = 8;
/// Brackets in prose that are tried at the most.
const MOST_BRACKETS: usize = 200;

/// The list in an answer; `None` if there is none that can be used.
pub fn parse_reply(reply: &str) -> Option<Vec<Value>> {
    from_text(reply, DEEPEST)
}

/// The same for an answer that may be cut off: its complete choices count. DeepLore ignores
/// such an answer.
pub fn parse_truncated(reply: &str) -> Option<Vec<Value>> {
    if let Some(list) = parse_reply(reply) {
        return Some(list);
    }
    let start = reply.find('[')?;
    let bytes = reply.as_bytes();
    let mut list = Vec::new();
    let mut at = start + 1;
    while let Some(open) = (at..bytes.len()).find(|&at| bytes[at] == b'{') {
        let Some(end) = closing(bytes, open) else { break };
        list.extend(serde_json::from_str::<Value>(&reply[open..end]).ok());
        at = end;
    }
    (!list.is_empty() && is_usable(&list)).then_some(list)
}

fn from_text(text: &str, depth: u32) -> Option<Vec<Value>> {
    let depth = depth.checked_sub(1)?;
    let whole = serde_json::from_str::<Value>(text.trim());
    whole
        .ok()
        .and_then(|value| from_value(value, depth))
        .or_else(|| from_json(&without_fence_lines(text), depth))
        .or_else(|| from_json(fenced(text)?, depth))
        .or_else(|| balanced(text).into_iter().find_map(|part| from_json(part, depth)))
}

fn from_json(text: &str, depth: u32) -> Option<Vec<Value>> {
    from_value(serde_json::from_str(text.trim()).ok()?, depth)
}

fn from_value(value: Value, depth: u32) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => is_usable(&list).then_some(list),
        Value::Object(object) => from_object(&object, depth),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn from_object(object: &Map<String, Value>, depth: u32) -> Option<Vec<Value>> {
    let list = |value: &Value| value.as_array().filter(|list| is_usable(list)).cloned();
    WRAPPERS
        .iter()
        .find_map(|key| list(object.get(*key)?))
        .or_else(|| object.values().find_map(list))
        .or_else(|| {
            let mut text = String::new();
            collect_text(object, &mut text, DEEPEST);
            if text.is_empty() { None } else { from_text(&text, depth) }
        })
}

/// The model's text inside a provider's envelope.
fn collect_text(object: &Map<String, Value>, out: &mut String, depth: u32) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for value in ENVELOPES.iter().filter_map(|key| object.get(*key)) {
        let parts = match value {
            Value::Array(list) => list.as_slice(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => std::slice::from_ref(value),
        };
        for part in parts {
            match part {
                Value::String(text) => out.push_str(text),
                Value::Object(inner) => collect_text(inner, out, depth),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
            }
        }
    }
}

/// An empty list means that nothing fits; any other must hold something with a title.
fn is_usable(list: &[Value]) -> bool {
    let named = |item: &Value, key: &str| item.get(key).is_some_and(is_truthy);
    list.is_empty()
        || list.iter().any(|item| item.is_string() || named(item, "title") || named(item, "name"))
}

/// A title of a choice: the first that is text.
fn title_of(item: &Value) -> Option<&str> {
    let text = |key: &str| item.get(key)?.as_str().filter(|text| !text.is_empty());
    text("title").or_else(|| text("name"))
}

/// The title as DeepLore reads it: the name counts only where there is no title at all.
fn strict_title_of(item: &Value) -> Option<&str> {
    let key = if item.get("title").is_some_and(is_truthy) { "title" } else { "name" };
    item.get(key)?.as_str()
}

fn without_fence_lines(text: &str) -> String {
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("```"));
    kept.collect::<Vec<_>>().join("\n")
}

/// The text inside the first fence.
fn fenced(text: &str) -> Option<&str> {
    let start = text.find("```")?;
    let inside = text[start..].trim_start_matches('`');
    let inside = inside.strip_prefix("json").unwrap_or(inside);
    inside.find("```").map(|end| &inside[..end])
}

/// Parts in balanced brackets, longest first. Brackets in strings do not count.
fn balanced(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let opening = (0..bytes.len()).filter(|&at| matches!(bytes[at], b'[' | b'{'));
    let mut parts: Vec<&str> =
        opening.take(MOST_BRACKETS).filter_map(|at| Some(&text[at..closing(bytes, at)?])).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts
}

/// One past the bracket that closes the one at `start`.
fn closing(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut open, mut in_string, mut escaped) = (0_u32, false, false);
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => open += 1,
            b']' | b'}' if !in_string => {
                open -= 1;
                if open == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The choices in a list, with a reason for those that give none. What has no title is left
/// out.
pub fn normalise(list: &[Value], default_reason: &str) -> Vec<NoteChoice> {
    choices(list, default_reason, title_of)
}

/// The same as DeepLore does it, which leaves out a choice whose title is a number even where
/// its name is not.
pub fn normalise_strictly(list: &[Value], default_reason: &str) -> Vec<NoteChoice> {
    choices(list, default_reason, strict_title_of)
}

fn choices(
    list: &[Value],
    default_reason: &str,
    title_of: impl Fn(&Value) -> Option<&str>,
) -> Vec<NoteChoice> {
    let choice = |item: &Value| {
        let (title, confidence, reason) = match item {
            Value::String(title) => (title.as_str(), Confidence::Medium, default_reason),
            Value::Object(object) => {
                let text = |key: &str| object.get(key).and_then(Value::as_str);
                let confidence = match text("confidence") {
                    Some("high") => Confidence::High,
                    Some("low") => Confidence::Low,
                    Some(_) | None => Confidence::Medium,
                };
                (title_of(item)?, confidence, text("reason").unwrap_or(default_reason))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
        };
        let named = !title.trim().is_empty() && !matches!(title, "null" | "undefined");
        named.then(|| NoteChoice { title: title.to_owned(), confidence, reason: reason.to_owned() })
    };
    list.iter().filter_map(choice).collect()
}

/// How alike two titles must be to be the same one misspelt.
const ALIKE: f64 = 0.6;

/// The candidate that a title most likely means, and how alike they are: the one it names,
/// else the most similar.
pub fn closest_title<'a>(
    title: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, f64)> {
    let wanted = title.to_lowercase();
    let mut named = None;
    let unnamed = candidates.into_iter().take_while(|candidate| {
        named = (candidate.to_lowercase() == wanted).then_some((*candidate, 1.0));
        named.is_none()
    });
    let similar = similar_title(title, unnamed);
    named.or(similar)
}

/// The candidate most similar to a title, and how alike they are: pairs of letters they share,
/// so a single letter is like nothing. The first of equals wins.
pub fn similar_title<'a>(
    title: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, f64)> {
    let pairs = letter_pairs(&title.to_lowercase());
    let mut best: Option<(&str, f64)> = None;
    for candidate in candidates {
        let similarity = dice(&pairs, &letter_pairs(&candidate.to_lowercase()));
        if best.is_none_or(|(_, known)| similarity > known) {
            best = Some((candidate, similarity));
        }
    }
    best.filter(|(_, similarity)| *similarity >= ALIKE)
}

fn letter_pairs(text: &str) -> FxHashSet<[u16; 2]> {
    let units: Vec<u16> = text.encode_utf16().collect();
    units.array_windows::<2>().copied().collect()
}

fn dice(a: &FxHashSet<[u16; 2]>, b: &FxHashSet<[u16; 2]>) -> f64 {
    let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    2.0 * float(a.intersection(b).count()) / float(a.len() + b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(reply: &str) -> Option<Vec<String>> {
        let choices = normalise(&parse_reply(reply)?, "chosen");
        Some(choices.into_iter().map(|choice| choice.title).collect())
    }

    #[test]
    fn a_list_is_found_in_whatever_it_is_wrapped() {
        for (reply, expected) in [
            (r#"["Hall"]"#, Some(vec!["Hall"])),
            ("```json\n[\"Hall\"]\n```", Some(vec!["Hall"])),
            ("Sure!\n```\n{\"selected\": [{\"title\": \"Hall\"}]}\n```\nBye", Some(vec!["Hall"])),
            (r#"Of [all] these: {"x": ["Hall", "Door"]} fit"#, Some(vec!["Hall", "Door"])),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"[\"Hall\"]"}]}}]}"#,
                Some(vec!["Hall"]),
            ),
            (r#"{"output_text": "I say [\"Hall\"]"}"#, Some(vec!["Hall"])),
            ("[]", Some(vec![])),
            ("[1, 2]", None),
            (r#"[{"title": "Hall"}, {"title": "Do"#, None),
            ("nothing", None),
        ] {
            let expected: Option<Vec<String>> =
                expected.map(|titles| titles.into_iter().map(str::to_owned).collect());
            assert_eq!(titles(reply), expected, "{reply}");
        }
    }

    #[test]
    fn the_whole_choices_of_an_answer_that_was_cut_off_count() {
        let cut = r#"{"selected": [{"title": "Hall", "reason": "a [b"}, {"title": "Do"#;
        let list = parse_truncated(cut).map(|list| normalise(&list, "chosen"));
        let titles = list.map(|list| list.into_iter().map(|one| one.title).collect::<Vec<_>>());
        assert_eq!(titles, Some(vec!["Hall".to_owned()]));
        assert_eq!(parse_truncated("I cannot [help with"), None);
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        let deep = "[".repeat(10_000);
        assert_eq!(parse_reply(&deep), None);
    }

    #[test]
    fn a_misspelt_title_finds_the_closest() {
        let candidates = ["Glass Orchard", "Grass Orchid", "X"];
        assert_eq!(closest_title("glass orchard", candidates), Some(("Glass Orchard", 1.0)));
        assert_eq!(closest_title("x", candidates), Some(("X", 1.0)));
        assert_eq!(closest_title("unrelated", candidates), None);
        assert_eq!(similar_title("x", candidates), None);
        assert_eq!(
            similar_title("glass orchards", ["X", "Glass Orchard"]).map(|one| one.0),
            Some("Glass Orchard")
        );
        assert_eq!(closest_title("aa", ["aaa", "AA"]), Some(("AA", 1.0)), "named beats similar");
    }

    #[test]
    fn a_title_that_is_no_text_hides_the_name_only_from_deeplore() {
        let list = [
            serde_json::json!({"title": 5, "name": "Hall"}),
            serde_json::json!({"title": "", "name": "Door"}),
        ];
        let titles = |choices: Vec<NoteChoice>| -> Vec<String> {
            choices.into_iter().map(|choice| choice.title).collect()
        };
        assert_eq!(titles(normalise(&list, "chosen")), ["Hall", "Door"]);
        assert_eq!(titles(normalise_strictly(&list, "chosen")), ["Door"]);
    }
}
