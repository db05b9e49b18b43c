//! The storyteller's answers to text prompts as llama.cpp's and KoboldCpp's servers would write
//! them.

use bytes::Bytes;
use serde_json::{Value, json};

use super::model::OfflineReply;

/// The whole answer as llama.cpp's `/completion` gives it.
pub(super) fn llama(model: &str, reply: &OfflineReply, tokens: (u32, u32)) -> Value {
    llama_end(model, reply, tokens, &reply.text)
}

/// The same as a stream: an event for each word, and an end.
pub(super) fn llama_events(model: &str, reply: &OfflineReply, tokens: (u32, u32)) -> Vec<Bytes> {
    let word = |word: &str| json!({"index": 0, "content": word, "stop": false});
    let words = reply.text.split_inclusive(' ').map(word);
    let end = llama_end(model, reply, tokens, "");
    words.chain([end]).map(|event| Bytes::from(format!("data: {event}\n\n"))).collect()
}

fn llama_end(model: &str, reply: &OfflineReply, (read, written): (u32, u32), text: &str) -> Value {
    let reason = if reply.cut { "limit" } else { "eos" };
    json!({
        "index": 0, "content": text, "stop": true, "stop_type": reason, "model": model,
        "tokens_evaluated": read, "tokens_predicted": written, "truncated": false,
    })
}

/// The whole answer as KoboldCpp's `/api/v1/generate` gives it.
pub(super) fn kobold(reply: &OfflineReply) -> Value {
    json!({"results": [{"text": reply.text, "finish_reason": kobold_reason(reply)}]})
}

/// The same as `/api/extra/generate/stream` gives it.
pub(super) fn kobold_events(reply: &OfflineReply) -> Vec<Bytes> {
    let event = |token: &str, reason: Option<&str>| {
        let event = json!({"token": token, "finish_reason": reason});
        Bytes::from(format!("event: message\ndata: {event}\n\n"))
    };
    let words = reply.text.split_inclusive(' ').map(|word| event(word, None));
    words.chain([event("", Some(kobold_reason(reply)))]).collect()
}

fn kobold_reason(reply: &OfflineReply) -> &'static str {
    if reply.cut { "length" } else { "stop" }
}
