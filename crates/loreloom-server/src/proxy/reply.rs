//! What a server gets of a request, and a front end of its reply.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{
    header::{CONTENT_LENGTH, CONTENT_TYPE},
    request::Parts,
};
use loreloom_ports::{BodyStream, UpstreamCall, UpstreamError, UpstreamReply};

use super::{
    headers,
    problem::{Reads, unreachable},
    stream_end::{EndedStream, StreamFraming},
};
use crate::{announcements::Announcements, notices::Happened};

/// The call to a server for a request.
pub(crate) fn upstream_call(parts: Parts, body: Bytes) -> UpstreamCall {
    let path = parts.uri.path_and_query().map_or(parts.uri.path(), |path| path.as_str());
    let path = path.to_owned();
    let mut headers = parts.headers;
    headers::to_upstream(&mut headers);
    UpstreamCall { method: parts.method, path, headers, body }
}

/// The response to a front end that asked for this path.
pub(crate) fn respond(
    announcements: &Announcements,
    path: &str,
    reply: Result<UpstreamReply, UpstreamError>,
) -> Response {
    match reply {
        Ok(reply) => response(announcements, path, reply),
        Err(error) => {
            // Errors of upstreams contain only what may be shown.
            tracing::warn!(%error, "a request got no answer");
            announcements.notice(Happened::UpstreamFailed { reason: error.to_string() });
            unreachable(&error, Reads::of_path(path))
        }
    }
}

/// The response with a body that `change` makes of the reply's body.
pub(crate) fn respond_with(
    announcements: &Announcements,
    path: &str,
    mut reply: UpstreamReply,
    change: impl FnOnce(BodyStream) -> BodyStream,
) -> Response {
    // A front end that knows the length does not wait for the end, which says that the reply is
    // stored.
    reply.headers.remove(CONTENT_LENGTH);
    let reply = UpstreamReply { body: change(reply.body), ..reply };
    response(announcements, path, reply)
}

fn response(announcements: &Announcements, path: &str, reply: UpstreamReply) -> Response {
    let UpstreamReply { status, headers: mut sent, body } = reply;
    headers::to_front_end(&mut sent);
    let content_type = sent.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let framing = StreamFraming::of(path, content_type.unwrap_or_default());
    let body = if framing == StreamFraming::None {
        Body::from_stream(body)
    } else {
        let telling = announcements.clone();
        let broke = Box::new(move |error: &UpstreamError| {
            telling.notice(Happened::UpstreamFailed { reason: error.to_string() });
        });
        Body::from_stream(EndedStream::new(body, framing, broke))
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = sent;
    response
}
