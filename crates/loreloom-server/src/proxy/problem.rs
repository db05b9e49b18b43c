//! Errors in the shape that clients read: OpenAI's an object, Ollama's a text.

use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header::RETRY_AFTER};
use loreloom_ports::UpstreamError;
use serde_json::json;

/// An error with a code.
pub(crate) fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    let body =
        json!({ "error": { "message": message, "type": code, "code": code, "param": null } });
    (status, axum::Json(body)).into_response()
}

/// Whose errors the clients of a path read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// OpenAI's, llama.cpp's and KoboldCpp's.
    Objects,
    /// Ollama's.
    Texts,
}

impl Reads {
    pub(super) fn of_path(path: &str) -> Self {
        let kobold = ["v1/", "latest/", "extra/"];
        match path.strip_prefix("/api/") {
            Some(rest) if !kobold.iter().any(|own| rest.starts_with(own)) => Self::Texts,
            Some(_) | None => Self::Objects,
        }
    }

    /// An error with a code.
    pub(super) fn problem(self, status: StatusCode, code: &str, message: &str) -> Response {
        match self {
            Self::Objects => problem(status, code, message),
            Self::Texts => (status, axum::Json(json!({ "error": message }))).into_response(),
        }
    }
}

/// The upstream gave no answer.
pub(super) fn unreachable(error: &UpstreamError, reads: Reads) -> Response {
    let message = error.to_string();
    let problem = |status, code, message: &str| reads.problem(status, code, message);
    match error {
        UpstreamError::Unreachable { .. }
        | UpstreamError::Cut { .. }
        | UpstreamError::Unfinished => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_client_is_told_in_the_shape_it_reads() {
        let error = UpstreamError::Silent { address: "http://h".to_owned(), seconds: 3 };
        let text = "upstream `http://h` gave no answer within 3 s";
        let object = json!({"error": {
            "message": text, "type": "upstream_silent", "code": "upstream_silent", "param": null,
        }});
        for (path, expected) in [
            ("/v1/chat/completions", object.clone()),
            ("/completion", object.clone()),
            ("/api/v1/generate", object.clone()),
            ("/api/extra/generate/stream", object),
            ("/api/chat", json!({ "error": text })),
            ("/api/tags", json!({ "error": text })),
        ] {
            let response = unreachable(&error, Reads::of_path(path));
            let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
            let found: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(found, expected, "{path}");
        }
    }
}
