//! Versions of resources: `ETag`, `If-Match` and `If-None-Match`.
//!
//! A handler that knows the version of what it shows returns it ([`Tagged`]). All other answers to
//! `GET` get a hash of their bytes ([`not_modified`]). Operations whose route is `versioned` check
//! `If-Match`; all others refuse it ([`refuse_unused`]), so that nobody relies on a check that does
//! not exist.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody as _},
    extract::{FromRequestParts, MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH},
    request::Parts,
};
use loreloom_core::digest::Hasher;
use serde::Serialize;

use super::{
    ROOT,
    extract::is_json,
    problem::{Code, Problem},
};

/// An answer with the version of what it shows.
pub(crate) struct Tagged<T> {
    pub(crate) tag: String,
    pub(crate) body: T,
}

impl<T: Serialize> Tagged<T> {
    /// An answer whose version is a hash of its content, for content that can change without a
    /// revision of the documents.
    pub(crate) fn by_content(revision: u64, body: T) -> Self {
        let content = serde_json::to_vec(&body).unwrap_or_default();
        Self { tag: format!("{revision}-{}", named_by(&content)), body }
    }
}

/// A version made of the bytes themselves.
fn named_by(content: &[u8]) -> String {
    let digest = Hasher::new("version").field(content).finish().to_string();
    digest.chars().take(12).collect()
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = axum::Json(self.body).into_response();
        put(response.headers_mut(), &self.tag);
        response
    }
}

fn put(headers: &mut HeaderMap, tag: &str) {
    // A tag is made of digits and letters; without one nothing is lost but speed.
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        headers.insert(ETAG, tag);
    }
}

/// The version the caller has seen, if it said one.
#[derive(Default)]
pub(crate) struct IfMatch(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Ok(Self(text(&parts.headers, &IF_MATCH)?))
    }
}

impl IfMatch {
    /// Refuses the call if the resource is at another version than the caller has seen.
    pub(crate) fn check(&self, tag: &str) -> Result<(), Problem> {
        match &self.0 {
            Some(wanted) if !matches(wanted, tag) => {
                let detail = format!("the resource is at version `\"{tag}\"`, not at `{wanted}`");
                Err(Problem::new(Code::Outdated, detail).at("if-match").with(format!("\"{tag}\"")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses the call if the caller has seen a version of what is not there.
    pub(crate) fn check_none(&self, what: &str, id: &str) -> Result<(), Problem> {
        let Some(wanted) = &self.0 else { return Ok(()) };
        let detail = format!("there is no {what} `{id}` that could be at version `{wanted}`");
        Err(Problem::new(Code::Outdated, detail).at("if-match").with(wanted.as_str()))
    }

    /// Whether the caller said one.
    pub(crate) fn is_given(&self) -> bool {
        self.0.is_some()
    }
}

/// The writes that compare no version: method and path.
pub(crate) type Unversioned = Arc<[(Method, &'static str)]>;

/// Refuses a write that names a version where none is compared.
pub(crate) async fn refuse_unused(
    State(unversioned): State<Unversioned>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let method = request.method();
    let Some(wanted) = request.headers().get(IF_MATCH) else {
        return next.run(request).await;
    };
    let path = path.as_str().strip_prefix(ROOT).unwrap_or(path.as_str());
    if !unversioned.iter().any(|(of, at)| of == method && *at == path) {
        return next.run(request).await;
    }
    let rule =
        format!("must be left out of `{method} {path}`, which has no version to compare it with");
    let wanted = String::from_utf8_lossy(wanted.as_bytes()).into_owned();
    Problem::value("if-match", &rule, wanted).into_response()
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let wrong = |_| Problem::new(Code::Unreadable, format!("`{name}` must be readable text"));
    headers.get(name).map(|value| value.to_str().map(str::to_owned)).transpose().map_err(wrong)
}

fn matches(list: &str, tag: &str) -> bool {
    list.split(',').map(str::trim).any(|one| {
        let one = one.strip_prefix("W/").unwrap_or(one);
        one == "*" || one.trim_matches('"') == tag
    })
}

/// Answers “not modified” to a caller that has the version already. An answer without a version
/// is named by its bytes.
pub(crate) async fn not_modified(request: Request, next: Next) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let is_whole = request.method() == Method::GET;
    let seen = request.headers().get(IF_NONE_MATCH).cloned();
    let mut response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    if is_whole && !response.headers().contains_key(ETAG) {
        response = tagged(response).await;
    }
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
    let known = seen.as_ref().and_then(|seen| seen.to_str().ok()).zip(tag);
    if known.is_some_and(|(seen, tag)| matches(seen, tag.trim_matches('"'))) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// An answer with a version made of its bytes, if it is JSON that is there as a whole: a stream
/// has no end to wait for.
async fn tagged(response: Response) -> Response {
    if !is_json(response.headers()) || response.body().size_hint().exact().is_none() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => {
            put(&mut parts.headers, &named_by(&bytes));
            Response::from_parts(parts, Body::from(bytes))
        }
        Err(error) => {
            let detail = format!("the answer could not be made: {error}");
            Problem::new(Code::Failed, detail).into_response()
        }
    }
}
