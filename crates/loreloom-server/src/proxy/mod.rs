//! The proxy: it checks the key of a request, finds its connection, and either runs a turn
//! (`turn`) or passes the request on unchanged.

mod addressed;
pub(crate) mod headers;
mod problem;
mod reply;
mod stream_end;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, request::Parts};
use loreloom_core::ids::ConnectionId;
use loreloom_recognise::wire;

use self::{addressed::addressed, problem::Reads};
pub(crate) use self::{
    headers::without_keys,
    problem::problem,
    reply::{respond, respond_with, upstream_call},
    stream_end::StreamFraming,
};
use crate::{
    announcements::Announcements,
    app::App,
    connections::{Connection, Connections, ConnectionsError},
    gate::Pass,
    keys::Scope,
    limits::{self, Stalled},
    turn::{self, PlayedTurn},
};

/// A request and where it may go: the connections when it came, and the one it names.
#[derive(Clone)]
pub(crate) struct ProxyRequest {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    connections: Arc<Connections>,
    named: Option<Arc<Connection>>,
    /// What is known about it, if it comes from a story that is played here.
    pub(crate) played: Option<Arc<PlayedTurn>>,
}

impl ProxyRequest {
    /// The request of a story that is played here.
    pub(crate) fn played(
        connections: Arc<Connections>,
        mut parts: Parts,
        body: Bytes,
        played: PlayedTurn,
    ) -> Result<Self, ConnectionsError> {
        let (body, named) = chosen(&connections, &mut parts.headers, body)?;
        Ok(Self { parts, body, connections, named, played: Some(Arc::new(played)) })
    }

    /// The path that it asks for.
    pub(crate) fn path(&self) -> &str {
        self.parts.uri.path()
    }

    /// The connection of a request for this model.
    pub(crate) fn connection(&self, model: Option<&str>) -> Arc<Connection> {
        let of_model = || self.connections.of(model);
        Arc::clone(self.named.as_ref().unwrap_or_else(of_model))
    }

    /// The connection of a request that is not read any further.
    pub(crate) fn unread_connection(&self) -> Arc<Connection> {
        let is_open = self.named.is_none() && self.connections.is_choice();
        let model = is_open.then(|| turn::model_of(self.path(), &self.body));
        self.connection(model.flatten().as_deref())
    }

    /// The request without our own field.
    pub(crate) fn without_own_field(self) -> Self {
        Self { body: turn::without_own_field(&self.body), ..self }
    }
}

/// Passes a request on, with lore if it asks for a story.
pub(crate) async fn forward(State(app): State<App>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Some(refusal) = Pass::refusal(&parts.extensions, Scope::Proxy) {
        return refusal;
    }
    if let Some(announced) = limits::announced_above(&parts.headers, app.limits.body) {
        app.tasks.spawn(limits::discard(parts.headers.clone(), body));
        return too_large(&app, &parts, Some(announced));
    }
    let body = match axum::body::to_bytes(body, app.limits.body).await {
        Ok(body) => body,
        Err(error) => return unread(&app, &parts, &error),
    };
    let connections = app.connections.now();
    let (body, named) = match chosen(&connections, &mut parts.headers, body) {
        Ok(chosen) => chosen,
        Err(error) => {
            let reads = Reads::of_path(parts.uri.path());
            return reads.problem(StatusCode::BAD_REQUEST, "connection", &error.to_string());
        }
    };
    app.figures.metrics.passed_on();
    let request = ProxyRequest { parts, body, connections, named, played: None };
    if !wire::asks(request.parts.method.as_str(), request.path()) {
        return pass(&app.announcements, request, Unwoven::Endpoint).await;
    }
    let off = request.parts.headers.get(headers::WEAVE).is_some_and(headers::is_off);
    if off || !app.settings.now().weaving.on {
        return pass(&app.announcements, request.without_own_field(), Unwoven::Off).await;
    }
    turn::run(&app.turns, request).await
}

/// Why a request is passed on without weaving.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unwoven<'reason> {
    /// Nothing is woven at its path.
    Endpoint,
    /// Weaving is off.
    Off,
    /// Weaving failed, for this reason.
    Failed(&'reason str),
}

impl Unwoven<'_> {
    /// Tells the front end.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
        let value = match self {
            Self::Endpoint => "endpoint",
            Self::Off => "off",
            Self::Failed(reason) => {
                headers::tell(headers, headers::WARNING, reason);
                "failed"
            }
        };
        headers::tell(headers, headers::PASSED_ON, value);
    }
}

/// Passes a request on unchanged. The front end gets the reason in a header.
pub(crate) async fn pass(
    announcements: &Announcements,
    request: ProxyRequest,
    unwoven: Unwoven<'_>,
) -> Response {
    let (connection, path) = (request.unread_connection(), request.path().to_owned());
    let upstreams = &announcements.figures.metrics.upstreams;
    let sending = connection.upstream.send(upstream_call(request.parts, request.body));
    let reply = upstreams.measure(&connection.name, sending).await;
    let mut response = respond(announcements, &path, reply);
    unwoven.tell(response.headers_mut());
    response
}

/// The response to a request whose body cannot be read.
fn unread(app: &App, parts: &Parts, error: &axum::Error) -> Response {
    let reads = Reads::of_path(parts.uri.path());
    if let Some(stalled) = Stalled::caused(error) {
        return reads.problem(StatusCode::REQUEST_TIMEOUT, "body", &stalled.to_string());
    }
    too_large(app, parts, None)
}

/// The response to a body above the limit, whose size is known if it was announced.
fn too_large(app: &App, parts: &Parts, announced: Option<u64>) -> Response {
    let most = app.limits.body >> 20;
    let found = announced.map_or(String::new(), |length| format!(", found {length} bytes"));
    let message =
        format!("the body may have {most} MiB at most (`body_mb` of the server's limits){found}");
    let reads = Reads::of_path(parts.uri.path());
    reads.problem(StatusCode::PAYLOAD_TOO_LARGE, "body", &message)
}

/// The connection that requests for a model go to.
pub(crate) fn route(connections: &Connections, model: Option<&str>) -> Arc<Connection> {
    let body = Bytes::from(serde_json::json!({ "model": model }).to_string());
    match addressed(connections, &body) {
        Some((_, connection)) => connection,
        None => Arc::clone(connections.of(model)),
    }
}

/// The connection that a front end names, in a header or with the model, and the body for that
/// connection's server.
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
    if !connections.gets_front_end_keys(&connection) {
        without_keys(headers);
    }
    Ok((body, Some(connection)))
}
