//! Passing requests on to a model server, byte for byte.
//!
//! Nothing is parsed, decompressed, redirected or buffered. Only headers that belong to one
//! connection instead of the message are left out in both directions (RFC 9110, 7.6.1), and
//! the host and the length are those of the new connection.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
        TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
};
use loreloom_core::notebook::NoteCutter;
use loreloom_ports::{
    ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError, UpstreamReply,
};

use crate::{
    connection::{
        Address, ClientRules, ConnectionError, bearer, browserless_client, causes, hiding, passing,
    },
    secret::Secret,
};

/// A model server reached over HTTP.
#[derive(Debug)]
pub struct HttpUpstream {
    address: Address,
    client: reqwest::Client,
    key: Option<HeaderValue>,
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
        let client = browserless_client(&address, rules)?;
        let key = key.map(|key| bearer(key, address.shown())).transpose()?;
        Ok(Self { address, client, key })
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
        let mut request = self.client.request(method, self.address.serving(&path)).headers(headers);
        if !body.is_empty() {
            request = request.body(body);
        }
        let address = self.address.shown().to_owned();
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                return Err(UpstreamError::Unreachable { address, reason: causes(error) });
            }
        };
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let body = response.bytes_stream().map(move |piece| {
            let cut =
                |error| UpstreamError::Cut { address: address.clone(), reason: causes(error) };
            piece.map_err(cut)
        });
        Ok(UpstreamReply { status, headers: end_to_end(headers), body: Box::pin(body) })
    }

    fn reading(&self, content_type: &str) -> Box<dyn ReplyReading> {
        passing(content_type)
    }

    fn hiding(&self, content_type: &str, cutter: NoteCutter) -> Box<dyn ReplyHiding> {
        hiding(content_type, cutter)
    }
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
