//! An upstream with limits: timeouts, retries before the first byte, pauses after failures, and a
//! limit on parallel requests.

use std::{
    hash::BuildHasher as _,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::{Method, StatusCode};
use loreloom_core::notebook::NoteCutter;
use loreloom_ports::{
    BodyStream, ReplyHiding, ReplyReading, Upstream, UpstreamCall, UpstreamError, UpstreamReply,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Sleep,
};

use crate::connection::{
    Breaker, BreakerRules, Resting, RetryRules, Urgency, may_pass, retry_after,
};

/// How a connection is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// The longest wait for the head of an answer; a model may think for long.
    pub first_byte: Option<Duration>,
    /// The longest silence inside an answer.
    pub silence: Option<Duration>,
    /// Asking again.
    pub retry: RetryRules,
    /// Leaving it alone.
    pub breaker: BreakerRules,
    /// How many requests it gets at once; the others wait.
    pub at_once: Option<usize>,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            first_byte: Some(Duration::from_mins(10)),
            silence: Some(Duration::from_mins(5)),
            retry: RetryRules::default(),
            breaker: BreakerRules::default(),
            at_once: None,
        }
    }
}

/// An upstream that is used with [`Manners`].
pub struct SteadyUpstream {
    shown: String,
    inner: Arc<dyn Upstream>,
    manners: Manners,
    breaker: Mutex<Breaker>,
    begun: Instant,
    room: Option<Arc<Semaphore>>,
}

impl SteadyUpstream {
    /// Uses `inner`, which errors call `shown`.
    pub fn new(shown: &str, inner: Arc<dyn Upstream>, manners: Manners) -> Self {
        let room = manners
            .at_once
            .map(|most| Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))));
        Self {
            shown: shown.to_owned(),
            inner,
            manners,
            breaker: Mutex::default(),
            begun: Instant::now(),
            room,
        }
    }

    fn with_breaker<R>(&self, act: impl FnOnce(&mut Breaker, &BreakerRules, Duration) -> R) -> R {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut breaker, &self.manners.breaker, self.begun.elapsed())
    }

    fn resting(&self, Resting { failures, left }: Resting) -> UpstreamError {
        UpstreamError::Resting { address: self.shown.clone(), failures, left }
    }

    /// One try.
    async fn try_once(&self, call: UpstreamCall) -> Result<UpstreamReply, UpstreamError> {
        let Some(limit) = self.manners.first_byte else { return self.inner.send(call).await };
        match tokio::time::timeout(limit, self.inner.send(call)).await {
            Ok(answered) => answered,
            Err(_elapsed) => {
                let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
                Err(UpstreamError::Silent { address: self.shown.clone(), seconds })
            }
        }
    }

    /// Tries until there is an answer worth passing on, or no more tries are left.
    async fn try_again(&self, call: UpstreamCall) -> Result<UpstreamReply, UpstreamError> {
        self.with_breaker(|breaker, rules, now| breaker.ask(rules, now, urgency_of(&call)))
            .map_err(|resting| self.resting(resting))?;
        let mut number = 0;
        loop {
            let tried = self.try_once(call.clone()).await;
            self.note(&tried);
            let asked = match &tried {
                Ok(reply) if may_pass(reply.status) => retry_after(&reply.headers),
                Err(UpstreamError::Unreachable { .. }) => None,
                // A slow answer would be as slow the next time.
                Ok(_)
                | Err(
                    UpstreamError::Silent { .. }
                    | UpstreamError::Resting { .. }
                    | UpstreamError::Unfinished
                    | UpstreamError::Cut { .. },
                ) => return tried,
            };
            // While the breaker is open, an urgent request is tried once and not repeated.
            if self.with_breaker(|breaker, _, now| breaker.rests(now)) {
                return tried;
            }
            let Some(wait) = self.manners.retry.wait(number, asked, jitter()) else {
                return tried;
            };
            tracing::debug!(upstream = self.shown, number, ?wait, "asking again");
            tokio::time::sleep(wait).await;
            number += 1;
        }
    }

    /// Notes whether a try failed. A server that asks to slow down has not failed.
    fn note(&self, tried: &Result<UpstreamReply, UpstreamError>) {
        let failed = match tried {
            Ok(reply) => {
                reply.status.is_server_error() && reply.status != StatusCode::NOT_IMPLEMENTED
            }
            Err(_) => true,
        };
        self.with_breaker(
            |breaker, rules, now| {
                if failed { breaker.failed(rules, now) } else { breaker.succeeded() }
            },
        );
    }

    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(self.room.as_ref()?).acquire_owned().await.ok()
    }
}

/// A person waits for the answer to a POST: it asks for text. Front ends repeat other requests, such
/// as lists of models.
fn urgency_of(call: &UpstreamCall) -> Urgency {
    if call.method == Method::POST { Urgency::Awaited } else { Urgency::Routine }
}

/// A random number from 0 to 1.
fn jitter() -> f64 {
    let random = std::hash::RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[async_trait]
impl Upstream for SteadyUpstream {
    async fn send(&self, call: UpstreamCall) -> Result<UpstreamReply, UpstreamError> {
        let turn = self.turn().await;
        let UpstreamReply { status, headers, body } = self.try_again(call).await?;
        let body = within(body, self.manners.silence, &self.shown);
        Ok(UpstreamReply { status, headers, body: until_its_end(body, turn) })
    }

    fn reading(&self, content_type: &str) -> Box<dyn ReplyReading> {
        self.inner.reading(content_type)
    }

    fn hiding(&self, content_type: &str, cutter: NoteCutter) -> Box<dyn ReplyHiding> {
        self.inner.hiding(content_type, cutter)
    }
}

/// A body that is cut off if it falls silent.
fn within(body: BodyStream, silence: Option<Duration>, shown: &str) -> BodyStream {
    let Some(limit) = silence else { return body };
    Box::pin(Speaking {
        body,
        limit,
        address: shown.to_owned(),
        last: tokio::time::Instant::now(),
        alarm: Box::pin(tokio::time::sleep(limit)),
        is_cut: false,
    })
}

/// A body that must not be silent for too long. One timer serves the whole body and checks when the
/// last piece came: a timer for each piece would cost more than the piece.
struct Speaking {
    body: BodyStream,
    limit: Duration,
    address: String,
    last: tokio::time::Instant,
    alarm: Pin<Box<Sleep>>,
    is_cut: bool,
}

impl Stream for Speaking {
    type Item = Result<Bytes, UpstreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_cut {
            return Poll::Ready(None);
        }
        if let Poll::Ready(piece) = self.body.poll_next_unpin(context) {
            self.last = tokio::time::Instant::now();
            return Poll::Ready(piece);
        }
        loop {
            std::task::ready!(self.alarm.as_mut().poll(context));
            let end = self.last + self.limit;
            if tokio::time::Instant::now() >= end {
                self.is_cut = true;
                let reason = format!("nothing came for {} s", self.limit.as_secs_f64());
                let address = self.address.clone();
                return Poll::Ready(Some(Err(UpstreamError::Cut { address, reason })));
            }
            self.alarm.as_mut().reset(end);
        }
    }
}

/// A body that keeps its permit until it ends or is dropped.
fn until_its_end(body: BodyStream, turn: Option<OwnedSemaphorePermit>) -> BodyStream {
    match turn {
        None => body,
        Some(turn) => Box::pin(body.map(move |piece| {
            let _kept = &turn;
            piece
        })),
    }
}
