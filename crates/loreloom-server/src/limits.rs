//! What one client may take, so that the others are served, too.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use futures_util::{StreamExt as _, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// What one client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The largest head of a request, in bytes.
    pub head: usize,
    /// How long the head of a request may take, and a connection stay idle.
    pub head_time: Duration,
    /// How long a client may neither send what it announced nor take what it asked for.
    pub stall: Duration,
    /// How many connections are open at once. Each has one request at a time.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            head: 64 << 10,
            head_time: Duration::from_secs(30),
            stall: Duration::from_mins(1),
            connections: 4096,
        }
    }
}

/// A client that announced a body and does not send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing of the body came for {0:?}")]
pub(crate) struct Stalled(Duration);

impl Stalled {
    /// Whether that is why a body could not be read.
    pub(crate) fn caused(error: &(dyn std::error::Error + 'static)) -> bool {
        let causes = std::iter::successors(Some(error), |error| error.source());
        causes.into_iter().any(<dyn std::error::Error>::is::<Self>)
    }
}

/// A body that fails if it falls silent.
pub(crate) fn steady(body: Body, stall: Duration) -> Body {
    let pieces = stream::unfold(Some(body.into_data_stream()), move |pieces| async move {
        let mut pieces = pieces?;
        match tokio::time::timeout(stall, pieces.next()).await {
            Ok(piece) => piece.map(|piece| (piece, Some(pieces))),
            Err(_elapsed) => Some((Err(axum::Error::new(Stalled(stall))), None)),
        }
    });
    Body::from_stream(pieces)
}

/// A connection that ends if what is written to it is not taken.
pub(crate) struct Patient<S> {
    stream: S,
    stall: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, stall: Duration) -> Self {
        Self { stream, stall, waiting: None }
    }

    /// Passes on what a write came to, or ends a wait that took too long.
    fn waited<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let stall = self.stall;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.waited(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.waited(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.waited(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.waited(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_given_up_and_another_is_not() {
        let stall = Duration::from_millis(300);
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut patient = Patient::new(ours, stall);
        let reading = async {
            let mut some = [0; 2];
            for _ in 0..4 {
                tokio::task::yield_now().await;
                tokio::io::AsyncReadExt::read_exact(&mut theirs, &mut some).await.unwrap();
            }
        };
        let (wrote, ()) = tokio::join!(patient.write_all(b"12345678"), reading);
        wrote.unwrap();
        let error = patient.write_all(b"12345678").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_body_that_falls_silent_fails() {
        let stall = Duration::from_millis(300);
        let pieces = stream::iter([Ok::<_, io::Error>("a")]).chain(stream::pending());
        let error = axum::body::to_bytes(steady(Body::from_stream(pieces), stall), 10).await;
        assert!(Stalled::caused(&error.unwrap_err()));
        let whole = steady(Body::from("abc"), stall);
        assert_eq!(axum::body::to_bytes(whole, 10).await.unwrap(), "abc");
        let long = axum::body::to_bytes(Body::from("abc"), 2).await.unwrap_err();
        assert!(!Stalled::caused(&long));
    }
}
