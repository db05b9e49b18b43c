//! One turn: from the request of a front end to the stored reply.
//!
//! [`run`] is the whole turn. Each step is a file of this folder: read → recognise → decide →
//! recall → place → send → tee → store → remember.

mod body;
mod carried;
mod choose;
mod deadline;
mod decide;
mod draft;
mod echoed_markers;
mod expected;
mod hide_notes;
mod late_turns;
mod notebook_writes;
mod place;
mod played;
mod prompt_cache;
mod queue;
mod read;
pub(crate) mod recall;
mod recent_paths;
mod recognise;
mod recogniser;
mod remember;
mod repeated;
mod room;
mod send;
mod store;
mod story;
mod tee;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::response::Response;
use bytes::Bytes;
use loreloom_core::{assemble::Layout, ids::TenantId};
use loreloom_memory::service::{AwaitedReply as ForegroundReply, MemoryServices};
use loreloom_ports::{ChatModel, Clock, Store};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

pub(crate) use self::{
    body::{StatedLimits, model_of, with_model, without_own_field},
    deadline::{Deadline, FAIL_OPEN_REASONS},
    decide::{DecidedTurn, decide},
    expected::{ExpectedRequest, ExpectedRequests},
    late_turns::LateTurns,
    notebook_writes::note,
    place::PlacedTurn,
    played::{AwaitedReply, PlayedTurn},
    prompt_cache::SentLog,
    queue::QueueKey,
    recent_paths::RecentPaths,
    recognise::LONGEST_CARD,
    recogniser::Recogniser,
    remember::tell_memory,
    repeated::RepeatedWarnings,
    store::{commit, commit_later},
    story::TurnStory,
};
pub use self::{choose::Choosing, prompt_cache::LorePlacement, queue::TurnQueue};
use self::{
    deadline::TurnError,
    draft::{PlainTurn, SentTurn},
    place::PreparedRequest,
    store::TurnTimes,
};
use crate::{
    announcements::Announcements,
    connection_service::ConnectionService,
    connections::Connection,
    figures::Figures,
    lore_service::LoreService,
    notices::Happened,
    proxy::{ProxyRequest, Unwoven, pass, respond},
    runtime_settings::RuntimeSettings,
    waiting::{WaitingTurns, WaitingWriter},
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
    /// Turns that the store did not take.
    pub(crate) waiting: WaitingTurns,
    pub(crate) recogniser: Recogniser,
    pub(crate) recent_paths: RecentPaths,
    pub(crate) sent_log: SentLog,
    /// Requests that front ends announced.
    pub(crate) expected: ExpectedRequests,
    /// Turns that are stored after their answer.
    pub(crate) late: LateTurns,
}

impl Turns {
    pub(crate) fn new(services: TurnServices) -> Self {
        Self(Arc::new(services))
    }

    /// What writes turns that waited.
    pub(crate) fn waiting_writer(&self) -> WaitingWriter<'_> {
        WaitingWriter { store: self.store.as_ref(), memory: self.memory.as_deref() }
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
    // Memory leaves the model alone until the reply has ended.
    let awaited = turns.memory.as_ref().map(|memory| memory.foreground.begin());
    let chat = QueueKey::of(&turns.tenant, &request.parts.headers, &request.body);
    let deadline = Arc::new(Deadline::new(&turns.settings.now().weaving, chat));
    let preparing = {
        let (turns, request, deadline) =
            (turns.clone(), Arc::clone(&request), Arc::clone(&deadline));
        async move { prepare(&turns, &request, &deadline).await }
    };
    let prepared = deadline.limit(preparing).await;
    let weaving = began.elapsed();
    let failed = prepared.as_ref().err().map(TurnError::reason);
    turns.figures.metrics.queue_took(deadline.queued());
    turns.figures.metrics.weaving_took(weaving, failed);
    // The slot is free while the model answers.
    drop(deadline);
    let request = Arc::unwrap_or_clone(request);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return fail_open(turns, request, &error, (weaving, awaited)).await,
    };

    let about_turn = send::headers_about(turns, &prepared);
    let PreparedRequest { body, connection, turn, .. } = prepared;
    let outgoing = Outgoing { body, connection, turn: turn.map(SentTurn::Woven), weaving };
    let mut response = outgoing.answer(turns, request, awaited).await;
    send::add_headers(response.headers_mut(), about_turn);
    response
}

/// A request on its way to the model.
struct Outgoing {
    body: Bytes,
    connection: Arc<Connection>,
    /// Its turn, if it belongs to a story.
    turn: Option<SentTurn>,
    /// How long it took to get here.
    weaving: Duration,
}

impl Outgoing {
    /// Sends it, and stores its turn with the reply.
    async fn answer(
        self,
        turns: &Turns,
        request: ProxyRequest,
        awaited: Option<ForegroundReply>,
    ) -> Response {
        let Self { body, connection, turn, weaving } = self;
        let (path, asked) = (request.path().to_owned(), Instant::now());
        let reply = send::send(turns, request, body, &connection).await;
        let times = TurnTimes { weaving, asked, answered: asked.elapsed() };
        match (turn, reply) {
            (Some(turn), Ok(reply)) if reply.status.is_success() => {
                let (copying, copied) = tee::copy(&turn);
                let own = turns.clone();
                let storing = async move {
                    let stored = store::store(&own, turn, copied, times).await;
                    drop(awaited);
                    if let Some(stored) = stored {
                        remember::remember(&own, stored).await;
                    }
                };
                turns.tasks.spawn(storing.in_current_span());
                tee::tee(turns, connection.upstream.as_ref(), &path, reply, copying).await
            }
            (turn, reply) => {
                store::unanswered(turns, turn.as_ref());
                respond(&turns.announcements, &path, reply)
            }
        }
    }
}

/// The steps from read to place: a request with its lore.
async fn prepare(
    turns: &Turns,
    request: &ProxyRequest,
    deadline: &Deadline,
) -> Result<PreparedRequest, TurnError> {
    let (mut body, route) = read::read(turns, request)?;
    if request.played.is_none() && turns.expected.apply(&mut body, turns.clock.now()) {
        return Ok(place::without_story(body, &Layout::default(), route, None));
    }
    let (layout, story) = match &request.played {
        Some(played) => played::story_of(turns, played, &body, &route).await?,
        None => recognise::recognise(turns, &body, &route).await?,
    };
    let complaint = body.complaint.take();
    let Some((story, input)) = story else {
        return Ok(place::without_story(body, &layout, route, complaint));
    };
    let recall = recall::start(turns, &story, &input, &route);
    // A selecting model is asked in here (`choose`). Its time does not count.
    let mut turn = decide::decide(turns, story, input, route, deadline).await;
    recall::finish(turns, recall, &mut turn).await;
    Ok(place::place(turns, body, layout, turn, complaint))
}

/// Sends a request unchanged, with a header that says why it has no lore. The turn of a story that
/// is played here is stored all the same.
async fn fail_open(
    turns: &Turns,
    request: ProxyRequest,
    error: &TurnError,
    (weaving, awaited): (Duration, Option<ForegroundReply>),
) -> Response {
    let reason = error.to_string();
    if let Some(times) = turns.figures.repeated.count(error.reason(), Instant::now()) {
        tracing::warn!(%reason, times, "passed on without lore");
    }
    let path = request.path().to_owned();
    turns.announcements.notice(Happened::FailedOpen { path, reason: reason.clone() });
    if let Some(played) = request.played.clone() {
        let (body, connection) = (request.body.clone(), request.unread_connection());
        let plain = PlainTurn::new(turns, &played, reason.clone());
        let turn = Some(SentTurn::Plain(Box::new(plain)));
        let outgoing = Outgoing { body, connection, turn, weaving };
        let mut response = Box::pin(outgoing.answer(turns, request, awaited)).await;
        Unwoven::Failed(&reason).tell(response.headers_mut());
        return response;
    }
    let warning = match error {
        // It may be no turn at all.
        TurnError::Unreadable(_) => reason,
        TurnError::Store(_) | TurnError::Queued(_) | TurnError::Late(_) | TurnError::Panicked => {
            format!("{reason}; this turn is not stored")
        }
    };
    pass(&turns.announcements, request.without_own_field(), Unwoven::Failed(&warning)).await
}
