//! The HTTP client of all connections.

use std::{error::Error, sync::Once, time::Duration};

use super::{Address, ConnectionError};

static PROVIDER: Once = Once::new();

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A client that does nothing of its own accord: no redirects, no cookies, no compression,
/// and no proxy for servers on this machine.
pub(crate) fn browserless_client(address: &Address) -> Result<reqwest::Client, ConnectionError> {
    trusting_client(address, None)
}

/// The same, with TLS of its own where it is given.
pub(crate) fn trusting_client(
    address: &Address,
    tls: Option<rustls::ClientConfig>,
) -> Result<reqwest::Client, ConnectionError> {
    PROVIDER.call_once(|| {
        // The host may have installed one before: then that one is used.
        let _theirs = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .tcp_nodelay(true);
    if address.is_loopback() {
        builder = builder.no_proxy();
    }
    if !address.is_encrypted() {
        // Loading the system's certificates takes time, and fails in a container that has
        // none: a connection without TLS must not depend on them.
        builder = builder.tls_certs_only([]);
    } else if let Some(tls) = tls {
        builder = builder.tls_backend_preconfigured(tls);
    }
    builder.build().map_err(|source| ConnectionError::Client { source })
}

/// An error and its causes on one line. The address is left out: the caller names it.
pub(crate) fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
