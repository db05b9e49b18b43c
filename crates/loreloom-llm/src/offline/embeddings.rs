//! Vectors of texts, by the embedder that is built in: as OpenAI and Ollama write them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use loreloom_core::tokens::TokenCounter as _;
use loreloom_ports::{Embedder as _, Vector};
use serde_json::{Value, json};

use crate::{embed::StaticEmbedder, tokenizers::FastEstimate};

/// The most texts of one request.
const MOST_TEXTS: usize = 2048;

/// How the vectors are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmbeddingsWanted {
    /// `/v1/embeddings`.
    OpenAi,
    /// `/api/embed`.
    Ollama,
    /// `/api/embeddings`, with which older clients ask for one.
    OllamaOne,
}

/// The answer to a body, or what is wrong with it.
pub(super) fn answer(wanted: EmbeddingsWanted, body: &[u8]) -> Result<Value, String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body must be JSON: {error}"))?;
    let embedder = StaticEmbedder::embedded();
    let model = body["model"].as_str().unwrap_or(embedder.model());
    if wanted == EmbeddingsWanted::OllamaOne {
        let text = body["prompt"].as_str().ok_or("`prompt` must be text")?;
        return Ok(json!({"embedding": embedder.embed_one(text)}));
    }
    let texts = texts(&body["input"])?;
    let mut vectors: Vec<Vector> = texts.iter().map(|text| embedder.embed_one(text)).collect();
    if let Some(asked) = body.get("dimensions").filter(|asked| !asked.is_null()) {
        let most = vectors.iter().map(Vec::len).min().unwrap_or_default();
        let length = asked.as_u64().and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| (1..=most).contains(length)).ok_or_else(|| {
            format!("`dimensions` must be a whole number from 1 to {most}, found {asked}")
        })?;
        for vector in &mut vectors {
            shorten(vector, length);
        }
    }
    let tokens: u32 = texts.iter().map(|text| FastEstimate.count(text).0).sum();
    if wanted == EmbeddingsWanted::Ollama {
        return Ok(json!({
            "model": model, "embeddings": vectors, "total_duration": 0, "load_duration": 0,
            "prompt_eval_count": tokens,
        }));
    }
    let format = &body["encoding_format"];
    let encoded: fn(&Vector) -> Value = if format.is_null() || format == "float" {
        |vector| json!(vector)
    } else if format == "base64" {
        packed
    } else {
        return Err(format!("`encoding_format` must be `float` or `base64`, found {format}"));
    };
    let listed = vectors.iter().enumerate().map(
        |(at, vector)| json!({"object": "embedding", "index": at, "embedding": encoded(vector)}),
    );
    Ok(json!({
        "object": "list", "data": listed.collect::<Vec<_>>(), "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }))
}

/// Leaves the first numbers of a vector and makes it as long as it was.
fn shorten(vector: &mut Vector, length: usize) {
    let size = |vector: &Vector| vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let before = size(vector);
    vector.truncate(length);
    let after = size(vector);
    if after > 0.0 {
        for number in vector {
            *number *= before / after;
        }
    }
}

/// A vector as clients of OpenAI's ask for it: its numbers, four bytes each.
fn packed(vector: &Vector) -> Value {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    json!(STANDARD.encode(bytes))
}

fn texts(input: &Value) -> Result<Vec<&str>, String> {
    let listed: Option<Vec<&str>> = match input {
        Value::String(text) => Some(vec![text]),
        Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let listed = listed.ok_or("`input` must be text or a list of texts")?;
    if (1..=MOST_TEXTS).contains(&listed.len()) {
        return Ok(listed);
    }
    Err(format!("`input` must have from 1 to {MOST_TEXTS} texts, found {}", listed.len()))
}
