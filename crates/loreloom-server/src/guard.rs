//! Who may ask: this machine's own programs and pages.
//!
//! The server listens on loopback, but a web page anywhere can make a browser send requests
//! there, under a name of its own (DNS rebinding) or across sites. A request must therefore
//! name a loopback host, and one that comes from a page must come from a loopback page.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{HOST, ORIGIN},
};

/// Lets a request through, or refuses it.
pub(crate) async fn only_local(request: Request, next: Next) -> Response {
    if let Some((header, found)) = stranger(request.headers()) {
        let message = format!("`{header}` must name this machine, found `{found}`");
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    next.run(request).await
}

/// The header that does not name this machine, and what it says.
fn stranger(headers: &HeaderMap) -> Option<(HeaderName, String)> {
    let text = |name: &HeaderName| {
        headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let host = text(&HOST).filter(|host| !is_loopback(host)).map(|host| (HOST, host));
    let foreign = |origin: &String| {
        let host = origin.split_once("://").map_or(origin.as_str(), |(_, host)| host);
        !is_loopback(host)
    };
    host.or_else(|| text(&ORIGIN).filter(foreign).map(|origin| (ORIGIN, origin)))
}

/// Whether `host` or `host:port` is a name of this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(is_loopback(host), local, "{host}");
        }
    }
}
