//! A reply on its way to the front end, and a copy of its text for the story.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use loreloom_ports::{BodyStream, Finished, ReplyReading, UpstreamError, WholeReply};
use memchr::{memmem, memrchr};
use tokio::{sync::oneshot, task::JoinHandle};

/// Called with the reply once all of it is there, or without one if its upstream broke it off; the
/// task stores what there is. Not called where a front end hung up before the end.
pub(super) type WhenComplete = Box<dyn FnOnce(Option<WholeReply>) -> JoinHandle<()> + Send>;

/// Passes chunks on as they come. What says that the reply is over, and the end of the body, wait
/// until it is stored, so that a front end which has seen either can count on it. Dropping it
/// drops the upstream's stream, which cancels the generation.
pub(super) struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, WhenComplete)>,
    /// Dropped when the first chunk has passed.
    waiting: Option<oneshot::Sender<()>>,
    storing: Option<JoinHandle<()>>,
    /// What says that the reply is over, until it is stored.
    held: Option<Bytes>,
    /// Whether it is a stream: one that ends before the reply does has broken off.
    is_stream: bool,
    ended: bool,
}

/// What stands in the last event of a reply, of those that say so.
const LAST_WORDS: [&[u8]; 7] = [
    b"[DONE]",
    b"\"done\":true",
    b"\"done\": true",
    b"\"stop\":true",
    b"\"stop\": true",
    b"response.completed",
    b"response.incomplete",
];

/// Where the line begins that may say that the reply is over.
fn last_line(bytes: &[u8]) -> Option<usize> {
    let found = LAST_WORDS.iter().filter_map(|words| memmem::find(bytes, words)).min()?;
    Some(memrchr(b'\n', &bytes[..found]).map_or(0, |line| line + 1))
}

impl Tee {
    /// Copies a body. Whoever waits for the other end of `waiting` goes on when the first
    /// chunk has passed, or none will.
    pub(super) fn new(
        body: BodyStream,
        reading: Box<dyn ReplyReading>,
        waiting: oneshot::Sender<()>,
        complete: WhenComplete,
        is_stream: bool,
    ) -> Self {
        let (copy, waiting) = (Some((reading, complete)), Some(waiting));
        Self { body, copy, waiting, storing: None, held: None, is_stream, ended: false }
    }

    /// Copies a chunk. Gives what of it passes now.
    fn copy_chunk(&mut self, mut bytes: Bytes) -> Result<Bytes, UpstreamError> {
        self.waiting = None;
        let Some((reading, _)) = &mut self.copy else { return Ok(bytes) };
        reading.push(&bytes);
        let last = if self.is_stream { last_line(&bytes) } else { None };
        if let Some(last) = last.filter(|_| reading.is_over()) {
            self.finish()?;
            self.held = Some(bytes.split_off(last));
        }
        Ok(bytes)
    }

    /// Stores what has passed, if it is a whole reply.
    fn finish(&mut self) -> Result<(), UpstreamError> {
        self.waiting = None;
        let Some((reading, complete)) = self.copy.take() else { return Ok(()) };
        match reading.finish() {
            Finished::Whole(reply) => self.storing = Some(complete(Some(reply))),
            Finished::Unfinished if self.is_stream => {
                self.storing = Some(complete(None));
                return Err(UpstreamError::Unfinished);
            }
            // A document that ends early says nothing of a story either.
            Finished::Unfinished | Finished::Unread => {
                tracing::warn!("a reply that cannot be read, or tells an error, is not stored");
            }
        }
        Ok(())
    }

    fn poll_stored(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.storing {
            // A task that failed has said so in the log.
            Some(storing) => storing.poll_unpin(context).map(|_failed| self.storing = None),
            None => Poll::Ready(()),
        }
    }
}

/// A front end may hang up right after the last event: the reply is complete all the same.
impl Drop for Tee {
    fn drop(&mut self) {
        // Nobody is left to be told that there is no end.
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
                self.storing = self.copy.take().map(|(_, complete)| complete(None));
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
    use std::sync::{Arc, Mutex};

    use futures_util::stream;

    use super::*;

    /// Reads what is there, and is over once that says so.
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

    type Told = Arc<Mutex<Vec<Option<String>>>>;

    fn tee(
        chunks: &[Result<&'static str, ()>],
        stored: oneshot::Receiver<()>,
    ) -> (Tee, Told, oneshot::Receiver<()>) {
        let broken = || UpstreamError::Cut { address: "a".to_owned(), reason: "gone".to_owned() };
        let chunks: Vec<Result<Bytes, UpstreamError>> =
            chunks.iter().map(|one| one.map(Bytes::from).map_err(|()| broken())).collect();
        let (told, (waiting, passed)) = (Told::default(), oneshot::channel());
        let hearing = Arc::clone(&told);
        let complete = move |reply: Option<WholeReply>| {
            hearing.lock().unwrap().push(reply.map(|reply| reply.texts.concat()));
            #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
            tokio::spawn(async move {
                let _stored = stored.await;
            })
        };
        let body = Box::pin(stream::iter(chunks));
        (Tee::new(body, Box::<Heard>::default(), waiting, Box::new(complete), true), told, passed)
    }

    #[tokio::test]
    async fn what_says_that_a_reply_is_over_waits_until_it_is_stored() {
        let (store, stored) = oneshot::channel();
        let (mut tee, told, _passed) =
            tee(&[Ok("data: 1\n\n"), Ok("data: 2\n\ndata: [DONE]\n\n"), Ok(": bye\n")], stored);
        assert_eq!(tee.next().await.unwrap().unwrap(), "data: 1\n\n");
        assert_eq!(tee.next().await.unwrap().unwrap(), "data: 2\n\n", "words do not wait");
        assert!(tee.next().now_or_never().is_none());
        let whole = "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n";
        assert_eq!(*told.lock().unwrap(), [Some(whole.to_owned())]);
        store.send(()).unwrap();
        let rest: Vec<_> = tee.map(Result::unwrap).collect().await;
        assert_eq!(rest, ["data: [DONE]\n\n", ": bye\n"]);
    }

    #[tokio::test]
    async fn last_words_in_the_middle_of_a_reply_hold_nothing_up() {
        let (_store, stored) = oneshot::channel();
        let (mut tee, told, _passed) =
            tee(&[Ok("data: \"[DONE]\"\n\n"), Ok("data: 2\n\n")], stored);
        for expected in ["data: \"[DONE]\"\n\n", "data: 2\n\n"] {
            assert_eq!(tee.next().now_or_never().unwrap().unwrap().unwrap(), expected);
        }
        assert!(told.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn that_its_upstream_broke_a_reply_off_is_told() {
        let (store, stored) = oneshot::channel();
        let (mut tee, told, _passed) = tee(&[Ok("data: 1\n\n"), Err(())], stored);
        assert!(tee.next().await.unwrap().is_ok() && tee.next().await.unwrap().is_err());
        assert_eq!(*told.lock().unwrap(), [None]);
        store.send(()).unwrap();
        assert!(tee.next().await.is_none());
    }
}
