//! What a client sent.

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its method.
    pub method: Method,
    /// Its path without the query.
    pub path: String,
    /// Its query, without the question mark.
    pub query: Option<String>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Bytes,
    /// The body as JSON; `Null` where it is none.
    pub json: Value,
}

impl Received {
    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The model asked for.
    pub fn model(&self) -> &str {
        self.json["model"].as_str().unwrap_or("scripted")
    }

    /// Whether the client wants a stream. Ollama streams by default.
    pub fn wants_stream(&self) -> bool {
        let default = matches!(self.path.as_str(), "/api/chat" | "/api/generate");
        self.json["stream"].as_bool().unwrap_or(default)
    }

    /// The text a reply would answer: the last message, prompt or input.
    pub fn last_text(&self) -> String {
        let last = |list: &Value| list.as_array().and_then(|list| list.last().cloned());
        let message = last(&self.json["messages"]).or_else(|| last(&self.json["input"]));
        let content = message.map(|message| match message.get("content") {
            Some(content) => content.clone(),
            None => message,
        });
        [content.unwrap_or_default(), self.json["prompt"].clone(), self.json["input"].clone()]
            .iter()
            .map(plain_text)
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }
}

/// The text of a content field, which is a string or a list of parts.
fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
