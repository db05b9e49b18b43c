//! The storyteller's answers as Ollama would write them.

use bytes::Bytes;
use serde_json::{Value, json};

use super::model::{OFFLINE_MODEL, OfflineReply};

/// The times of answers: the storyteller has no clock.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// Which of Ollama's two ways of asking was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `/api/chat`.
    Chat,
    /// `/api/generate`.
    Generate,
}

impl Asked {
    fn says(self, model: &str, text: &str, done: bool) -> Value {
        let mut line = json!({"model": model, "created_at": CREATED});
        match self {
            Self::Chat => line["message"] = json!({"role": "assistant", "content": text}),
            Self::Generate => line["response"] = json!(text),
        }
        line["done"] = json!(done);
        line
    }
}

/// The whole answer, or a line for each word.
pub(super) fn answer(asked: Asked, model: &str, reply: &OfflineReply, stream: bool) -> Vec<Bytes> {
    let reason = if reply.cut { "length" } else { "stop" };
    let last = |text: &str| {
        let mut last = asked.says(model, text, true);
        last["done_reason"] = json!(reason);
        Bytes::from(format!("{last}\n"))
    };
    if !stream {
        return vec![last(&reply.text)];
    }
    let words = reply.text.split_inclusive(' ');
    let lines = words.map(|word| Bytes::from(format!("{}\n", asked.says(model, word, false))));
    lines.chain([last("")]).collect()
}

/// The answer to a request that says nothing: it loads the model, or unloads it if that is to be
/// kept for no time.
pub(super) fn loaded(asked: Asked, model: &str, body: &[u8]) -> Value {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let kept_for = match &body["keep_alive"] {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim_end_matches(char::is_alphabetic).parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let mut loaded = asked.says(model, "", true);
    loaded["done_reason"] = json!(if kept_for == Some(0.0) { "unload" } else { "load" });
    loaded
}

/// The models there are.
pub(super) fn tags() -> Value {
    json!({"models": [{
        "name": OFFLINE_MODEL, "model": OFFLINE_MODEL, "modified_at": CREATED, "size": 0,
        "digest": "", "details": details(),
    }]})
}

/// What there is to say of the model.
pub(super) fn shown() -> Value {
    json!({
        "modelfile": "", "parameters": "", "template": "{{ .Prompt }}", "details": details(),
        "model_info": {"general.architecture": "offline"}, "capabilities": ["completion"],
        "modified_at": CREATED,
    })
}

fn details() -> Value {
    json!({"family": "offline", "format": "", "parameter_size": "0"})
}

/// The version of the server: ours.
pub(super) fn version() -> Value {
    json!({"version": env!("CARGO_PKG_VERSION")})
}
