//! The wire form of Ollama's chat.

use loreloom_ports::ChatRequest;
use serde_json::{Map, Value, json};

use super::{
    Connection, Delivery,
    openai::role,
    reading::{ReplyPiece, Unreadable},
};

/// The path below the base address.
pub(super) const PATH: &str = "/api/chat";

/// The body of a request. Ollama knows no speaker names: a named user or assistant message
/// gets its name in front, as a transcript would.
pub(super) fn body(connection: &Connection, request: &ChatRequest) -> Value {
    let messages: Vec<Value> = request
        .messages
        .iter()
        .map(|message| {
            let content = match &message.name {
                Some(name) => format!("{name}: {}", message.content),
                None => message.content.to_string(),
            };
            json!({"role": role(message.role), "content": content})
        })
        .collect();
    let mut options = Map::new();
    if let Some(limit) = request.max_tokens {
        options.insert("num_predict".to_owned(), json!(limit));
    }
    if let Some(temperature) = request.temperature {
        options.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(context) = connection.context {
        options.insert("num_ctx".to_owned(), json!(context));
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(connection.model));
    body.insert("messages".to_owned(), json!(messages));
    body.insert("stream".to_owned(), json!(connection.delivery == Delivery::Streamed));
    if let Some(schema) = &request.schema {
        body.insert("format".to_owned(), schema.clone());
    }
    if !options.is_empty() {
        body.insert("options".to_owned(), Value::Object(options));
    }
    Value::Object(body)
}

/// Reads a whole answer or one line of a stream. Thoughts come in a field of their own,
/// `thinking`, which is left out.
pub(super) fn read(document: &Value) -> Result<ReplyPiece, Unreadable> {
    let ends = document["done"].as_bool().unwrap_or(false);
    match &document["message"]["content"] {
        Value::String(text) => Ok(ReplyPiece { text: text.clone(), ends }),
        Value::Null if ends || document["message"].is_object() => {
            Ok(ReplyPiece { text: String::new(), ends })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Unreadable::Field { field: "message.content", expected: "text" })
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{chat::Role, prompt::PromptMessage};

    use super::*;
    use crate::connection::Address;

    #[test]
    fn a_request_is_written_as_the_api_wants_it() {
        let mut connection =
            Connection::new(Address::parse("http://127.0.0.1").unwrap(), "qwen3:8b");
        connection.context = Some(8192);
        let request = ChatRequest {
            messages: vec![PromptMessage {
                role: Role::User,
                name: Some("Ana".to_owned()),
                content: "Hi".into(),
            }],
            max_tokens: Some(64),
            temperature: Some(0.0),
            schema: Some(json!({"type": "object"})),
        };
        assert_eq!(
            body(&connection, &request),
            json!({
                "model": "qwen3:8b",
                "messages": [{"role": "user", "content": "Ana: Hi"}],
                "stream": false,
                "format": {"type": "object"},
                "options": {"num_predict": 64, "temperature": 0.0, "num_ctx": 8192},
            })
        );
    }

    #[test]
    fn answers_and_lines_are_read() {
        for (document, text, ends) in [
            (json!({"message": {"content": "Yes."}, "done": true}), "Yes.", true),
            (json!({"message": {"content": "Y"}, "done": false}), "Y", false),
            (json!({"message": {"thinking": "hm"}, "done": false}), "", false),
            (json!({"done": true}), "", true),
        ] {
            assert_eq!(
                read(&document),
                Ok(ReplyPiece { text: text.to_owned(), ends }),
                "{document}"
            );
        }
        for document in [json!({}), json!([]), json!({"message": {"content": 1}, "done": true})] {
            assert!(matches!(read(&document), Err(Unreadable::Field { .. })), "{document}");
        }
    }
}
