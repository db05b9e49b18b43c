//! The scripted answers of the server.

use std::{collections::HashMap, collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::Value;

use super::Received;

/// Decides an answer from the request; `None` leaves it to the default.
pub(super) type Answer = Arc<dyn Fn(&Received) -> Option<Reply> + Send + Sync>;

/// Replies waiting for their requests, by path. A path with none left gets what
/// [`Script::answering`] says, else a default.
#[derive(Clone, Default)]
pub struct Script {
    pub(super) queues: HashMap<String, VecDeque<Reply>>,
    pub(super) answer: Option<Answer>,
}

impl Script {
    /// Only defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next reply for `path`, for example `/v1/chat/completions`.
    #[must_use]
    pub fn on(mut self, path: &str, reply: Reply) -> Self {
        self.queues.entry(path.to_owned()).or_default().push_back(reply);
        self
    }

    /// Answers requests that no queued reply is left for.
    #[must_use]
    pub fn answering(
        mut self,
        answer: impl Fn(&Received) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        self.answer = Some(Arc::new(answer));
        self
    }

    pub(super) fn next(&mut self, request: &Received) -> Option<Reply> {
        let queued = self.queues.get_mut(&request.path).and_then(VecDeque::pop_front);
        queued.or_else(|| self.answer.as_ref().and_then(|answer| answer(request)))
    }
}

/// What a reply says.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Text in pieces: one whole JSON document, or a frame for each piece if the client
    /// asked for a stream, in the form of the endpoint.
    Text(Vec<String>),
    /// JSON documents as given: the only one whole, or a frame for each.
    Frames(Vec<Value>),
    /// Bytes as given, each piece its own write.
    Raw(Vec<Bytes>),
}

/// Where a streamed body is cut into writes.
#[derive(Clone, Debug)]
pub(super) enum Split {
    /// A write for each frame.
    Frames,
    /// At these byte positions, wherever frames or characters end.
    At(Vec<usize>),
    /// After every so many bytes.
    Every(usize),
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) content: Content,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) wait: Duration,
    pub(super) pause: Duration,
    pub(super) split: Split,
    pub(super) stop: Option<Stop>,
}

/// Where a body stops that is not written to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    /// After this many writes.
    pub(super) after: usize,
    /// Whether as if that were all of it.
    pub(super) properly: bool,
}

impl Reply {
    fn of(content: Content) -> Self {
        Self {
            content,
            status: 200,
            headers: Vec::new(),
            wait: Duration::ZERO,
            pause: Duration::ZERO,
            split: Split::Frames,
            stop: None,
        }
    }

    /// A text, streamed word by word if the client asks for a stream.
    pub fn text(text: &str) -> Self {
        Self::of(Content::Text(text.split_inclusive(' ').map(str::to_owned).collect()))
    }

    /// A text streamed in these pieces.
    pub fn chunks<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Content::Text(pieces.into_iter().map(str::to_owned).collect()))
    }

    /// A JSON document as it is: tool calls, reasoning, usage.
    pub fn json(document: Value) -> Self {
        Self::of(Content::Frames(vec![document]))
    }

    /// A stream of these JSON documents in the frames of the endpoint, ended properly.
    pub fn frames(documents: impl IntoIterator<Item = Value>) -> Self {
        Self::of(Content::Frames(documents.into_iter().collect()))
    }

    /// A status with a body.
    pub fn status(status: u16, body: &str) -> Self {
        let mut reply = Self::raw("text/plain", [body.as_bytes()]);
        reply.status = status;
        reply
    }

    /// A successful answer whose JSON stops in the middle.
    pub fn broken_json() -> Self {
        Self::raw("application/json", [br#"{"choices":[{"message":{"conte"#.as_slice()])
    }

    /// Bytes as they are, each piece written by itself.
    pub fn raw<'a>(content_type: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let pieces = pieces.into_iter().map(Bytes::copy_from_slice).collect();
        Self::of(Content::Raw(pieces)).header("content-type", content_type)
    }

    /// With a header; the same name replaces what the server would send.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends nothing at all for this long.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Waits this long before every write but the first.
    #[must_use]
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Cuts the body at these byte positions instead of at its frames.
    #[must_use]
    pub fn split_at(mut self, positions: impl IntoIterator<Item = usize>) -> Self {
        self.split = Split::At(positions.into_iter().collect());
        self
    }

    /// Cuts the body after every `size` bytes.
    #[must_use]
    pub fn split_every(mut self, size: usize) -> Self {
        self.split = Split::Every(size.max(1));
        self
    }

    /// Breaks the connection after this many writes, without an end.
    #[must_use]
    pub fn cut_after(mut self, writes: usize) -> Self {
        self.stop = Some(Stop { after: writes, properly: false });
        self
    }

    /// Ends the body after this many writes, as if that were all of it.
    #[must_use]
    pub fn end_after(mut self, writes: usize) -> Self {
        self.stop = Some(Stop { after: writes, properly: true });
        self
    }
}
