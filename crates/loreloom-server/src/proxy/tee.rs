//! A reply on its way to the front end, and a copy of its text for the story.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use loreloom_memory::ports::{BodyStream, Finished, ReplyReading, UpstreamError, WholeReply};
use tokio::{sync::oneshot, task::JoinHandle};

/// Called with the reply once all of it has passed; the task stores it. Not called for a reply
/// that was cut off, by the upstream or by a front end that hung up before its end.
pub(super) type WhenComplete = Box<dyn FnOnce(WholeReply) -> JoinHandle<()> + Send>;

/// Passes chunks on as they come. The end of the body waits until the reply is stored, so
/// that a front end which has seen the end can count on it. Dropping it drops the
/// upstream's stream, which cancels the generation.
pub(super) struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, WhenComplete)>,
    /// What has passed and is not read yet: the front end waits for no reading.
    unread: Vec<u8>,
    /// Dropped when the first chunk has passed.
    waiting: Option<oneshot::Sender<()>>,
    storing: Option<JoinHandle<()>>,
    /// Whether it is a stream: one that ends before the reply does has broken off.
    is_stream: bool,
    ended: bool,
}

/// Bytes that wait to be read, at the most.
const UNREAD: usize = 4096;

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
        let (unread, storing, ended) = (Vec::new(), None, false);
        Self { body, copy, unread, waiting, storing, is_stream, ended }
    }

    /// Copies a chunk.
    fn copy_chunk(&mut self, bytes: &Bytes) {
        self.waiting = None;
        let Some((reading, _)) = &mut self.copy else { return };
        self.unread.extend_from_slice(bytes);
        if self.unread.len() >= UNREAD {
            reading.push(&self.unread);
            self.unread.clear();
        }
    }

    /// Stores what has passed, if it is a whole reply.
    fn finish(&mut self) -> Result<(), UpstreamError> {
        self.waiting = None;
        let Some((mut reading, complete)) = self.copy.take() else { return Ok(()) };
        reading.push(&std::mem::take(&mut self.unread));
        match reading.finish() {
            Finished::Whole(reply) => self.storing = Some(complete(reply)),
            Finished::Unfinished if self.is_stream => return Err(UpstreamError::Unfinished),
            Finished::Unfinished | Finished::Unread => (),
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
        if self.ended {
            return self.poll_stored(context).map(|()| None);
        }
        match std::task::ready!(self.body.poll_next_unpin(context)) {
            Some(Ok(bytes)) => {
                self.copy_chunk(&bytes);
                Poll::Ready(Some(Ok(bytes)))
            }
            Some(Err(error)) => {
                self.copy = None;
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
