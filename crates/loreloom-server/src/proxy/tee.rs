//! A reply on its way to the front end, and a copy of its text for the story.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use loreloom_memory::ports::{BodyStream, ReplyReading, UpstreamError};

/// Called with the reply's text once all of it has passed. Not called for a reply that was
/// cut off, by the upstream or by a front end that hung up.
pub(super) type WhenComplete = Box<dyn FnOnce(String) + Send>;

/// Passes chunks on as they come. Dropping it drops the upstream's stream, which cancels
/// the generation.
pub(super) struct Tee {
    body: BodyStream,
    copy: Option<(Box<dyn ReplyReading>, WhenComplete)>,
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
        Self { body, copy: Some((reading, complete)), events, ended: false }
    }

    fn finish(&mut self) {
        if let Some((reading, complete)) = self.copy.take()
            && let Some(text) = reading.finish()
        {
            complete(text);
        }
    }
}

impl Stream for Tee {
    type Item = Result<Bytes, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
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
                Poll::Ready(None)
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
