//! Work beside the stories.

use axum::extract::State;
use loreloom_core::ids::{ChatId, ConnectionId};
use loreloom_ports::{Job, JobAccount, JobBody, JobId, JobKind, JobState, NewJob, RawReply};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    paging::{self, Page},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{app::App, events::ServerEvent};

routes! {
    GET "/jobs" => list,
    GET "/jobs/{job}" => one,
    POST "/jobs/{job}/cancel" => cancel,
    POST "/jobs/{job}/retry" => retry,
}

/// A job.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct JobView {
    /// Its number.
    id: u64,
    /// The chat: jobs of one chat run one at a time.
    chat: ChatId,
    /// What it does.
    kind: JobKind,
    /// Its state.
    state: JobState,
    /// The model connection it uses.
    connection: ConnectionId,
    /// Pieces done.
    done: u32,
    /// Pieces in all; 0 where it is one piece.
    total: u32,
    /// How often it was begun.
    attempts: u32,
    /// Not before this time.
    due: i64,
    /// Why it was tried again, failed or was cancelled.
    error: Option<String>,
    /// What it asked its model, estimated; none where it asked nothing, or before this was
    /// counted.
    tokens: Option<JobTokens>,
    /// The model's last replies, word for word: of a job that did not end well, could not do a
    /// part of its work, or of whose replies nothing came. The 6 last, 4000 characters of each.
    replies: Vec<RawReply>,
    /// What was read from the replies, if replies are included.
    kept: Vec<String>,
    /// When it was queued, in milliseconds since 1970.
    created: i64,
    /// When it last changed.
    updated: i64,
}

/// What a job asked its model.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct JobTokens {
    /// Questions, with those that got no answer.
    questions: u32,
    /// Tokens of the questions.
    asked: u64,
    /// Tokens of the answers.
    answered: u64,
}

impl JobView {
    fn of(job: Job) -> Self {
        let JobAccount { questions, asked, answered, replies, kept, partial: _ } = job.body.account;
        Self {
            id: job.id.0,
            chat: job.chat,
            kind: job.kind,
            state: job.state,
            connection: job.connection,
            done: job.body.done,
            total: job.body.total,
            attempts: job.attempts,
            due: job.due.0,
            error: job.error,
            tokens: (questions > 0).then_some(JobTokens { questions, asked, answered }),
            replies,
            kept,
            created: job.created.0,
            updated: job.updated.0,
        }
    }
}

/// Which jobs.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct JobsParams {
    /// Only jobs of this chat.
    chat: Option<String>,
    /// Only jobs in this state.
    #[cfg_attr(feature = "schema", param(value_type = Option<JobState>))]
    state: Option<JobState>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
}

/// All jobs, newest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/jobs", tag = "jobs", params(JobsParams),
    responses((status = 200, body = Page<JobView>))
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<JobsParams>,
) -> Result<Json<Page<JobView>>, Problem> {
    let chat = params.chat.map(ChatId);
    let mut jobs = app.store.jobs(&caller.tenant, chat.as_ref(), true).await?;
    jobs.retain(|job| params.state.is_none_or(|state| job.state == state));
    jobs.reverse();
    let key = |job: &Job| std::cmp::Reverse(job.id.0);
    let page = paging::page(jobs, params.cursor.as_deref(), params.limit, key)?;
    Ok(Json(page.map(JobView::of)))
}

async fn find(app: &App, caller: &Caller, id: u64) -> Result<Job, Problem> {
    let jobs = app.store.jobs(&caller.tenant, None, true).await?;
    let found = jobs.into_iter().find(|job| job.id == JobId(id));
    found.ok_or_else(|| Problem::missing("job", &id.to_string()))
}

/// One job.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/jobs/{job}", tag = "jobs", params(("job" = u64, Path, description = "The job's number")),
    responses((status = 200, body = JobView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<JobView>, Problem> {
    Ok(Json(JobView::of(find(&app, &caller, id).await?)))
}

fn tell(app: &App, caller: &Caller, job: u64, state: JobState) {
    let happened = ServerEvent::Job { job, state: state.as_str().to_owned() };
    app.events.tell(&caller.tenant, happened);
}

/// Cancels a job that is not over, also a running one.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/jobs/{job}/cancel", tag = "jobs", params(("job" = u64, Path, description = "The job's number")),
    responses((status = 200, body = JobView))
))]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<JobView>, Problem> {
    let job = find(&app, &caller, id).await?;
    let (now, reason) = (app.clock.now(), "cancelled by hand");
    if app.store.cancel(&caller.tenant, &[JobId(id)], reason, now).await? == 0 {
        let detail = format!("job {id} is over already: it is `{}`", job.state.as_str());
        return Err(Problem::new(Code::Conflict, detail).with(job.state.as_str()));
    }
    tell(&app, &caller, id, JobState::Cancelled);
    Ok(Json(JobView::of(find(&app, &caller, id).await?)))
}

/// Queues a job that failed or was cancelled again, as a new one.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/jobs/{job}/retry", tag = "jobs", params(("job" = u64, Path, description = "The job's number")),
    responses((status = 200, body = JobView))
))]
async fn retry(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Json<JobView>, Problem> {
    let job = find(&app, &caller, id).await?;
    if !matches!(job.state, JobState::Failed | JobState::Cancelled) {
        let rule = "is tried again once it failed or was cancelled";
        let detail = format!("a job {rule}, job {id} is `{}`", job.state.as_str());
        return Err(Problem::new(Code::Conflict, detail).with(job.state.as_str()));
    }
    let now = app.clock.now();
    let Job { chat, kind, connection, priority, body, .. } = job;
    let body = JobBody { account: JobAccount::default(), taken_back: 0, ..body };
    let new = NewJob { chat, kind, connection, priority, body, due: now };
    let queued = app.store.enqueue(&caller.tenant, &new, now).await?;
    tell(&app, &caller, queued.0, JobState::Waiting);
    Ok(Json(JobView::of(find(&app, &caller, queued.0).await?)))
}
