//! The queue of turns: how many are decided at once, and whose turn is next.
//!
//! A free slot goes to the chats in rotation, not to the requests in the order in which they
//! came: a chat with a hundred requests delays another chat by one turn. Requests of one chat
//! keep their order.

use std::{
    collections::VecDeque,
    hash::{Hash as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize, atomic::Ordering},
    time::Duration,
};

use http::HeaderMap;
use loreloom_core::ids::TenantId;
use loreloom_recognise::wire;
use rustc_hash::{FxHashMap, FxHasher};
use tokio::sync::oneshot;

/// Turns that are decided at once.
const SLOTS: usize = 8;

/// Which chat a request belongs to, as far as that is known before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueueKey(pub(crate) u64);

impl QueueKey {
    /// The bytes at the beginning of a request that chats differ by.
    const BEGINNING: usize = 2048;

    /// The chat that a request names. Requests that name none count as one chat if they begin
    /// with the same bytes, which hold the system prompt and the first messages.
    pub(crate) fn of(tenant: &TenantId, headers: &HeaderMap, body: &[u8]) -> Self {
        let mut hasher = FxHasher::default();
        tenant.as_str().hash(&mut hasher);
        match headers.get(wire::CHAT_HEADER) {
            Some(chat) => chat.as_bytes().hash(&mut hasher),
            None => body[..body.len().min(Self::BEGINNING)].hash(&mut hasher),
        }
        Self(hasher.finish())
    }
}

/// The queue. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct TurnQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    length: AtomicUsize,
}

#[derive(Debug)]
struct Waiting {
    free: usize,
    /// Chats with requests that wait, the next one first.
    chats: VecDeque<QueueKey>,
    requests: FxHashMap<QueueKey, VecDeque<oneshot::Sender<QueueSlot>>>,
}

/// A place among the turns that are decided. Dropping it passes it on.
#[derive(Debug)]
pub(super) struct QueueSlot(Option<Arc<Shared>>);

/// The slot did not come in time.
#[derive(Debug)]
pub(super) struct QueuedTooLong;

impl Default for TurnQueue {
    fn default() -> Self {
        Self::new(SLOTS)
    }
}

impl TurnQueue {
    /// A queue for so many turns at once.
    pub fn new(slots: usize) -> Self {
        let waiting =
            Waiting { free: slots, chats: VecDeque::new(), requests: FxHashMap::default() };
        Self(Arc::new(Shared { waiting: Mutex::new(waiting), length: AtomicUsize::new(0) }))
    }

    /// How many requests wait.
    pub(crate) fn length(&self) -> usize {
        self.0.length.load(Ordering::Relaxed)
    }

    /// Waits for a slot, at most `longest`.
    pub(super) async fn slot(
        &self,
        chat: QueueKey,
        longest: Duration,
    ) -> Result<QueueSlot, QueuedTooLong> {
        let coming = {
            let mut waiting = self.0.lock();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Ok(QueueSlot(Some(Arc::clone(&self.0))));
            }
            let (sender, receiver) = oneshot::channel();
            let Waiting { chats, requests, .. } = &mut *waiting;
            let own = requests.entry(chat).or_default();
            if own.is_empty() {
                chats.push_back(chat);
            }
            own.push_back(sender);
            receiver
        };
        let _counted = WaitingCount::new(&self.0.length);
        match tokio::time::timeout(longest, coming).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) | Err(_) => Err(QueuedTooLong),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// The next request: the oldest one of the next chat.
    fn next(&mut self) -> Option<oneshot::Sender<QueueSlot>> {
        let chat = self.chats.pop_front()?;
        let own = self.requests.get_mut(&chat)?;
        let next = own.pop_front();
        if own.is_empty() {
            self.requests.remove(&chat);
        } else {
            self.chats.push_back(chat);
        }
        next
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        loop {
            let next = {
                let mut waiting = shared.lock();
                let Some(next) = waiting.next() else {
                    waiting.free += 1;
                    return;
                };
                next
            };
            // A request that gave up hands the slot back, without being asked again.
            match next.send(Self(Some(Arc::clone(&shared)))) {
                Ok(()) => return,
                Err(mut back) => drop(back.0.take()),
            }
        }
    }
}

/// Counts a request while it waits, however the wait ends.
struct WaitingCount<'a>(&'a AtomicUsize);

impl<'a> WaitingCount<'a> {
    fn new(length: &'a AtomicUsize) -> Self {
        length.fetch_add(1, Ordering::Relaxed);
        Self(length)
    }
}

impl Drop for WaitingCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(10);

    /// Waits until so many requests wait.
    async fn queued(queue: &TurnQueue, length: usize) {
        while queue.length() < length {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn chats_take_turns_and_requests_of_a_chat_keep_their_order() {
        let queue = TurnQueue::new(1);
        let held = queue.slot(QueueKey(0), LONG).await.unwrap();
        let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (at, (chat, name)) in [(1, "a1"), (1, "a2"), (1, "a3"), (2, "b1"), (3, "c1"), (2, "b2")]
            .into_iter()
            .enumerate()
        {
            let (queue, done) = (queue.clone(), done.clone());
            let waiting = queue.clone();
            #[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
            tokio::spawn(async move {
                let _slot = queue.slot(QueueKey(chat), LONG).await;
                done.send(name).unwrap();
            });
            queued(&waiting, at + 1).await;
        }
        drop((held, done));
        let mut names = Vec::new();
        while let Some(name) = order.recv().await {
            names.push(name);
        }
        assert_eq!(names, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert_eq!((queue.length(), queue.0.lock().free), (0, 1));
    }

    #[tokio::test]
    async fn a_request_that_gave_up_takes_no_slot() {
        let queue = TurnQueue::new(1);
        let held = queue.slot(QueueKey(0), LONG).await.unwrap();
        assert!(queue.slot(QueueKey(1), Duration::ZERO).await.is_err());
        assert_eq!(queue.length(), 0);
        drop(held);
        assert!(queue.slot(QueueKey(2), Duration::ZERO).await.is_ok());
    }
}
