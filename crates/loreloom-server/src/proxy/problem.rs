//! Errors in the shape that OpenAI clients read.

use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header::RETRY_AFTER};
use loreloom_memory::ports::UpstreamError;
use serde_json::json;

/// An error with a code.
pub(crate) fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    let body =
        json!({ "error": { "message": message, "type": code, "code": code, "param": null } });
    (status, axum::Json(body)).into_response()
}

/// The upstream gave no answer.
pub(super) fn unreachable(error: &UpstreamError) -> Response {
    let message = error.to_string();
    match error {
        UpstreamError::Unreachable { .. } | UpstreamError::Cut { .. } => {
            problem(StatusCode::BAD_GATEWAY, "upstream_unreachable", &message)
        }
        UpstreamError::Silent { .. } => {
            problem(StatusCode::GATEWAY_TIMEOUT, "upstream_silent", &message)
        }
        UpstreamError::Resting { left, .. } => {
            let mut response =
                problem(StatusCode::SERVICE_UNAVAILABLE, "upstream_resting", &message);
            let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response
        }
    }
}
