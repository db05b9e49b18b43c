//! The storyteller's answers to text prompts as llama.cpp's and KoboldCpp's servers would write
//! them.

use bytes::Bytes;
use serde_json::{Value, json};

use super::model::Telling;

/// The whole answer as llama.cpp's `/completion` gives it.
pub(super) fn llama(model: &str, telling: &Telling, tokens: (u32, u32)) -> Value {
    llama_end(model, telling, tokens, &telling.text)
}

/// The same as a stream: an event for each word, and an end.
pub(super) fn llama_events(model: &str, telling: &Telling, tokens: (u32, u32)) -> Vec<Bytes> {
    let word = |word: &str| json!({"index": 0, "content": word, "stop": false});
    let words = telling.text.split_inclusive(' ').map(word);
    let end = llama_end(model, telling, tokens, "");
    words.chain([end]).map(|event| Bytes::from(format!("data: {event}\n\n"))).collect()
}

fn llama_end(model: &str, telling: &Telling, (read, written): (u32, u32), text: &str) -> Value {
    let reason = if telling.cut { "limit" } else { "eos" };
    json!({
        "index": 0, "content": text, "stop": true, "stop_type": reason, "model": model,
        "tokens_evaluated": read, "tokens_predicted": written, "truncated": false,
    })
}

/// The whole answer as KoboldCpp's `/api/v1/generate` gives it.
pub(super) fn kobold(telling: &Telling) -> Value {
    json!({"results": [{"text": telling.text, "finish_reason": kobold_reason(telling)}]})
}

/// The same as `/api/extra/generate/stream` gives it.
pub(super) fn kobold_events(telling: &Telling) -> Vec<Bytes> {
    let event = |token: &str, reason: Option<&str>| {
        let event = json!({"token": token, "finish_reason": reason});
        Bytes::from(format!("event: message\ndata: {event}\n\n"))
    };
    let words = telling.text.split_inclusive(' ').map(|word| event(word, None));
    words.chain([event("", Some(kobold_reason(telling)))]).collect()
}

fn kobold_reason(telling: &Telling) -> &'static str {
    if telling.cut { "length" } else { "stop" }
}
