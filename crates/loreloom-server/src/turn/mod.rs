//! One turn: from the request of a front end to the stored reply.
//!
//! [`run`] is the whole turn. Each step is a file of this folder: read → recognise → decide →
//! recall → place → send → tee → store → remember.

mod body;
mod choose;
mod deadline;
mod decide;
mod echoed_markers;
mod hide_notes;
mod notebook_writes;
mod place;
mod prompt_cache;
mod read;
pub(crate) mod recall;
mod recent_paths;
mod recognise;
mod recogniser;
mod remember;
mod room;
mod send;
mod store;
mod story;
mod tee;

use std::{sync::Arc, time::Instant};

use axum::response::Response;
use loreloom_core::ids::TenantId;
use loreloom_memory::service::MemoryServices;
use loreloom_ports::{ChatModel, Clock, Store};
use tokio_util::task::TaskTracker;

pub(crate) use self::{
    body::{model_of, with_model, without_own_field},
    deadline::Deadline,
    decide::{DecidedTurn, decide},
    notebook_writes::note,
    place::PlacedTurn,
    prompt_cache::SentLog,
    recent_paths::RecentPaths,
    recogniser::Recogniser,
    remember::tell_memory,
    store::commit,
    story::TurnStory,
};
pub use self::{choose::Choosing, prompt_cache::LorePlacement};
use self::{place::PreparedRequest, store::TurnTimes};
use crate::{
    announcements::Announcements,
    connection_service::ConnectionService,
    figures::Figures,
    lore_service::LoreService,
    notices::Happened,
    proxy::{ProxyRequest, pass, respond},
    runtime_settings::RuntimeSettings,
};

/// The services that a turn uses. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct Turns(Arc<TurnServices>);

/// What [`Turns`] is made of.
pub(crate) struct TurnServices {
    pub(crate) tenant: TenantId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) lore: Arc<LoreService>,
    pub(crate) memory: Option<Arc<MemoryServices>>,
    pub(crate) settings: Arc<RuntimeSettings>,
    pub(crate) connections: Arc<ConnectionService>,
    pub(crate) announcements: Announcements,
    pub(crate) figures: Arc<Figures>,
    /// The model that selects vault notes.
    pub(crate) choosing: Option<Arc<Choosing>>,
    /// The model that finds notes for the notebook in replies.
    pub(crate) noting: Option<Arc<dyn ChatModel>>,
    /// Work that goes on after its request.
    pub(crate) tasks: TaskTracker,
    pub(crate) recogniser: Recogniser,
    pub(crate) recent_paths: RecentPaths,
    pub(crate) sent_log: SentLog,
}

impl Turns {
    pub(crate) fn new(services: TurnServices) -> Self {
        Self(Arc::new(services))
    }
}

impl std::ops::Deref for Turns {
    type Target = TurnServices;

    fn deref(&self) -> &TurnServices {
        &self.0
    }
}

/// Runs one turn. A turn that fails before its request is sent fails open: the request goes on
/// unchanged, so a generation never fails because of Loreloom.
pub(crate) async fn run(turns: &Turns, request: ProxyRequest) -> Response {
    let (began, request) = (Instant::now(), Arc::new(request));
    let deadline = Arc::new(Deadline::new(&turns.settings.now().weaving));
    let (own, asked, limit) = (turns.clone(), Arc::clone(&request), Arc::clone(&deadline));
    let prepared = deadline.limit(async move {
        let (mut body, line) = read::read(&own, &asked)?;
        let (layout, story) = recognise::recognise(&own, &body, &line).await?;
        let complaint = body.complaint.take();
        let Some((story, input)) = story else {
            return Ok(place::without_story(body, &layout, line, complaint));
        };
        let recall = recall::start(&own, &story, &input, &line);
        // A selecting model is asked in here (`choose`). Its time does not count.
        let mut turn = decide::decide(&own, story, input, line, &limit).await;
        recall::finish(&own, recall, &mut turn).await;
        Ok(place::place(&own, body, layout, turn, complaint))
    });
    let prepared = prepared.await;
    let weaving = began.elapsed();
    turns.figures.metrics.weaving_took(weaving, prepared.is_err());
    let request = Arc::unwrap_or_clone(request);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return fail_open(turns, request, &error.to_string()).await,
    };

    let (path, headers) = (request.path().to_owned(), send::response_headers(&prepared));
    let PreparedRequest { body, connection, turn, .. } = prepared;
    let asked = Instant::now();
    let reply = send::send(turns, request, body, &connection).await;
    let times = TurnTimes { weaving, asked, answered: asked.elapsed() };
    let mut response = match (turn, reply) {
        (Some(turn), Ok(reply)) if reply.status.is_success() => {
            let (copying, copied) = tee::copy(&turn);
            let own = turns.clone();
            turns.tasks.spawn(async move {
                let stored = store::store(&own, turn, copied, times).await;
                if let Some(stored) = stored {
                    remember::remember(&own, stored).await;
                }
            });
            tee::tee(turns, connection.upstream.as_ref(), &path, reply, copying)
        }
        (turn, reply) => {
            store::unanswered(turns, turn.as_deref());
            respond(&turns.announcements, &path, reply)
        }
    };
    response.headers_mut().extend(headers);
    response
}

/// Sends a request unchanged, with a header that says why it has no lore.
async fn fail_open(turns: &Turns, request: ProxyRequest, reason: &str) -> Response {
    tracing::warn!(%reason, "passed on without lore");
    let path = request.path().to_owned();
    turns.announcements.notice(Happened::FailedOpen { path, reason: reason.to_owned() });
    pass(&turns.announcements, request.without_own_field(), Some(reason)).await
}
