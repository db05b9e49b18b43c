//! Errors in the shape that OpenAI clients read.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use loreloom_memory::ports::UpstreamError;
use serde_json::json;

/// An error with a code.
pub(super) fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    let body =
        json!({ "error": { "message": message, "type": code, "code": code, "param": null } });
    (status, axum::Json(body)).into_response()
}

/// Nobody answers at the upstream's address.
pub(super) fn unreachable(error: &UpstreamError) -> Response {
    problem(StatusCode::BAD_GATEWAY, "upstream_unreachable", &error.to_string())
}
