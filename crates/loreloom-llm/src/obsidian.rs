//! A vault behind Obsidian's Local REST API: lists, reads and writes notes.
//!
//! Obsidian runs on the user's own machine or network, with a key and a self-made certificate.
//! Errors say what the user can do: start Obsidian, trust its certificate, or give the right key.
//! A server that failed repeatedly is paused for a moment.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{
    HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use reqwest::{RequestBuilder, Response, Url};
use serde::Deserialize;

use crate::{
    connection::{Address, ClientRules, ConnectionError, bearer, causes, pinned, trusting_client},
    secret::Secret,
};

/// The longest one request may take.
const LONGEST: Duration = Duration::from_secs(30);
/// Folders inside folders.
const DEEPEST: usize = 20;
/// Notes that are read at once.
const AT_ONCE: usize = 20;
/// Failures in a row after which the server is left alone.
const FAILURES: u32 = 3;
/// The first pause; it doubles with every further failure.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// A vault behind Obsidian's Local REST API: lists, reads and writes notes.
///
/// Obsidian runs on the user's own machine or network, with a key and a self-made certificate.
/// Errors say what the user can do: start Obsidian, trust its certificate, or give the right key.
/// A server that failed repeatedly is paused for a moment.
#[derive(Debug)]
pub struct Obsidian {
    address: Address,
    client: reqwest::Client,
    key: Option<HeaderValue>,
    failures: Mutex<(u32, Option<Instant>)>,
}

/// Why a vault cannot be reached or used.
#[derive(Debug, thiserror::Error)]
pub enum ObsidianError {
    /// The address, the key or the certificate cannot be used.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The certificate file holds none.
    #[error("the certificate for `{address}` must be a readable PEM file: {reason}")]
    BadCertificate {
        /// The address it is for.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server is on the open internet.
    #[error("Obsidian runs on your own machine or network, `{address}` is a public address")]
    Public {
        /// The address.
        address: String,
    },
    /// Nobody answers.
    #[error(
        "nobody answers at `{address}`: is Obsidian running, with the Local REST API plugin on \
         this port? ({reason})"
    )]
    Unreachable {
        /// The address.
        address: String,
        /// What the connection said.
        reason: String,
    },
    /// The certificate is not trusted.
    #[error(
        "the certificate of `{address}` is not trusted: save `{address}/obsidian-local-rest-api.crt` \
         and name that file, or use the plugin's http port ({reason})"
    )]
    Untrusted {
        /// The address.
        address: String,
        /// What the connection said.
        reason: String,
    },
    /// The key is missing or wrong.
    #[error("`{address}` refuses the key (status {status}): copy it from the plugin's settings")]
    Key {
        /// The address.
        address: String,
        /// What it answered.
        status: u16,
    },
    /// It answered, but not as the API does.
    #[error("`{address}` answered `{what}` with status {status}")]
    Status {
        /// The address.
        address: String,
        /// What was asked for.
        what: String,
        /// What it answered.
        status: u16,
    },
    /// Its answer cannot be read.
    #[error("`{address}` gave an answer for `{what}` that Obsidian does not give: {reason}")]
    Garbled {
        /// The address.
        address: String,
        /// What was asked for.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A path that leads out of the vault.
    #[error("a path lies inside the vault, `{path}` does not")]
    Path {
        /// The path.
        path: String,
    },
    /// It failed repeatedly.
    #[error("`{address}` failed repeatedly and is left alone for a moment")]
    LeftAlone {
        /// The address.
        address: String,
    },
}

impl ObsidianError {
    /// Whether nobody is there now who may be there later.
    pub fn is_away(&self) -> bool {
        self.counts() || matches!(self, Self::LeftAlone { .. })
    }

    /// Whether the server is to blame, rather than the user's settings.
    fn counts(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Connection(_)
            | Self::BadCertificate { .. }
            | Self::Public { .. }
            | Self::Untrusted { .. }
            | Self::Key { .. }
            | Self::Garbled { .. }
            | Self::Path { .. }
            | Self::LeftAlone { .. } => false,
        }
    }
}

/// What the server says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct About {
    /// Whether it takes the key.
    pub authenticated: bool,
    /// `OK` if all is well.
    pub status: String,
    /// Its name.
    pub service: String,
}

#[derive(Deserialize)]
struct Listing {
    files: Vec<String>,
}

impl Obsidian {
    /// A vault at an address such as `https://127.0.0.1:27124`. With a certificate (PEM),
    /// only that one is trusted.
    pub fn new(
        address: Address,
        key: Option<&Secret>,
        certificate: Option<&[u8]>,
    ) -> Result<Self, ObsidianError> {
        let shown = address.shown().to_owned();
        if address.join("").host_str().is_some_and(is_public) {
            return Err(ObsidianError::Public { address: shown });
        }
        let tls = certificate.map(|pem| {
            pinned(pem)
                .map_err(|reason| ObsidianError::BadCertificate { address: shown.clone(), reason })
        });
        let client = trusting_client(&address, ClientRules::default(), tls.transpose()?)?;
        let key = key.map(|key| bearer(key, &shown)).transpose()?;
        Ok(Self { address, client, key, failures: Mutex::default() })
    }

    /// The address, as errors show it.
    pub fn shown(&self) -> &str {
        self.address.shown()
    }

    /// Asks the server about itself: whether it is there, trusted and takes the key.
    pub async fn about(&self) -> Result<About, ObsidianError> {
        let response = self.send(self.client.get(self.address.join("/")), "/").await?;
        let about: About = self.json(response, "/").await?;
        if self.key.is_some() && !about.authenticated {
            return Err(ObsidianError::Key { address: self.shown().to_owned(), status: 401 });
        }
        Ok(about)
    }

    /// The paths of all notes, with `/` between folders; files and folders whose name begins
    /// with a dot are left alone.
    pub async fn list(&self) -> Result<Vec<String>, ObsidianError> {
        let mut notes = Vec::new();
        let mut open = vec![String::new()];
        for _ in 0..=DEEPEST {
            let listings = stream::iter(std::mem::take(&mut open))
                .map(|folder| async move {
                    let files = self.files(&folder).await?;
                    Ok::<_, ObsidianError>((folder, files))
                })
                .buffered(AT_ONCE)
                .try_collect::<Vec<_>>();
            for (folder, files) in listings.await? {
                for name in files.into_iter().filter(|name| !name.starts_with('.')) {
                    match name.strip_suffix('/') {
                        Some(inner) => open.push(format!("{folder}{inner}/")),
                        None if is_note(&name) => notes.push(format!("{folder}{name}")),
                        None => {}
                    }
                }
            }
            if open.is_empty() {
                break;
            }
        }
        notes.sort_unstable();
        notes.dedup();
        Ok(notes)
    }

    /// The files and folders of a folder, which ends with `/`; an empty vault has none.
    async fn files(&self, folder: &str) -> Result<Vec<String>, ObsidianError> {
        let mut url = self.url(folder.trim_end_matches('/'))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push("");
        }
        match self.send(self.client.get(url), folder).await {
            Ok(response) => Ok(self.json::<Listing>(response, folder).await?.files),
            Err(ObsidianError::Status { status: 404, .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The text of a file; `None` if there is none.
    pub async fn read(&self, path: &str) -> Result<Option<String>, ObsidianError> {
        let request = self.client.get(self.url(path)?).header(ACCEPT, "text/markdown");
        let response = match self.send(request, path).await {
            Err(ObsidianError::Status { status: 404, .. }) => return Ok(None),
            response => response?,
        };
        let bytes = response.bytes().await.map_err(|error| self.unreachable(error))?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| ObsidianError::Garbled {
            address: self.shown().to_owned(),
            what: path.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Some(text))
    }

    /// Reads many files, in order; the first that cannot be read ends it.
    pub async fn read_all(&self, paths: &[String]) -> Result<Vec<Option<String>>, ObsidianError> {
        stream::iter(paths).map(|path| self.read(path)).buffered(AT_ONCE).try_collect().await
    }

    /// Writes a file, making its folders.
    pub async fn write(&self, path: &str, text: &str) -> Result<(), ObsidianError> {
        let request = self.client.request(Method::PUT, self.url(path)?);
        let request = request.header(CONTENT_TYPE, "text/markdown").body(text.to_owned());
        self.send(request, path).await.map(drop)
    }

    /// The address of a file of the vault.
    fn url(&self, path: &str) -> Result<Url, ObsidianError> {
        let bad = || ObsidianError::Path { path: path.to_owned() };
        let mut url = self.address.join("/vault");
        if path.is_empty() {
            return Ok(url);
        }
        let parts: Vec<&str> = path.split('/').collect();
        let leads_out = |part: &&str| part.is_empty() || matches!(*part, "." | "..");
        if parts.iter().any(leads_out) || path.contains('\\') {
            return Err(bad());
        }
        url.path_segments_mut().map_err(|()| bad())?.extend(parts);
        Ok(url)
    }

    async fn send(&self, request: RequestBuilder, what: &str) -> Result<Response, ObsidianError> {
        if self.is_left_alone() {
            return Err(ObsidianError::LeftAlone { address: self.shown().to_owned() });
        }
        let sent = self.try_send(request, what).await;
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match &sent {
            Err(error) if error.counts() => {
                failures.0 += 1;
                if failures.0 >= FAILURES {
                    let doubled = PAUSE * 2_u32.pow((failures.0 - FAILURES).min(3));
                    failures.1 = Some(Instant::now() + doubled.min(LONGEST_PAUSE));
                }
            }
            Ok(_) | Err(_) => *failures = (0, None),
        }
        sent
    }

    /// Whether the server failed so often that nobody asks it now. After a pause one request
    /// tries whether it is back.
    fn is_left_alone(&self) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.1 {
            Some(until) if Instant::now() < until => true,
            Some(_) => {
                failures.1 = Some(Instant::now() + LONGEST_PAUSE);
                false
            }
            None => false,
        }
    }

    async fn try_send(
        &self,
        request: RequestBuilder,
        what: &str,
    ) -> Result<Response, ObsidianError> {
        let mut request = request.timeout(LONGEST);
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.clone());
        }
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let (address, status) = (self.shown().to_owned(), response.status());
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(ObsidianError::Key { address, status: status.as_u16() })
            }
            status if status.is_success() => Ok(response),
            status => Err(ObsidianError::Status {
                address,
                what: what.to_owned(),
                status: status.as_u16(),
            }),
        }
    }

    /// Why a connection broke: a certificate is another matter than a server that is not there.
    fn unreachable(&self, error: reqwest::Error) -> ObsidianError {
        let (address, reason) = (self.shown().to_owned(), causes(error));
        if self.address.is_encrypted() && reason.contains("certificate") {
            ObsidianError::Untrusted { address, reason }
        } else {
            ObsidianError::Unreachable { address, reason }
        }
    }

    async fn json<T: for<'de> Deserialize<'de>>(
        &self,
        response: Response,
        what: &str,
    ) -> Result<T, ObsidianError> {
        response.json().await.map_err(|error| ObsidianError::Garbled {
            address: self.shown().to_owned(),
            what: what.to_owned(),
            reason: causes(error),
        })
    }
}

fn is_note(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|one| one.eq_ignore_ascii_case("md"))
}

/// Whether a host is an address of the open internet. Names are left to the user's own network.
fn is_public(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse() {
        Ok(IpAddr::V4(address)) => is_public_v4(address),
        Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => is_public_v6(address),
        },
        Err(_) => false,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // The metadata address of clouds is link-local, but never a vault.
    let metadata = address == Ipv4Addr::new(169, 254, 169, 254);
    metadata || !(address.is_loopback() || address.is_private() || address.is_link_local())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let local = address.is_unique_local() || address.is_unicast_link_local();
    !(address.is_loopback() || local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_users_own_network_is_asked() {
        for (host, public) in [
            ("127.0.0.1", false),
            ("192.168.1.20", false),
            ("[fd00::1]", false),
            ("localhost", false),
            ("8.8.8.8", true),
            ("169.254.169.254", true),
            ("100.64.0.1", true),
            ("[2001:4860::1]", true),
            ("[::ffff:8.8.8.8]", true),
        ] {
            assert_eq!(is_public(host), public, "{host}");
        }
    }

    #[test]
    fn paths_are_encoded_and_stay_inside() {
        let address = Address::parse("http://127.0.0.1:27123").unwrap();
        let vault = Obsidian::new(address, None, None).unwrap();
        let url = vault.url("npcs/Who? #1 100%.md").unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:27123/vault/npcs/Who%3F%20%231%20100%25.md");
        for path in ["../secret.md", "a//b.md", "/etc/passwd", "a\\b.md", "./a.md"] {
            assert!(matches!(vault.url(path), Err(ObsidianError::Path { .. })), "{path}");
        }
    }
}
