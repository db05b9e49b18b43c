//! What the server answers when nothing is scripted: always the same for the same request.

use serde_json::{Value, json};

use super::{Received, Reply};

/// The length of the vectors of [`embedding`].
const DIMENSIONS: usize = 16;

/// The models the server claims to have.
const MODELS: [&str; 2] = ["scripted", "scripted-small"];

/// The default answer to a request.
pub(super) fn reply(request: &Received) -> Reply {
    let path = request.path.as_str();
    match path {
        "/v1/models" => Reply::json(json!({"object": "list", "data": MODELS.map(model)})),
        "/v1/embeddings" => Reply::json(openai_embeddings(request)),
        "/api/embed" => Reply::json(json!({
            "model": request.model(),
            "embeddings": inputs(request).iter().map(|text| embedding(text)).collect::<Vec<_>>(),
        })),
        "/api/tags" => Reply::json(json!({
            "models": MODELS.map(|name| json!({"name": name, "model": name, "size": 0})),
        })),
        "/api/show" => Reply::json(json!({
            "details": {"family": "scripted"},
            "model_info": {"general.architecture": "scripted", "scripted.context_length": 8192},
            "capabilities": ["completion"],
        })),
        "/tokenize" => Reply::json(json!({"tokens": words(request)})),
        _ => match path.strip_prefix("/v1/models/") {
            Some(id) if MODELS.contains(&id) => Reply::json(model(id)),
            Some(id) => not_found(&format!("there is no model `{id}`")),
            None if speaks(path) => Reply::text(&format!("You said: {}", request.last_text())),
            None => not_found(&format!("there is no `{path}`")),
        },
    }
}

/// Whether a path answers with text.
fn speaks(path: &str) -> bool {
    matches!(
        path,
        "/v1/chat/completions"
            | "/v1/completions"
            | "/v1/responses"
            | "/api/chat"
            | "/api/generate"
            | "/completion"
    )
}

fn not_found(message: &str) -> Reply {
    let body = json!({"error": {"message": message, "type": "not_found", "code": 404}});
    Reply::status(404, &body.to_string()).header("content-type", "application/json")
}

fn model(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": 0, "owned_by": "testkit"})
}

fn openai_embeddings(request: &Received) -> Value {
    let vectors: Vec<Value> = inputs(request)
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"object": "embedding", "index": index, "embedding": embedding(text)})
        })
        .collect();
    json!({
        "object": "list",
        "model": request.model(),
        "data": vectors,
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    })
}

/// The texts of an embedding request: one string or a list.
fn inputs(request: &Received) -> Vec<String> {
    match &request.json["input"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => {
            texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// A token id for each word of llama.cpp's `content`: its hash.
fn words(request: &Received) -> Vec<u64> {
    let text = request.json["content"].as_str().unwrap_or_default();
    text.split_whitespace().map(|word| fnv(word.as_bytes()) % 32_000).collect()
}

/// A unit vector that depends only on the text; words in common bring vectors nearer.
pub fn embedding(text: &str) -> Vec<f32> {
    let mut sum = [0_f32; DIMENSIONS];
    for word in text.split_whitespace() {
        let mut state = fnv(word.to_lowercase().as_bytes());
        for component in &mut sum {
            // Knuth's linear congruential step: enough to spread words over the sphere.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let high = u16::try_from(state >> 48).unwrap_or_default();
            *component += f32::from(high) / 32_767.5 - 1.0;
        }
    }
    let length = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    sum.iter().map(|part| part * scale).collect()
}

/// FNV-1a: small, and the same everywhere.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
