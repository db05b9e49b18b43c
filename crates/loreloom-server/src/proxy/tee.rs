//! A reply on its way to the front end, and a copy of its text for the story.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use loreloom_memory::ports::{BodyStream, ReplyReading, UpstreamError};
use tokio::task::JoinHandle;

/// Called with the text of each choice once all of the reply has passed; the task stores
/// it. Not called for a reply that was cut off, by the upstream or by a front end that hung
/// up before its end.
pub(super) type WhenComplete = Box<dyn FnOnce(Vec<String>) -> JoinHandle<()> + Send>;

/// Passes chunks on as they come. The end of the body waits until the reply is stored, so
/// that a front end which has seen the end can count on it. Dropping it drops the
/// upstream's stream, which cancels the generation.
pub(super) struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, WhenComplete)>,
    storing: Option<JoinHandle<()>>,
    ended: bool,
}

impl Tee {
    /// Copies a body.
    pub(super) fn new(
        body: BodyStream,
        reading: Box<dyn ReplyReading>,
        complete: WhenComplete,
    ) -> Self {
        Self { body, copy: Some((reading, complete)), storing: None, ended: false }
    }

    /// Stores what has passed, if it is a whole reply.
    fn finish(&mut self) {
        if let Some((reading, complete)) = self.copy.take()
            && let Some(texts) = reading.finish()
        {
            self.storing = Some(complete(texts));
        }
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
        self.finish();
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
                if let Some((reading, _)) = &mut self.copy {
                    reading.push(&bytes);
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Some(Err(error)) => {
                self.copy = None;
                self.ended = true;
                Poll::Ready(Some(Err(error)))
            }
            None => {
                self.ended = true;
                self.finish();
                self.poll_stored(context).map(|()| None)
            }
        }
    }
}
