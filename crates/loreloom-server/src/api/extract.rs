//! What handlers take out of a call, with problems for whatever cannot be read.
//!
//! Unknown fields are refused by name: a misspelt field must not pass as one left out.
//!
//! The compiler makes code for every type that is read or written here, once for each source and
//! each target. So there is one source (bytes) and one target (a vector), and whatever does not
//! depend on the type is in functions of its own.

use axum::{
    extract::{
        FromRequest, FromRequestParts, Request,
        path::ErrorKind,
        rejection::{BytesRejection, PathRejection},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header::CONTENT_TYPE, request::Parts};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    MOST_BYTES,
    problem::{Code, Problem},
    strict::{self, Misread},
};
use crate::{half_pairs::without_half_pairs, limits::Stalled};

/// A zero byte in an address. Nothing has it in its name, and PostgreSQL would fail to look for it.
const ZERO: &str = "%00";

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        read_json(&object(request).await?).map(Self)
    }
}

/// The bytes of a body that says it is JSON and begins as an object does.
async fn object(request: Request) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        let found = content_type(request.headers()).unwrap_or_default().to_owned();
        let detail = format!("the body must be `application/json`, found `{found}`");
        return Err(Problem::new(Code::WrongType, detail).at("content-type").with(found));
    }
    let bytes = Bytes::from_request(request, &()).await.map_err(|error| unread(&error))?;
    let bytes = without_half_pairs(&bytes);
    // A list of values would be read as an object's fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::new(Code::WrongValue, "the body must be an object, found a list"));
    }
    Ok(bytes)
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        answer(serde_json::to_vec(&self.0))
    }
}

fn answer(written: Result<Vec<u8>, serde_json::Error>) -> Response {
    match written {
        Ok(bytes) => {
            let json = HeaderValue::from_static("application/json");
            ([(CONTENT_TYPE, json)], bytes).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// A body of any type.
pub(crate) struct Raw(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await;
        bytes.map(Self).map_err(|error| unread(&error))
    }
}

/// Why a body was not read.
fn unread(rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large();
    }
    match Stalled::caused(rejection) {
        Some(stalled) => Problem::new(Code::TooSlow, stalled.to_string()),
        None => Problem::new(Code::Unreadable, rejection.body_text()),
    }
}

/// A body above the limit.
pub(super) fn too_large() -> Problem {
    let detail = format!("the body may have {} MiB at most", MOST_BYTES >> 20);
    Problem::new(Code::TooLarge, detail)
}

pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let essence = content_type(headers).and_then(|all| all.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| {
        essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json")
    })
}

/// Reads a JSON document, refusing unknown fields by name.
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reading = serde_json::Deserializer::from_slice(bytes);
    let value = strict::read(&mut reading).map_err(|misread| problem_of(misread, Source::Body))?;
    reading.end().map_err(|error| Problem::new(Code::Unreadable, error.to_string()))?;
    Ok(value)
}

/// Reads a JSON value, refusing unknown fields by name.
pub(crate) fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, Problem> {
    let text = value.to_string();
    let mut reading = serde_json::Deserializer::from_slice(text.as_bytes());
    strict::read(&mut reading).map_err(|misread| problem_of(misread, Source::Value))
}

/// What JSON is read from.
#[derive(Clone, Copy)]
enum Source {
    /// The text that a client sent. An error says the line and column.
    Body,
    /// A value, which has no lines.
    Value,
}

fn problem_of(misread: Misread, source: Source) -> Problem {
    match misread {
        Misread::Unknown(field) => Problem::unknown_field(&field),
        Misread::Wrong(error, path) => wrong(&error, &path, source),
    }
}

fn wrong(error: &serde_json::Error, path: &str, source: Source) -> Problem {
    if error.is_syntax() || error.is_eof() {
        return Problem::new(Code::Unreadable, format!("the body is no JSON: {error}"));
    }
    let mut said = error.to_string();
    if let (Source::Value, Some((what, _place))) = (source, said.rsplit_once(" at line ")) {
        said.truncate(what.len());
    }
    if let Some(rest) = said.strip_prefix("unknown field `")
        && let Some((field, _)) = rest.split_once('`')
    {
        return Problem::unknown_field(field);
    }
    let is_root = path.is_empty();
    if let Some(rest) = said.strip_prefix("missing field `")
        && let Some((field, _)) = rest.split_once('`')
    {
        let at = if is_root { field.to_owned() } else { format!("{path}.{field}") };
        return Problem::new(Code::WrongValue, format!("`{at}` must be set")).at(at);
    }
    let said = in_words(&said);
    if is_root {
        return Problem::new(Code::WrongValue, format!("the body: {said}"));
    }
    Problem::new(Code::WrongValue, format!("`{path}`: {said}")).at(path)
}

/// What a reader of types says, for people who do not know their names.
fn in_words(said: &str) -> String {
    const TYPES: [(&str, &str); 8] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected usize", "expected a whole number that is not negative"),
        ("expected i64", "expected a whole number"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
    ];
    let rewritten = |(name, words): &(&str, &str)| {
        let (before, rest) = said.split_once(name)?;
        let ends = !rest.starts_with(char::is_alphanumeric);
        ends.then(|| format!("{before}{words}{rest}"))
    };
    TYPES.iter().find_map(rewritten).unwrap_or_else(|| said.to_owned())
}

/// Parameters after the question mark.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        if parts.uri.query().is_some_and(|query| query.contains(ZERO)) {
            return Err(Problem::new(Code::WrongValue, "parameters have no zero byte, found one"));
        }
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => {
                let said = rejection.body_text();
                let said = said.strip_prefix("Failed to deserialize query string: ");
                let said = said.map_or_else(|| rejection.body_text(), str::to_owned);
                Err(misread_query(&said, &parts.uri))
            }
        }
    }
}

fn misread_query(said: &str, uri: &Uri) -> Problem {
    if let Some((_, rest)) = said.split_once("unknown field `")
        && let Some((field, _)) = rest.split_once('`')
    {
        let detail = format!("there is no parameter `{field}`");
        return Problem::new(Code::UnknownField, detail).at(field);
    }
    if let Some(rest) = said.strip_prefix("missing field `")
        && let Some((field, _)) = rest.split_once('`')
    {
        let detail = format!("the parameter `{field}` must be given");
        return Problem::new(Code::WrongValue, detail).at(field);
    }
    match said.split_once(": ") {
        Some((field, "invalid digit found in string")) => {
            let found = parameter(uri, field).unwrap_or_default();
            Problem::value(field, "must be a whole number that is not negative", found)
        }
        Some((field, why)) => Problem::new(Code::WrongValue, format!("`{field}`: {why}")).at(field),
        None => Problem::new(Code::WrongValue, said),
    }
}

/// A query parameter, undecoded.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let axum::extract::Query(all) =
        axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    all.into_iter().find_map(|(given, value)| (given == name).then_some(value))
}

/// The parts of the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if parts.uri.path().contains(ZERO) {
            return Err(Problem::new(Code::NotFound, "names have no zero byte, found one"));
        }
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        match read {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(misread_path(&rejection)),
        }
    }
}

/// A path that names nothing is a thing that is not there.
fn misread_path(rejection: &PathRejection) -> Problem {
    if let PathRejection::FailedToDeserializePathParams(failed) = rejection
        && let ErrorKind::ParseError { value, expected_type }
        | ErrorKind::ParseErrorAtIndex { value, expected_type, .. }
        | ErrorKind::ParseErrorAtKey { value, expected_type, .. } = failed.kind()
        && matches!(*expected_type, "u64" | "u32" | "usize")
    {
        let detail = format!("the path must have a whole number where it has `{value}`");
        return Problem::new(Code::NotFound, detail).with(value.as_str());
    }
    Problem::new(Code::NotFound, rejection.body_text())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: Inner,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "size")]
        _size: u32,
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (body, detail) in [
            (r#"{"inner":{"size":1}}"#, None),
            (r#"{"inner":{"size":1,"colour":2}}"#, Some("there is no field `inner.colour`")),
            (
                r#"{"inner":{"size":"x"}}"#,
                Some(
                    "`inner.size`: invalid type: string \"x\", expected a whole number from 0 to 4294967295 at line 1 column 20",
                ),
            ),
            (r#"{"inner":{}}"#, Some("`inner.size` must be set")),
            ("{}", Some("`inner` must be set")),
            ("{", Some("the body is no JSON: EOF while parsing an object at line 1 column 1")),
            (r#"{"inner":{"size":1}} x"#, Some("trailing characters at line 1 column 22")),
        ] {
            let found = read_json::<Outer>(body.as_bytes()).err();
            assert_eq!(found.as_ref().map(Problem::detail), detail, "{body}");
        }
    }

    #[tokio::test]
    async fn half_of_an_emoji_in_a_body_is_read() {
        let request = Request::builder().header(CONTENT_TYPE, "application/json");
        let request = request.body(r#"{"text":"a \ud83d b"}"#.into()).unwrap();
        let Json(read) = Json::<Value>::from_request(request, &()).await.unwrap();
        assert_eq!(read["text"], "a \u{fffd} b");
    }

    #[tokio::test]
    async fn a_name_with_a_zero_byte_is_not_there() {
        let request = Request::builder().uri("/chats/a%00b/path").body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        let Err(problem) = Path::<String>::from_request_parts(&mut parts, &()).await else {
            panic!("it was read")
        };
        assert_eq!(problem.detail(), "names have no zero byte, found one");
        let request = Request::builder().uri("/jobs?chat=a%00b").body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        let Err(problem) = Query::<Value>::from_request_parts(&mut parts, &()).await else {
            panic!("it was read")
        };
        assert_eq!(problem.detail(), "parameters have no zero byte, found one");
    }

    #[test]
    fn a_value_that_cannot_be_read_has_no_line() {
        let value = serde_json::json!({ "inner": { "size": "x at line 1" } });
        let found = read_value::<Outer>(&value).err();
        let detail = "`inner.size`: invalid type: string \"x at line 1\", \
                      expected a whole number from 0 to 4294967295";
        assert_eq!(found.as_ref().map(Problem::detail), Some(detail));
    }

    #[test]
    fn a_parameter_that_is_no_number_is_told_with_its_value() {
        let uri: Uri = "/chats?sort=a&limit=ten%20of".parse().unwrap();
        let found = misread_query("limit: invalid digit found in string", &uri);
        let detail = "`limit` must be a whole number that is not negative, found `ten of`";
        assert_eq!(found.detail(), detail);
        let found = misread_query("limmit: unknown field `limmit`, expected `limit`", &uri);
        assert_eq!(found.detail(), "there is no parameter `limmit`");
    }
}
