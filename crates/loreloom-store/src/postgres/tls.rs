//! Encrypted connections.
//!
//! `sslmode` has libpq's values `disable`, `prefer` (the default) and `require`. Unlike with libpq,
//! the certificate of an encrypted connection must always be trusted: by the system, or by the
//! file that `sslrootcert` names.

use loreloom_ports::StoreError;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Takes `sslrootcert` out of an address, because the client does not know it.
pub(super) fn root_of(address: &str) -> (String, Option<String>) {
    let mut root = None;
    let mut keep = |word: &&str| match word.strip_prefix("sslrootcert=") {
        Some(file) => {
            root = Some(file.to_owned());
            false
        }
        None => true,
    };
    let rest = match address.split_once('?') {
        Some((place, asked)) => {
            let asked: Vec<&str> = asked.split('&').filter(&mut keep).collect();
            if asked.is_empty() { place.to_owned() } else { format!("{place}?{}", asked.join("&")) }
        }
        None if address.contains("://") => address.to_owned(),
        None => address.split_whitespace().filter(&mut keep).collect::<Vec<_>>().join(" "),
    };
    (rest, root)
}

/// Trusts the certificates in a file, or those the system trusts.
pub(super) fn connector(root: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let doing = "preparing an encrypted connection";
    let failed =
        |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Database { doing, source };
    let mut trusted = RootCertStore::empty();
    if let Some(file) = root {
        let read = CertificateDer::pem_file_iter(file).map_err(|error| {
            failed(format!("the certificates in `{file}` cannot be read: {error}").into())
        })?;
        for certificate in read {
            let certificate = certificate.map_err(|error| failed(error.into()))?;
            trusted.add(certificate).map_err(|error| failed(error.into()))?;
        }
    } else {
        // Without certificates, connections that need encryption fail with a clear error.
        let system = rustls_native_certs::load_native_certs();
        trusted.add_parsable_certificates(system.certs);
    }
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.into()))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_trusted_certificates_is_taken_out_of_the_address() {
        for (address, rest, root) in [
            ("postgres://h/d", "postgres://h/d", None),
            ("postgres://h/d?sslrootcert=/ca.pem", "postgres://h/d", Some("/ca.pem")),
            (
                "postgres://h/d?sslmode=require&sslrootcert=ca.pem",
                "postgres://h/d?sslmode=require",
                Some("ca.pem"),
            ),
            ("host=h sslrootcert=ca.pem dbname=d", "host=h dbname=d", Some("ca.pem")),
        ] {
            assert_eq!(root_of(address), (rest.to_owned(), root.map(str::to_owned)));
        }
    }
}
