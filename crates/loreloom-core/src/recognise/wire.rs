//! Requests as they arrive, turned into the neutral [`Request`].
//!
//! Only reads: the body itself is forwarded untouched, so unknown fields need no place
//! here. Anything that does not ask for text passes through.

use serde_json::Value;

use super::{Body, Explicit, Request, WireMessage};
use crate::chat::{GenerationType, Role};

/// The header that names the chat.
pub const CHAT_HEADER: &str = "x-loreloom-chat";
/// The header that names the kind of generation.
pub const TYPE_HEADER: &str = "x-loreloom-type";

/// Paths that ask for text, without a query.
const GENERATING: [&str; 9] = [
    "/chat/completions",
    "/completions",
    "/completion",
    "/responses",
    "/api/chat",
    "/api/generate",
    "/api/v1/generate",
    "/api/latest/generate",
    "/api/extra/generate/stream",
];

/// Whether a call asks for text.
pub fn asks(method: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or(path);
    method.eq_ignore_ascii_case("POST") && GENERATING.iter().any(|ending| path.ends_with(ending))
}

/// The request, or `None` if this call does not ask for text.
///
/// `header` finds a header by its lower-case name.
pub fn read<'a>(
    method: &str,
    path: &str,
    header: impl Fn(&str) -> Option<&'a str>,
    body: &Value,
) -> Option<Request> {
    if !asks(method, path) {
        return None;
    }
    Some(Request {
        client: header("user-agent").unwrap_or_default().to_owned(),
        explicit: explicit(&header, body),
        stream: body.get("stream").and_then(Value::as_bool),
        structured: is_structured(body),
        stop: stops(body),
        body: prompt(body)?,
    })
}

fn explicit<'a>(header: &impl Fn(&str) -> Option<&'a str>, body: &Value) -> Explicit {
    let field = |name: &str| body.get("loreloom").and_then(|own| own.get(name)?.as_str());
    let chat = header(CHAT_HEADER).or_else(|| field("chat"));
    let generation = header(TYPE_HEADER).or_else(|| field("type"));
    Explicit {
        chat: chat.map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned),
        generation: generation.map(GenerationType::from_name),
        user: field("user").filter(|name| !name.is_empty()).map(str::to_owned),
        char: field("char").filter(|name| !name.is_empty()).map(str::to_owned),
    }
}

fn is_structured(body: &Value) -> bool {
    let format = body.pointer("/response_format/type").and_then(Value::as_str);
    format.is_some_and(|format| format.starts_with("json")) || body.get("json_schema").is_some()
}

fn stops(body: &Value) -> Vec<String> {
    ["/stop", "/stopping_strings", "/stop_sequence", "/options/stop"]
        .into_iter()
        .filter_map(|at| body.pointer(at))
        .flat_map(|stop| match stop {
            Value::Array(stops) => stops.iter().filter_map(Value::as_str).collect(),
            Value::String(stop) => vec![stop.as_str()],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        })
        .map(str::to_owned)
        .collect()
}

fn prompt(body: &Value) -> Option<Body> {
    if let Some(messages) = body.get("messages").and_then(Value::as_array) {
        return Some(Body::Messages(messages.iter().map(message).collect()));
    }
    if let Some(prompt) = body.get("prompt") {
        return one_prompt(prompt).map(|prompt| Body::Prompt(prompt.to_owned()));
    }
    let input = body.get("input")?;
    let mut messages = Vec::new();
    if let Some(instructions) = body.get("instructions").and_then(Value::as_str) {
        messages.push(WireMessage { text: instructions.to_owned(), ..WireMessage::default() });
    }
    match input {
        Value::Array(items) => messages.extend(items.iter().map(message)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            messages.push(WireMessage {
                role: Role::User,
                text: text_of(input),
                ..WireMessage::default()
            });
        }
    }
    Some(Body::Messages(messages))
}

/// The text of a `prompt` field: a string, alone or the only one of a list. Token numbers
/// and batches are nobody's story.
pub fn one_prompt(prompt: &Value) -> Option<&str> {
    match prompt {
        Value::String(text) => Some(text),
        Value::Array(prompts) => match prompts.as_slice() {
            [Value::String(only)] => Some(only),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn message(value: &Value) -> WireMessage {
    let role = match value.get("role").and_then(Value::as_str) {
        Some("assistant" | "model") => Role::Assistant,
        Some("user") => Role::User,
        // The items of the responses API that are not messages are calls and results.
        Some("tool" | "function") | None => Role::Tool,
        Some(_) => Role::System,
    };
    let calls = value.get("tool_calls").and_then(Value::as_array).is_some_and(|c| !c.is_empty());
    WireMessage {
        role,
        name: value.get("name").and_then(Value::as_str).map(str::to_owned),
        text: value.get("content").map(text_of).unwrap_or_default(),
        tool: calls || role == Role::Tool || value.get("function_call").is_some(),
        told: None,
    }
}

/// What stands between the text parts of a message.
pub const BETWEEN_PARTS: &str = "\n";

/// The text of one part of a message's content; `None` for images and the like.
pub fn part_text(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text").and_then(Value::as_str))
}

/// Text as a string, or the text parts of a list.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(part_text).collect::<Vec<_>>().join(BETWEEN_PARTS)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn no_header(_: &str) -> Option<&'static str> {
        None
    }

    #[test]
    fn only_calls_that_ask_for_text_are_read() {
        let body = json!({"messages": [], "prompt": "", "input": ""});
        for (method, path, asks) in [
            ("POST", "/v1/chat/completions?a=1", true),
            ("POST", "/completion", true),
            ("POST", "/api/generate", true),
            ("POST", "/v1/responses", true),
            ("GET", "/v1/models", false),
            ("POST", "/api/show", false),
            ("POST", "/v1/embeddings", false),
            ("POST", "/tokenize", false),
        ] {
            assert_eq!(read(method, path, no_header, &body).is_some(), asks, "{method} {path}");
        }
    }

    #[test]
    fn the_header_wins_over_the_body_and_odd_fields_are_ignored() {
        let body = json!({"messages": [], "loreloom": {"chat": "body", "type": "quiet"}});
        let header = |name: &str| (name == CHAT_HEADER).then_some("header");
        let request = read("POST", "/v1/chat/completions", header, &body).unwrap();
        assert_eq!(request.explicit.chat.as_deref(), Some("header"));
        assert_eq!(request.explicit.generation, Some(GenerationType::Quiet));
        let odd = json!({"messages": [], "loreloom": 1});
        let request = read("POST", "/v1/chat/completions", no_header, &odd).unwrap();
        assert_eq!(request.explicit, Explicit::default());
    }

    #[test]
    fn messages_keep_their_text_and_calls_are_marked() {
        let body = json!({"stream": true, "stop": "\nWren:", "messages": [
            {"role": "developer", "content": "d"},
            {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url"}]},
            {"role": "assistant", "tool_calls": [{"id": "1"}]},
            {"role": "tool", "tool_call_id": "1", "content": "north"},
        ]});
        let request = read("POST", "/v1/chat/completions", no_header, &body).unwrap();
        let Body::Messages(messages) = request.body else { panic!("messages") };
        let read: Vec<_> = messages.iter().map(|m| (m.role, m.text.as_str(), m.tool)).collect();
        assert_eq!(
            read,
            [
                (Role::System, "d", false),
                (Role::User, "see", false),
                (Role::Assistant, "", true),
                (Role::Tool, "north", true),
            ]
        );
        assert_eq!((request.stream, request.stop), (Some(true), vec!["\nWren:".to_owned()]));
    }
}
