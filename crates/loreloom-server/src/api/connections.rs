//! The models' servers, and trying them out.

use axum::extract::State;
use loreloom_core::ids::ConnectionId;
use loreloom_memory::ports::{Finding, StepOutcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    extract::Json,
    problem::{Code, Problem},
};
use crate::app::App;

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
    let view = |one: &std::sync::Arc<crate::connections::Connection>| ConnectionView {
        name: one.name.clone(),
        address: one.shown.clone(),
        default: one.name == *default,
        context: one.context.map(|context| context.0),
        tokenizer: (one.counting)("").name().to_owned(),
        strict_roles: one.strict_roles,
    };
    Json(ConnectionsView { items: app.connections.all().iter().map(view).collect() })
}

/// What to try out.
#[derive(Debug, Deserialize, ToSchema)]
struct TestBody {
    /// The connection; the default one without it.
    connection: Option<ConnectionId>,
}

/// How a connection did.
#[derive(Debug, Serialize, ToSchema)]
struct TestView {
    /// The connection.
    connection: ConnectionId,
    /// Whether no step failed.
    passed: bool,
    /// The steps, each resting on those before: name, port, TLS, path, key, models, stream,
    /// tokenizer, context.
    steps: Vec<Finding>,
}

/// Tries a connection out, step by step, and says what to do about the first that fails.
#[utoipa::path(
    post, path = "/connections/test", tag = "settings", request_body = TestBody,
    responses((status = 200, body = TestView))
)]
async fn test(
    State(app): State<App>,
    _caller: Caller,
    Json(body): Json<TestBody>,
) -> Result<Json<TestView>, Problem> {
    let connection = match &body.connection {
        Some(name) => {
            let named = app.connections.named(name);
            named.map_err(|error| Problem::new(Code::NotFound, error.to_string()))?
        }
        None => app.connections.default(),
    };
    let mut steps = Vec::new();
    connection.diagnosis.diagnose(&mut |finding| steps.push(finding)).await;
    let passed = steps.iter().all(|step| step.outcome != StepOutcome::Failed);
    Ok(Json(TestView { connection: connection.name.clone(), passed, steps }))
}
