//! The origin of a web page, as a browser sends it: scheme, host and port.

use std::{fmt, str::FromStr};

use http::Uri;
use serde::{Deserialize, Serialize};

use crate::guard::is_loopback;

/// The origin of a page that may use the server from a browser, for example
/// `http://127.0.0.1:8000`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PageOrigin {
    scheme: String,
    host: String,
    port: u16,
}

/// A text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a page is given as `http://HOST:PORT` or `https://HOST`, found `{found}`")]
pub struct PageOriginError {
    /// The text.
    pub found: String,
}

impl PageOrigin {
    /// Whether a request from `origin` comes from this page. The names of this machine are the
    /// same: a browser sends the one that the user typed.
    pub(crate) fn is(&self, origin: &str) -> bool {
        let Ok(other) = origin.parse::<Self>() else { return false };
        let same_host =
            self.host == other.host || (is_loopback(&self.host) && is_loopback(&other.host));
        self.scheme == other.scheme && self.port == other.port && same_host
    }
}

impl FromStr for PageOrigin {
    type Err = PageOriginError;

    /// A path after the origin is left out: people copy it from the address bar.
    fn from_str(text: &str) -> Result<Self, PageOriginError> {
        let wrong = || PageOriginError { found: text.to_owned() };
        let uri: Uri = text.trim().parse().map_err(|_| wrong())?;
        let scheme = uri.scheme_str().ok_or_else(wrong)?.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(wrong()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let is_plain = uri.authority().is_some_and(|whole| !whole.as_str().contains('@'));
        if !is_plain {
            return Err(wrong());
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        Ok(Self { scheme, host, port: uri.port_u16().unwrap_or(usual) })
    }
}

impl fmt::Display for PageOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port } = self;
        let usual = if scheme == "http" { 80 } else { 443 };
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        write!(formatter, "{scheme}://{open}{host}{close}")?;
        if *port == usual { Ok(()) } else { write!(formatter, ":{port}") }
    }
}

impl TryFrom<String> for PageOrigin {
    type Error = PageOriginError;

    fn try_from(text: String) -> Result<Self, PageOriginError> {
        text.parse()
    }
}

impl From<PageOrigin> for String {
    fn from(origin: PageOrigin) -> Self {
        origin.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_becomes_the_origin_that_browsers_send() {
        for (text, origin) in [
            ("http://127.0.0.1:8000", Some("http://127.0.0.1:8000")),
            (" HTTP://LocalHost:8000/some/path?x=1 ", Some("http://localhost:8000")),
            ("https://tales.example:443/", Some("https://tales.example")),
            ("http://[::1]:8000", Some("http://[::1]:8000")),
            ("127.0.0.1:8000", None),
            ("ftp://tales.example", None),
            ("https://name@tales.example", None),
            ("http://", None),
            ("", None),
        ] {
            let read = text.parse::<PageOrigin>().ok().map(|origin| origin.to_string());
            assert_eq!(read.as_deref(), origin, "{text}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_the_same() {
        for (page, origin, same) in [
            ("http://127.0.0.1:8000", "http://localhost:8000", true),
            ("http://127.0.0.1:8000", "http://[::1]:8000", true),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8001", false),
            ("http://127.0.0.1:8000", "https://127.0.0.1:8000", false),
            ("http://tales.example", "http://tales.example:80", true),
            ("http://tales.example", "http://other.example", false),
            ("http://tales.example", "null", false),
        ] {
            assert_eq!(page.parse::<PageOrigin>().unwrap().is(origin), same, "{page} {origin}");
        }
    }
}
