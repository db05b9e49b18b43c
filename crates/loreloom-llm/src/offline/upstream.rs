//! The storyteller in an upstream's place.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use loreloom_core::{
    chat::Role, digest::Hasher, notebook::NoteCutter, prompt::PromptMessage,
    tokens::TokenCounter as _, units::Timestamp,
};
use loreloom_memory::ports::{
    ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError, UpstreamReply,
};
use serde_json::{Value, json};

use super::{
    model::{OFFLINE_MODEL, Telling, tell},
    ollama, prompts,
    responses::Response,
};
use crate::{
    connection::{hiding, passing},
    tokenizers::FastEstimate,
};

/// Answers `/chat/completions`, `/completions`, `/responses` and `/models` as an
/// OpenAI-compatible server would, `/api/chat`, `/api/generate`, `/api/tags`, `/api/show`,
/// `/api/ps` and `/api/version` as Ollama would, `/completion` as llama.cpp's server and the
/// generate paths of KoboldCpp.
///
/// The same request always gets the same bytes: `created` is what the host sets, 0 unless it
/// does, and ids are made from the request. Usage is estimated.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineUpstream {
    created: Timestamp,
}

/// What a request asks of the storyteller.
struct Ask {
    messages: Vec<PromptMessage>,
    model: String,
    limit: Option<u32>,
    salt: u64,
    /// Whether to stream, where the request says.
    stream: Option<bool>,
    usage: bool,
}

impl Ask {
    fn told(&self) -> Telling {
        tell(&self.messages, self.salt, self.limit)
    }
}

impl OfflineUpstream {
    /// A storyteller whose answers say they were made at `created`.
    pub fn at(created: Timestamp) -> Self {
        Self { created }
    }

    fn answer(self, call: &UpstreamCall) -> UpstreamReply {
        let path = call.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let path = path.strip_prefix("/v1").unwrap_or(path);
        match (path, &call.method) {
            ("/chat/completions", &Method::POST) => {
                asked(&call.body, |ask| self.completion(ask, &call.body))
            }
            ("/completions", &Method::POST) => asked(&call.body, |ask| self.text(ask, &call.body)),
            ("/responses", &Method::POST) => {
                asked(&call.body, |ask| self.response(ask, &call.body))
            }
            ("/completion", &Method::POST) => asked(&call.body, llama),
            ("/api/v1/generate" | "/api/latest/generate", &Method::POST) => {
                asked(&call.body, |ask| document(StatusCode::OK, &prompts::kobold(&ask.told())))
            }
            ("/api/extra/generate/stream", &Method::POST) => asked(&call.body, |ask| {
                let events = prompts::kobold_events(&ask.told());
                reply(StatusCode::OK, "text/event-stream", events)
            }),
            ("/api/chat", &Method::POST) => tell_ollama(ollama::Asked::Chat, &call.body),
            ("/api/generate", &Method::POST) => tell_ollama(ollama::Asked::Generate, &call.body),
            ("/api/tags", &Method::GET) => document(StatusCode::OK, &ollama::tags()),
            ("/api/show", &Method::POST) => show(&call.body),
            // Nothing has to be loaded.
            ("/api/ps", &Method::GET) => document(StatusCode::OK, &json!({"models": []})),
            ("/api/version", &Method::GET) => document(StatusCode::OK, &ollama::version()),
            ("/models", &Method::GET) => {
                document(StatusCode::OK, &json!({"object": "list", "data": [self.model()]}))
            }
            (path, &Method::GET) if path.strip_prefix("/models/") == Some(OFFLINE_MODEL) => {
                document(StatusCode::OK, &self.model())
            }
            ("/chat/completions" | "/models", _) => {
                let reason = format!("`{path}` does not take {}", call.method);
                refusal(StatusCode::METHOD_NOT_ALLOWED, "invalid_request_error", &reason)
            }
            _ => {
                let reason = format!("the offline storyteller has no `{path}`");
                if path.starts_with("/api/") {
                    return document(StatusCode::NOT_FOUND, &json!({"error": reason}));
                }
                refusal(StatusCode::NOT_FOUND, "not_found_error", &reason)
            }
        }
    }

    fn seconds(self) -> i64 {
        self.created.0.div_euclid(1000)
    }

    fn model(self) -> Value {
        json!({
            "id": OFFLINE_MODEL, "object": "model",
            "created": self.seconds(), "owned_by": "loreloom",
        })
    }

    fn completion(self, ask: &Ask, body: &[u8]) -> UpstreamReply {
        let telling = ask.told();
        let id = format!("chatcmpl-{}", Hasher::new("offline-id").field(body).finish());
        let usage = usage(ask, &telling);
        let finish = if telling.cut { "length" } else { "stop" };
        if ask.stream.unwrap_or_default() {
            let chunks = self.chunks(&id, ask, &telling, finish, &usage);
            return reply(StatusCode::OK, "text/event-stream", chunks);
        }
        document(
            StatusCode::OK,
            &json!({
                "id": id, "object": "chat.completion", "created": self.seconds(),
                "model": ask.model,
                "choices": [{
                    "index": 0,
                    "message": {"role": "assistant", "content": telling.text},
                    "logprobs": null,
                    "finish_reason": finish,
                }],
                "usage": usage,
            }),
        )
    }

    /// An answer in the words of the responses API.
    fn response(self, ask: &Ask, body: &[u8]) -> UpstreamReply {
        let telling = ask.told();
        let id = Hasher::new("offline-id").field(body).finish().to_string();
        let (created, model, tokens) = (self.seconds(), &ask.model, tokens(ask, &telling));
        let response = Response { id: &id, created, model, telling: &telling, tokens };
        if ask.stream.unwrap_or_default() {
            return reply(StatusCode::OK, "text/event-stream", response.events());
        }
        document(StatusCode::OK, &response.document())
    }

    /// An answer to a text prompt.
    fn text(self, ask: &Ask, body: &[u8]) -> UpstreamReply {
        let telling = ask.told();
        let id = format!("cmpl-{}", Hasher::new("offline-id").field(body).finish());
        let finish = if telling.cut { "length" } else { "stop" };
        let said = |text: &str, finish: Option<&str>| {
            json!({
                "id": id, "object": "text_completion", "created": self.seconds(),
                "model": ask.model,
                "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": finish}],
            })
        };
        if !ask.stream.unwrap_or_default() {
            let mut whole = said(&telling.text, Some(finish));
            whole["usage"] = usage(ask, &telling);
            return document(StatusCode::OK, &whole);
        }
        let words = telling.text.split_inclusive(' ').map(|word| said(word, None));
        let events = words.chain([said("", Some(finish))]);
        let events = events.map(|event| Bytes::from(format!("data: {event}\n\n")));
        let done = Bytes::from_static(b"data: [DONE]\n\n");
        reply(StatusCode::OK, "text/event-stream", events.chain([done]).collect())
    }

    /// The events of a stream: the role, a chunk for each word, the end, usage if asked for.
    fn chunks(
        self,
        id: &str,
        ask: &Ask,
        telling: &Telling,
        finish: &str,
        usage: &Value,
    ) -> Vec<Bytes> {
        let chunk = |choices: Value, usage: Option<&Value>| {
            let mut chunk = json!({
                "id": id, "object": "chat.completion.chunk", "created": self.seconds(),
                "model": ask.model, "choices": choices,
            });
            if ask.usage {
                chunk["usage"] = usage.cloned().unwrap_or_default();
            }
            Bytes::from(format!("data: {chunk}\n\n"))
        };
        let choice = |delta: Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let mut chunks =
            vec![chunk(choice(json!({"role": "assistant", "content": ""}), None), None)];
        for word in telling.text.split_inclusive(' ') {
            chunks.push(chunk(choice(json!({"content": word}), None), None));
        }
        chunks.push(chunk(choice(json!({}), Some(finish)), None));
        if ask.usage {
            chunks.push(chunk(json!([]), Some(usage)));
        }
        chunks.push(Bytes::from_static(b"data: [DONE]\n\n"));
        chunks
    }
}

#[async_trait]
impl Upstream for OfflineUpstream {
    async fn send(&self, call: UpstreamCall) -> Result<UpstreamReply, UpstreamError> {
        Ok(self.answer(&call))
    }

    fn reading(&self, content_type: &str) -> Box<dyn ReplyReading> {
        passing(content_type)
    }

    fn hiding(&self, content_type: &str, cutter: NoteCutter) -> Box<dyn ReplyHiding> {
        hiding(content_type, cutter)
    }
}

/// Answers what a body asks for, or says what is wrong with it.
fn asked(body: &[u8], answer: impl FnOnce(&Ask) -> UpstreamReply) -> UpstreamReply {
    match read(body) {
        Ok(ask) => answer(&ask),
        Err(reason) => refusal(StatusCode::BAD_REQUEST, "invalid_request_error", &reason),
    }
}

fn llama(ask: &Ask) -> UpstreamReply {
    let telling = ask.told();
    let tokens = tokens(ask, &telling);
    if ask.stream.unwrap_or_default() {
        let events = prompts::llama_events(&ask.model, &telling, tokens);
        return reply(StatusCode::OK, "text/event-stream", events);
    }
    document(StatusCode::OK, &prompts::llama(&ask.model, &telling, tokens))
}

/// What Ollama tells of a model; older clients call it `name`.
fn show(body: &[u8]) -> UpstreamReply {
    let refused = |status, reason: String| document(status, &json!({"error": reason}));
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => {
            return refused(StatusCode::BAD_REQUEST, format!("the body must be JSON: {error}"));
        }
    };
    match body["model"].as_str().or_else(|| body["name"].as_str()) {
        Some(OFFLINE_MODEL) => document(StatusCode::OK, &ollama::shown()),
        Some(other) => refused(StatusCode::NOT_FOUND, format!("model '{other}' not found")),
        None => refused(StatusCode::BAD_REQUEST, "`model` must be text".to_owned()),
    }
}

/// Ollama streams unless told not to, and has errors of its own.
fn tell_ollama(asked: ollama::Asked, body: &[u8]) -> UpstreamReply {
    let ask = match read(body) {
        Ok(ask) => ask,
        Err(reason) => return document(StatusCode::BAD_REQUEST, &json!({"error": reason})),
    };
    let telling = ask.told();
    let stream = ask.stream.unwrap_or(true);
    let media = if stream { "application/x-ndjson" } else { "application/json" };
    reply(StatusCode::OK, media, ollama::answer(asked, &ask.model, &telling, stream))
}

/// Reads a request body; the error is for the client.
fn read(body: &[u8]) -> Result<Ask, String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body must be JSON: {error}"))?;
    let messages = match (body["messages"].as_array(), body["prompt"].as_str()) {
        (Some(messages), _) => messages.iter().map(message).collect::<Result<Vec<_>, _>>()?,
        (None, Some(prompt)) => vec![said(Role::User, prompt)],
        (None, None) if body.get("input").is_some() => input(&body)?,
        (None, None) => return Err("`messages` must be a list".to_owned()),
    };
    let format = body["response_format"]["type"].as_str().unwrap_or("text");
    if format != "text" {
        let message = "the offline storyteller writes stories, not JSON";
        return Err(format!("{message}: `response_format` must be `text`, found `{format}`"));
    }
    let limits = [
        "/max_completion_tokens",
        "/max_tokens",
        "/max_output_tokens",
        "/options/num_predict",
        "/n_predict",
        "/max_length",
    ];
    let limit = limits.into_iter().find_map(|field| body.pointer(field)?.as_u64());
    Ok(Ask {
        messages,
        model: body["model"].as_str().unwrap_or(OFFLINE_MODEL).to_owned(),
        limit: limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        salt: body["seed"].as_i64().map(i64::cast_unsigned).unwrap_or_default(),
        stream: body["stream"].as_bool(),
        usage: body["stream_options"]["include_usage"].as_bool().unwrap_or_default(),
    })
}

fn said(role: Role, text: &str) -> PromptMessage {
    PromptMessage { role, name: None, content: text.into() }
}

/// The prompt of the responses API. Items that nobody says, as calls of tools, are passed over.
fn input(body: &Value) -> Result<Vec<PromptMessage>, String> {
    let mut messages = Vec::new();
    messages.extend(body["instructions"].as_str().map(|text| said(Role::System, text)));
    match &body["input"] {
        Value::String(text) => messages.push(said(Role::User, text)),
        Value::Array(items) => {
            for item in items.iter().filter(|item| item.get("role").is_some()) {
                messages.push(message(item)?);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("`input` must be text or a list".to_owned());
        }
    }
    Ok(messages)
}

fn message(message: &Value) -> Result<PromptMessage, String> {
    let role = match message["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        Some(other) => return Err(format!("`role` must be one of the API's, found `{other}`")),
        None => return Err("every message must have a `role`".to_owned()),
    };
    let content = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("`content` must be text or a list of parts".to_owned());
        }
    };
    let name = message["name"].as_str().map(str::to_owned);
    Ok(PromptMessage { role, name, content: content.into() })
}

/// Tokens of the prompt and of the answer.
fn tokens(ask: &Ask, telling: &Telling) -> (u32, u32) {
    let prompt = ask.messages.iter().map(|message| FastEstimate.count(&message.content).0).sum();
    (prompt, FastEstimate.count(&telling.text).0)
}

fn usage(ask: &Ask, telling: &Telling) -> Value {
    let (prompt, completion) = tokens(ask, telling);
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt.saturating_add(completion),
    })
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> UpstreamReply {
    let error = json!({"message": message, "type": kind, "param": null, "code": null});
    document(status, &json!({"error": error}))
}

fn document(status: StatusCode, document: &Value) -> UpstreamReply {
    reply(status, "application/json", vec![Bytes::from(document.to_string())])
}

fn reply(status: StatusCode, content_type: &'static str, pieces: Vec<Bytes>) -> UpstreamReply {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    UpstreamReply { status, headers, body: Box::pin(stream::iter(pieces.into_iter().map(Ok))) }
}
