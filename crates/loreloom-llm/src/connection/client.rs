//! The HTTP client of all connections.

use std::{
    error::Error,
    sync::{Arc, Once},
    time::Duration,
};

use super::{
    Address, ConnectionError,
    reach::{PublicResolver, Reach},
};

static PROVIDER: Once = Once::new();

/// How connections are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRules {
    /// How long a server may take to accept a connection.
    pub connect: Duration,
    /// Where servers may be.
    pub reach: Reach,
}

impl Default for ClientRules {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), reach: Reach::Anywhere }
    }
}

/// A client without extras: no redirects, no cookies, no compression, and no proxy for servers on
/// this machine.
pub(crate) fn browserless_client(
    address: &Address,
    rules: ClientRules,
) -> Result<reqwest::Client, ConnectionError> {
    trusting_client(address, rules, None)
}

/// The same, with TLS of its own where it is given.
pub(crate) fn trusting_client(
    address: &Address,
    rules: ClientRules,
    tls: Option<rustls::ClientConfig>,
) -> Result<reqwest::Client, ConnectionError> {
    address.within(rules.reach)?;
    PROVIDER.call_once(|| {
        // Fails if the host has installed one before; then that one is used.
        let _theirs = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(rules.connect)
        .tcp_nodelay(true);
    if rules.reach == Reach::Public {
        // A proxy would look up names itself, without our check.
        builder = builder.no_proxy().dns_resolver(Arc::new(PublicResolver));
    }
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

/// An error of a client and its causes on one line. The address is left out: the caller names it.
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
