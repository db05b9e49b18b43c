//! Passing a front end's request on to a model server, untouched.

use std::{pin::Pin, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method, StatusCode};
use loreloom_core::notebook::NoteCutter;

/// The body of an answer as it arrives. Dropping it cancels the request.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, UpstreamError>> + Send>>;

/// A request to pass on.
#[derive(Clone, Debug)]
pub struct UpstreamCall {
    /// The method.
    pub method: Method,
    /// The path and query as the front end asked, for example `/v1/chat/completions`: the
    /// upstream knows where it serves it.
    pub path: String,
    /// Headers to pass on.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// An upstream's answer.
pub struct UpstreamReply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body as it arrives.
    pub body: BodyStream,
}

/// A model server that requests are passed on to.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Sends a request and returns once the answer's headers are there.
    async fn send(&self, call: UpstreamCall) -> Result<UpstreamReply, UpstreamError>;

    /// Reads the texts of an answer of this type, for the story; only the upstream knows
    /// how it writes them.
    fn reading(&self, content_type: &str) -> Box<dyn ReplyReading>;

    /// Cuts a model's notes out of the texts of an answer of this type, on its way to the
    /// front end.
    fn hiding(&self, content_type: &str, cutter: NoteCutter) -> Box<dyn ReplyHiding>;
}

/// Puts the text of a reply together while its bytes pass by.
pub trait ReplyReading: Send {
    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]);

    /// Whether what was taken says itself that nothing of the reply follows.
    fn is_over(&self) -> bool;

    /// What there is of it once the last byte has come.
    fn finish(self: Box<Self>) -> Finished;
}

/// What was read of a reply whose last byte has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// All of it.
    Whole(WholeReply),
    /// The answer ended as answers do, but with half an event, or without the end of the reply
    /// that its events speak of.
    Unfinished,
    /// It is unreadable, has no end, or is an error.
    Unread,
}

/// A reply that is all there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WholeReply {
    /// The text of each choice without think blocks.
    pub texts: Vec<String>,
    /// The id that its server gave it, where later requests can name it (the responses API).
    pub response: Option<String>,
}

impl Finished {
    /// The texts of a whole reply.
    pub fn whole(self) -> Option<Vec<String>> {
        match self {
            Self::Whole(reply) => Some(reply.texts),
            Self::Unfinished | Self::Unread => None,
        }
    }
}

/// Passes an answer on without what its reader is not meant to see. What has nothing to hide
/// arrives byte for byte.
pub trait ReplyHiding: Send {
    /// Takes the next bytes, and returns what goes on.
    fn push(&mut self, bytes: &Bytes) -> Bytes;

    /// What else goes on once the last byte is there.
    fn finish(self: Box<Self>) -> Bytes;
}

/// The upstream gave no answer, or stopped in the middle of one.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Nobody answered.
    #[error("upstream `{address}` cannot be reached: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The cause.
        reason: String,
    },
    /// It accepted the request and then said nothing.
    #[error("upstream `{address}` gave no answer within {seconds} s")]
    Silent {
        /// The address.
        address: String,
        /// The limit.
        seconds: u64,
    },
    /// It failed too often just now and is left alone for a while.
    #[error("upstream `{address}` failed {failures} times in a row and is left alone for {} s", .left.as_millis().div_ceil(1000))]
    Resting {
        /// The address.
        address: String,
        /// How often.
        failures: u32,
        /// For how much longer.
        left: Duration,
    },
    /// It ended its answer before the end of the reply.
    #[error("the model's server ended its answer before the end of the reply")]
    Unfinished,
    /// The answer was cut off.
    #[error("upstream `{address}` stopped in the middle of its answer: {reason}")]
    Cut {
        /// The address.
        address: String,
        /// The cause.
        reason: String,
    },
}
