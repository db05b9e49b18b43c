//! Our own headers, and the headers that do not pass.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE, SET_COOKIE},
};

/// `off` passes a request on unchanged.
pub(crate) const WEAVE: &str = "x-loreloom-weave";
/// Whether a value of [`WEAVE`] means off.
pub(crate) fn is_off(value: &HeaderValue) -> bool {
    value.as_bytes().eq_ignore_ascii_case(b"off")
}

/// The chat: named by the front end, and returned.
pub(crate) const CHAT: HeaderName = HeaderName::from_static("x-loreloom-chat");
/// The kind of generation: named by the front end, and returned.
pub(crate) const TYPE: HeaderName = HeaderName::from_static("x-loreloom-type");
/// Why a request was passed on without lore, or what is wrong with it.
pub(crate) const WARNING: HeaderName = HeaderName::from_static("x-loreloom-warning");
/// How many texts were woven in.
pub(crate) const WOVEN: HeaderName = HeaderName::from_static("x-loreloom-woven");
/// How many of the oldest messages were left out, because the context is full.
pub(crate) const LEFT_OUT: HeaderName = HeaderName::from_static("x-loreloom-left-out");

/// Why a request was passed on without weaving.
pub(crate) const PASSED_ON: HeaderName = HeaderName::from_static("x-loreloom-passed-on");

/// The connection: named by the front end.
pub(crate) const CONNECTION: &str = "x-loreloom-connection";

/// What Loreloom's own headers begin with.
const OWN: &str = "x-loreloom-";

/// What else front ends put a model server's key into.
const KEYS: [&str; 3] = ["x-api-key", "api-key", "x-goog-api-key"];

/// Leaves out the front end's keys, for a server that they are not meant for.
pub(crate) fn without_keys(headers: &mut HeaderMap) {
    headers.remove(AUTHORIZATION);
    for name in KEYS {
        headers.remove(name);
    }
}

/// Leaves out what is meant for Loreloom, and what browsers send to its address.
pub(crate) fn to_upstream(headers: &mut HeaderMap) {
    headers.remove(COOKIE);
    remove_beginning(headers, OWN);
}

/// Leaves out what an upstream must not decide at Loreloom's address.
pub(crate) fn to_front_end(headers: &mut HeaderMap) {
    headers.remove(SET_COOKIE);
    remove_beginning(headers, "access-control-");
    remove_beginning(headers, OWN);
}

fn remove_beginning(headers: &mut HeaderMap, prefix: &str) {
    let names: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(prefix)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Adds a warning to those that are there.
pub(crate) fn warn(headers: &mut HeaderMap, warning: &str) {
    let before = headers.get(WARNING).and_then(|before| before.to_str().ok());
    let all = before.map_or_else(|| warning.to_owned(), |before| format!("{before}; {warning}"));
    tell(headers, WARNING, &all);
}

/// Adds a header if its value can be one.
pub(crate) fn tell(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    let safe: String = value.chars().filter(|letter| !letter.is_control()).collect();
    if let Ok(value) = HeaderValue::try_from(safe) {
        headers.insert(name, value);
    }
}
