//! `/v1/chat/completions` and what passes through untouched.

use std::panic::AssertUnwindSafe;

use axum::{
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE},
};
use loreloom_core::assemble::plan;
use loreloom_memory::ports::{UpstreamCall, UpstreamError, UpstreamReply};
use serde_json::json;

use super::{
    prompt::ChatRequest,
    tee::{Tee, WhenComplete},
};
use crate::{
    app::App,
    story::{Decided, Sent},
};

/// The chat a request belongs to, named by the front end.
const CHAT_HEADER: &str = "x-loreloom-chat";
/// Why a request was passed on without lore.
const WARNING_HEADER: HeaderName = HeaderName::from_static("x-loreloom-warning");
/// How many texts were woven in.
const WOVEN_HEADER: HeaderName = HeaderName::from_static("x-loreloom-woven");

/// A request with its lore, ready to be sent.
struct Outgoing {
    body: Bytes,
    woven: usize,
    decided: Decided,
    sent: Sent,
}

/// Weaves lore into a chat request and streams the answer back.
pub(crate) async fn chat_completions(
    State(app): State<App>,
    mut headers: HeaderMap,
    body: Bytes,
) -> Response {
    // The story is read from the reply as it passes, so it must come as it is.
    headers.remove(ACCEPT_ENCODING);
    let prepared = prepare(&app, &headers, &body).await;
    let (body, notes, turn) = match prepared {
        Ok(outgoing) => {
            let woven = HeaderValue::from(outgoing.woven);
            (outgoing.body, (WOVEN_HEADER, woven), Some((outgoing.decided, outgoing.sent)))
        }
        Err(reason) => {
            // A generation never fails because of us: it goes on without lore.
            tracing::warn!(%reason, "passed on without lore");
            let reason = HeaderValue::from_str(&reason)
                .unwrap_or(HeaderValue::from_static("see the server's log"));
            (body, (WARNING_HEADER, reason), None)
        }
    };
    let call =
        UpstreamCall { method: Method::POST, path: "/chat/completions".to_owned(), headers, body };
    let reply = match app.upstream.send(call).await {
        Ok(reply) => reply,
        Err(error) => return unreachable(&error),
    };
    let mut response = match turn {
        // What the model refused is no part of the story.
        Some((decided, sent)) if reply.status.is_success() => teed(&app, reply, decided, sent),
        Some(_) | None => passed(reply),
    };
    response.headers_mut().insert(notes.0, notes.1);
    response
}

/// Passes a request on as it is.
pub(crate) async fn pass_through(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or(parts.uri.path(), |path| path.as_str());
    let path = path.strip_prefix("/v1").unwrap_or(path).to_owned();
    let body = match axum::body::to_bytes(body, MOST_BYTES).await {
        Ok(body) => body,
        Err(error) => return problem(StatusCode::PAYLOAD_TOO_LARGE, "body", &error.to_string()),
    };
    let call = UpstreamCall { method: parts.method, path, headers: parts.headers, body };
    match app.upstream.send(call).await {
        Ok(reply) => passed(reply),
        Err(error) => unreachable(&error),
    }
}

/// The largest body that is passed on.
pub(crate) const MOST_BYTES: usize = 64 << 20;

async fn prepare(app: &App, headers: &HeaderMap, body: &[u8]) -> Result<Outgoing, String> {
    let mut request = ChatRequest::read(body).map_err(|error| error.to_string())?;
    if let Some(chat) = headers.get(CHAT_HEADER).and_then(|value| value.to_str().ok()) {
        request.context.chat = Some(chat.to_owned());
    }
    // A panic in the engine must not end the generation.
    let deciding = AssertUnwindSafe(app.decide(&request.context, request.story())).catch_unwind();
    let decided = deciding.await.map_err(|_| "the engine failed".to_owned())?;
    let decided = decided.map_err(|error| error.to_string())?;
    let plan = plan(&request.outline(), &decided.injections);
    let seams = plan.seams(&request.outline());
    let (body, prompt, spans) = request.woven(&plan);
    let woven = spans.len();
    let sent = Sent { prompt, spans, seams };
    Ok(Outgoing { body: body.into(), woven, decided, sent })
}

/// The answer, with a copy of its text for the story.
fn teed(app: &App, reply: UpstreamReply, decided: Decided, sent: Sent) -> Response {
    let committing = app.clone();
    let turn = app.tasks.spawn(async move {
        let committed = committing.commit(decided, sent).await;
        committed.inspect_err(|error| tracing::error!(%error, "the turn was not stored")).ok()
    });
    let content_type = reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    let reading = app.upstream.reading("/chat/completions", content_type);
    let events = content_type.starts_with("text/event-stream");
    let storing = app.clone();
    let complete: WhenComplete = Box::new(move |text| {
        let app = storing.clone();
        storing.tasks.spawn(async move {
            let Ok(Some(committed)) = turn.await else { return };
            if let Err(error) = app.commit_reply(committed, text).await {
                tracing::error!(%error, "the reply was not stored");
            }
        })
    });
    let UpstreamReply { status, mut headers, body } = reply;
    // A front end that knows the length does not wait for the end, which says that the
    // reply is stored.
    headers.remove(CONTENT_LENGTH);
    answer(status, headers, Body::from_stream(Tee::new(body, reading, complete, events)))
}

fn passed(reply: UpstreamReply) -> Response {
    answer(reply.status, reply.headers, Body::from_stream(reply.body))
}

fn answer(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn unreachable(error: &UpstreamError) -> Response {
    problem(StatusCode::BAD_GATEWAY, "upstream_unreachable", &error.to_string())
}

/// An error in the shape OpenAI clients read.
fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    let body =
        json!({ "error": { "message": message, "type": code, "code": code, "param": null } });
    (status, axum::Json(body)).into_response()
}
