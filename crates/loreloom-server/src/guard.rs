//! Where a request may come from: programs of this machine, and what the settings add.
//!
//! The server listens on loopback, but a web page anywhere can make a browser send requests
//! there, under a name of its own (DNS rebinding) or across sites. A request must therefore
//! name a host that is ours, exactly once and also in an absolute target, and one that comes
//! from a page must come from a page of ours. A browser does not send `Origin` with every read,
//! an image for one, so `Sec-Fetch-Site` is checked, too. A number as a host cannot be another's
//! name, so it is ours wherever it leads.

use std::net::{IpAddr, SocketAddr};

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
    },
};

use crate::keys::Keys;

/// Where requests may come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Names of the server, besides this machine's own.
    pub hosts: Vec<String>,
    /// Pages that may use it from a browser, for example `https://tales.example`; they may
    /// also read the answers (CORS).
    pub pages: Vec<String>,
    /// Proxies whose `X-Forwarded-Host` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether numbers that are not this machine's loopback may be hosts: only where
    /// everybody needs a key.
    pub numbers: bool,
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Why a request may not come in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stranger {
    /// A part of the head does not name us.
    #[error("`{part}` must name this server, found `{found}`")]
    Foreign {
        /// A header, or `target`.
        part: String,
        /// What it says.
        found: String,
    },
    /// Two parts of the head could name two servers, or none does.
    #[error("a request must have one `{header}` header, found {found}")]
    Repeated {
        /// The header.
        header: HeaderName,
        /// How often it is there.
        found: usize,
    },
    /// A page of another site asks, as the browser says.
    #[error("`sec-fetch-site` must not be `cross-site`: pages of other sites may not read here")]
    CrossSite,
}

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const ASKS_FOR_PRIVATE: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

impl Origins {
    /// Whether a request may come in. Pages that a key was made for may.
    pub(crate) fn admit<B>(&self, request: &Request<B>, keys: &Keys) -> Result<(), Stranger> {
        let (headers, uri) = (request.headers(), request.uri());
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
        let trusted = peer.is_some_and(|peer| self.trusts(peer));
        only(headers, &HOST)?;
        let header = match headers.get(FORWARDED_HOST) {
            Some(_) if trusted => FORWARDED_HOST,
            _ => HOST,
        };
        let host = only(headers, &header)?;
        if !self.is_ours(&host) {
            return Err(Stranger::Foreign { part: header.to_string(), found: host });
        }
        if let Some(found) = uri.host().filter(|target| !self.is_ours(target)) {
            let (part, found) = ("target".to_owned(), found.to_owned());
            return Err(Stranger::Foreign { part, found });
        }
        match headers.get(ORIGIN).map(text) {
            Some(origin) if !self.is_page(&origin, Some(&host)) && !keys.has_page(&origin) => {
                Err(Stranger::Foreign { part: ORIGIN.to_string(), found: origin })
            }
            None if is_cross_site(request.method(), headers) => Err(Stranger::CrossSite),
            Some(_) | None => Ok(()),
        }
    }

    fn trusts(&self, peer: IpAddr) -> bool {
        // A socket that listens on `[::]` names a peer of IPv4 by an address of IPv6.
        let same = |proxy: &IpAddr| proxy.to_canonical() == peer.to_canonical();
        self.trusted_proxies.iter().any(same)
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        is_loopback(name)
            || (self.numbers && name.parse::<IpAddr>().is_ok())
            || self.hosts.iter().any(|ours| without_port(ours).eq_ignore_ascii_case(name))
    }

    fn is_page(&self, origin: &str, host: Option<&str>) -> bool {
        let page = origin.split_once("://").map_or(origin, |(_, page)| page);
        is_loopback(without_port(page)) || host == Some(page) || self.is_named(origin)
    }

    fn is_named(&self, origin: &str) -> bool {
        self.pages.iter().any(|page| page.trim_end_matches('/').eq_ignore_ascii_case(origin))
    }

    /// The answer to a browser that asks beforehand whether its page may ask; `None` if it
    /// does not.
    pub(crate) fn preflight(
        &self,
        method: &Method,
        headers: &HeaderMap,
        keys: &Keys,
    ) -> Option<HeaderMap> {
        let asks = method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let mut allowed = self.shared(headers, keys).filter(|_| asks)?;
        let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
        allowed.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            allowed.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        // A page of another machine or network asks for this before it may reach this one.
        if headers.contains_key(ASKS_FOR_PRIVATE) {
            allowed.insert(ALLOWS_PRIVATE, HeaderValue::from_static("true"));
        }
        allowed.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        Some(allowed)
    }

    /// What lets a page read an answer. `None` for pages that are neither named nor have a key,
    /// also pages of this machine.
    pub(crate) fn shared(&self, headers: &HeaderMap, keys: &Keys) -> Option<HeaderMap> {
        let origin = headers.get(ORIGIN)?;
        let may_read = |origin: &str| self.is_named(origin) || keys.has_page(origin);
        let named = origin.to_str().is_ok_and(may_read);
        named.then(|| {
            let mut shared = HeaderMap::new();
            shared.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed = HeaderValue::from_static(
                "etag, x-loreloom-chat, x-loreloom-type, x-loreloom-warning, x-loreloom-woven",
            );
            shared.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
            shared.insert(VARY, HeaderValue::from_static("Origin"));
            shared
        })
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The value of a header that must be there once.
fn only(headers: &HeaderMap, header: &HeaderName) -> Result<String, Stranger> {
    let mut values = headers.get_all(header).iter();
    match (values.next(), values.count()) {
        (Some(value), 0) => Ok(text(value)),
        (first, others) => {
            let found = others + usize::from(first.is_some());
            Err(Stranger::Repeated { header: header.clone(), found })
        }
    }
}

/// Whether a page of another site asks. A person may follow a link to here: then no page reads
/// the answer.
fn is_cross_site(method: &Method, headers: &HeaderMap) -> bool {
    let says = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    let is_link = matches!(*method, Method::GET | Method::HEAD)
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document");
    says("sec-fetch-site", "cross-site") && !is_link
}

/// The name of `host` or `host:port`, without brackets.
fn without_port(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.trim_start_matches('[').trim_end_matches(']')
}

pub(crate) fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(origins: &Origins, headers: &[(&'static str, &str)], peer: &str) -> bool {
        let mut request = Request::new(());
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        request.extensions_mut().insert(Peer(SocketAddr::new(peer.parse().unwrap(), 1)));
        origins.admit(&request, &Keys::default()).is_ok()
    }

    #[test]
    fn a_request_names_one_host_and_no_other_as_its_target() {
        let local = "localhost:8686";
        for (target, hosts, refusal) in [
            ("/", &[local] as &[_], None),
            ("/", &[], Some("a request must have one `host` header, found 0")),
            ("/", &[local, local], Some("a request must have one `host` header, found 2")),
            ("http://127.0.0.1:8686/health", &[local], None),
            ("http://[::1]:8686/health", &[local], None),
            (
                "http://evil.example/",
                &[local],
                Some("`target` must name this server, found `evil.example`"),
            ),
            (
                "http://localhost@evil.example/",
                &[local],
                Some("`target` must name this server, found `evil.example`"),
            ),
        ] {
            let mut request = Request::new(());
            *request.uri_mut() = target.parse().unwrap();
            for host in hosts {
                request.headers_mut().append(HOST, host.parse().unwrap());
            }
            let found = Origins::default()
                .admit(&request, &Keys::default())
                .err()
                .map(|error| error.to_string());
            assert_eq!(found.as_deref(), refusal, "{target} {hosts:?}");
        }
    }

    #[test]
    fn a_page_of_another_site_reads_nothing_and_a_link_may_be_followed() {
        let origins =
            Origins { pages: vec!["https://ui.example".to_owned()], ..Origins::default() };
        let cross = ("sec-fetch-site", "cross-site");
        let navigates = ("sec-fetch-mode", "navigate");
        for (headers, passes) in [
            (&[("sec-fetch-site", "same-origin")] as &[_], true),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[cross], false),
            (&[cross, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")], false),
            (&[cross, navigates, ("sec-fetch-dest", "iframe")], false),
            (&[cross, navigates, ("sec-fetch-dest", "document")], true),
            (&[cross, ("origin", "https://ui.example")], true),
            (&[cross, ("origin", "https://evil.example")], false),
        ] {
            let mut all = vec![("host", "localhost:8686")];
            all.extend(headers);
            assert_eq!(admitted(&origins, &all, "127.0.0.1"), passes, "{headers:?}");
        }
    }

    #[test]
    fn only_names_of_this_machine_pass() {
        for (host, local) in [
            ("127.0.0.1:8686", true),
            ("localhost:8686", true),
            ("LOCALHOST", true),
            ("[::1]:8686", true),
            ("127.0.0.1.evil.example", false),
            ("evil.example:8686", false),
            ("192.168.1.5:8686", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(Origins::default().is_ours(host), local, "{host}");
        }
    }

    #[test]
    fn settings_add_hosts_pages_and_proxies() {
        let origins = Origins {
            hosts: vec!["tales.example".to_owned()],
            pages: vec!["https://ui.example/".to_owned()],
            trusted_proxies: vec!["10.0.0.9".parse().unwrap()],
            numbers: true,
        };
        let here = "10.0.0.1";
        for (headers, peer, passes) in [
            (&[("host", "tales.example:8686")] as &[_], here, true),
            (&[("host", "tales.example.evil")], here, false),
            (&[("host", "192.168.1.5:8686")], here, true),
            (&[("host", "tales.example"), ("origin", "https://ui.example")], here, true),
            (&[("host", "tales.example"), ("origin", "http://ui.example")], here, false),
            (&[("host", "tales.example"), ("origin", "https://tales.example")], here, true),
            (&[("host", "tales.example"), ("origin", "null")], here, false),
            (&[("host", "lan"), ("x-forwarded-host", "tales.example")], here, false),
            (&[("host", "lan"), ("x-forwarded-host", "tales.example")], "10.0.0.9", true),
            (&[("host", "tales.example"), ("x-forwarded-host", "lan")], "10.0.0.9", false),
            // As a socket that listens on `[::]` names them.
            (&[("host", "lan"), ("x-forwarded-host", "tales.example")], "::ffff:10.0.0.9", true),
            (&[("host", "lan"), ("x-forwarded-host", "tales.example")], "::ffff:10.0.0.8", false),
        ] {
            assert_eq!(admitted(&origins, headers, peer), passes, "{headers:?} from {peer}");
        }
    }

    #[test]
    fn only_named_pages_may_read_answers() {
        let origins =
            Origins { pages: vec!["https://ui.example".to_owned()], ..Origins::default() };
        let keys = Keys::default();
        for (origin, may) in [("https://ui.example", true), ("http://localhost:8000", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(ORIGIN, origin.parse().unwrap());
            assert_eq!(origins.shared(&headers, &keys).is_some(), may, "{origin}");
            assert!(origins.preflight(&Method::OPTIONS, &headers, &keys).is_none());
            headers.insert(ACCESS_CONTROL_REQUEST_METHOD, "POST".parse().unwrap());
            assert_eq!(
                origins.preflight(&Method::OPTIONS, &headers, &keys).is_some(),
                may,
                "{origin}"
            );
        }
    }
}
