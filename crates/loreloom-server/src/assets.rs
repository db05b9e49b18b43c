//! The web page: files built from `ui/`, carried in the binary.
//!
//! They are committed, so that building the server needs no node. A debug build reads them
//! from the sources instead, which lets the page be worked on without building the server.
//! Every address of the page gives the same document; its script reads the address.

use axum::{
    extract::{Path, Request},
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY},
};
use rust_embed::RustEmbed;

use crate::extension;

#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
struct Files;

/// Addresses of the page below the root.
pub(crate) const PAGES: [&str; 20] = [
    "/c/{*path}",
    "/lore",
    "/lore/",
    "/lore/{*path}",
    "/graph",
    "/replay",
    "/replay/",
    "/replay/{*path}",
    "/characters",
    "/characters/",
    "/characters/{*path}",
    "/new",
    "/stories",
    "/history",
    "/dash",
    "/jobs",
    "/settings",
    "/settings/",
    "/settings/{*path}",
    "/welcome",
];

/// Whether an address gives the document or a file that it names. They say nothing about
/// anybody's stories, and the document has to be there to ask for a key.
pub(crate) fn is_page(path: &str) -> bool {
    let fits = |page: &str| match page.strip_suffix("{*path}") {
        Some(start) => path.starts_with(start),
        None => path == page,
    };
    path == "/"
        || path == "/icon.svg"
        || path == extension::ZIP
        || path.starts_with("/assets/")
        || PAGES.into_iter().any(fits)
}

/// No script but the page's own, none inside the document, nothing from elsewhere. The one
/// way to make markup from text is the framework's, for its own templates.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types svelte-trusted-html",
);
const ISOLATED: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The document, at each of the page's addresses.
pub(crate) async fn document() -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (ISOLATED, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, file("index.html")).into_response()
}

/// An address that leads nowhere: a person gets the page, which says so, and a program nothing.
pub(crate) async fn nowhere(method: Method, headers: HeaderMap) -> Response {
    if is_person(&method, &headers) { lost().await } else { StatusCode::NOT_FOUND.into_response() }
}

/// The page for an address that leads nowhere.
pub(crate) async fn lost() -> Response {
    let mut response = document().await;
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Addresses that answer with data begin with these.
const DATA: [&str; 4] = ["/api/", "/v1/", "/metrics", "/last-turn"];

/// Whether a person looks at an address where nothing is. The page without data is for everybody,
/// also where data needs a key.
pub(crate) fn is_lost(request: &Request) -> bool {
    let path = request.uri().path();
    is_person(request.method(), request.headers())
        && !DATA.into_iter().any(|start| path.starts_with(start))
}

fn is_person(method: &Method, headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    *method == Method::GET && accepts.contains("text/html")
}

/// A file that the document names. Its name holds a hash of its content.
pub(crate) async fn asset(Path(path): Path<String>) -> Response {
    let mut response = file(&format!("assets/{path}"));
    if response.status().is_success() {
        let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, kept);
    }
    response
}

pub(crate) async fn icon() -> Response {
    file("icon.svg")
}

fn file(name: &str) -> Response {
    let Some(found) = Files::get(name) else {
        // A server of the next version may have it.
        let never = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        let message = format!("there is no file `{name}`");
        return (StatusCode::NOT_FOUND, never, message).into_response();
    };
    let headers = [(CONTENT_TYPE, HeaderValue::from_static(kind(name)))];
    (headers, found.data.into_owned()).into_response()
}

/// The content type of a file, by its ending: the build makes no others.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_only_files_that_are_carried_and_no_script_of_its_own() {
        let page = Files::get("index.html").expect("the page is built");
        let page = String::from_utf8(page.data.into_owned()).unwrap();
        let names = page.split('"').filter(|text| text.starts_with("/assets/"));
        let names: Vec<&str> = names.map(|name| name.trim_start_matches('/')).collect();
        assert!(!names.is_empty(), "{page}");
        for name in names {
            assert!(Files::get(name).is_some(), "{name}");
        }
        for script in page.split("<script").skip(1) {
            assert!(script.contains("></script>"), "a script inside the document: {script}");
        }
    }
}
