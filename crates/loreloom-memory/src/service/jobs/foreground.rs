//! Replies that people wait for come first.
//!
//! A server with one slot answers one question at a time, and keeps the prompt of the last one in
//! its cache. A question of memory between a player's message and its reply would delay the reply
//! and empty that cache. So memory asks such a model only while nobody waits, and takes a question
//! back when somebody does.

use async_trait::async_trait;
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, ModelError};
use tokio::sync::watch;

/// Counts the replies that people wait for.
#[derive(Debug)]
pub struct Foreground(watch::Sender<usize>);

impl Default for Foreground {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// Somebody waits for a reply until this is dropped.
#[derive(Debug)]
pub struct AwaitedReply(watch::Sender<usize>);

impl Drop for AwaitedReply {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting = waiting.saturating_sub(1));
    }
}

impl Foreground {
    /// Notes that somebody waits for a reply.
    pub fn begin(&self) -> AwaitedReply {
        self.0.send_modify(|waiting| *waiting += 1);
        AwaitedReply(self.0.clone())
    }

    /// Waits until nobody waits for a reply, or until somebody does.
    async fn until(&self, is_idle: bool) {
        let mut waiting = self.0.subscribe();
        // The sender is part of `self`, so this never fails.
        let _value = waiting.wait_for(|waiting| (*waiting == 0) == is_idle).await;
    }
}

/// A model that is asked only while nobody waits for a reply.
pub(super) struct IdleModel<'model> {
    pub(super) model: &'model dyn ChatModel,
    /// `None` for a model that answers several questions at once.
    pub(super) foreground: Option<&'model Foreground>,
}

#[async_trait]
impl ChatModel for IdleModel<'_> {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let Some(foreground) = self.foreground else { return self.model.complete(request).await };
        loop {
            foreground.until(true).await;
            tokio::select! {
                reply = self.model.complete(request) => return reply,
                // The request is dropped, and the server stops its work on it.
                () = foreground.until(false) => {}
            }
        }
    }

    fn without_keys(&self, text: &str) -> String {
        self.model.without_keys(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    /// Answers when it is allowed to.
    #[derive(Default)]
    struct Slow {
        asked: Notify,
        allowed: Notify,
        taken_back: Notify,
        times: AtomicU32,
    }

    /// Says when a question is over, answered or not.
    struct Over<'model>(&'model Notify);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    #[async_trait]
    impl ChatModel for Slow {
        async fn complete(&self, _request: &ChatRequest) -> Result<ChatReply, ModelError> {
            let _over = Over(&self.taken_back);
            self.times.fetch_add(1, Ordering::Relaxed);
            self.asked.notify_one();
            self.allowed.notified().await;
            Ok(ChatReply { text: "yes".to_owned() })
        }
    }

    #[tokio::test]
    async fn a_question_waits_for_a_reply_and_is_taken_back_for_one() {
        let (model, foreground) = (Slow::default(), Foreground::default());
        let idle = IdleModel { model: &model, foreground: Some(&foreground) };
        let request = ChatRequest::default();
        let player = async {
            model.asked.notified().await;
            let reply = foreground.begin();
            model.taken_back.notified().await;
            assert_eq!(model.times.load(Ordering::Relaxed), 1);
            drop(reply);
            model.asked.notified().await;
            model.allowed.notify_one();
        };
        let (reply, ()) = tokio::join!(idle.complete(&request), player);
        assert_eq!(reply.map(|reply| reply.text).unwrap_or_default(), "yes");
        assert_eq!(model.times.load(Ordering::Relaxed), 2);
    }
}
