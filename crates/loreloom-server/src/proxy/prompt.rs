//! An OpenAI request body: its messages are read and woven, all else is left alone.

use loreloom_core::{
    assemble::{Outline, Plan},
    chat::{Message, Role},
    prompt::PromptMessage,
    report::Span,
};
use serde_json::{Map, Value, json};

use crate::story::RequestContext;

/// A chat request.
pub(super) struct ChatRequest {
    body: Map<String, Value>,
    messages: Vec<RawMessage>,
    pub(super) context: RequestContext,
}

/// A message as it came, and what we understand of it.
struct RawMessage {
    raw: Map<String, Value>,
    role: Role,
    name: Option<String>,
    text: String,
}

/// Why a body is passed on as it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unwoven {
    /// It is not a JSON object.
    #[error("the body is not a JSON object")]
    NotAnObject,
    /// It has no messages.
    #[error("`messages` is not a list of objects")]
    NoMessages,
    /// Our own field is wrong.
    #[error("`loreloom` cannot be read: {reason}")]
    Context {
        /// What is wrong.
        reason: String,
    },
}

impl ChatRequest {
    /// Reads a body.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Unwoven> {
        let mut body: Map<String, Value> =
            serde_json::from_slice(bytes).map_err(|_| Unwoven::NotAnObject)?;
        let context = match body.shift_remove("loreloom") {
            Some(value) => serde_json::from_value(value)
                .map_err(|error| Unwoven::Context { reason: error.to_string() })?,
            None => RequestContext::default(),
        };
        let messages = body.get("messages").and_then(Value::as_array).ok_or(Unwoven::NoMessages)?;
        let messages: Option<Vec<RawMessage>> = messages.iter().map(RawMessage::read).collect();
        Ok(Self { messages: messages.ok_or(Unwoven::NoMessages)?, body, context })
    }

    /// The messages as a story has them.
    pub(super) fn story(&self) -> Vec<Message> {
        let messages = self.messages.iter();
        messages.map(|one| Message::new(one.role, one.name.as_deref(), one.text.as_str())).collect()
    }

    /// What places are found from.
    pub(super) fn outline(&self) -> Vec<Outline<'_>> {
        self.messages.iter().map(|one| Outline { role: one.role, text: &one.text }).collect()
    }

    /// Carries out a plan: the new body, and the prompt as the report shows it.
    pub(super) fn woven(mut self, plan: &Plan) -> (Vec<u8>, Vec<PromptMessage>, Vec<Span>) {
        let mut raw = Vec::new();
        let (mut prompt, mut spans) = (Vec::new(), Vec::new());
        let count = self.messages.len();
        let mut messages = self.messages.into_iter();
        for at in 0..=count {
            for insertion in plan.insertions.iter().filter(|insertion| insertion.before == at) {
                spans.extend(insertion.joined.spans(raw.len(), 0));
                let (role, text) = (insertion.role, &insertion.joined.text);
                raw.push(json!({ "role": role.as_str(), "content": text }));
                prompt.push(PromptMessage { role, name: None, content: text.clone() });
            }
            if let Some(message) = messages.next() {
                let (text, found) = plan.edited(at, raw.len(), &message.text);
                spans.extend(found);
                prompt.push(PromptMessage {
                    role: message.role,
                    name: message.name.clone(),
                    content: text.clone(),
                });
                raw.push(Value::Object(message.with_text(text)));
            }
        }
        self.body.insert("messages".to_owned(), Value::Array(raw));
        (Value::Object(self.body).to_string().into_bytes(), prompt, spans)
    }
}

impl RawMessage {
    fn read(value: &Value) -> Option<Self> {
        let raw = value.as_object()?.clone();
        let role = match raw.get("role")?.as_str()? {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => Role::Tool,
        };
        let name = raw.get("name").and_then(Value::as_str).map(str::to_owned);
        let text = raw.get("content").map(text_of).unwrap_or_default();
        Some(Self { raw, role, name, text })
    }

    /// The message with its text replaced; one whose text is unchanged keeps its every byte.
    fn with_text(mut self, text: String) -> Map<String, Value> {
        if text == self.text {
            return self.raw;
        }
        match self.raw.get_mut("content") {
            Some(Value::Array(parts)) => {
                // Markers in a message of several parts: the first text part takes it all.
                let mut text = Some(text);
                parts.retain_mut(|part| {
                    if part["type"] != "text" {
                        return true;
                    }
                    match text.take() {
                        Some(text) => {
                            part["text"] = Value::String(text);
                            true
                        }
                        None => false,
                    }
                });
            }
            _ => {
                self.raw.insert("content".to_owned(), Value::String(text));
            }
        }
        self.raw
    }
}

/// The text of a message's content: a string, or the text parts of a list.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text");
            texts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        assemble::plan,
        place::{Injection, Place, Provenance},
        units::Tokens,
    };

    use super::*;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"system","content":"card","x":1.50},{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:"}}]}],"n":2,"seed":12345678901234567890,"unknown":{"b":1,"a":null}}"#;

    #[test]
    fn without_injections_nothing_changes() {
        let request = ChatRequest::read(BODY.as_bytes()).unwrap();
        let (body, prompt, spans) = request.woven(&Plan::default());
        let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
        assert_eq!(value(&body), value(BODY.as_bytes()));
        assert_eq!(prompt[1].content, "look");
        assert_eq!(spans, []);
    }

    #[test]
    fn lore_becomes_messages_and_our_own_field_is_not_passed_on() {
        let body = BODY.replacen('{', r#"{"loreloom":{"chat":"c7","char":"Orla"},"#, 1);
        let request = ChatRequest::read(body.as_bytes()).unwrap();
        assert_eq!(request.context.chat.as_deref(), Some("c7"));
        let injection = Injection {
            place: Place::AfterCharacter,
            role: Role::System,
            text: "The bell is cracked.".to_owned(),
            tokens: Tokens(5),
            source: Provenance::Memory("x".to_owned()),
        };
        let plan = plan(&request.outline(), &[injection]);
        let (body, prompt, spans) = request.woven(&plan);
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value.get("loreloom"), None);
        assert_eq!(
            value["messages"][1],
            json!({"role": "system", "content": "The bell is cracked."})
        );
        assert_eq!(value["messages"][2]["content"][1]["type"], "image_url");
        assert_eq!((spans[0].message, &*prompt[1].content), (1, "The bell is cracked."));
    }

    #[test]
    fn what_is_no_chat_request_says_why() {
        for (body, reason) in [
            ("[]", "the body is not a JSON object"),
            (r#"{"prompt":"x"}"#, "`messages` is not a list of objects"),
            (r#"{"messages":["x"]}"#, "`messages` is not a list of objects"),
        ] {
            let error = ChatRequest::read(body.as_bytes()).err().unwrap();
            assert_eq!(error.to_string(), reason);
        }
    }
}
