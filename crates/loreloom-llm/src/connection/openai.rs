//! The wire form of OpenAI's chat completions.

use loreloom_core::{chat::Role, prompt::PromptMessage};
use loreloom_ports::ChatRequest;
use serde_json::{Map, Value, json};

use super::{
    Connection, Delivery,
    reading::{ReplyPiece, Unreadable},
};

/// The path below the base address.
pub(super) const PATH: &str = "/chat/completions";

/// The longest speaker name the API takes.
const LONGEST_NAME: usize = 64;

pub(super) fn body(connection: &Connection, request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(connection.model));
    body.insert("messages".to_owned(), request.messages.iter().map(message).collect());
    let stream = connection.delivery == Delivery::Streamed;
    body.insert("stream".to_owned(), json!(stream));
    let reasons = is_reasoning_model(&connection.model);
    if let Some(limit) = request.max_tokens {
        let field = if reasons { "max_completion_tokens" } else { "max_tokens" };
        body.insert(field.to_owned(), json!(limit));
    }
    // Reasoning models refuse any temperature but their own.
    if let Some(temperature) = request.temperature.filter(|_| !reasons) {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(schema) = &request.schema {
        let format = json!({
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": true, "schema": schema},
        });
        body.insert("response_format".to_owned(), format);
    }
    Value::Object(body)
}

/// Names may only hold letters, digits, `_` and `-`; other characters become `_`.
fn message(message: &PromptMessage) -> Value {
    let name: Option<String> = message.name.as_deref().map(|name| {
        let safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        name.chars().take(LONGEST_NAME).map(|c| if safe(c) { c } else { '_' }).collect()
    });
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(role(message.role)));
    if let Some(name) = name.filter(|name| name.chars().any(char::is_alphanumeric)) {
        fields.insert("name".to_owned(), json!(name));
    }
    fields.insert("content".to_owned(), json!(message.content));
    Value::Object(fields)
}

/// A tool's result is refused without the call it belongs to, which a [`PromptMessage`] does
/// not carry, so it is sent as a message of the user.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    }
}

/// Whether a model is one of OpenAI's that think first: `o1`, `o3-mini`, `gpt-5`, ….
fn is_reasoning_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let o_series = name.strip_prefix('o').is_some_and(|rest| {
        rest.starts_with(|digit: char| digit.is_ascii_digit())
            && rest
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .chars()
                .next()
                .is_none_or(|c| c == '-')
    });
    o_series || (name.starts_with("gpt-5") && !name.contains("-chat"))
}

/// Reads a whole answer or one chunk of a stream.
pub(super) fn read(document: &Value) -> Result<ReplyPiece, Unreadable> {
    let missing = Unreadable::Field { field: "choices", expected: "a list" };
    let choices = document["choices"].as_array().ok_or(missing)?;
    let Some(choice) = choices.first() else {
        // The chunk that carries only usage.
        return Ok(ReplyPiece::default());
    };
    if let Some(message) = choice.get("message") {
        return Ok(ReplyPiece { text: content(&message["content"])?, ends: true });
    }
    let delta = choice
        .get("delta")
        .ok_or(Unreadable::Field { field: "choices[0]", expected: "a message or a delta" })?;
    Ok(ReplyPiece { text: content(&delta["content"])?, ends: !choice["finish_reason"].is_null() })
}

/// Content is text, nothing, or a list of parts of which some are text.
fn content(content: &Value) -> Result<String, Unreadable> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Array(parts) => Ok(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(Unreadable::Field { field: "content", expected: "text" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Address;

    fn connection(model: &str) -> Connection {
        Connection::new(Address::parse("http://127.0.0.1/v1").unwrap(), model)
    }

    fn request() -> ChatRequest {
        ChatRequest {
            messages: vec![
                PromptMessage { role: Role::System, name: None, content: "Be brief.".into() },
                PromptMessage {
                    role: Role::User,
                    name: Some("Ana María".to_owned()),
                    content: "Hi".into(),
                },
                PromptMessage {
                    role: Role::Tool,
                    name: Some("日本".to_owned()),
                    content: "4".into(),
                },
            ],
            max_tokens: Some(64),
            temperature: Some(0.5),
            schema: Some(json!({"type": "object"})),
        }
    }

    #[test]
    fn a_request_is_written_as_the_api_wants_it() {
        assert_eq!(
            body(&connection("local"), &request()),
            json!({
                "model": "local",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "name": "Ana_Mar_a", "content": "Hi"},
                    {"role": "user", "content": "4"},
                ],
                "stream": false,
                "max_tokens": 64,
                "temperature": 0.5,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "strict": true, "schema": {"type": "object"}},
                },
            })
        );
    }

    #[test]
    fn reasoning_models_get_their_own_limit_and_no_temperature() {
        for (model, reasons) in [
            ("o1", true),
            ("o3-mini", true),
            ("openai/o4-mini", true),
            ("gpt-5", true),
            ("gpt-5-mini", true),
            ("gpt-5-chat-latest", false),
            ("gpt-4o", false),
            ("olmo-2", false),
            ("o2x", false),
            ("llama3", false),
        ] {
            let body = body(&connection(model), &request());
            assert_eq!(body.get("max_completion_tokens").is_some(), reasons, "{model}");
            assert_eq!(body.get("max_tokens").is_none(), reasons, "{model}");
            assert_eq!(body.get("temperature").is_none(), reasons, "{model}");
        }
    }

    #[test]
    fn answers_and_chunks_are_read() {
        for (document, text, ends) in [
            (json!({"choices": [{"message": {"content": "Yes."}}]}), "Yes.", true),
            (json!({"choices": [{"message": {"content": null}}]}), "", true),
            (
                json!({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "image"}]}}]}),
                "a",
                true,
            ),
            (json!({"choices": [{"delta": {"content": "Y"}, "finish_reason": null}]}), "Y", false),
            (json!({"choices": [{"delta": {"reasoning_content": "hm"}}]}), "", false),
            (json!({"choices": [{"delta": {}, "finish_reason": "length"}]}), "", true),
            (json!({"choices": [], "usage": {}}), "", false),
        ] {
            assert_eq!(
                read(&document),
                Ok(ReplyPiece { text: text.to_owned(), ends }),
                "{document}"
            );
        }
        for document in [json!({}), json!({"choices": {}}), json!({"choices": [{}]}), json!(3)] {
            assert!(matches!(read(&document), Err(Unreadable::Field { .. })), "{document}");
        }
    }
}
