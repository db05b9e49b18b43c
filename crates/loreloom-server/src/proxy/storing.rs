//! Storing a turn and its reply, beside the stream that the front end reads.

use std::time::{Duration, Instant};

use loreloom_memory::ports::{StoreError, WholeReply};
use tokio::sync::oneshot;

use super::tee::WhenComplete;
use crate::{
    app::App,
    notices::Happened,
    story::{Decided, Sent, Telling},
    timings::Timing,
};

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

/// A reply that is complete.
struct Ended {
    telling: Telling,
    reply: WholeReply,
    timing: Timing,
}

/// Stores a turn once its first chunk has passed, and its reply when that is complete. The
/// first of the results is dropped when a chunk passes: the reader waits for that and for
/// nothing else. Without a turn only the recogniser is told of the reply.
pub(super) fn storing(
    app: &App,
    turn: Option<(Box<Decided>, Sent)>,
    telling: Telling,
    times: Times,
) -> (oneshot::Sender<()>, WhenComplete) {
    let (waiting, passed) = oneshot::channel();
    let (ending, ended) = oneshot::channel();
    let task = turn.map(|turn| app.tasks.spawn(store(app.clone(), turn, passed, ended)));
    let app = app.clone();
    // Everything is done in a task: whatever goes wrong there, the reply has passed.
    let complete = move |reply: WholeReply| {
        let Times { weaving, asked, answered } = times;
        let timing = Timing { weaving, answered, replied: asked.elapsed() };
        if let Some(task) = task {
            // A task that has failed has said so.
            let _gone = ending.send(Ended { telling, reply, timing });
            return task;
        }
        let learning = app.clone();
        app.tasks.spawn(async move {
            learning.told(&telling, &reply);
        })
    };
    (waiting, Box::new(complete))
}

async fn store(
    app: App,
    turn: (Box<Decided>, Sent),
    passed: oneshot::Receiver<()>,
    ended: oneshot::Receiver<Ended>,
) {
    let _passed = passed.await;
    // Boxed, so that a small task is spawned while the reader waits.
    Box::pin(keep(app, turn, ended)).await;
}

/// Stores a turn and its reply.
async fn keep(app: App, turn: (Box<Decided>, Sent), mut ended: oneshot::Receiver<Ended>) {
    let (decided, sent) = turn;
    let chat = decided.path().chat().clone();
    let failed = |what: &str, error: &StoreError| {
        tracing::error!(%error, "{what} was not stored");
        app.notice(Happened::NotStored { chat: chat.clone(), reason: error.to_string() });
    };
    let spoken = |Ended { telling, reply, timing }| (app.told(&telling, &reply), timing);
    // `Err` if it was cut off.
    let soon = match tokio::time::timeout(TOGETHER, &mut ended).await {
        Ok(ended) => Some(ended.ok().map(spoken)),
        Err(_later) => None,
    };
    let said = soon.as_ref().and_then(Option::as_ref).map_or(&[][..], |(spoken, _)| spoken);
    let committed = match app.commit(decided, sent, said).await {
        Ok(committed) => committed,
        Err(error) => return failed("the turn", &error),
    };
    let reply = match soon {
        Some(reply) => reply,
        None => ended.await.ok().map(spoken),
    };
    let Some((spoken, timing)) = reply else { return };
    app.api().timings.note(&app.tenant, committed.chat(), committed.turn(), timing);
    if let Err(error) = app.commit_replies(committed, spoken).await {
        failed("the reply", &error);
    }
}
