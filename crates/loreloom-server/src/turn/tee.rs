//! Tee: the reply goes to the front end, and a copy of its text to the story.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use loreloom_core::notebook::NoteCutter;
use loreloom_ports::{
    BodyStream, Finished, ReplyReading, Upstream, UpstreamError, UpstreamReply, WholeReply,
};
use memchr::{memmem, memrchr};
use tokio::sync::oneshot;

use super::{Turns, draft::SentTurn, hide_notes::HiddenNotes};
use crate::proxy::{StreamFraming, headers, respond, respond_with};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndedReply {
    /// The reply; `None` if its upstream broke it off.
    pub(super) reply: Option<WholeReply>,
    /// When it ended.
    pub(super) at: Instant,
}

/// The copy of a reply, for the step that stores it. The end of the reply passes when that step
/// has said what became of it.
pub(super) struct Copied {
    /// Ends when the first chunk has passed, or none will.
    pub(super) first_chunk: oneshot::Receiver<()>,
    /// Gives the reply when it has ended. Fails if the front end hung up before, or if the reply
    /// cannot be read.
    pub(super) end: oneshot::Receiver<EndedReply>,
    /// Says whether it is stored.
    pub(super) stored: SayStored,
}

/// Says whether a reply is stored. Dropped without a word, it is not known.
pub(super) struct SayStored(oneshot::Sender<Option<String>>);

impl SayStored {
    /// Lets the end of the reply pass, after a warning if there is one.
    pub(super) fn say(self, warning: Option<String>) {
        // Nobody listens if the front end hung up.
        let _gone = self.0.send(warning);
    }
}

/// The other end of [`Copied`], for the stream.
pub(super) struct Copying {
    first_chunk: oneshot::Sender<()>,
    end: oneshot::Sender<EndedReply>,
    stored: oneshot::Receiver<Option<String>>,
    /// Finds the notes that the model makes for itself.
    cutter: Option<NoteCutter>,
}

/// Both ends of the copy of a turn's reply.
pub(super) fn copy(sent: &SentTurn) -> (Copying, Copied) {
    let (copying, copied) = channel();
    let cutter = sent.lore().rules().notebooks.cutter();
    (Copying { cutter, ..copying }, copied)
}

fn channel() -> (Copying, Copied) {
    let (first_chunk, first) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    let (storing, stored) = oneshot::channel();
    let copying = Copying { first_chunk, end, stored, cutter: None };
    (copying, Copied { first_chunk: first, end: ended, stored: SayStored(storing) })
}

/// The response to the front end: the reply as it comes, with its text copied on the way and the
/// model's notes hidden. A whole answer passes once it is stored, so that its headers can say if
/// it is not.
pub(super) async fn tee(
    turns: &Turns,
    upstream: &dyn Upstream,
    path: &str,
    mut reply: UpstreamReply,
    copying: Copying,
) -> Response {
    // A compressed reply cannot be read.
    if reply.headers.contains_key(CONTENT_ENCODING) {
        let mut response = respond(&turns.announcements, path, Ok(reply));
        headers::warn(response.headers_mut(), UNREAD);
        return response;
    }
    let content_type = reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    let framing = StreamFraming::of(path, content_type);
    let is_document = framing == StreamFraming::None && content_type.contains("json");
    let reading = upstream.reading(content_type);
    let hiding = copying.cutter.clone().map(|cutter| upstream.hiding(content_type, cutter));
    let body = std::mem::replace(&mut reply.body, Box::pin(stream::empty()));
    let mut tee = Tee::new(body, reading, copying, framing);
    let mut warning = None;
    let copied: BodyStream = if is_document {
        let chunks: Vec<_> = tee.by_ref().collect().await;
        warning = tee.warning.take();
        Box::pin(stream::iter(chunks))
    } else {
        Box::pin(tee)
    };
    let mut response = respond_with(&turns.announcements, path, reply, |_moved| match hiding {
        Some(hiding) => Box::pin(HiddenNotes::new(copied, hiding)),
        None => copied,
    });
    if let Some(warning) = warning {
        headers::warn(response.headers_mut(), &warning);
    }
    response
}

/// The warning for a reply that is not a story's text.
const UNREAD: &str = "this reply cannot be read or is an error, so it is not stored";

/// The warning for a reply of which nobody said that it is stored.
const UNKNOWN: &str =
    "it is not known whether this reply is stored: the task that stores it failed";

/// Passes chunks on as they come. The event that ends the reply, and the end of the body, wait
/// until the reply is stored: a front end that has seen either can rely on it. Dropping this
/// drops the upstream's stream, which cancels the generation.
struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, oneshot::Sender<EndedReply>)>,
    /// Dropped when the first chunk has passed.
    first_chunk: Option<oneshot::Sender<()>>,
    /// Ends when the reply is stored, or waits.
    stored: oneshot::Receiver<Option<String>>,
    /// Whether `stored` is waited for.
    storing: bool,
    /// Why the reply is not stored, until the front end has it.
    warning: Option<String>,
    /// The bytes that end the reply, until it is stored.
    held: Option<Bytes>,
    /// A stream that ends before the reply does has broken off.
    framing: StreamFraming,
    ended: bool,
}

/// Texts that only the last event of a reply contains, in the formats that have one.
const LAST_WORDS: [&[u8]; 7] = [
    b"[DONE]",
    b"\"done\":true",
    b"\"done\": true",
    b"\"stop\":true",
    b"\"stop\": true",
    b"response.completed",
    b"response.incomplete",
];

/// Where the line begins that may end the reply.
fn last_line(bytes: &[u8]) -> Option<usize> {
    let found = LAST_WORDS.iter().filter_map(|words| memmem::find(bytes, words)).min()?;
    Some(memrchr(b'\n', &bytes[..found]).map_or(0, |line| line + 1))
}

impl Tee {
    fn new(
        body: BodyStream,
        reading: Box<dyn ReplyReading>,
        copying: Copying,
        framing: StreamFraming,
    ) -> Self {
        let Copying { first_chunk, end, stored, .. } = copying;
        Self {
            body,
            copy: Some((reading, end)),
            first_chunk: Some(first_chunk),
            stored,
            storing: false,
            warning: None,
            held: None,
            framing,
            ended: false,
        }
    }

    /// Copies a chunk. Returns the part that passes now.
    fn copy_chunk(&mut self, mut bytes: Bytes) -> Result<Bytes, UpstreamError> {
        self.first_chunk = None;
        let last = if self.is_stream() { last_line(&bytes) } else { None };
        let Some((reading, _)) = &mut self.copy else { return Ok(bytes) };
        reading.push(&bytes);
        if let Some(last) = last.filter(|_| reading.is_over()) {
            self.finish()?;
            self.held = Some(bytes.split_off(last));
        }
        Ok(bytes)
    }

    /// Hands over what has passed, if it is a whole reply.
    fn finish(&mut self) -> Result<(), UpstreamError> {
        self.first_chunk = None;
        let Some((reading, end)) = self.copy.take() else { return Ok(()) };
        match reading.finish() {
            Finished::Whole(reply) => self.complete(end, Some(reply)),
            Finished::Unfinished if self.is_stream() => {
                self.complete(end, None);
                return Err(UpstreamError::Unfinished);
            }
            // A document that ends early does not belong to the story.
            Finished::Unfinished | Finished::Unread => {
                tracing::warn!("{UNREAD}");
                self.warning = Some(UNREAD.to_owned());
            }
        }
        Ok(())
    }

    fn complete(&mut self, end: oneshot::Sender<EndedReply>, reply: Option<WholeReply>) {
        // A storing task that has failed has logged it.
        let _failed = end.send(EndedReply { reply, at: Instant::now() });
        self.storing = true;
    }

    fn is_stream(&self) -> bool {
        self.framing != StreamFraming::None
    }

    fn poll_stored(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.storing {
            let said = ready!(self.stored.poll_unpin(context));
            self.warning = said.unwrap_or_else(|_dropped| Some(UNKNOWN.to_owned()));
            self.storing = false;
        }
        Poll::Ready(())
    }

    /// The end of the body, after a warning that was not given yet. A whole answer has it in its
    /// headers.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        ready!(self.poll_stored(context));
        let warning = if self.is_stream() { self.warning.take() } else { None };
        Poll::Ready(warning.map(|warning| self.framing.warned(&warning, Bytes::new())))
    }
}

/// A front end may hang up right after the last event: the reply is complete all the same.
impl Drop for Tee {
    fn drop(&mut self) {
        // Nobody reads the error any more.
        let _unfinished = self.finish();
    }
}

impl Stream for Tee {
    type Item = Result<Bytes, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.held.is_some() {
            ready!(self.poll_stored(context));
            let (held, warning) = (self.held.take().unwrap_or_default(), self.warning.take());
            return Poll::Ready(Some(Ok(match warning {
                Some(warning) => self.framing.warned(&warning, held),
                None => held,
            })));
        }
        if self.ended {
            return self.poll_end(context).map(|rest| rest.map(Ok));
        }
        match ready!(self.body.poll_next_unpin(context)) {
            Some(Ok(bytes)) => match self.copy_chunk(bytes) {
                // All of it is held.
                Ok(bytes) if bytes.is_empty() => self.poll_next(context),
                passed => Poll::Ready(Some(passed)),
            },
            Some(Err(error)) => {
                if let Some((_, end)) = self.copy.take() {
                    self.complete(end, None);
                }
                self.ended = true;
                Poll::Ready(Some(Err(error)))
            }
            None => {
                self.ended = true;
                if let Err(error) = self.finish() {
                    return Poll::Ready(Some(Err(error)));
                }
                self.poll_end(context).map(|rest| rest.map(Ok))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads until the data says that it is complete.
    #[derive(Default)]
    struct Heard(Vec<u8>);

    impl ReplyReading for Heard {
        fn push(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }

        fn is_over(&self) -> bool {
            self.0.ends_with(b"data: [DONE]\n\n")
        }

        fn finish(self: Box<Self>) -> Finished {
            let texts = vec![String::from_utf8(self.0).unwrap()];
            Finished::Whole(WholeReply { texts, ..WholeReply::default() })
        }
    }

    fn tee(chunks: &[Result<&'static str, ()>]) -> (Tee, Copied) {
        let broken = || UpstreamError::Cut { address: "a".to_owned(), reason: "gone".to_owned() };
        let chunks: Vec<Result<Bytes, UpstreamError>> =
            chunks.iter().map(|one| one.map(Bytes::from).map_err(|()| broken())).collect();
        let (copying, copied) = channel();
        let body = Box::pin(stream::iter(chunks));
        (Tee::new(body, Box::<Heard>::default(), copying, StreamFraming::Events), copied)
    }

    fn ended(copied: &mut Copied) -> Option<String> {
        let ended = copied.end.try_recv().unwrap();
        ended.reply.map(|reply| reply.texts.concat())
    }

    #[tokio::test]
    async fn what_says_that_a_reply_is_over_waits_until_it_is_stored() {
        let (mut tee, mut copied) =
            tee(&[Ok("data: 1\n\n"), Ok("data: 2\n\ndata: [DONE]\n\n"), Ok(": bye\n")]);
        assert_eq!(tee.next().await.unwrap().unwrap(), "data: 1\n\n");
        assert_eq!(tee.next().await.unwrap().unwrap(), "data: 2\n\n", "words do not wait");
        assert!(tee.next().now_or_never().is_none());
        let whole = "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n";
        assert_eq!(ended(&mut copied), Some(whole.to_owned()));
        assert!(tee.next().now_or_never().is_none(), "it is not stored yet");
        copied.stored.say(None);
        let rest: Vec<_> = tee.map(Result::unwrap).collect().await;
        assert_eq!(rest, ["data: [DONE]\n\n", ": bye\n"]);
    }

    #[tokio::test]
    async fn a_reply_that_is_not_stored_ends_with_a_warning() {
        let warned = ": loreloom-warning: the disk is full\n";
        for (last, end) in [("data: [DONE]\n\n", "data: [DONE]\n\n"), (": bye\n", "")] {
            let (tee, copied) = tee(&[Ok("data: 1\n\n"), Ok(last)]);
            copied.stored.say(Some("the disk is full".to_owned()));
            let passed: Vec<_> = tee.map(Result::unwrap_or_default).collect().await;
            if end.is_empty() {
                // The fake reads it to the end of the body.
                assert_eq!(passed, ["data: 1\n\n", last, warned]);
            } else {
                assert_eq!(passed, ["data: 1\n\n".to_owned(), format!("{warned}{end}")]);
            }
        }
        let (tee, copied) = tee(&[Ok("data: [DONE]\n\n")]);
        drop(copied);
        let passed: Vec<_> = tee.map(Result::unwrap).collect().await;
        assert_eq!(passed, [format!(": loreloom-warning: {UNKNOWN}\ndata: [DONE]\n\n")]);
    }

    #[tokio::test]
    async fn last_words_in_the_middle_of_a_reply_hold_nothing_up() {
        let (mut tee, mut copied) = tee(&[Ok("data: \"[DONE]\"\n\n"), Ok("data: 2\n\n")]);
        for expected in ["data: \"[DONE]\"\n\n", "data: 2\n\n"] {
            assert_eq!(tee.next().now_or_never().unwrap().unwrap().unwrap(), expected);
        }
        assert_eq!(copied.end.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }

    #[tokio::test]
    async fn that_its_upstream_broke_a_reply_off_is_told() {
        let (mut tee, mut copied) = tee(&[Ok("data: 1\n\n"), Err(())]);
        assert!(tee.next().await.unwrap().is_ok() && tee.next().await.unwrap().is_err());
        assert_eq!(ended(&mut copied), None);
        assert!(tee.next().now_or_never().is_none(), "it is not stored yet");
        copied.stored.say(None);
        assert!(tee.next().await.is_none());
    }
}
