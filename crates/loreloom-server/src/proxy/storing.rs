//! Storing a turn and its reply, beside the stream that the front end reads.

use std::time::{Duration, Instant};

use loreloom_ports::{StoreError, WholeReply};
use tokio::sync::oneshot;

use super::{tee::WhenComplete, weaving::Decision};
use crate::{app::App, notices::Happened, timings::Timing};

/// How long a turn waits for the end of its reply, once that has begun. A reply that is all
/// there by then, as one that is not streamed, is stored in one write with its turn. Of a
/// longer one the turn is on disk a moment after the first word.
const TOGETHER: Duration = Duration::from_millis(20);

/// How long a turn took so far.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) weaving: Duration,
    pub(super) asked: Instant,
    pub(super) answered: Duration,
}

impl Times {
    /// What it took, if its reply ends now.
    fn timing(self) -> Timing {
        let Self { weaving, asked, answered } = self;
        Timing { weaving, answered, replied: asked.elapsed() }
    }
}

/// A reply that is complete, or that its upstream broke off.
struct Ended {
    reply: Option<WholeReply>,
    timing: Timing,
}

/// Stores a turn once its first chunk has passed, and its reply when that is complete. The
/// first of the results is dropped when a chunk passes: the reader waits for that and for
/// nothing else. Of what is no story only the recogniser is told the reply.
pub(super) fn storing(
    app: &App,
    woven: Decision,
    times: Times,
) -> (oneshot::Sender<()>, WhenComplete) {
    let (waiting, passed) = oneshot::channel();
    let app = app.clone();
    // Everything is done in a task: whatever goes wrong there, the reply has passed.
    let complete: WhenComplete = if woven.decided.wish.is_story {
        let (ending, ended) = oneshot::channel();
        let task = app.tasks.spawn(store(app.clone(), woven, passed, ended));
        Box::new(move |reply| {
            // A task that has failed has said so.
            let _gone = ending.send(Ended { reply, timing: times.timing() });
            task
        })
    } else {
        let Decision { telling, .. } = woven;
        Box::new(move |reply| {
            let learning = app.clone();
            app.tasks.spawn(async move {
                if let Some(reply) = reply {
                    learning.told(&telling, &reply);
                }
            })
        })
    };
    (waiting, complete)
}

/// Stores a turn and its reply, once the first chunk has passed.
async fn store(
    app: App,
    woven: Decision,
    passed: oneshot::Receiver<()>,
    mut ended: oneshot::Receiver<Ended>,
) {
    let _passed = passed.await;
    let Decision { decided, sewn, telling } = woven;
    let chat = decided.path().chat().clone();
    let failed = |what: &str, error: &StoreError| {
        tracing::error!(%error, "{what} was not stored");
        app.notice(Happened::NotStored { chat: chat.clone(), reason: error.to_string() });
    };
    let spoken = |Ended { reply, timing }| {
        let Some(reply) = reply else {
            // Sent again, the request asks for the first reply and not for another version.
            app.recogniser.unanswered(&telling.ticket);
            return None;
        };
        Some((app.told(&telling, &reply), timing))
    };
    // `Err` if the front end hung up.
    let soon = match tokio::time::timeout(TOGETHER, &mut ended).await {
        Ok(ended) => Some(ended.ok().and_then(spoken)),
        Err(_later) => None,
    };
    let said = soon.as_ref().and_then(Option::as_ref).map_or(&[][..], |(spoken, _)| spoken);
    let committed = match app.commit(decided, sewn.sent(), said).await {
        Ok(committed) => committed,
        Err(error) => return failed("the turn", &error),
    };
    let reply = match soon {
        Some(reply) => reply,
        None => ended.await.ok().and_then(spoken),
    };
    let Some((spoken, timing)) = reply else { return };
    app.api().timings.note(&app.tenant, committed.chat(), committed.turn(), timing);
    if let Err(error) = app.commit_replies(committed, spoken).await {
        failed("the reply", &error);
    }
}
