//! Passing requests on to a model server, byte for byte.
//!
//! Nothing is parsed, decompressed, redirected or buffered. Only headers that belong to one
//! connection instead of the message are left out in both directions (RFC 9110, 7.6.1), and
//! the host and the length are those of the new connection.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Uri,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
        TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
};
use http_body_util::Full;
use loreloom_core::notebook::NoteCutter;
use loreloom_ports::{
    BodyStream, ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError, UpstreamReply,
};

use crate::{
    connection::{
        Address, ClientRules, ConnectionError, Lines, bearer, browserless_client, causes, hiding,
        passing, with_causes,
    },
    secret::Secret,
};

/// A model server reached over HTTP.
pub struct HttpUpstream {
    address: Address,
    way: Way,
    key: Option<HeaderValue>,
}

/// How it is reached.
enum Way {
    /// On this machine.
    Direct(Arc<Lines>, Served),
    /// Anywhere else.
    Client(reqwest::Client),
}

/// What was asked for last, and the path that it has on the server: front ends ask for the same
/// again and again.
#[derive(Default)]
struct Served(Mutex<Option<(String, Uri)>>);

impl Served {
    fn at(&self, address: &Address, path: &str) -> Option<Uri> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, uri)) = last.as_ref().filter(|(asked, _)| asked == path) {
            return Some(uri.clone());
        }
        let url = address.serving(path);
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let uri = Uri::try_from(format!("{}{query}", url.path())).ok()?;
        *last = Some((path.to_owned(), uri.clone()));
        Some(uri)
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HttpUpstream").field("address", &self.address).finish_non_exhaustive()
    }
}

impl HttpUpstream {
    /// An upstream at a base address such as `https://host/v1`. A key replaces the front
    /// end's own `Authorization`.
    pub fn new(address: Address, key: Option<&Secret>) -> Result<Self, ConnectionError> {
        Self::with(address, key, ClientRules::default())
    }

    /// The same by other rules.
    pub fn with(
        address: Address,
        key: Option<&Secret>,
        rules: ClientRules,
    ) -> Result<Self, ConnectionError> {
        let way = match Lines::to(&address, rules) {
            Some(lines) => Way::Direct(lines, Served::default()),
            None => Way::Client(browserless_client(&address, rules)?),
        };
        let key = key.map(|key| bearer(key, address.shown())).transpose()?;
        Ok(Self { address, way, key })
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    async fn send(&self, call: UpstreamCall) -> Result<UpstreamReply, UpstreamError> {
        let UpstreamCall { method, path, headers, body } = call;
        let mut headers = end_to_end(headers);
        headers.remove(HOST);
        headers.remove(CONTENT_LENGTH);
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        let address = self.address.shown().to_owned();
        let unreachable = |reason| UpstreamError::Unreachable { address: address.clone(), reason };
        match &self.way {
            Way::Direct(lines, served) => {
                let uri = served.at(&self.address, &path);
                let uri = uri.ok_or_else(|| unreachable(format!("`{path}` is no path")))?;
                let mut request = Request::new(Full::new(body));
                (*request.method_mut(), *request.uri_mut()) = (method, uri);
                *request.headers_mut() = headers;
                let response = lines.send(request).await;
                let response = response.map_err(|error| unreachable(with_causes(&error)))?;
                let (head, body) = response.into_parts();
                let body = cut_off(body, address, |error| with_causes(&error));
                Ok(UpstreamReply { status: head.status, headers: end_to_end(head.headers), body })
            }
            Way::Client(client) => {
                let mut request =
                    client.request(method, self.address.serving(&path)).headers(headers);
                if !body.is_empty() {
                    request = request.body(body);
                }
                let response = request.send().await;
                let mut response = response.map_err(|error| unreachable(causes(error)))?;
                let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
                let body = cut_off(response.bytes_stream(), address, causes);
                Ok(UpstreamReply { status, headers: end_to_end(headers), body })
            }
        }
    }

    fn reading(&self, content_type: &str) -> Box<dyn ReplyReading> {
        passing(content_type)
    }

    fn hiding(&self, content_type: &str, cutter: NoteCutter) -> Box<dyn ReplyHiding> {
        hiding(content_type, cutter)
    }
}

/// A body whose errors say that it was cut off, and why.
fn cut_off<E: 'static>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    address: String,
    causes: impl Fn(E) -> String + Send + 'static,
) -> BodyStream {
    Box::pin(body.map(move |piece| {
        piece
            .map_err(|error| UpstreamError::Cut { address: address.clone(), reason: causes(error) })
    }))
}

/// Names without a constant that belong to one connection.
const OF_THE_CONNECTION: [&str; 2] = ["keep-alive", "proxy-connection"];

/// The headers that belong to the message: all but the standard ones of a connection and
/// those that `Connection` names.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    let standard = [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.iter().chain(&standard) {
        headers.remove(name);
    }
    for name in OF_THE_CONNECTION {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_are_left_out() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("connection", "x-other"),
            ("x-mine", "1"),
            ("x-other", "2"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("proxy-connection", "keep-alive"),
            ("content-type", "application/json"),
            ("x-kept", "a"),
            ("x-kept", "b"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let kept: Vec<(String, String)> = end_to_end(headers)
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        let expected = [("content-type", "application/json"), ("x-kept", "a"), ("x-kept", "b")];
        assert_eq!(kept, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
