//! The proxy: requests on their way to a model with lore woven in, and replies on their way
//! back, of which the story gets a copy.
//!
//! A generation never fails because of Loreloom. Whatever goes wrong here, the request goes
//! on as it came, with a header that says why.

mod addressed;
mod body;
mod ending;
mod headers;
mod hiding;
mod problem;
mod storing;
mod tee;
mod weaving;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Body as HttpBody,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE},
    request::Parts,
};
use loreloom_core::ids::{ConnectionId, TenantId};
use loreloom_ports::{BodyStream, Upstream, UpstreamCall, UpstreamError, UpstreamReply};
use loreloom_recognise::wire;

pub(crate) use self::headers::without_keys;
pub(crate) use self::problem::problem;
use self::{
    addressed::addressed,
    body::{model_of, without_own_field},
    ending::{Ending, Framing},
    hiding::Hidden,
    problem::Reads,
    storing::{Times, storing},
    tee::Tee,
    weaving::{Decision, Outgoing, Ways},
};
use crate::{
    app::App,
    connections::{Connection, Connections, ConnectionsError},
    gate::Pass,
    keys::Scope,
    limits::Stalled,
    notices::Happened,
};

/// Passes a request on, with lore if it asks for a story.
pub(crate) async fn forward(State(app): State<App>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Some(refusal) = Pass::refusal(&parts.extensions, Scope::Proxy) {
        return refusal;
    }
    let body = match axum::body::to_bytes(body, app.limits.body).await {
        Ok(body) => body,
        Err(error) => return unread(&app, &parts, &error),
    };
    let connections = app.connections();
    let (body, named) = match chosen(&connections, &mut parts.headers, body) {
        Ok(chosen) => chosen,
        Err(error) => {
            let reads = Reads::of_path(parts.uri.path());
            return reads.problem(StatusCode::BAD_REQUEST, "connection", &error.to_string());
        }
    };
    app.api().metrics.passed_on();
    if !wire::asks(parts.method.as_str(), parts.uri.path()) {
        let connection = route(&connections, &parts, &body, named);
        return pass(&app, parts, body, connection, None).await;
    }
    let off = parts.headers.get(headers::WEAVE).is_some_and(headers::is_off);
    if off || !app.live().weaving.on {
        let connection = route(&connections, &parts, &body, named);
        return pass(&app, parts, without_own_field(&body), connection, None).await;
    }
    let begun = Instant::now();
    let ways = Ways { connections: Arc::clone(&connections), named: named.clone() };
    let woven = weaving::weave(&app, &parts, &body, &ways).await;
    let weaving = begun.elapsed();
    app.api().metrics.weaving_took(weaving, woven.is_err());
    match woven {
        Ok(outgoing) => {
            // The story is read from the reply as it passes, so it must come as it is.
            parts.headers.remove(ACCEPT_ENCODING);
            send(&app, parts, outgoing, weaving).await
        }
        Err(reason) => {
            tracing::warn!(%reason, "passed on without lore");
            let path = parts.uri.path().to_owned();
            app.notice(Happened::FailedOpen { path, reason: reason.clone() });
            let connection = route(&connections, &parts, &body, named);
            pass(&app, parts, without_own_field(&body), connection, Some(&reason)).await
        }
    }
}

/// Why a body was not read.
fn unread(app: &App, parts: &Parts, error: &axum::Error) -> Response {
    let reads = Reads::of_path(parts.uri.path());
    if let Some(stalled) = Stalled::caused(error) {
        return reads.problem(StatusCode::REQUEST_TIMEOUT, "body", &stalled.to_string());
    }
    let most = app.limits.body >> 20;
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let found = length.map_or(String::new(), |length| format!(", found {length} bytes"));
    let message =
        format!("the body may have {most} MiB at most (`body_mb` of the server's limits){found}");
    reads.problem(StatusCode::PAYLOAD_TOO_LARGE, "body", &message)
}

/// The connection that a front end names, in a header or with the model, and the body as that
/// one's server knows it.
fn chosen(
    connections: &Connections,
    headers: &mut HeaderMap,
    body: Bytes,
) -> Result<(Bytes, Option<Arc<Connection>>), ConnectionsError> {
    if let Some(name) = headers.get(headers::CONNECTION) {
        let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
        let named = connections.named(&ConnectionId::from(name))?;
        return Ok((body, Some(Arc::clone(named))));
    }
    let Some((body, connection)) = addressed(connections, &body) else { return Ok((body, None)) };
    if !connections.is_told_keys(&connection) {
        without_keys(headers);
    }
    Ok((body, Some(connection)))
}

/// Where a request goes that is not looked into any further.
fn route(
    connections: &Connections,
    parts: &Parts,
    body: &[u8],
    named: Option<Arc<Connection>>,
) -> Arc<Connection> {
    named.unwrap_or_else(|| {
        let model = connections.is_choice().then(|| model_of(parts.uri.path(), body));
        Arc::clone(connections.of(model.flatten().as_deref()))
    })
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
async fn pass(
    app: &App,
    parts: Parts,
    body: Bytes,
    connection: Arc<Connection>,
    warning: Option<&str>,
) -> Response {
    let (framing, reads) = (Framing::of_path(parts.uri.path()), Reads::of_path(parts.uri.path()));
    let mut response = match connection.upstream.send(call(parts, body)).await {
        Ok(reply) => answer(app, reply, framing, None),
        Err(error) => unreachable(app, &error, reads),
    };
    if let Some(warning) = warning {
        headers::tell(response.headers_mut(), headers::WARNING, warning);
    }
    response
}

/// Sends a request with its lore and tells the story the reply.
async fn send(app: &App, parts: Parts, outgoing: Outgoing, weaving: Duration) -> Response {
    let Outgoing { body, connection, woven, complaint } = outgoing;
    let (framing, reads) = (Framing::of_path(parts.uri.path()), Reads::of_path(parts.uri.path()));
    let notes = notes(woven.as_ref(), complaint.as_deref());
    hold_key(app, &connection, &parts.headers);
    let (upstream, asked) = (&connection.upstream, Instant::now());
    let mut response = match upstream.send(call(parts, body)).await {
        // What the model refused is no part of the story.
        Ok(reply) if reply.status.is_success() => {
            let times = Times { weaving, asked, answered: asked.elapsed() };
            told(app, upstream.as_ref(), reply, framing, woven, times)
        }
        Ok(reply) => {
            unanswered(app, woven.as_ref());
            answer(app, reply, framing, None)
        }
        Err(error) => {
            unanswered(app, woven.as_ref());
            unreachable(app, &error, reads)
        }
    };
    response.headers_mut().extend(notes);
    response
}

/// Tells the recogniser that a request has no reply: the next like it asks for the first.
fn unanswered(app: &App, woven: Option<&Decision>) {
    if let Some(woven) = woven {
        app.recogniser.unanswered(&woven.telling.ticket);
    }
}

/// Tells whoever may know it the key that the front end sent. Other tenants' keys are their
/// own: work beside the stories is done for the installation's own tenant only.
fn hold_key(app: &App, connection: &Connection, headers: &HeaderMap) {
    let Some(holding) = connection.holding.as_ref().filter(|_| app.tenant == TenantId::local())
    else {
        return;
    };
    let key = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(key) = key.and_then(|value| value.strip_prefix("Bearer ")) {
        holding(key);
    }
}

fn unreachable(app: &App, error: &UpstreamError, reads: Reads) -> Response {
    // Errors of upstreams name addresses as they may be shown.
    tracing::warn!(%error, "a request got no answer");
    app.notice(Happened::UpstreamFailed { reason: error.to_string() });
    problem::unreachable(error, reads)
}

/// What the front end is told about its request.
fn notes(woven: Option<&Decision>, complaint: Option<&str>) -> HeaderMap {
    let mut notes = HeaderMap::new();
    if let Some(woven) = woven {
        notes.insert(headers::WOVEN, woven.sewn.plan.texts().into());
        headers::tell(&mut notes, headers::CHAT, woven.decided.path().chat().as_str());
        headers::tell(&mut notes, headers::TYPE, woven.decided.wish.generation.as_str());
    }
    if let Some(complaint) = complaint {
        headers::tell(&mut notes, headers::WARNING, complaint);
    }
    notes
}

/// The answer, with a copy of its text for the story.
fn told(
    app: &App,
    upstream: &dyn Upstream,
    reply: UpstreamReply,
    framing: Framing,
    woven: Option<Decision>,
    times: Times,
) -> Response {
    let Some(woven) = woven else {
        return answer(app, reply, framing, None);
    };
    let cutter = woven.decided.lore.rules().notebooks.cutter();
    let (waiting, complete) = storing(app, woven, times);
    // A compressed reply passes by unread.
    if reply.headers.contains_key(CONTENT_ENCODING) {
        return answer(app, reply, framing, None);
    }
    let content_type = reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_stream = framing.of_type(content_type.unwrap_or_default()) != Framing::None;
    let reading = upstream.reading(content_type.unwrap_or_default());
    let hiding = cutter.map(|cutter| upstream.hiding(content_type.unwrap_or_default(), cutter));
    let copying = move |body| -> BodyStream {
        let copied = Box::pin(Tee::new(body, reading, waiting, complete, is_stream));
        match hiding {
            Some(hiding) => Box::pin(Hidden::new(copied, hiding)),
            None => copied,
        }
    };
    answer(app, reply, framing, Some(Box::new(copying)))
}

/// Makes a body that copies itself.
type Copying = Box<dyn FnOnce(BodyStream) -> BodyStream>;

/// The response to the front end.
fn answer(app: &App, reply: UpstreamReply, framing: Framing, copying: Option<Copying>) -> Response {
    let UpstreamReply { status, headers: mut sent, body } = reply;
    headers::to_front_end(&mut sent);
    let content_type = sent.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let framing = framing.of_type(content_type.unwrap_or_default());
    let body: BodyStream = match copying {
        Some(copying) => {
            // A front end that knows the length does not wait for the end, which says that
            // the reply is stored.
            sent.remove(CONTENT_LENGTH);
            copying(body)
        }
        None => body,
    };
    let body = if framing == Framing::None {
        HttpBody::from_stream(body)
    } else {
        let telling = app.clone();
        let broke = Box::new(move |error: &UpstreamError| {
            telling.notice(Happened::UpstreamFailed { reason: error.to_string() });
        });
        HttpBody::from_stream(Ending::new(body, framing, broke))
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = sent;
    response
}
