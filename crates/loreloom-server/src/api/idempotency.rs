//! Repeated calls: a POST with an `Idempotency-Key` is carried out once.
//!
//! Answers are kept in memory, the last thousand of them: enough for a client that lost the
//! line and asks again, not for one that comes back after a restart. Of an answer that holds a
//! secret, or is too large to keep, only that it was given is known: its repetition is refused,
//! because to carry the call out again would be worse.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::{
    body::Body,
    extract::{FromRequest as _, Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header::CACHE_CONTROL};
use loreloom_core::{digest::Hasher, ids::Digest};

use super::{
    extract::Raw,
    problem::{Code, Problem},
};
use crate::{app::App, gate::Pass};

/// The header that names a call.
const HEADER: &str = "idempotency-key";
/// Answers that are kept.
const KEPT: usize = 1000;
/// The largest answer that is kept.
const MOST_ANSWER: usize = 1 << 20;

/// A call that was named.
struct Call {
    key: String,
    path: String,
    /// Of who called, and the body.
    body: Digest,
    /// None while it is being carried out.
    answer: Option<CallAnswer>,
}

/// What is known of an answer.
enum CallAnswer {
    Kept(StatusCode, HeaderMap, Bytes),
    Withheld(Withheld),
}

/// Why an answer is sent only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Withheld {
    /// It holds a secret.
    Secret,
    /// It has so many bytes.
    TooLarge(usize),
    /// It broke off while it was made.
    Lost,
}

impl Withheld {
    /// The answer to a repetition of the call.
    fn refusal(self, key: &str) -> Problem {
        let why = match self {
            Self::Secret => "is shown once, because it has a secret".to_owned(),
            Self::TooLarge(size) => {
                format!("is shown once: it has {size} bytes, and at most {MOST_ANSWER} are kept")
            }
            Self::Lost => "could not be made".to_owned(),
        };
        let detail = format!("the call `{key}` was carried out, and its answer {why}");
        Problem::new(Code::Conflict, detail).at(HEADER).with(key)
    }
}

/// Calls that were named, oldest first.
#[derive(Default)]
pub(crate) struct Calls(Mutex<VecDeque<Call>>);

enum KnownCall {
    /// It is new, and now being carried out.
    New,
    /// It is being carried out.
    Running,
    /// Another call has its name.
    Other,
    Done(Response),
    /// It was carried out, and its answer is not repeated.
    Withheld(Withheld),
}

impl Calls {
    fn begin(&self, key: &str, path: &str, body: Digest) -> KnownCall {
        let mut calls = self.calls();
        if let Some(known) = calls.iter().find(|call| call.key == key) {
            return match &known.answer {
                _ if known.path != path || known.body != body => KnownCall::Other,
                None => KnownCall::Running,
                Some(CallAnswer::Withheld(why)) => KnownCall::Withheld(*why),
                Some(CallAnswer::Kept(status, headers, bytes)) => {
                    let mut response = Response::new(Body::from(bytes.clone()));
                    *response.status_mut() = *status;
                    *response.headers_mut() = headers.clone();
                    KnownCall::Done(response)
                }
            };
        }
        if calls.len() >= KEPT {
            calls.pop_front();
        }
        let (key, path) = (key.to_owned(), path.to_owned());
        calls.push_back(Call { key, path, body, answer: None });
        KnownCall::New
    }

    /// Remembers what a call was answered that was carried out.
    fn end(&self, key: &str, answer: CallAnswer) {
        if let Some(call) = self.calls().iter_mut().find(|call| call.key == key) {
            call.answer = Some(answer);
        }
    }

    /// Forgets a call that failed: it may be made again.
    fn forget(&self, key: &str) {
        self.calls().retain(|call| call.key != key);
    }

    fn calls(&self) -> MutexGuard<'_, VecDeque<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries a named POST out once.
pub(super) async fn once(State(app): State<App>, request: Request, next: Next) -> Response {
    let key = request.headers().get(HEADER).map(|key| String::from_utf8_lossy(key.as_bytes()));
    let Some(key) = key.map(std::borrow::Cow::into_owned) else { return next.run(request).await };
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    if key.is_empty() || key.len() > 200 {
        let rule = "must have 1 to 200 characters";
        return Problem::value(HEADER, rule, key).into_response();
    }
    let (parts, body) = request.into_parts();
    let mut reading = Request::new(body);
    // The API's limit of bodies is one of them.
    reading.extensions_mut().clone_from(&parts.extensions);
    let body = match Raw::from_request(reading, &()).await {
        Ok(Raw(body)) => body,
        Err(problem) => return problem.into_response(),
    };
    let path = parts.uri.to_string();
    let caller = parts.extensions.get::<Pass>().map(Pass::whose).unwrap_or_default();
    let digest = Hasher::new("call").field(caller.as_bytes()).field(&body).finish();
    let calls = &app.api.calls;
    match calls.begin(&key, &path, digest) {
        KnownCall::New => {}
        KnownCall::Done(response) => return response,
        KnownCall::Withheld(why) => return why.refusal(&key).into_response(),
        KnownCall::Running => {
            let detail = format!("the call `{key}` is being carried out");
            return Problem::new(Code::Conflict, detail).at(HEADER).with(key).into_response();
        }
        KnownCall::Other => {
            let rule = "names another call already: its path, body or key differ";
            return Problem::value(HEADER, rule, key).into_response();
        }
    }
    // Who lost the line asks again: what they asked for goes on without them, so that its
    // answer is there by then.
    let request = Request::from_parts(parts, Body::from(body));
    let (name, state) = (key.clone(), app.clone());
    let carried = app.tasks.spawn(async move {
        let response = next.run(request).await;
        kept(&state.api.calls, &name, response).await
    });
    carried.await.unwrap_or_else(|_died| {
        calls.forget(&key);
        Problem::new(Code::Failed, "the call could not be carried out").into_response()
    })
}

/// Keeps the answer of a call that was carried out.
async fn kept(calls: &Calls, key: &str, response: Response) -> Response {
    if !response.status().is_success() {
        calls.forget(key);
        return response;
    }
    let (parts, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
        calls.end(key, CallAnswer::Withheld(Withheld::Lost));
        return Problem::new(Code::Failed, "the answer could not be made").into_response();
    };
    let is_secret = parts.headers.get(CACHE_CONTROL).is_some_and(|value| value == "no-store");
    let answer = match bytes.len() {
        _ if is_secret => CallAnswer::Withheld(Withheld::Secret),
        size if size > MOST_ANSWER => CallAnswer::Withheld(Withheld::TooLarge(size)),
        _ => CallAnswer::Kept(parts.status, parts.headers.clone(), bytes.clone()),
    };
    calls.end(key, answer);
    Response::from_parts(parts, Body::from(bytes))
}
