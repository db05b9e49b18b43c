//! Tee: the reply goes to the front end, and a copy of its text to the story.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use loreloom_core::notebook::NoteCutter;
use loreloom_ports::{
    BodyStream, Finished, ReplyReading, Upstream, UpstreamError, UpstreamReply, WholeReply,
};
use memchr::{memmem, memrchr};
use tokio::sync::oneshot;

use super::{Turns, hide_notes::HiddenNotes, place::PlacedTurn};
use crate::proxy::{StreamFraming, respond, respond_with};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndedReply {
    /// The reply; `None` if its upstream broke it off.
    pub(super) reply: Option<WholeReply>,
    /// When it ended.
    pub(super) at: Instant,
}

/// The copy of a reply, for the step that stores it. The end of the reply passes when this is
/// dropped.
pub(super) struct Copied {
    /// Ends when the first chunk has passed, or none will.
    pub(super) first_chunk: oneshot::Receiver<()>,
    /// Gives the reply when it has ended. Fails if the front end hung up before, or if the reply
    /// cannot be read.
    pub(super) end: oneshot::Receiver<EndedReply>,
    _stored: oneshot::Sender<()>,
}

/// The other end of [`Copied`], for the stream.
pub(super) struct Copying {
    first_chunk: oneshot::Sender<()>,
    end: oneshot::Sender<EndedReply>,
    stored: oneshot::Receiver<()>,
    /// Finds the notes that the model makes for itself.
    cutter: Option<NoteCutter>,
}

/// Both ends of the copy of a turn's reply.
pub(super) fn copy(placed: &PlacedTurn) -> (Copying, Copied) {
    let (copying, copied) = channel();
    let cutter = placed.turn.lore.rules().notebooks.cutter();
    (Copying { cutter, ..copying }, copied)
}

fn channel() -> (Copying, Copied) {
    let (first_chunk, first) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    let (storing, stored) = oneshot::channel();
    let copying = Copying { first_chunk, end, stored, cutter: None };
    (copying, Copied { first_chunk: first, end: ended, _stored: storing })
}

/// The response to the front end: the reply as it comes, with its text copied on the way and the
/// model's notes hidden.
pub(super) fn tee(
    turns: &Turns,
    upstream: &dyn Upstream,
    path: &str,
    reply: UpstreamReply,
    copying: Copying,
) -> Response {
    // A compressed reply cannot be read.
    if reply.headers.contains_key(CONTENT_ENCODING) {
        return respond(&turns.announcements, path, Ok(reply));
    }
    let content_type = reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    let is_stream = StreamFraming::of(path, content_type) != StreamFraming::None;
    let reading = upstream.reading(content_type);
    let hiding = copying.cutter.clone().map(|cutter| upstream.hiding(content_type, cutter));
    respond_with(&turns.announcements, path, reply, |body| {
        let copied = Box::pin(Tee::new(body, reading, copying, is_stream));
        match hiding {
            Some(hiding) => Box::pin(HiddenNotes::new(copied, hiding)),
            None => copied,
        }
    })
}

/// Passes chunks on as they come. The event that ends the reply, and the end of the body, wait
/// until the reply is stored: a front end that has seen either can rely on it. Dropping this
/// drops the upstream's stream, which cancels the generation.
struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, oneshot::Sender<EndedReply>)>,
    /// Dropped when the first chunk has passed.
    first_chunk: Option<oneshot::Sender<()>>,
    /// Ends when the reply is stored.
    stored: oneshot::Receiver<()>,
    /// Whether `stored` is waited for.
    storing: bool,
    /// The bytes that end the reply, until it is stored.
    held: Option<Bytes>,
    /// Whether it is a stream: one that ends before the reply does has broken off.
    is_stream: bool,
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
        is_stream: bool,
    ) -> Self {
        let Copying { first_chunk, end, stored, .. } = copying;
        Self {
            body,
            copy: Some((reading, end)),
            first_chunk: Some(first_chunk),
            stored,
            storing: false,
            held: None,
            is_stream,
            ended: false,
        }
    }

    /// Copies a chunk. Returns the part that passes now.
    fn copy_chunk(&mut self, mut bytes: Bytes) -> Result<Bytes, UpstreamError> {
        self.first_chunk = None;
        let Some((reading, _)) = &mut self.copy else { return Ok(bytes) };
        reading.push(&bytes);
        let last = if self.is_stream { last_line(&bytes) } else { None };
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
            Finished::Unfinished if self.is_stream => {
                self.complete(end, None);
                return Err(UpstreamError::Unfinished);
            }
            // A document that ends early does not belong to the story.
            Finished::Unfinished | Finished::Unread => {
                tracing::warn!("a reply that cannot be read, or tells an error, is not stored");
            }
        }
        Ok(())
    }

    fn complete(&mut self, end: oneshot::Sender<EndedReply>, reply: Option<WholeReply>) {
        // A storing task that has failed has logged it.
        let _failed = end.send(EndedReply { reply, at: Instant::now() });
        self.storing = true;
    }

    fn poll_stored(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.storing {
            // It is never sent, only dropped.
            let _dropped = ready!(self.stored.poll_unpin(context));
            self.storing = false;
        }
        Poll::Ready(())
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
            return Poll::Ready(self.held.take().map(Ok));
        }
        if self.ended {
            return self.poll_stored(context).map(|()| None);
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
                self.poll_stored(context).map(|()| None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

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
        (Tee::new(body, Box::<Heard>::default(), copying, true), copied)
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
        drop(copied);
        let rest: Vec<_> = tee.map(Result::unwrap).collect().await;
        assert_eq!(rest, ["data: [DONE]\n\n", ": bye\n"]);
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
        drop(copied);
        assert!(tee.next().await.is_none());
    }
}
