//! The storyteller in an upstream's place.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use loreloom_core::{digest::Hasher, notebook::NoteCutter, units::Timestamp};
use loreloom_ports::{
    ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError, UpstreamReply,
};
use serde_json::{Value, json};

use super::{
    asked::{Ask, read, read_ollama, read_one},
    completions::{Completed, Completion},
    embeddings::{self, EmbeddingsWanted},
    model::OFFLINE_MODEL,
    ollama, prompts,
    responses::Response,
};
use crate::connection::{hiding, passing};

/// Answers `/chat/completions`, `/completions`, `/responses`, `/embeddings` and `/models` as an
/// OpenAI-compatible server would, `/api/chat`, `/api/generate`, `/api/embed`, `/api/tags`,
/// `/api/show`, `/api/ps` and `/api/version` as Ollama would, `/completion` as llama.cpp's server and the
/// generate paths of KoboldCpp.
///
/// The same request always gets the same bytes: `created` is what the host sets, 0 unless it
/// does, and ids are made from the request. Usage is estimated.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineUpstream {
    created: Timestamp,
}

impl OfflineUpstream {
    /// A storyteller whose answers say they were made at `created`.
    pub fn at(created: Timestamp) -> Self {
        Self { created }
    }

    /// What is asked for its head alone is answered as if it were asked for.
    fn answer(self, call: &UpstreamCall) -> UpstreamReply {
        if call.method != Method::HEAD {
            return self.answer_whole(call);
        }
        let whole = self.answer_whole(&UpstreamCall { method: Method::GET, ..call.clone() });
        UpstreamReply { body: Box::pin(stream::empty()), ..whole }
    }

    fn answer_whole(self, call: &UpstreamCall) -> UpstreamReply {
        let path = call.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let path = path.strip_prefix("/v1").unwrap_or(path);
        match (path, &call.method) {
            ("/chat/completions", &Method::POST) => {
                asked(&call.body, |ask| self.completion(Completed::Chat, ask, &call.body))
            }
            ("/completions", &Method::POST) => {
                asked(&call.body, |ask| self.completion(Completed::Text, ask, &call.body))
            }
            ("/responses", &Method::POST) => {
                asked_one(&call.body, |ask| self.response(ask, &call.body))
            }
            ("/completion", &Method::POST) => asked_one(&call.body, llama),
            ("/api/v1/generate" | "/api/latest/generate", &Method::POST) => {
                asked_one(&call.body, |ask| {
                    document(StatusCode::OK, &prompts::kobold(&ask.reply()))
                })
            }
            ("/api/extra/generate/stream", &Method::POST) => asked_one(&call.body, |ask| {
                let events = prompts::kobold_events(&ask.reply());
                respond(StatusCode::OK, "text/event-stream", events)
            }),
            ("/embeddings", &Method::POST) => {
                match embeddings::answer(EmbeddingsWanted::OpenAi, &call.body) {
                    Ok(vectors) => document(StatusCode::OK, &vectors),
                    Err(reason) => {
                        refusal(StatusCode::BAD_REQUEST, "invalid_request_error", &reason)
                    }
                }
            }
            ("/api/embed", &Method::POST) => embed_ollama(EmbeddingsWanted::Ollama, &call.body),
            ("/api/embeddings", &Method::POST) => {
                embed_ollama(EmbeddingsWanted::OllamaOne, &call.body)
            }
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

    fn completion(self, completed: Completed, ask: &Ask, body: &[u8]) -> UpstreamReply {
        let id = Hasher::new("offline-id").field(body).finish().to_string();
        let replies = ask.replies();
        let completion =
            Completion { completed, id, created: self.seconds(), ask, replies: &replies };
        if ask.stream.unwrap_or_default() {
            return respond(StatusCode::OK, "text/event-stream", completion.events());
        }
        document(StatusCode::OK, &completion.document())
    }

    /// An answer in the words of the responses API.
    fn response(self, ask: &Ask, body: &[u8]) -> UpstreamReply {
        let reply = ask.reply();
        let id = Hasher::new("offline-id").field(body).finish().to_string();
        let tokens = ask.tokens(std::slice::from_ref(&reply));
        let (created, model) = (self.seconds(), &ask.model);
        let response = Response { id: &id, created, model, reply: &reply, tokens };
        if ask.stream.unwrap_or_default() {
            return respond(StatusCode::OK, "text/event-stream", response.events());
        }
        document(StatusCode::OK, &response.document())
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
    answered(read(body), answer)
}

/// The same where one answer is all there is room for.
fn asked_one(body: &[u8], answer: impl FnOnce(&Ask) -> UpstreamReply) -> UpstreamReply {
    answered(read_one(body), answer)
}

fn answered(ask: Result<Ask, String>, answer: impl FnOnce(&Ask) -> UpstreamReply) -> UpstreamReply {
    match ask {
        Ok(ask) => answer(&ask),
        Err(reason) => refusal(StatusCode::BAD_REQUEST, "invalid_request_error", &reason),
    }
}

fn llama(ask: &Ask) -> UpstreamReply {
    let reply = ask.reply();
    let tokens = ask.tokens(std::slice::from_ref(&reply));
    if ask.stream.unwrap_or_default() {
        let events = prompts::llama_events(&ask.model, &reply, tokens);
        return respond(StatusCode::OK, "text/event-stream", events);
    }
    document(StatusCode::OK, &prompts::llama(&ask.model, &reply, tokens))
}

/// What Ollama reports of a model; older clients call it `name`.
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

fn embed_ollama(wanted: EmbeddingsWanted, body: &[u8]) -> UpstreamReply {
    match embeddings::answer(wanted, body) {
        Ok(vectors) => document(StatusCode::OK, &vectors),
        Err(reason) => document(StatusCode::BAD_REQUEST, &json!({"error": reason})),
    }
}

/// Ollama streams by default, and has its own errors.
fn tell_ollama(asked: ollama::Asked, body: &[u8]) -> UpstreamReply {
    // A model is loaded and unloaded by requests that say nothing.
    let ask = match read_ollama(asked, body) {
        Ok(ask) => ask,
        Err(reason) => return document(StatusCode::BAD_REQUEST, &json!({"error": reason})),
    };
    if ask.is_empty() {
        return document(StatusCode::OK, &ollama::loaded(asked, &ask.model, body));
    }
    let reply = ask.reply();
    let stream = ask.stream.unwrap_or(true);
    let media = if stream { "application/x-ndjson" } else { "application/json" };
    respond(StatusCode::OK, media, ollama::answer(asked, &ask.model, &reply, stream))
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> UpstreamReply {
    let error = json!({"message": message, "type": kind, "param": null, "code": null});
    document(status, &json!({"error": error}))
}

fn document(status: StatusCode, document: &Value) -> UpstreamReply {
    respond(status, "application/json", vec![Bytes::from(document.to_string())])
}

fn respond(status: StatusCode, content_type: &'static str, pieces: Vec<Bytes>) -> UpstreamReply {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    UpstreamReply { status, headers, body: Box::pin(stream::iter(pieces.into_iter().map(Ok))) }
}
