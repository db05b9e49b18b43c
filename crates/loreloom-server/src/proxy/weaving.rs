//! Weaving lore into a request, in bounded time and in no other chat's way.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, TryLockError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, request::Parts};
use loreloom_recognise::wire::Known;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{block_in_place, spawn_blocking},
};

use super::body::{Body, Unreadable};
use crate::{
    app::App,
    caching::{Placed, breakpoints},
    choosing::Waiting,
    connections::{Connection, Connections},
    deciding::Decided,
    story::{Sewn, Telling},
};

/// Where a request may go: the connections as they were when it came, and the one it names.
#[derive(Clone)]
pub(super) struct Ways {
    pub(super) connections: Arc<Connections>,
    pub(super) named: Option<Arc<Connection>>,
}

impl Ways {
    fn of(self, model: Option<&str>) -> Arc<Connection> {
        self.named.unwrap_or_else(|| Arc::clone(self.connections.of(model)))
    }
}

/// A request ready to be sent.
pub(super) struct Outgoing {
    pub(super) body: Bytes,
    /// Where it goes.
    pub(super) connection: Arc<Connection>,
    /// What was decided; `None` for a request that belongs to no story.
    pub(super) woven: Option<Box<Woven>>,
    /// What is wrong with the request.
    pub(super) complaint: Option<String>,
}

/// A turn, and where its reply belongs. It is handed from one to the next in a box: what is moved
/// with every request after a pause is fetched from far away.
pub(super) struct Woven {
    pub(super) decided: Box<Decided>,
    pub(super) sewn: Sewn,
    pub(super) telling: Telling,
}

/// Weaves lore into a request, or says why it goes on without.
///
/// The engine works under a deadline; a turn that misses it is decided in vain. Where turns have
/// been quick it works where the request came in, and other threads go on with that one's tasks,
/// at once if others wait and else as soon as it takes long; where they have not, it has a thread
/// to itself. So a slow turn delays no other chat.
pub(super) async fn weave(
    app: &App,
    parts: &Parts,
    body: &Bytes,
    ways: &Ways,
) -> Result<Outgoing, String> {
    let live = app.live();
    let waiting = Arc::new(Waiting::new(&live.weaving.room));
    let (begun, deadline) = (Instant::now(), live.weaving.deadline);
    let work = async {
        waiting.enter().await.map_err(|_closed| "the server is stopping".to_owned())?;
        let runtime = Handle::current();
        let working = Working { app: app.clone(), waiting: Arc::clone(&waiting) };
        let (body, ways) = (body.clone(), ways.clone());
        // A runtime of one thread has no other that could go on with its tasks.
        let may_stay = runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
        let prepared = if let Some(running) = app.pace().begin().filter(|_| may_stay) {
            let came = (parts.uri.path(), &parts.headers, &body);
            let preparing = AssertUnwindSafe(working.prepare(came, ways)).catch_unwind();
            let others = runtime.metrics().num_workers() > 1;
            let prepared = if running.is_alone()
                && others
                && let Some(_looked_after) = app.pace().lookout.begin(&runtime, &app.tasks)
            {
                if app.pace().is_busy() {
                    wake_another(app);
                }
                preparing.await.ok()
            } else {
                // The other threads may be deciding turns as well: a new one takes this one's
                // place.
                block_in_place(|| runtime.block_on(preparing)).ok()
            };
            if begun.elapsed() > deadline + waiting.so_far() {
                return Err(missed(deadline));
            }
            prepared
        } else {
            let (path, headers) = (parts.uri.path().to_owned(), parts.headers.clone());
            let preparing = async move { working.prepare((&path, &headers, &body), ways).await };
            spawn_blocking(move || runtime.block_on(preparing)).await.ok()
        };
        prepared.unwrap_or_else(|| Err("the engine failed".to_owned()))
    };
    in_time(deadline, &waiting, work).await
}

/// Wakes another thread of the runtime, if one sleeps, so that it waits for what comes in while
/// this one is busy: the thread that waited for that last may be this one. Two tasks, because
/// the last one that a thread was given is its own and the others may be taken by any; so what
/// waited here as the last one may be taken, too. To hand all of this thread over, as
/// `block_in_place` does, costs a turn a tenth of a millisecond more.
fn wake_another(app: &App) {
    for _ in 0..2 {
        app.tasks.spawn(async {});
    }
}

/// The result of some work, unless it takes longer than the deadline, waiting for others not
/// counted.
async fn in_time<T>(
    deadline: Duration,
    waiting: &Waiting,
    work: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let begun = tokio::time::Instant::now();
    let mut work = std::pin::pin!(work);
    loop {
        let end = begun + deadline + waiting.so_far();
        if let Ok(done) = tokio::time::timeout_at(end, &mut work).await {
            return done;
        }
        // More waiting may have begun meanwhile.
        if tokio::time::Instant::now() >= begun + deadline + waiting.so_far() {
            return Err(missed(deadline));
        }
    }
}

fn missed(deadline: Duration) -> String {
    format!("the engine took longer than {} ms", deadline.as_millis())
}

/// What deciding a turn needs besides the request.
struct Working {
    app: App,
    waiting: Arc<Waiting>,
}

impl Working {
    async fn prepare(
        &self,
        came: (&str, &HeaderMap, &Bytes),
        ways: Ways,
    ) -> Result<Outgoing, String> {
        let _noting = Noting { working: self, begun: Instant::now() };
        Box::pin(prepare(&self.app, &self.waiting, came, ways)).await
    }
}

/// Takes note of how long a turn took, also of one that its request no longer waits for.
struct Noting<'working> {
    working: &'working Working,
    begun: Instant,
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        let Working { app, waiting } = self.working;
        app.pace().took(self.begun.elapsed().saturating_sub(waiting.so_far()));
        waiting.leave();
    }
}

/// Reads a body. While another one is being read nobody waits for what is known.
fn read(app: &App, path: &str, headers: &HeaderMap, came: &[u8]) -> Result<Body, Unreadable> {
    match app.known_messages().try_lock() {
        Ok(mut known) => Body::read(path, headers, came, &mut known),
        Err(TryLockError::Poisoned(known)) => {
            // A panic may have left half of it behind.
            let mut known = known.into_inner();
            *known = Known::default();
            Body::read(path, headers, came, &mut known)
        }
        Err(TryLockError::WouldBlock) => Body::read(path, headers, came, &mut Known::default()),
    }
}

/// Reads, recognises, decides and writes.
async fn prepare(
    app: &App,
    waiting: &Waiting,
    (path, headers, came): (&str, &HeaderMap, &Bytes),
    ways: Ways,
) -> Result<Outgoing, String> {
    let begun = Instant::now();
    let mut body = read(app, path, headers, came).map_err(|error| error.to_string())?;
    app.unwrap_echoes(&mut body.request);
    let model = body.model.as_deref();
    let connection = ways.of(model);
    let line = app.line(&connection, model);
    let read = begun.elapsed();
    let mut seen = app.see(&body.request).await.map_err(|error| error.to_string())?;
    let recognised = begun.elapsed();
    let complaint = body.complaint.take();
    let told = (&body.told, body.is_text());
    let decided = app.decide(&mut seen.found, told, &line, waiting).await;
    let decided = decided.map_err(|error| error.to_string())?;
    tracing::debug!(?read, ?recognised, decided = ?begun.elapsed(), "a turn was decided");
    let mut layout = seen.found.layout(&body.request, connection.strict_roles);
    layout.fixed = body.fixed();
    let prompt = body.take_prompt();
    let Some(mut decided) = decided else {
        // Markers that nothing answers disappear here, too.
        let body = body.woven(&layout.plan(&prompt, &[]), came, &[]);
        return Ok(Outgoing { body, connection, woven: None, complaint });
    };
    layout.wrap.clone_from(&decided.lore.rules().wrap);
    let placement = &app.weaving.placement;
    let Placed { injections, moving } =
        decided.place(placement, seen.found.before, &prompt, &layout);
    let plan = layout.plan(&prompt, &injections);
    let marks = breakpoints(&line, placement, || plan.apply(prompt.clone()), &moving);
    let body = body.woven(&plan, came, &marks);
    let sewn = Sewn { prompt, layout, plan, moving, line };
    let telling = Telling { ticket: seen.ticket, names: decided.wish.names.clone() };
    let woven = Some(Box::new(Woven { decided, sewn, telling }));
    Ok(Outgoing { body, connection, woven, complaint })
}
