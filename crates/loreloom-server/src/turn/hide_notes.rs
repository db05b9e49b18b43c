//! Hides the notes that the model makes for itself from the front end.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use loreloom_ports::{BodyStream, ReplyHiding, UpstreamError};

/// A body without notes.
pub(super) struct HiddenNotes {
    body: BodyStream,
    /// Gone once the body has ended.
    hiding: Option<Box<dyn ReplyHiding>>,
}

impl HiddenNotes {
    pub(super) fn new(body: BodyStream, hiding: Box<dyn ReplyHiding>) -> Self {
        Self { body, hiding: Some(hiding) }
    }
}

impl Stream for HiddenNotes {
    type Item = Result<Bytes, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(mut hiding) = self.hiding.take() else { return Poll::Ready(None) };
            match self.body.poll_next_unpin(context) {
                Poll::Pending => {
                    self.hiding = Some(hiding);
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(bytes))) => {
                    let shown = hiding.push(&bytes);
                    self.hiding = Some(hiding);
                    if !shown.is_empty() {
                        return Poll::Ready(Some(Ok(shown)));
                    }
                }
                // The rest of a reply that broke off may be a note, so it is not shown.
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    let rest = hiding.finish();
                    return Poll::Ready((!rest.is_empty()).then_some(Ok(rest)));
                }
            }
        }
    }
}
