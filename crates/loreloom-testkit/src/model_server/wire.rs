//! A reply in the wire form of the endpoint that was asked.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Received,
    reply::{Content, Reply, Split},
};

/// A body as the writes it is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) content_type: &'static str,
    pub(super) writes: Vec<Bytes>,
}

/// How an endpoint frames a stream.
#[derive(Clone, Copy)]
enum Framing {
    /// `data: …` with a blank line, ended by `[DONE]`.
    Events,
    /// `event: …` and `data: …`, as `/v1/responses` sends them; the last event is the end.
    NamedEvents,
    /// A JSON document on each line.
    Lines,
}

pub(super) fn encode(reply: &Reply, request: &Received) -> Body {
    let framing = framing(&request.path);
    let stream = request.wants_stream();
    let (content_type, writes) = match &reply.content {
        Content::Raw(pieces) => ("application/octet-stream", pieces.clone()),
        Content::Frames(documents) if stream || documents.len() != 1 => {
            (media_type(framing), frames(framing, documents))
        }
        Content::Frames(documents) => ("application/json", whole(&documents[0])),
        Content::Text(pieces) if stream => {
            (media_type(framing), frames(framing, &text_frames(request, pieces)))
        }
        Content::Text(pieces) => ("application/json", whole(&document(request, &pieces.concat()))),
    };
    Body { content_type, writes: split(writes, &reply.split) }
}

fn framing(path: &str) -> Framing {
    match path {
        "/api/chat" | "/api/generate" => Framing::Lines,
        "/v1/responses" => Framing::NamedEvents,
        _ => Framing::Events,
    }
}

fn media_type(framing: Framing) -> &'static str {
    match framing {
        Framing::Events | Framing::NamedEvents => "text/event-stream",
        Framing::Lines => "application/x-ndjson",
    }
}

fn whole(document: &Value) -> Vec<Bytes> {
    vec![Bytes::from(document.to_string())]
}

fn frames(framing: Framing, documents: &[Value]) -> Vec<Bytes> {
    let frame = |document: &Value| match framing {
        Framing::Events => format!("data: {document}\n\n"),
        Framing::NamedEvents => {
            format!("event: {}\ndata: {document}\n\n", document["type"].as_str().unwrap_or("event"))
        }
        Framing::Lines => format!("{document}\n"),
    };
    let mut writes: Vec<Bytes> = documents.iter().map(|value| Bytes::from(frame(value))).collect();
    if matches!(framing, Framing::Events) {
        writes.push(Bytes::from_static(b"data: [DONE]\n\n"));
    }
    writes
}

/// A whole answer.
fn document(request: &Received, text: &str) -> Value {
    let model = request.model();
    match request.path.as_str() {
        "/v1/completions" => json!({
            "id": "cmpl-scripted", "object": "text_completion", "created": 0, "model": model,
            "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": "stop"}],
            "usage": usage(text),
        }),
        "/v1/responses" => response(model, text),
        "/api/chat" => json!({
            "model": model, "created_at": "1970-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text},
            "done": true, "done_reason": "stop", "eval_count": words(text),
        }),
        "/api/generate" => json!({
            "model": model, "created_at": "1970-01-01T00:00:00Z", "response": text,
            "done": true, "done_reason": "stop", "eval_count": words(text),
        }),
        "/completion" => json!({"content": text, "stop": true, "model": model}),
        _ => json!({
            "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": model,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }],
            "usage": usage(text),
        }),
    }
}

/// A streamed answer: a frame for each piece, then the endpoint's last frames.
fn text_frames(request: &Received, pieces: &[String]) -> Vec<Value> {
    let model = request.model();
    let mut frames: Vec<Value> = match request.path.as_str() {
        "/v1/completions" => pieces.iter().map(|text| completion_chunk(model, text)).collect(),
        "/v1/responses" => pieces
            .iter()
            .map(|text| json!({"type": "response.output_text.delta", "delta": text}))
            .collect(),
        "/api/chat" => pieces.iter().map(|text| ollama_chat_chunk(model, text)).collect(),
        "/api/generate" => pieces
            .iter()
            .map(|text| json!({"model": model, "response": text, "done": false}))
            .collect(),
        "/completion" => {
            pieces.iter().map(|text| json!({"content": text, "stop": false})).collect()
        }
        _ => pieces
            .iter()
            .enumerate()
            .map(|(index, text)| chat_chunk(model, &delta(index, text), None))
            .collect(),
    };
    let whole = pieces.concat();
    frames.extend(match request.path.as_str() {
        "/v1/completions" => {
            let mut last = completion_chunk(model, "");
            last["choices"][0]["finish_reason"] = json!("stop");
            vec![last]
        }
        "/v1/responses" => {
            vec![json!({"type": "response.completed", "response": response(model, &whole)})]
        }
        "/api/chat" | "/api/generate" => {
            let mut last = document(request, "");
            last["eval_count"] = json!(words(&whole));
            vec![last]
        }
        "/completion" => vec![json!({"content": "", "stop": true, "model": model})],
        _ => {
            let mut last = vec![chat_chunk(model, &json!({}), Some("stop"))];
            if request.json["stream_options"]["include_usage"] == json!(true) {
                let mut counted = chat_chunk(model, &json!({}), None);
                counted["choices"] = json!([]);
                counted["usage"] = usage(&whole);
                last.push(counted);
            }
            last
        }
    });
    frames
}

fn delta(index: usize, text: &str) -> Value {
    if index == 0 {
        json!({"role": "assistant", "content": text})
    } else {
        json!({"content": text})
    }
}

fn chat_chunk(model: &str, delta: &Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

fn completion_chunk(model: &str, text: &str) -> Value {
    json!({
        "id": "cmpl-scripted", "object": "text_completion", "created": 0, "model": model,
        "choices": [{"index": 0, "text": text, "finish_reason": null}],
    })
}

fn ollama_chat_chunk(model: &str, text: &str) -> Value {
    json!({
        "model": model, "created_at": "1970-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text}, "done": false,
    })
}

fn response(model: &str, text: &str) -> Value {
    json!({
        "id": "resp-scripted", "object": "response", "created_at": 0, "model": model,
        "status": "completed",
        "output": [{
            "type": "message", "id": "msg-scripted", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }],
    })
}

/// Usage counted in words: no test should depend on a tokenizer here.
fn usage(text: &str) -> Value {
    json!({"prompt_tokens": 1, "completion_tokens": words(text), "total_tokens": 1 + words(text)})
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Cuts writes anew.
fn split(writes: Vec<Bytes>, split: &Split) -> Vec<Bytes> {
    let joined = || Bytes::from(writes.concat());
    match split {
        Split::Frames => writes,
        Split::Every(size) => {
            let body = joined();
            (0..body.len())
                .step_by(*size)
                .map(|start| body.slice(start..body.len().min(start + size)))
                .collect()
        }
        Split::At(positions) => {
            let body = joined();
            let mut ends: Vec<usize> =
                positions.iter().copied().filter(|end| (1..body.len()).contains(end)).collect();
            ends.push(body.len());
            ends.sort_unstable();
            ends.dedup();
            let mut start = 0;
            ends.into_iter()
                .map(|end| body.slice(std::mem::replace(&mut start, end)..end))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_can_be_cut_inside_a_character() {
        let body = vec![Bytes::from_static("né".as_bytes()), Bytes::from_static(b"!")];
        let cut = |how: Split| split(body.clone(), &how);
        assert_eq!(cut(Split::At(vec![2])), [&b"n\xc3"[..], &b"\xa9!"[..]]);
        assert_eq!(cut(Split::At(vec![0, 9, 2, 2])), [&b"n\xc3"[..], &b"\xa9!"[..]]);
        assert_eq!(cut(Split::Every(3)), ["né".as_bytes(), b"!"]);
        assert_eq!(cut(Split::Frames), ["né".as_bytes(), b"!"]);
    }
}
