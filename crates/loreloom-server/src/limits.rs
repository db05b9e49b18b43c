//! What one client may take, so that the others are served, too.

use std::{
    io,
    num::NonZeroU32,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{
    HeaderMap,
    header::{CONTENT_LENGTH, EXPECT},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// What one client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The largest head of a request, in bytes.
    pub head: usize,
    /// How long the head of a request may take, and a connection stay idle.
    pub head_time: Duration,
    /// How long a client may neither send what it announced nor take what it asked for.
    pub stall: Duration,
    /// How many bytes of a body a client must send in a second, on average and after a start of
    /// twice `stall`. Else a byte now and then would hold a connection for ever.
    pub least_rate: NonZeroU32,
    /// How many connections are open at once. Each has one request at a time.
    pub connections: usize,
}

/// What slow lines still send: a body of a mebibyte may take six minutes.
const LEAST_RATE: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            head: 64 << 10,
            head_time: Duration::from_secs(30),
            stall: Duration::from_mins(1),
            least_rate: LEAST_RATE,
            connections: 4096,
        }
    }
}

/// A client that announced a body and does not send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stalled {
    /// It fell silent.
    #[error("no part of the body arrived for {0:?}")]
    Silent(Duration),
    /// It sends too little.
    #[error("a body must arrive with at least {least} bytes a second, found {found} in {took:?}")]
    Slow {
        /// Bytes it must send in a second.
        least: NonZeroU32,
        /// Bytes it has sent.
        found: u64,
        /// What it had for them.
        took: Duration,
    },
}

impl Stalled {
    /// What kept a body from being read, if that is why.
    pub(crate) fn caused<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        causes.find_map(|cause| cause.downcast_ref())
    }
}

/// The size of a request's head, written with one space after each colon.
pub(crate) fn head_bytes<B>(request: &http::Request<B>) -> usize {
    let uri = request.uri();
    let target = uri.scheme_str().map_or(0, |scheme| scheme.len() + "://".len())
        + uri.authority().map_or(0, |authority| authority.as_str().len())
        + uri.path_and_query().map_or(0, |path| path.as_str().len());
    let line = request.method().as_str().len() + target + "  HTTP/1.1\r\n".len();
    let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        name.as_str().len() + value.len() + ": \r\n".len()
    };
    line + request.headers().iter().map(field).sum::<usize>() + "\r\n".len()
}

/// How large a body is announced to be, if that is more than `most` bytes.
pub(crate) fn announced_above(headers: &HeaderMap, most: usize) -> Option<u64> {
    let announced: u64 = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (announced > most as u64).then_some(announced)
}

/// Reads what a client still sends of a body that was refused, for a moment. If a connection
/// closes with unread bytes, the client may never see the answer. A client that waits for
/// permission to send gets none.
pub(crate) async fn discard(headers: HeaderMap, body: Body) {
    if headers.contains_key(EXPECT) {
        return;
    }
    let mut pieces = body.into_data_stream();
    let reading = async { while let Some(Ok(_)) = pieces.next().await {} };
    let _late = tokio::time::timeout(LINGER, reading).await;
}

/// How long a refused body is read.
const LINGER: Duration = Duration::from_secs(5);

/// A body that fails if it falls silent or trickles. Only the time that is spent waiting for it
/// counts: its reader may be slow.
pub(crate) fn steady(body: Body, limits: ServerLimits) -> Body {
    let pieces = body.into_data_stream();
    let sending = Sending { pieces, limits, waited: Duration::ZERO, found: 0 };
    Body::from_stream(stream::unfold(Some(sending), |sending| async move {
        let mut sending = sending?;
        match sending.next().await {
            Ok(piece) => piece.map(|piece| (piece, Some(sending))),
            Err(stalled) => Some((Err(axum::Error::new(stalled)), None)),
        }
    }))
}

/// A body that is being sent.
struct Sending {
    pieces: BodyDataStream,
    limits: ServerLimits,
    /// How long it was waited for.
    waited: Duration,
    /// Bytes that came.
    found: u64,
}

impl Sending {
    async fn next(&mut self) -> Result<Option<Result<Bytes, axum::Error>>, Stalled> {
        let ServerLimits { stall, least_rate: least, .. } = self.limits;
        let allowed = stall * 2 + Duration::from_secs(self.found) / least.get();
        let left = allowed.saturating_sub(self.waited);
        let began = Instant::now();
        let Ok(piece) = tokio::time::timeout(left.min(stall), self.pieces.next()).await else {
            let slow = Stalled::Slow { least, found: self.found, took: allowed };
            return Err(if left < stall { slow } else { Stalled::Silent(stall) });
        };
        self.waited += began.elapsed();
        if let Some(Ok(piece)) = &piece {
            self.found += piece.len() as u64;
        }
        Ok(piece)
    }
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

    fn limits(stall: u64, least_rate: u32) -> ServerLimits {
        let least_rate = NonZeroU32::new(least_rate).unwrap();
        ServerLimits { stall: Duration::from_millis(stall), least_rate, ..ServerLimits::default() }
    }

    #[tokio::test]
    async fn a_body_that_falls_silent_fails() {
        let limits = limits(300, 1);
        let pieces = stream::iter([Ok::<_, io::Error>("a")]).chain(stream::pending());
        let error = axum::body::to_bytes(steady(Body::from_stream(pieces), limits), 10).await;
        assert_eq!(Stalled::caused(&error.unwrap_err()), Some(&Stalled::Silent(limits.stall)));
        let whole = steady(Body::from("abc"), limits);
        assert_eq!(axum::body::to_bytes(whole, 10).await.unwrap(), "abc");
        let long = axum::body::to_bytes(Body::from("abc"), 2).await.unwrap_err();
        assert_eq!(Stalled::caused(&long), None);
    }

    #[tokio::test]
    async fn a_body_that_trickles_fails_though_it_is_never_silent_for_long() {
        let trickle = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, io::Error>("a"), ()))
        });
        let body = steady(Body::from_stream(trickle), limits(400, 1_000_000));
        let reading = axum::body::to_bytes(body, 10_000);
        let error = tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap();
        let error = error.unwrap_err();
        let stalled = Stalled::caused(&error);
        assert!(matches!(stalled, Some(Stalled::Slow { found: 1..=40, .. })), "{stalled:?}");
    }
}
