//! Reads requests of every API into the neutral [`Request`].
//!
//! The body itself is forwarded untouched, so unknown fields need no place here. A request that
//! does not ask for text is not read at all.

mod item;
mod lenient;
pub mod outline;
mod reading;

use serde::Deserialize as _;
use serde_json::Value;

use self::{item::Item, lenient::Any};
use super::{Body, Explicit, Request, WireMessage};
use loreloom_core::chat::{GenerationType, Role};

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
    let path = path.split('?').next().unwrap_or(path).trim_end_matches('/');
    method.eq_ignore_ascii_case("POST") && GENERATING.iter().any(|ending| path.ends_with(ending))
}

/// The fields of a body that we read. Only invalid JSON is an error: a field of the wrong type
/// counts as missing, and of repeated fields the last one counts.
#[derive(Clone, Debug, Default)]
pub struct WireBody {
    /// The model it asks for.
    pub model: Option<String>,
    /// Our own field.
    pub own: Option<Value>,
    messages: Option<Vec<Item>>,
    prompt: Option<Value>,
    input: Option<Value>,
    instructions: Option<String>,
    previous_response_id: Option<String>,
    stream: Option<bool>,
    response_format: Option<Value>,
    has_schema: bool,
    stop: Option<Value>,
    stopping_strings: Option<Value>,
    stop_sequence: Option<Value>,
    options: Option<Value>,
}

/// Where a body has its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptField {
    /// A list of messages.
    Messages {
        /// Whether the body calls its system messages the developer's.
        developer: bool,
    },
    /// One text, alone or the only one of a list.
    Prompt,
    /// The list or text of the responses API.
    Input {
        /// Whether `instructions` come before it.
        instructed: bool,
    },
}

impl WireBody {
    /// Where the prompt is; `None` if the request has no prompt that lore can be put into.
    pub fn field(&self) -> Option<PromptField> {
        if let Some(items) = &self.messages {
            let developer = items.iter().any(|item| item.is_developers);
            let woven = items.iter().all(|item| item.is_object);
            return woven.then_some(PromptField::Messages { developer });
        }
        if let Some(prompt) = &self.prompt {
            return one_prompt(prompt).map(|_| PromptField::Prompt);
        }
        let instructed = self.instructions.is_some();
        self.input.as_ref().map(|_| PromptField::Input { instructed })
    }
}

/// The request, or `None` if this call does not ask for text.
///
/// `header` finds a header by its lower-case name.
pub fn read<'a>(
    method: &str,
    path: &str,
    header: impl Fn(&str) -> Option<&'a str>,
    mut body: WireBody,
) -> Option<Request> {
    if !asks(method, path) {
        return None;
    }
    Some(Request {
        client: header("user-agent").unwrap_or_default().to_owned(),
        explicit: Explicit {
            follows: body.previous_response_id.take().filter(|id| !id.is_empty()),
            ..explicit(&header, body.own.as_ref())
        },
        stream: body.stream,
        structured: is_structured(&body),
        stop: stops(&body),
        body: prompt(&mut body)?,
    })
}

fn explicit<'a>(header: &impl Fn(&str) -> Option<&'a str>, own: Option<&Value>) -> Explicit {
    let field = |name: &str| own.and_then(|own| own.get(name)?.as_str());
    let chat = header(CHAT_HEADER).or_else(|| field("chat"));
    let generation = header(TYPE_HEADER).or_else(|| field("type"));
    Explicit {
        chat: chat.map(str::trim).filter(|id| is_chat_name(id)).map(str::to_owned),
        follows: None,
        generation: generation.map(str::trim).and_then(GenerationType::asked),
        user: field("user").map(|name| name.trim().to_owned()),
        char: field("char").map(|name| name.trim().to_owned()),
        placed_note: field("placed_note").map(str::to_owned),
    }
}

/// The rule for names of chats.
pub const CHAT_NAMES: &str = "must have 1 to 200 characters, none of which is a control character";

/// Whether a chat can have this name: it is also used in headers and tables.
pub fn is_chat_name(name: &str) -> bool {
    (1..=200).contains(&name.chars().count()) && !name.contains(char::is_control)
}

fn is_structured(body: &WireBody) -> bool {
    let format = body.response_format.as_ref().and_then(|format| format.get("type")?.as_str());
    format.is_some_and(|format| format.starts_with("json")) || body.has_schema
}

fn stops(body: &WireBody) -> Vec<String> {
    let options = body.options.as_ref().and_then(|options| options.get("stop"));
    [body.stop.as_ref(), body.stopping_strings.as_ref(), body.stop_sequence.as_ref(), options]
        .into_iter()
        .flatten()
        .flat_map(|stop| match stop {
            Value::Array(stops) => stops.iter().filter_map(Value::as_str).collect(),
            Value::String(stop) => vec![stop.as_str()],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        })
        .map(str::to_owned)
        .collect()
}

fn prompt(body: &mut WireBody) -> Option<Body> {
    if let Some(items) = body.messages.take() {
        return Some(Body::Messages(items.into_iter().map(|item| item.message).collect()));
    }
    if let Some(prompt) = &body.prompt {
        return one_prompt(prompt).map(|prompt| Body::Prompt(prompt.to_owned()));
    }
    let input = body.input.as_ref()?;
    let mut messages = Vec::new();
    if let Some(text) = body.instructions.take() {
        messages.push(WireMessage { text: text.into(), ..WireMessage::default() });
    }
    match input {
        Value::Array(items) => messages.extend(items.iter().map(message)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            messages.push(WireMessage {
                role: Role::User,
                text: text_of(input).into(),
                ..WireMessage::default()
            });
        }
    }
    Some(Body::Messages(messages))
}

/// The text of a `prompt` field: a string, alone or the only one of a list. Token numbers
/// and batches are not a story.
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
    // Whatever an item is, it is read as one.
    Any::<Item>::deserialize(value).map(|item| item.0).unwrap_or_default().message
}

/// The separator of the text parts of a message.
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

    fn body(value: &Value) -> WireBody {
        WireBody::read(&value.to_string()).unwrap().0
    }

    #[test]
    fn only_calls_that_ask_for_text_are_read() {
        let body = json!({"messages": [], "prompt": "", "input": ""});
        for (method, path, asks) in [
            ("POST", "/v1/chat/completions?a=1", true),
            ("POST", "/completion", true),
            ("POST", "/v1/chat/completions/", true),
            ("POST", "/api/generate", true),
            ("POST", "/v1/responses", true),
            ("GET", "/v1/models", false),
            ("POST", "/api/show", false),
            ("POST", "/v1/embeddings", false),
            ("POST", "/tokenize", false),
        ] {
            assert_eq!(
                read(method, path, no_header, self::body(&body)).is_some(),
                asks,
                "{method} {path}"
            );
        }
    }

    #[test]
    fn the_header_wins_over_the_body_and_odd_fields_are_ignored() {
        let body = json!({"messages": [], "loreloom": {"chat": "body", "type": "quiet"}});
        let header = |name: &str| (name == CHAT_HEADER).then_some("header");
        let request = read("POST", "/v1/chat/completions", header, self::body(&body)).unwrap();
        assert_eq!(request.explicit.chat.as_deref(), Some("header"));
        assert_eq!(request.explicit.generation, Some(GenerationType::Quiet));
        let odd = json!({"messages": [], "loreloom": 1});
        let request = read("POST", "/v1/chat/completions", no_header, self::body(&odd)).unwrap();
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
        let request = read("POST", "/v1/chat/completions", no_header, self::body(&body)).unwrap();
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

    #[test]
    fn a_field_of_another_type_is_missing_and_of_several_the_last_counts() {
        let text = r#"{"messages": 7, "model": ["m"], "stream": "yes", "stop": {"a": 1},
            "input": "first", "input": "last", "instructions": null, "unknown": [{"x": [1e400]}]}"#;
        let read_body = |text: &str| Some(WireBody::read(text)?.0);
        let body = read_body(text).unwrap();
        assert_eq!(body.field(), Some(PromptField::Input { instructed: false }));
        assert_eq!((&body.model, body.stream), (&None, None));
        let request = read("POST", "/v1/responses", no_header, body).unwrap();
        let said = WireMessage { role: Role::User, text: "last".into(), ..WireMessage::default() };
        assert_eq!(request.body, Body::Messages(vec![said]));
        for broken in [
            "[1]",
            r#"{"a": 1"#,
            r#"{"a": 01}"#,
            r#"{"a": [1,]}"#,
            r#"{"messages": [{} {}]}"#,
            r#"{"messages": [{},]}"#,
            "{\"a\nb\": 1}",
            r#"{"\x": 1}"#,
            r#"{"stop": nothing}"#,
            "{} {}",
        ] {
            assert!(read_body(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn any_item_of_a_list_is_a_message_but_only_objects_are_woven_into() {
        let items = json!({"messages": [
            "text", 7, null, ["a"], {"role": 1, "content": {"a": 1}, "name": [], "role": "user"},
            {"role": "developer", "content": ["a", {"text": "b"}, {"text": 1}, [], "c"]},
        ]});
        let body: WireBody = body(&items);
        assert_eq!(body.field(), None);
        let request = read("POST", "/v1/chat/completions", no_header, body).unwrap();
        let Body::Messages(messages) = request.body else { panic!("messages") };
        let read: Vec<_> = messages.iter().map(|m| (m.role, m.text.as_str(), m.tool)).collect();
        let nothing = (Role::Tool, "", true);
        let (user, system) = ((Role::User, "", false), (Role::System, "a\nb\nc", false));
        assert_eq!(read, [nothing, nothing, nothing, nothing, user, system]);
        let objects = json!({"messages": [{"role": "developer", "content": "d"}, {}]});
        let field = self::body(&objects).field();
        assert_eq!(field, Some(PromptField::Messages { developer: true }));
    }
}
