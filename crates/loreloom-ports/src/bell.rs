//! What the parts of a connection wake that are all driven by one task.
//!
//! Parts of a connection wake each other: who hands a piece over wakes who takes it. Where all of
//! them are polled by one task, that task would be woken while it runs: its runtime would queue
//! it once more each time, and wake another thread to help with the queue. On a machine of few
//! processors that thread stands in the way of the one that is to answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// How often parts may wake each other before others have their turn.
const ROUNDS: usize = 8;

/// Wakes a task, unless that is awake.
pub struct Bell {
    rope: Arc<Rope>,
    waker: Waker,
}

#[derive(Default)]
struct Rope {
    task: AtomicWaker,
    /// Whether the task polls right now.
    awake: AtomicBool,
    /// Whether it was woken meanwhile.
    rung: AtomicBool,
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::SeqCst);
        // Who ends its poll says so first and looks then.
        if !self.awake.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

impl Default for Bell {
    fn default() -> Self {
        let rope = Arc::new(Rope::default());
        Self { waker: Waker::from(Arc::clone(&rope)), rope }
    }
}

impl Bell {
    /// Carries out something whose parts wake each other.
    pub async fn drive<F: Future>(work: F) -> F::Output {
        let (bell, mut work) = (Self::default(), std::pin::pin!(work));
        std::future::poll_fn(|context| bell.poll(context, |context| work.as_mut().poll(context)))
            .await
    }

    /// Polls until nothing is ready that a part of it has not been told of.
    pub fn poll<T>(
        &self,
        context: &Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.rope.task.register(context.waker());
        for _ in 0..ROUNDS {
            self.rope.rung.swap(false, Ordering::SeqCst);
            self.rope.awake.store(true, Ordering::SeqCst);
            let polled = poll(&mut Context::from_waker(&self.waker));
            self.rope.awake.store(false, Ordering::SeqCst);
            // What was rung for is seen by the next poll: who has something polls again.
            if polled.is_ready() || !self.rope.rung.load(Ordering::SeqCst) {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_only_while_it_sleeps() {
        let (bell, woken) = (Bell::default(), Arc::new(Counted::default()));
        let waker = Waker::from(Arc::clone(&woken));
        let context = Context::from_waker(&waker);
        let (mut kept, mut polls) = (None, 0);
        let polled = bell.poll(&context, |inner| {
            polls += 1;
            kept = Some(inner.waker().clone());
            if polls < 3 {
                inner.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        });
        assert_eq!((polled, polls, woken.0.load(Ordering::Relaxed)), (Poll::Ready(()), 3, 0));
        kept.unwrap().wake();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_is_driven_is_polled_again_instead_of_woken() {
        let woken = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut handed = false;
        let work = std::future::poll_fn(move |context| {
            if std::mem::replace(&mut handed, true) {
                return Poll::Ready(7);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        let mut driven = std::pin::pin!(Bell::drive(work));
        let polled = driven.as_mut().poll(&mut Context::from_waker(&waker));
        assert_eq!((polled, woken.0.load(Ordering::Relaxed)), (Poll::Ready(7), 0));
    }

    #[test]
    fn what_rings_without_end_lets_others_have_their_turn() {
        let (bell, woken) = (Bell::default(), Arc::new(Counted::default()));
        let waker = Waker::from(Arc::clone(&woken));
        let mut polls = 0;
        let polled = bell.poll(&Context::from_waker(&waker), |inner| {
            polls += 1;
            inner.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert!(polled.is_pending());
        assert_eq!((polls, woken.0.load(Ordering::Relaxed)), (ROUNDS, 1));
    }
}
