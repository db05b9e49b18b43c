//! Weaving lore into a request, in bounded time and in no other chat's way.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, request::Parts};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::body::Body;
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
    pub(super) woven: Option<Decision>,
    /// What is wrong with the request.
    pub(super) complaint: Option<String>,
}

/// A turn, and where its reply belongs.
pub(super) struct Decision {
    pub(super) decided: Box<Decided>,
    pub(super) sewn: Sewn,
    pub(super) telling: Telling,
}

/// Weaves lore into a request, or says why it goes on without.
///
/// The engine works in a blocking thread, so that a slow turn delays no other chat, and under a
/// deadline: a turn that misses it goes on without lore, and its thread ends unheard.
pub(super) async fn weave(
    app: &App,
    parts: &Parts,
    body: &Bytes,
    ways: &Ways,
) -> Result<Outgoing, String> {
    let live = app.live();
    let waiting = Arc::new(Waiting::new(&live.weaving.room));
    let work = async {
        waiting.enter().await.map_err(|_closed| "the server is stopping".to_owned())?;
        // The thread keeps the turn's place until it ends, also after the deadline.
        let (app, waiting, ways) = (app.clone(), Arc::clone(&waiting), ways.clone());
        let (path, headers, body) =
            (parts.uri.path().to_owned(), parts.headers.clone(), body.clone());
        let runtime = Handle::current();
        let prepare =
            move || runtime.block_on(prepare(&app, &waiting, (&path, &headers, &body), ways));
        // It panics where the engine has a bug; the request goes on all the same.
        let prepared = spawn_blocking(prepare).await;
        prepared.unwrap_or_else(|_panicked| Err("the engine failed".to_owned()))
    };
    in_time(live.weaving.deadline, &waiting, work).await
}

/// The result of some work, unless it takes longer than the deadline. Time in which the turn
/// waits for others does not count.
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
            return Err(format!("the engine took longer than {} ms", deadline.as_millis()));
        }
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
    let mut body = Body::read(path, headers, came).map_err(|error| error.to_string())?;
    app.unwrap_echoes(&mut body.request);
    let model = body.model.as_deref();
    let connection = ways.of(model);
    let line = app.line(&connection, model);
    let read = begun.elapsed();
    let mut seen = app.see(&body.request).await.map_err(|error| error.to_string())?;
    let recognised = begun.elapsed();
    let complaint = body.complaint.take();
    let stated = (&body.stated, body.is_text());
    let decided = app.decide(&mut seen.found, stated, &line, waiting).await;
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
    let woven = Some(Decision { decided, sewn, telling });
    Ok(Outgoing { body, connection, woven, complaint })
}
