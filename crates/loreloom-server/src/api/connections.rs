//! The models' servers, and trying them out.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Response,
        sse::{Event as Frame, KeepAlive, Sse},
    },
};
use futures_util::{Stream, stream};
use http::{HeaderMap, header::ACCEPT};
use loreloom_core::ids::ConnectionId;
use loreloom_memory::ports::{Diagnosis, Finding, StepOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::{Admin, Caller},
    extract::Json,
    problem::{Code, Problem},
};
use crate::{app::App, connections::Prospect};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(test))
}

/// A model's server.
#[derive(Debug, Serialize, ToSchema)]
struct ConnectionView {
    /// Its name.
    name: ConnectionId,
    /// Its address, without secrets.
    address: String,
    /// Whether what no route names goes there.
    default: bool,
    /// The context size of its models, where it is configured.
    context: Option<u32>,
    /// What tokens are counted with.
    tokenizer: String,
    /// Whether it refuses prompts whose roles do not alternate.
    strict_roles: bool,
}

/// All connections.
#[derive(Debug, Serialize, ToSchema)]
struct ConnectionsView {
    /// The connections. They are set up in the configuration, which also holds their keys.
    items: Vec<ConnectionView>,
}

/// The models' servers that requests go to.
#[utoipa::path(get, path = "/connections", tag = "settings", responses((status = 200, body = ConnectionsView)))]
async fn list(State(app): State<App>, _caller: Caller) -> Json<ConnectionsView> {
    let default = &app.connections.default().name;
    let view = |one: &Arc<crate::connections::Connection>| ConnectionView {
        name: one.name.clone(),
        address: one.shown.clone(),
        default: one.name == *default,
        context: one.context.map(|context| context.0),
        tokenizer: (one.counting)("").name().to_owned(),
        strict_roles: one.strict_roles,
    };
    Json(ConnectionsView { items: app.connections.all().iter().map(view).collect() })
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ServerKind {
    /// With `OpenAI`'s paths.
    #[default]
    Openai,
    /// With Ollama's.
    Ollama,
}

/// What to try out: a connection of the configuration, or a server that is not in it.
#[derive(Deserialize, ToSchema)]
struct TestBody {
    /// The connection; the default one without it.
    connection: Option<ConnectionId>,
    /// The address of a server that is not configured, for example `https://api.example.com/v1`.
    /// It must be one that everybody can reach.
    url: Option<String>,
    /// How that server is spoken to.
    #[serde(default)]
    kind: ServerKind,
    /// That server's key. It is used for this test and nowhere kept.
    key: Option<String>,
    /// The model of that server to ask.
    model: Option<String>,
}

/// How a connection did.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct TestView {
    /// The connection; the address for a server that is not configured.
    connection: ConnectionId,
    /// Whether no step failed.
    passed: bool,
    /// The steps, each resting on those before: name, port, TLS, path, key, models, stream,
    /// tokenizer, context.
    steps: Vec<Finding>,
}

/// Something to be tried out, and what it is called.
type Tried = (ConnectionId, Arc<dyn Diagnosis>);

fn tried(app: &App, body: TestBody) -> Result<Tried, Problem> {
    let TestBody { connection, url, kind, key, model } = body;
    let Some(url) = url else {
        if key.is_some() || model.is_some() {
            let field = if key.is_some() { "key" } else { "model" };
            let detail =
                format!("`{field}` is for a server that is not configured: give its `url`");
            return Err(Problem::new(Code::WrongValue, detail).at(field));
        }
        let connection = match &connection {
            Some(name) => {
                let named = app.connections.named(name);
                named.map_err(|error| Problem::new(Code::NotFound, error.to_string()))?
            }
            None => app.connections.default(),
        };
        return Ok((connection.name.clone(), Arc::clone(&connection.diagnosis)));
    };
    if connection.is_some() {
        let detail = "give a `connection` or the `url` of a server, not both";
        return Err(Problem::new(Code::WrongValue, detail).at("url"));
    }
    let prospect = Prospect { url: url.clone(), ollama: kind == ServerKind::Ollama, key, model };
    let off = || {
        let detail = "this server tries out only what is configured";
        Problem::new(Code::SwitchedOff, detail)
    };
    let diagnosis = app.connections.prospect(prospect).ok_or_else(off)?;
    // An address may hold a password: what was sent is not repeated.
    let wrong = |reason: String| Problem::new(Code::WrongValue, reason).at("url");
    Ok((ConnectionId::from("url"), diagnosis.map_err(wrong)?))
}

/// Tries a connection out, step by step, and says what to do about the first that fails.
///
/// To whom accepts `text/event-stream`, each step is told as it is done (`event: step`), and
/// all of them at the end (`event: done`). A key needs the scope `admin`.
#[utoipa::path(
    post, path = "/connections/test", tag = "settings", request_body = TestBody,
    responses((status = 200, description = "What each step found", content(
        (TestView = "application/json"), (Finding = "text/event-stream")
    )))
)]
async fn test(
    State(app): State<App>,
    _admin: Admin,
    headers: HeaderMap,
    Json(body): Json<TestBody>,
) -> Result<Response, Problem> {
    let (connection, diagnosis) = tried(&app, body)?;
    let (tell, told) = mpsc::unbounded_channel();
    app.tasks.spawn(async move {
        let mut steps = Vec::new();
        let mut note = |finding: Finding| {
            steps.push(finding.clone());
            // Whoever listened may have gone.
            let _unheard = tell.send(Told::Step(finding));
        };
        tokio::select! {
            () = diagnosis.diagnose(&mut note) => {}
            () = tell.closed() => return,
        }
        let passed = steps.iter().all(|step| step.outcome != StepOutcome::Failed);
        let _unheard = tell.send(Told::Done(TestView { connection, passed, steps }));
    });
    if wants_steps(&headers) {
        let sse = Sse::new(frames(told)).keep_alive(KeepAlive::default());
        return Ok(sse.into_response());
    }
    let mut told = told;
    while let Some(one) = told.recv().await {
        if let Told::Done(view) = one {
            return Ok(Json(view).into_response());
        }
    }
    Err(Problem::new(Code::Failed, "the test ended early"))
}

/// What becomes of a test.
enum Told {
    Step(Finding),
    Done(TestView),
}

fn wants_steps(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|one| one.trim().starts_with("text/event-stream"))
}

fn frames(
    told: mpsc::UnboundedReceiver<Told>,
) -> impl Stream<Item = Result<Frame, Infallible>> + Send {
    stream::unfold(told, |mut told| async move {
        let frame = match told.recv().await? {
            Told::Step(finding) => Frame::default().event("step").json_data(finding),
            Told::Done(view) => Frame::default().event("done").json_data(view),
        };
        Some((Ok(frame.unwrap_or_default()), told))
    })
}
