//! Serving with a certificate that was made a moment ago.

use std::{io, net::SocketAddr, sync::Arc};

use axum::serve::Listener;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// A certificate and its key.
pub(super) struct Identity {
    pub(super) pem: String,
    config: ServerConfig,
}

impl Identity {
    /// Makes one for this machine.
    pub(super) fn made() -> io::Result<Self> {
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .map_err(io::Error::other)?;
        Ok(Self { pem: cert.pem(), config })
    }

    pub(super) fn listen(self, plain: TcpListener) -> Encrypted {
        Encrypted { plain, acceptor: TlsAcceptor::from(Arc::new(self.config)) }
    }
}

/// A port behind TLS.
pub(super) struct Encrypted {
    plain: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((socket, address)) = self.plain.accept().await else { continue };
            // A client that does not trust the certificate hangs up.
            if let Ok(stream) = self.acceptor.accept(socket).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.plain.local_addr()
    }
}
