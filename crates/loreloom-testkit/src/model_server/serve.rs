//! The HTTP side: records the request, takes the next reply and writes it as the script says.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderName, HeaderValue, Request, StatusCode},
    response::Response,
};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch;

use super::{Received, Reply, Script, defaults, reply::Stop, wire};

/// The longest request body that is read.
const LONGEST_BODY: usize = 64 << 20;

/// What the server's thread and its handle share.
pub(super) struct Shared {
    script: Mutex<Script>,
    received: Mutex<Vec<Received>>,
    pub(super) arrived: watch::Sender<usize>,
    pub(super) disconnects: watch::Sender<usize>,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script: Mutex::new(script),
            received: Mutex::default(),
            arrived: watch::Sender::new(0),
            disconnects: watch::Sender::new(0),
        }
    }

    pub(super) fn push(&self, path: &str, reply: Reply) {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.queues.entry(path.to_owned()).or_default().push_back(reply);
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn last(&self) -> Option<Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    fn note(&self, request: Received) {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        self.arrived.send_modify(|count| *count += 1);
    }

    fn next(&self, request: &Received) -> Reply {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.next(request).unwrap_or_else(|| defaults::reply(request))
    }
}

/// Every path goes to one handler: the script says what exists.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LONGEST_BODY).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let request = Received {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        json: serde_json::from_slice(&body).unwrap_or_default(),
        body,
    };
    shared.note(request.clone());
    let reply = shared.next(&request);
    let watch = HangUpWatch { shared, finished: false };
    tokio::time::sleep(reply.wait).await;
    respond(&reply, wire::encode(&reply, &request), watch)
}

fn plain(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn respond(reply: &Reply, body: wire::Body, watch: HangUpWatch) -> Response {
    let mut response = plain(StatusCode::from_u16(reply.status).unwrap_or_default());
    let content_type = HeaderValue::from_static(body.content_type);
    response.headers_mut().insert("content-type", content_type);
    for (name, value) in &reply.headers {
        let parsed = (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()));
        if let (Ok(name), Ok(value)) = parsed {
            response.headers_mut().insert(name, value);
        }
    }
    let writing =
        Writing { writes: body.writes, written: 0, pause: reply.pause, stop: reply.stop, watch };
    *response.body_mut() = Body::from_stream(stream::unfold(Some(writing), Writing::step));
    response
}

/// Counts a client as gone if it is dropped before the answer is finished.
struct HangUpWatch {
    shared: Arc<Shared>,
    finished: bool,
}

impl Drop for HangUpWatch {
    fn drop(&mut self) {
        if !self.finished {
            self.shared.disconnects.send_modify(|count| *count += 1);
        }
    }
}

/// A body being written.
struct Writing {
    writes: Vec<Bytes>,
    written: usize,
    pause: Duration,
    stop: Option<Stop>,
    watch: HangUpWatch,
}

impl Writing {
    async fn step(state: Option<Self>) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let mut state = state?;
        // Even a sleep of nothing waits for the timer's next tick.
        if state.written > 0 && !state.pause.is_zero() {
            tokio::time::sleep(state.pause).await;
        }
        // A write goes out only when the body is pending; without this a cut would swallow
        // the writes before it.
        tokio::task::yield_now().await;
        if let Some(stop) = state.stop.filter(|stop| state.written >= stop.after) {
            state.watch.finished = true;
            let cut = || (Err(io::Error::other("cut off by the script")), None);
            return (!stop.properly).then(cut);
        }
        let Some(next) = state.writes.get(state.written).cloned() else {
            state.watch.finished = true;
            return None;
        };
        state.written += 1;
        Some((Ok(next), Some(state)))
    }
}
