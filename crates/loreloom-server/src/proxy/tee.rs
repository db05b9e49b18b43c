//! A reply on its way to the front end, and a copy of its text for the story.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use loreloom_memory::ports::{BodyStream, ReplyReading, UpstreamError};
use tokio::task::JoinHandle;

/// Called with the reply's text once all of it has passed; the task stores it. Not called
/// for a reply that was cut off, by the upstream or by a front end that hung up before its
/// end.
pub(super) type WhenComplete = Box<dyn FnOnce(String) -> JoinHandle<()> + Send>;

/// Passes chunks on as they come. The end of the body waits until the reply is stored, so
/// that a front end which has seen the end can count on it. Dropping it drops the
/// upstream's stream, which cancels the generation.
pub(super) struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, WhenComplete)>,
    storing: Option<JoinHandle<()>>,
    events: bool,
    ended: bool,
}

impl Tee {
    /// Copies a body. With `events`, a body that breaks off ends with an error event.
    pub(super) fn new(
        body: BodyStream,
        reading: Box<dyn ReplyReading>,
        complete: WhenComplete,
        events: bool,
    ) -> Self {
        Self { body, copy: Some((reading, complete)), storing: None, events, ended: false }
    }

    /// Stores what has passed, if it is a whole reply.
    fn finish(&mut self) {
        if let Some((reading, complete)) = self.copy.take()
            && let Some(text) = reading.finish()
        {
            self.storing = Some(complete(text));
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
        match self.body.poll_next_unpin(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(bytes))) => {
                if let Some((reading, _)) = &mut self.copy {
                    reading.push(&bytes);
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.copy = None;
                self.ended = true;
                if self.events {
                    return Poll::Ready(Some(Ok(cut_off(&error))));
                }
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                self.ended = true;
                self.finish();
                self.poll_stored(context).map(|()| None)
            }
        }
    }
}

/// The events that tell a front end that the reply is not all there.
fn cut_off(error: &UpstreamError) -> Bytes {
    let event = serde_json::json!({
        "error": { "message": error.to_string(), "type": "upstream_cut", "code": "upstream_cut" }
    });
    Bytes::from(format!("\n\ndata: {event}\n\ndata: [DONE]\n\n"))
}
