//! Storing a turn and its reply, beside the stream that the front end reads.

use std::time::{Duration, Instant};

use loreloom_memory::ports::StoreError;
use tokio::sync::oneshot;

use super::tee::WhenComplete;
use crate::{
    app::App,
    notices::Happened,
    story::{Decided, Sent, Spoken, Telling},
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
    spoken: Vec<Spoken>,
    timing: Timing,
}

/// Stores a turn once its first chunk has passed, and its reply when that is complete. The
/// first of the results is dropped when a chunk passes: the reader waits for that and for
/// nothing else. Without a turn only the recogniser is told of the reply.
pub(super) fn storing(
    app: &App,
    turn: Option<Box<(Decided, Sent)>>,
    telling: Telling,
    times: Times,
) -> (oneshot::Sender<()>, WhenComplete) {
    let (waiting, passed) = oneshot::channel();
    let (ending, ended) = oneshot::channel();
    let task = turn.map(|turn| app.tasks.spawn(store(app.clone(), turn, passed, ended)));
    let app = app.clone();
    let complete = move |texts: Vec<String>| {
        let Times { weaving, asked, answered } = times;
        let timing = Timing { weaving, answered, replied: asked.elapsed() };
        let spoken = app.told(&telling, &texts);
        match task {
            Some(task) => {
                // A task that has failed has said so.
                let _gone = ending.send(Ended { spoken, timing });
                task
            }
            None => app.tasks.spawn(async {}),
        }
    };
    (waiting, Box::new(complete))
}

async fn store(
    app: App,
    turn: Box<(Decided, Sent)>,
    passed: oneshot::Receiver<()>,
    ended: oneshot::Receiver<Ended>,
) {
    let _passed = passed.await;
    let chat = turn.0.path.chat().clone();
    if let Err(error) = store_both(&app, turn, ended).await {
        tracing::error!(%error, "the turn was not stored");
        app.notice(Happened::NotStored { chat, reason: error.to_string() });
    }
}

async fn store_both(
    app: &App,
    turn: Box<(Decided, Sent)>,
    mut ended: oneshot::Receiver<Ended>,
) -> Result<(), StoreError> {
    let soon = tokio::time::timeout(TOGETHER, &mut ended).await;
    let (decided, sent) = *turn;
    let (committed, ended) = match soon {
        Ok(Ok(ended)) => (app.commit(decided, sent, &ended.spoken).await?, Some(ended)),
        // It was cut off.
        Ok(Err(_)) => (app.commit(decided, sent, &[]).await?, None),
        Err(_later) => (app.commit(decided, sent, &[]).await?, ended.await.ok()),
    };
    let Some(Ended { spoken, timing }) = ended else { return Ok(()) };
    app.api().timings.note(&app.tenant, committed.chat(), committed.turn(), timing);
    app.commit_replies(committed, spoken).await
}
