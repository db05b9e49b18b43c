//! Where a model server is.

use reqwest::Url;

use super::reach::{Reach, Unreached};

/// The base address of a model server, checked once.
///
/// User names, passwords and queries are not part of what errors show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: Url,
    shown: String,
}

/// Paths that are OpenAI's, also where a front end leaves out the `/v1`.
const OPENAI_PATHS: [&str; 4] = ["chat", "embeddings", "models", "responses"];

/// A connection cannot be made as configured.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// It is not an address.
    #[error("a model's address must be an `http` or `https` URL, found `{found}`: {reason}")]
    Address {
        /// What was given.
        found: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The key cannot be sent.
    #[error("the key for `{address}` must be visible ASCII, found other characters")]
    Key {
        /// The address it is for.
        address: String,
    },
    /// It leads where it must not.
    #[error(
        "`{address}` must be a public address, because it does not come from the configuration"
    )]
    NotPublic {
        /// The address.
        address: String,
        /// Why not.
        #[source]
        source: Unreached,
    },
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be set up")]
    Client {
        /// The cause.
        #[source]
        source: reqwest::Error,
    },
}

impl Address {
    /// Reads a base address such as `http://127.0.0.1:11434` or `https://host/v1/`.
    pub fn parse(text: &str) -> Result<Self, ConnectionError> {
        let bad = |reason: String| ConnectionError::Address { found: text.to_owned(), reason };
        let mut base = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad(format!("its scheme is `{}`", base.scheme())));
        }
        base.set_query(None);
        base.set_fragment(None);
        let mut address = Self { base, shown: String::new() };
        let path = address.base.path().trim_end_matches('/');
        address.shown = format!("{}://{}{path}", address.base.scheme(), address.authority());
        Ok(address)
    }

    /// The address as errors show it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The address of `path`, which may carry a query, below the base.
    ///
    /// Dot segments are dropped, not resolved: a path cannot lead out of the base.
    pub fn join(&self, path: &str) -> Url {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let kept: Vec<&str> = path.split(['/', '\\']).filter(|part| !is_dots(part)).collect();
        let base = self.base.path().trim_end_matches('/');
        let mut url = self.base.clone();
        url.set_path(&format!("{base}/{}", kept.join("/").trim_start_matches('/')));
        url.set_query(query);
        url
    }

    /// The address that a front end's `path` is served at.
    ///
    /// OpenAI's paths begin with `/v1`, which the base of an OpenAI-compatible server has
    /// already; the paths of Ollama, llama.cpp and KoboldCpp begin at the server's root,
    /// which is the base without its `/v1`. A base without a path serves both.
    pub fn serving(&self, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let below_v1 =
            path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        let first = path.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
        match (below_v1, base.strip_suffix("/v1")) {
            (Some(rest), _) if !base.is_empty() => self.join(rest),
            (None, Some(root)) if !OPENAI_PATHS.contains(&first) => {
                let mut server = self.clone();
                server.base.set_path(root);
                server.join(path)
            }
            _ => self.join(path),
        }
    }

    /// Its host: a name, or an address without brackets.
    pub fn host(&self) -> &str {
        let host = self.base.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Its host as URLs write it, and its port where that is not the usual one.
    fn authority(&self) -> String {
        let port = self.base.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}", self.base.host_str().unwrap_or_default())
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.base.port_or_known_default().unwrap_or_default()
    }

    /// Whether it is a number that may be reached; names are looked at when they are looked
    /// up.
    pub(crate) fn within(&self, reach: Reach) -> Result<(), ConnectionError> {
        match self.host().parse() {
            Ok(number) => reach.permits(number).map_err(|source| ConnectionError::NotPublic {
                address: self.shown.clone(),
                source,
            }),
            Err(_a_name) => Ok(()),
        }
    }

    /// Whether the connection uses TLS.
    pub fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Whether the server runs on this machine, where no proxy can reach it.
    pub fn is_loopback(&self) -> bool {
        let host = self.host();
        host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// `.` or `..`, also percent-encoded, as URLs understand them.
fn is_dots(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_put_below_the_base_and_stay_there() {
        for (base, path, expected) in [
            ("http://h:1/v1", "/chat/completions", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "chat/completions", "http://h:1/v1/chat/completions"),
            ("http://h:1", "/api/chat", "http://h:1/api/chat"),
            ("https://h/a/b/", "/models?limit=3&x=%20", "https://h/a/b/models?limit=3&x=%20"),
            ("https://h/v1", "/models/org%2Fname", "https://h/v1/models/org%2Fname"),
            ("https://h/v1", "/../secret", "https://h/v1/secret"),
            ("https://h/v1", "/%2e%2E/.\\..\\x", "https://h/v1/x"),
            ("https://h/v1", "//evil.example/x", "https://h/v1/evil.example/x"),
            ("https://h/v1", "", "https://h/v1/"),
        ] {
            let address = Address::parse(base).unwrap();
            assert_eq!(address.join(path).as_str(), expected, "{base} + {path}");
        }
    }

    #[test]
    fn a_front_ends_path_is_found_at_any_base() {
        for (base, path, expected) in [
            ("http://h:1/v1", "/v1/chat/completions?a=1", "http://h:1/v1/chat/completions?a=1"),
            ("http://h:1/v1/", "/v1/models", "http://h:1/v1/models"),
            ("http://h:1", "/v1/models", "http://h:1/v1/models"),
            ("http://h:1", "/api/chat", "http://h:1/api/chat"),
            ("http://h:1/v1", "/api/chat", "http://h:1/api/chat"),
            ("http://h:1/v1", "/completion", "http://h:1/completion"),
            ("http://h:1/v1", "/chat/completions", "http://h:1/v1/chat/completions"),
            ("https://h/api/v1", "/v1/models", "https://h/api/v1/models"),
            ("https://h/openai", "/v1/models", "https://h/openai/models"),
            ("http://h/v1", "/v1beta/x", "http://h/v1beta/x"),
            ("http://h/v1", "/v1/../../secret", "http://h/v1/secret"),
            ("http://h/v1", "/v1", "http://h/v1/"),
        ] {
            let address = Address::parse(base).unwrap();
            assert_eq!(address.serving(path).as_str(), expected, "{base} + {path}");
        }
    }

    #[test]
    fn what_is_shown_has_no_credentials() {
        let address = Address::parse(" https://user:pass@host:8443/v1/?key=1#x ").unwrap();
        assert_eq!(address.shown(), "https://host:8443/v1");
        assert!(address.is_encrypted());
        assert!(!Address::parse("http://host").unwrap().is_encrypted());
    }

    #[test]
    fn other_schemes_and_nonsense_are_refused() {
        for (text, reason) in [
            ("ftp://host/", "its scheme is `ftp`"),
            ("localhost:11434", "its scheme is `localhost`"),
            ("", "relative URL without a base"),
        ] {
            let error = Address::parse(text).unwrap_err();
            let ConnectionError::Address { found, reason: why } = error else { panic!("{error}") };
            assert_eq!((found.as_str(), why.as_str()), (text, reason));
        }
    }

    #[test]
    fn loopback_is_known_by_name_and_number() {
        for (text, expected) in [
            ("http://localhost:1", true),
            ("http://127.3.0.1", true),
            ("http://[::1]:8080/v1", true),
            ("http://192.168.0.2", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_loopback(), expected, "{text}");
        }
    }
}
