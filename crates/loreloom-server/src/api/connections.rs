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
use loreloom_core::ids::{ConnectionId, TenantId};
use loreloom_ports::{Diagnosis, Finding, StepOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{
    caller::{Admin, Caller},
    connection_writes::{checked, opened},
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
    tags::Tagged,
};
use crate::{
    app::App,
    connection_settings::{ConnectionKind, ConnectionSettings, ServerUrl},
    connections::{Connection, Prospect},
    own_connections::OwnConnection,
};

routes! {
    GET "/connections" => list,
    POST "/connections/test" => test,
}

/// Where a connection is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ConnectionSource {
    /// In the configuration, or on the command line.
    Configuration,
    /// Here.
    Api,
}

/// A model's server.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ConnectionView {
    /// Its name.
    name: ConnectionId,
    /// Where it is set up. Only those of the `api` can be changed here.
    source: ConnectionSource,
    /// Its address, without secrets.
    address: String,
    /// How it is spoken to.
    kind: ConnectionKind,
    /// The model of features that name none.
    model: Option<String>,
    /// Where its key comes from, for who may administer the server; never the key.
    key: Option<String>,
    /// Whether what no route names goes there.
    default: bool,
    /// The context size of its models, where it is configured.
    context: Option<u32>,
    /// What tokens are counted with.
    tokenizer: String,
    /// Whether it refuses prompts whose roles do not alternate.
    strict_roles: bool,
    /// Why it cannot be used, if it cannot.
    problem: Option<String>,
    /// What was said of one of the API's own, for who may administer the server.
    settings: Option<ConnectionSettings>,
}

/// All connections.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ConnectionsView {
    /// The connections, those of the configuration first.
    items: Vec<ConnectionView>,
    /// Whether the caller can set connections up here.
    settable: bool,
}

impl ConnectionView {
    fn of(one: &Connection, default: &ConnectionId, source: ConnectionSource) -> Self {
        Self {
            name: one.name.clone(),
            source,
            address: one.shown.clone(),
            kind: one.kind,
            model: one.model.clone(),
            key: Some(one.key.clone()),
            default: one.name == *default,
            context: one.context.map(|context| context.0),
            tokenizer: (one.counting)("").name().to_owned(),
            strict_roles: one.strict_roles,
            problem: one.problem.clone(),
            settings: None,
        }
    }
}

/// All connections as a caller may see them, with the version they are of.
pub(super) async fn view(app: &App, caller: &Caller) -> Result<Tagged<ConnectionsView>, Problem> {
    app.sync.take_up().await?;
    let revision = app.store.revision(&caller.tenant).await?;
    let own = OwnConnection::all(app.store.as_ref(), &caller.tenant).await?;
    let connections = app.connections.now();
    let default = &connections.default().name;
    let mut items: Vec<ConnectionView> = connections
        .all()
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let configured = connections.is_configured(at);
            let source =
                if configured { ConnectionSource::Configuration } else { ConnectionSource::Api };
            let own = own.iter().find(|own| !configured && own.name == one.name);
            let settings = own.map(|own| own.settings.clone());
            ConnectionView { settings, ..ConnectionView::of(one, default, source) }
        })
        .collect();
    // A configuration that was written later may use a name again.
    for one in own.iter().filter(|one| connections.has_configured(&one.name)) {
        let reason = "the configuration has a connection of this name: remove this one";
        let hidden = crate::unopened::unopened(&one.name, &one.settings, reason.to_owned());
        let hidden = ConnectionView::of(&hidden, default, ConnectionSource::Api);
        let settings = Some(one.settings.clone());
        items.push(ConnectionView { default: false, settings, ..hidden });
    }
    // Where the installation's keys are is not for other tenants.
    let is_elsewhere = caller.tenant != TenantId::local();
    for one in &mut items {
        if caller.must_administer().is_err() {
            (one.key, one.settings) = (None, None);
        } else if is_elsewhere && one.source == ConnectionSource::Configuration {
            one.key = None;
        }
    }
    let settable =
        app.connections.configured().opener().is_some() && caller.must_administer().is_ok();
    Ok(Tagged::by_content(revision, ConnectionsView { items, settable }))
}

/// The models' servers that requests go to.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/connections", tag = "settings", responses((status = 200, body = ConnectionsView))))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Tagged<ConnectionsView>, Problem> {
    view(&app, &caller).await
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ServerKind {
    /// With `OpenAI`'s paths.
    #[default]
    Openai,
    /// With Ollama's.
    Ollama,
}

/// What to try out: a connection, settings as one would be set up with, or any server.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TestBody {
    /// The connection; the default one without it.
    connection: Option<ConnectionId>,
    /// Settings of a connection that is to be set up, by the same rules.
    settings: Option<ConnectionSettings>,
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
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
type TestSubject = (ConnectionId, Arc<dyn Diagnosis>);

async fn tried(app: &App, caller: &Caller, body: TestBody) -> Result<TestSubject, Problem> {
    let TestBody { connection, settings, url, kind, key, model } = body;
    if let Some(settings) = settings {
        if connection.is_some() || url.is_some() || key.is_some() || model.is_some() {
            let detail = "give `settings` alone: they say everything of the server";
            return Err(Problem::new(Code::WrongValue, detail).at("settings"));
        }
        let one = checked(caller, "settings".into(), settings)
            .map_err(|problem| problem.inside("settings"))?;
        let diagnosis = opened(app, &one).await.map_err(|problem| problem.inside("settings"))?;
        return Ok((one.name, diagnosis.diagnosis));
    }
    let Some(url) = url else {
        if key.is_some() || model.is_some() {
            let field = if key.is_some() { "key" } else { "model" };
            let detail =
                format!("`{field}` is for a server that is not configured: give its `url`");
            return Err(Problem::new(Code::WrongValue, detail).at(field));
        }
        let connections = app.connections.now();
        let connection = match &connection {
            Some(name) => {
                let named = connections.named(name);
                named.map_err(|error| Problem::new(Code::NotFound, error.to_string()))?
            }
            None => connections.default(),
        };
        return Ok((connection.name.clone(), Arc::clone(&connection.diagnosis)));
    };
    if connection.is_some() {
        let detail = "give a `connection` or the `url` of a server, not both";
        return Err(Problem::new(Code::WrongValue, detail).at("url"));
    }
    ServerUrl::check_open(&url).map_err(|_secret| {
        let rule = "must have no user name, password, query or fragment: give the key as `key`";
        Problem::new(Code::WrongValue, format!("`url` {rule}")).at("url")
    })?;
    let prospect = Prospect { url: url.clone(), ollama: kind == ServerKind::Ollama, key, model };
    let off = || {
        let detail = "this server tries out only what is configured";
        Problem::new(Code::SwitchedOff, detail)
    };
    let diagnosis = app.connections.configured().prospect(prospect).ok_or_else(off)?;
    // An address may hold a password: what was sent is not repeated.
    let wrong = |reason: String| Problem::new(Code::WrongValue, reason).at("url");
    Ok((ConnectionId::from("url"), diagnosis.map_err(wrong)?))
}

/// Tests a connection step by step, and says what to do about the first step that fails.
///
/// A caller that accepts `text/event-stream` gets each step when it is done (`event: step`), and
/// all of them at the end (`event: done`). A key needs the scope `admin`.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/connections/test", tag = "settings", request_body = TestBody,
    responses((status = 200, description = "What each step found", content(
        (TestView = "application/json"), (Finding = "text/event-stream")
    )))
))]
async fn test(
    State(app): State<App>,
    Admin(caller): Admin,
    headers: HeaderMap,
    Json(body): Json<TestBody>,
) -> Result<Response, Problem> {
    let (connection, diagnosis) = tried(&app, &caller, body).await?;
    let (sender, progress) = mpsc::unbounded_channel();
    app.tasks.spawn(async move {
        let mut steps = Vec::new();
        let mut note = |finding: Finding| {
            steps.push(finding.clone());
            // Whoever listened may have gone.
            let _unheard = sender.send(TestProgress::Step(finding));
        };
        tokio::select! {
            () = diagnosis.diagnose(&mut note) => {}
            () = sender.closed() => return,
        }
        let passed = steps.iter().all(|step| step.outcome != StepOutcome::Failed);
        let _unheard = sender.send(TestProgress::Done(TestView { connection, passed, steps }));
    });
    if wants_steps(&headers) {
        let sse = Sse::new(frames(progress)).keep_alive(KeepAlive::default());
        return Ok(sse.into_response());
    }
    let mut progress = progress;
    while let Some(one) = progress.recv().await {
        if let TestProgress::Done(view) = one {
            return Ok(Json(view).into_response());
        }
    }
    Err(Problem::new(Code::Failed, "the test ended early"))
}

/// What becomes of a test.
enum TestProgress {
    Step(Finding),
    Done(TestView),
}

fn wants_steps(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|one| one.trim().starts_with("text/event-stream"))
}

fn frames(
    progress: mpsc::UnboundedReceiver<TestProgress>,
) -> impl Stream<Item = Result<Frame, Infallible>> + Send {
    stream::unfold(progress, |mut progress| async move {
        let frame = match progress.recv().await? {
            TestProgress::Step(finding) => Frame::default().event("step").json_data(finding),
            TestProgress::Done(view) => Frame::default().event("done").json_data(view),
        };
        Some((Ok(frame.unwrap_or_default()), progress))
    })
}
