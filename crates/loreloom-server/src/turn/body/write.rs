//! Applies a plan to the JSON of a body.

use std::ops::Range;

use loreloom_core::{
    assemble::{Insertion, Plan},
    cache_placement::CacheMark,
    room::Cut,
};
use loreloom_formats::JsonEdits;
use loreloom_recognise::wire::{PromptField, outline::Outline};
use serde_json::{Value, json};

use super::{
    OWN_FIELD, message,
    raw::{RawFields, quoted, range_of},
};

/// The body with the plan applied and without our own field.
pub(super) fn woven(body: &str, outline: &Outline, field: PromptField, plan: &Plan) -> String {
    let fields = RawFields::over(body, outline);
    let mut json = JsonEdits::default();
    fields.remove(OWN_FIELD, &mut json);
    match field {
        PromptField::Messages { developer } => {
            let system = if developer { "developer" } else { "system" };
            if let Some((list, messages)) = fields.list("messages") {
                let list = MessageList { body, list, messages, first: 0, system };
                weave_list(&mut json, list, plan);
            }
        }
        PromptField::Prompt => {
            if let Some(prompt) = fields.get("prompt") {
                let only = fields.list("prompt").and_then(|(_, items)| items.first());
                let only = only.map(|only| &body[only.clone()]);
                weave_string(&mut json, body, only.unwrap_or(prompt), plan, 0);
            }
        }
        PromptField::Input { instructed } => {
            let first = usize::from(instructed);
            if let Some(instructions) = fields.get("instructions").filter(|_| instructed) {
                weave_string(&mut json, body, instructions, plan, 0);
            }
            if let Some((list, messages)) = fields.list("input") {
                let list = MessageList { body, list, messages, first, system: "system" };
                weave_list(&mut json, list, plan);
            } else if let Some(input) = fields.get("input") {
                weave_input(&mut json, body, input, plan, first);
            }
        }
    }
    json.apply(body)
}

/// The body with the oldest messages left out and without our own field.
pub(super) fn shortened(body: &str, outline: &Outline, field: PromptField, cut: &Cut) -> String {
    let (first, list) = match field {
        PromptField::Messages { .. } => (0, "messages"),
        PromptField::Input { instructed } => (usize::from(instructed), "input"),
        PromptField::Prompt => (0, "prompt"),
    };
    let fields = RawFields::over(body, outline);
    let items = fields.list(list).map_or(&[][..], |(_, items)| items);
    let count = first + items.len().max(1);
    let within = woven(body, outline, field, &cut.plan(count));
    if !(0..count).any(|at| cut.drops(at)) {
        return within;
    }
    let outline = Outline::of(&within).unwrap_or_default();
    let fields = RawFields::over(&within, &outline);
    let Some((all, items)) = fields.list(list) else { return within };
    let rows = items.iter().enumerate().map(|(at, one)| (one.clone(), !cut.drops(first + at)));
    let rows: Vec<(Range<usize>, bool)> = rows.collect();
    let mut json = JsonEdits::default();
    json.remove_rows(&within, all.start + 1..all.end - 1, &rows);
    json.apply(&within)
}

/// Edits a JSON string that is message `at` of the plan.
fn weave_string(json: &mut JsonEdits, body: &str, string: &str, plan: &Plan, at: usize) {
    if let Some(text) = edited_string(string, plan, at) {
        json.replace(range_of(string, body), quoted(&text));
    }
}

/// The text of a JSON string with its edits; `None` if it stays as it is.
fn edited_string(string: &str, plan: &Plan, at: usize) -> Option<String> {
    let text: String = serde_json::from_str(string).ok()?;
    let edits: Vec<_> = plan.edits_of(at).collect();
    (!edits.is_empty()).then(|| message::edited(&text, 0, &edits))
}

struct MessageList<'body> {
    body: &'body str,
    list: Range<usize>,
    messages: &'body [Range<usize>],
    /// Where in the plan its first message is.
    first: usize,
    /// The name that this API gives to the system role.
    system: &'static str,
}

fn weave_list(json: &mut JsonEdits, list: MessageList<'_>, plan: &Plan) {
    let MessageList { body, list, messages, first, system } = list;
    for (index, one) in messages.iter().enumerate() {
        let edits: Vec<_> = plan.edits_of(first + index).collect();
        if !edits.is_empty() {
            message::edit(json, body, &body[one.clone()], &edits);
        }
    }
    for insertion in &plan.insertions {
        let new = inserted(insertion, system);
        // Insertions before `first` go before the first message of the list.
        match messages.get(insertion.before.saturating_sub(first)) {
            Some(next) => {
                json.replace(next.start..next.start, format!("{new},"));
            }
            None if messages.is_empty() && is_first(plan, insertion) => {
                json.replace(list.start + 1..list.start + 1, new);
            }
            None => {
                let last = messages.last().map_or(list.start + 1, |last| last.end);
                json.replace(last..last, format!(",{new}"));
            }
        }
    }
}

fn is_first(plan: &Plan, insertion: &Insertion) -> bool {
    plan.insertions.first().is_some_and(|first| std::ptr::eq(first, insertion))
}

/// A text input of the responses API. It becomes a list if a message must be added.
fn weave_input(json: &mut JsonEdits, body: &str, input: &str, plan: &Plan, first: usize) {
    if plan.insertions.is_empty() {
        weave_string(json, body, input, plan, first);
        return;
    }
    let said = match edited_string(input, plan, first) {
        Some(text) => quoted(&text),
        None => input.to_owned(),
    };
    let said = format!(r#"{{"role":"user","content":{said}}}"#);
    let (before, after): (Vec<&Insertion>, Vec<&Insertion>) =
        plan.insertions.iter().partition(|insertion| insertion.before <= first);
    let write = |insertions: Vec<&Insertion>| -> Vec<String> {
        insertions.into_iter().map(|insertion| inserted(insertion, "system")).collect()
    };
    let list = [write(before), vec![said], write(after)].concat();
    json.replace(range_of(input, body), format!("[{}]", list.join(",")));
}

/// The body with breakpoints after messages, in Anthropic's words; `None` if there is nothing
/// to do. A front end that sets breakpoints itself knows better.
pub(super) fn marked(body: &str, field: PromptField, breakpoints: &[CacheMark]) -> Option<String> {
    let PromptField::Messages { .. } = field else { return None };
    if breakpoints.is_empty() || body.contains("\"cache_control\"") {
        return None;
    }
    let fields = RawFields::of(body)?;
    let (_, messages) = fields.list("messages")?;
    let mut json = JsonEdits::default();
    for CacheMark { message, .. } in breakpoints {
        let one = messages.get(*message).and_then(|one| body.get(one.clone()));
        let content = one.and_then(|one| RawFields::of(one)?.get("content"));
        if let Some((content, marked)) = content.and_then(|one| Some((one, with_mark(one)?))) {
            json.replace(range_of(content, body), marked);
        }
    }
    Some(json.apply(body))
}

/// The content of a message with a breakpoint at its end; `None` if it can have none.
fn with_mark(content: &str) -> Option<String> {
    let mut parts = match serde_json::from_str(content).ok()? {
        Value::String(text) if !text.is_empty() => vec![json!({ "type": "text", "text": text })],
        Value::Array(parts) => parts,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return None;
        }
    };
    let last = parts.last_mut()?.as_object_mut()?;
    last.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    serde_json::to_string(&parts).ok()
}

fn inserted(insertion: &Insertion, system: &str) -> String {
    let role = match insertion.role.as_str() {
        "system" => system,
        other => other,
    };
    json!({ "role": role, "content": insertion.joined.text }).to_string()
}
