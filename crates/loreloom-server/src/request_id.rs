//! Every request has an id: the caller's, or one of ours. Answers and all log lines of the request
//! have it, so that a complaint leads to its lines.

use std::hash::{BuildHasher as _, RandomState};

use http::{HeaderMap, HeaderName, HeaderValue};
use tracing::Span;

/// The header that proxies and front ends use.
const COMMON: HeaderName = HeaderName::from_static("x-request-id");
/// Our own header: a model's server may answer with an id of its own in the common one, which its
/// support asks for.
const OWN: HeaderName = HeaderName::from_static("x-loreloom-request-id");

/// The longest id that is taken from a caller.
const LONGEST: usize = 128;

/// The id of a request.
pub(crate) struct RequestId(HeaderValue);

impl RequestId {
    /// The id that a request has, or a new one. An id goes into logs, so it must be short and
    /// have only harmless characters.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
        let is_good = |value: &&HeaderValue| {
            let bytes = value.as_bytes();
            (1..=LONGEST).contains(&bytes.len()) && bytes.iter().all(is_plain)
        };
        Self(headers.get(COMMON).filter(is_good).cloned().unwrap_or_else(made))
    }

    /// The span of its log lines. It is on at every level, so that warnings have it, too.
    pub(crate) fn span(&self) -> Span {
        tracing::error_span!("request", id = self.0.to_str().unwrap_or_default())
    }

    /// Puts it into an answer.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
        headers.insert(OWN, self.0.clone());
        headers.entry(COMMON).or_insert(self.0);
    }
}

/// A new id. The keys of the standard library's hash maps are random and never repeat.
fn made() -> HeaderValue {
    let id = RandomState::new().hash_one(());
    HeaderValue::from_str(&format!("{id:016x}")).unwrap_or_else(|_never| HeaderValue::from(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_id_is_taken_if_it_is_harmless() {
        for (given, is_taken) in [
            ("a-1", true),
            ("0190:af/x+y=z_.", true),
            ("", false),
            ("two words", false),
            ("quote\"", false),
            (&*"x".repeat(128), true),
            (&*"x".repeat(129), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(COMMON, given.parse().unwrap());
            let id = RequestId::of(&headers).0;
            assert_eq!(id == given, is_taken, "{given}");
            assert!(is_taken || id.len() == 16, "{id:?}");
        }
        assert_ne!(made(), made());
    }

    #[test]
    fn an_id_of_the_models_server_stays_in_the_answer() {
        let mut headers = HeaderMap::new();
        headers.insert(COMMON, "theirs".parse().unwrap());
        RequestId("ours".parse().unwrap()).tell(&mut headers);
        assert_eq!(
            (&headers[COMMON], &headers[OWN]),
            (&"theirs".parse().unwrap(), &"ours".parse().unwrap())
        );
    }
}
