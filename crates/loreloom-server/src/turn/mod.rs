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
mod send;
mod store;
mod story;
mod tee;

use std::{sync::Arc, time::Instant};

use axum::response::Response;

pub(crate) use self::{
    body::{model_of, with_model, without_own_field},
    deadline::Deadline,
    decide::{DecidedTurn, decide},
    notebook_writes::note,
    place::PlacedTurn,
    recent_paths::RecentPaths,
    remember::tell_memory,
    store::commit,
    story::Story,
};
pub use self::{
    choose::Choosing,
    prompt_cache::{Placement, SentLog},
    recogniser::Recogniser,
};
use self::{place::PreparedRequest, store::TurnTimes};
use crate::{
    app::App,
    notices::Happened,
    proxy::{ProxyRequest, pass, respond},
};

/// Runs one turn. A turn that fails before its request is sent fails open: the request goes on
/// unchanged, so a generation never fails because of Loreloom.
pub(crate) async fn run(app: &App, request: ProxyRequest) -> Response {
    let (began, request) = (Instant::now(), Arc::new(request));
    let deadline = Arc::new(Deadline::new(&app.live().weaving));
    let (turns, asked, limit) = (app.clone(), Arc::clone(&request), Arc::clone(&deadline));
    let prepared = deadline.limit(async move {
        let (mut body, line) = read::read(&turns, &asked)?;
        let (layout, story) = recognise::recognise(&turns, &body, &line).await?;
        let complaint = body.complaint.take();
        let Some((story, input)) = story else {
            return Ok(place::without_story(body, &layout, line, complaint));
        };
        let recall = recall::start(&turns, &story, &input, &line);
        // A selecting model is asked in here (`choose`). Its time does not count.
        let mut turn = decide::decide(&turns, story, input, line, &limit).await;
        recall::finish(&turns, recall, &mut turn).await;
        Ok(place::place(&turns, body, layout, turn, complaint))
    });
    let prepared = prepared.await;
    let weaving = began.elapsed();
    app.api().metrics.weaving_took(weaving, prepared.is_err());
    let request = Arc::unwrap_or_clone(request);
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return fail_open(app, request, &error.to_string()).await,
    };

    let (path, headers) = (request.path().to_owned(), send::response_headers(&prepared));
    let PreparedRequest { body, connection, turn, .. } = prepared;
    let asked = Instant::now();
    let reply = send::send(app, request, body, &connection).await;
    let times = TurnTimes { weaving, asked, answered: asked.elapsed() };
    let mut response = match (turn, reply) {
        (Some(turn), Ok(reply)) if reply.status.is_success() => {
            let (copying, copied) = tee::copy(&turn);
            let turns = app.clone();
            app.tasks.spawn(async move {
                let stored = store::store(&turns, turn, copied, times).await;
                if let Some(stored) = stored {
                    remember::remember(&turns, stored).await;
                }
            });
            tee::tee(app, connection.upstream.as_ref(), &path, reply, copying)
        }
        (turn, reply) => {
            store::unanswered(app, turn.as_deref());
            respond(app, &path, reply)
        }
    };
    response.headers_mut().extend(headers);
    response
}

/// Sends a request unchanged, with a header that says why it has no lore.
async fn fail_open(app: &App, request: ProxyRequest, reason: &str) -> Response {
    tracing::warn!(%reason, "passed on without lore");
    let path = request.path().to_owned();
    app.notice(Happened::FailedOpen { path, reason: reason.to_owned() });
    pass(app, request.without_own_field(), Some(reason)).await
}
