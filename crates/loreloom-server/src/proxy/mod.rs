//! The proxy: requests on their way to a model with lore woven in, and replies on their way
//! back, of which the story gets a copy.
//!
//! A generation never fails because of Loreloom. Whatever goes wrong here, the request goes
//! on as it came, with a header that says why.

mod body;
mod ending;
mod headers;
mod problem;
mod tee;
mod weaving;

use axum::{
    body::Body as HttpBody,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE},
    request::Parts,
};
use loreloom_core::recognise::wire;
use loreloom_memory::ports::{BodyStream, UpstreamCall, UpstreamReply};
use tokio::task::JoinHandle;

use self::{
    body::without_own_field,
    ending::{Ending, Framing},
    tee::{Tee, WhenComplete},
    weaving::{Outgoing, Woven},
};
use crate::{
    app::App,
    events::Happened,
    story::{Committed, Decided, Sent, Telling},
};

/// The largest body that is passed on.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Passes a request on, with lore if it asks for a story.
pub(crate) async fn forward(State(app): State<App>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(body, MOST_BYTES).await {
        Ok(body) => body,
        Err(error) => {
            return problem::problem(StatusCode::PAYLOAD_TOO_LARGE, "body", &error.to_string());
        }
    };
    if !wire::asks(parts.method.as_str(), parts.uri.path()) {
        return pass(&app, parts, body, None).await;
    }
    let off = parts.headers.get(headers::WEAVE).is_some_and(|value| value == "off");
    if off || !app.live().weaving.on {
        let body = without_own_field(&body);
        return pass(&app, parts, body, None).await;
    }
    match weaving::weave(&app, &parts, &body).await {
        Ok(outgoing) => {
            // The story is read from the reply as it passes, so it must come as it is.
            parts.headers.remove(ACCEPT_ENCODING);
            send(&app, parts, outgoing).await
        }
        Err(reason) => {
            tracing::warn!(%reason, "passed on without lore");
            app.tell(Happened::FailOpen { reason: reason.clone() });
            pass(&app, parts, without_own_field(&body), Some(&reason)).await
        }
    }
}

/// A request as the upstream gets it.
fn call(parts: Parts, body: Bytes) -> UpstreamCall {
    let path = parts.uri.path_and_query().map_or(parts.uri.path(), |path| path.as_str());
    let path = path.to_owned();
    let mut headers = parts.headers;
    headers::to_upstream(&mut headers);
    UpstreamCall { method: parts.method, path, headers, body }
}

/// Passes a request on as it is.
async fn pass(app: &App, parts: Parts, body: Bytes, warning: Option<&str>) -> Response {
    let framing = Framing::of_path(parts.uri.path());
    let mut response = match app.upstream.send(call(parts, body)).await {
        Ok(reply) => answer(reply, framing, None),
        Err(error) => problem::unreachable(&error),
    };
    if let Some(warning) = warning {
        headers::tell(response.headers_mut(), headers::WARNING, warning);
    }
    response
}

/// Sends a request with its lore and tells the story the reply.
async fn send(app: &App, parts: Parts, outgoing: Outgoing) -> Response {
    let Outgoing { body, woven, complaint } = outgoing;
    let framing = Framing::of_path(parts.uri.path());
    let notes = notes(woven.as_ref(), complaint.as_deref());
    let mut response = match app.upstream.send(call(parts, body)).await {
        // What the model refused is no part of the story.
        Ok(reply) if reply.status.is_success() => told(app, reply, framing, woven),
        Ok(reply) => answer(reply, framing, None),
        Err(error) => problem::unreachable(&error),
    };
    response.headers_mut().extend(notes);
    response
}

/// What the front end is told about its request.
fn notes(woven: Option<&Woven>, complaint: Option<&str>) -> HeaderMap {
    let mut notes = HeaderMap::new();
    if let Some(woven) = woven {
        notes.insert(headers::WOVEN, woven.sent.spans.len().into());
        headers::tell(&mut notes, headers::CHAT, woven.decided.path.chat().as_str());
        headers::tell(&mut notes, headers::TYPE, woven.decided.generation.as_str());
    }
    if let Some(complaint) = complaint {
        headers::tell(&mut notes, headers::WARNING, complaint);
    }
    notes
}

/// The answer, with a copy of its text for the story.
fn told(app: &App, reply: UpstreamReply, framing: Framing, woven: Option<Woven>) -> Response {
    let Some(Woven { decided, sent, telling }) = woven else { return answer(reply, framing, None) };
    let turn = decided.is_story.then(|| commit(app, decided, sent));
    // A compressed reply passes by unread.
    if reply.headers.contains_key(CONTENT_ENCODING) {
        return answer(reply, framing, None);
    }
    let content_type = reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let reading = app.upstream.reading(content_type.unwrap_or_default());
    let complete = complete(app, turn, telling);
    answer(reply, framing, Some(Box::new(|body| Tee::new(body, reading, complete))))
}

/// Stores a turn beside the stream.
fn commit(app: &App, decided: Decided, sent: Sent) -> JoinHandle<Option<Committed>> {
    let committing = app.clone();
    app.tasks.spawn(async move {
        let committed = committing.commit(decided, sent).await;
        committed.inspect_err(|error| tracing::error!(%error, "the turn was not stored")).ok()
    })
}

fn complete(
    app: &App,
    turn: Option<JoinHandle<Option<Committed>>>,
    telling: Telling,
) -> WhenComplete {
    let app = app.clone();
    Box::new(move |texts| {
        let storing = app.clone();
        app.tasks.spawn(async move {
            let answers = storing.told(&telling, &texts);
            let Some(turn) = turn else { return };
            let Ok(Some(committed)) = turn.await else { return };
            if let Err(error) = storing.commit_replies(committed, answers).await {
                tracing::error!(%error, "the reply was not stored");
            }
        })
    })
}

/// Makes a body that copies itself.
type Copying = Box<dyn FnOnce(BodyStream) -> Tee>;

/// The response to the front end.
fn answer(reply: UpstreamReply, framing: Framing, copying: Option<Copying>) -> Response {
    let UpstreamReply { status, headers: mut sent, body } = reply;
    headers::to_front_end(&mut sent);
    let content_type = sent.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let framing = framing.of_type(content_type.unwrap_or_default());
    let body: BodyStream = match copying {
        Some(copying) => {
            // A front end that knows the length does not wait for the end, which says that
            // the reply is stored.
            sent.remove(CONTENT_LENGTH);
            Box::pin(copying(body))
        }
        None => body,
    };
    let body = if framing == Framing::None {
        HttpBody::from_stream(body)
    } else {
        HttpBody::from_stream(Ending::new(body, framing))
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = sent;
    response
}
