//! Trying out whether a model can do memory's work, one trial at a call.

use axum::extract::State;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method, header::CONTENT_TYPE};
use loreloom_core::ids::ConnectionId;
use loreloom_memory::model_test::ModelTrial;
use loreloom_ports::{Upstream, UpstreamCall, UpstreamError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    caller::Admin,
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
};
use crate::app::App;

routes! {
    POST "/connections/trial" => trial,
}

/// The most bytes of an answer that are read.
const MOST_REPLY: usize = 1 << 20;

/// What to try out.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TrialBody {
    /// The connection; the default one without it.
    connection: Option<ConnectionId>,
    /// The model; the first that the connection names without it.
    model: Option<String>,
    /// The trial.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    trial: ModelTrial,
}

/// How a model did.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TrialView {
    /// The trial.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    trial: ModelTrial,
    /// The model that was asked.
    model: String,
    /// Whether what it found is enough.
    passed: bool,
    /// What was read out of the reply, one line each.
    lines: Vec<String>,
    /// What a good reply has.
    hint: &'static str,
    /// The reply.
    reply: String,
}

/// Asks a model a question of memory about a fixed scene, and says whether its answer can be
/// used. Nothing is stored. The trials: `long_term`, `session`, `arcs`, `ledger`, `epistemic`,
/// `together`.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/connections/trial", tag = "settings", request_body = TrialBody,
    responses((status = 200, body = TrialView))
))]
async fn trial(
    State(app): State<App>,
    _admin: Admin,
    Json(body): Json<TrialBody>,
) -> Result<Json<TrialView>, Problem> {
    let connections = app.connections.now();
    let connection = match &body.connection {
        Some(name) => {
            let named = connections.named(name);
            named.map_err(|error| Problem::new(Code::NotFound, error.to_string()))?
        }
        None => connections.default(),
    };
    let upstream = connection.upstream.as_ref();
    let model = match body.model {
        Some(model) => model,
        None => first_model(upstream).await?,
    };
    let question = body.trial.question();
    let asked = json!({
        "model": model,
        "messages": [{ "role": "user", "content": question.prompt }],
        "max_tokens": question.max_tokens,
        "temperature": 0.0,
        "stream": false,
    });
    let (kind, bytes) =
        answer(upstream, Method::POST, "/v1/chat/completions", asked.to_string().into()).await?;
    let mut reading = upstream.reading(&kind);
    reading.push(&bytes);
    let reply = reading.finish().whole().and_then(|texts| texts.into_iter().next());
    let no_reply =
        || Problem::new(Code::Conflict, "the model's server gave no reply that can be read");
    let reply = reply.ok_or_else(no_reply)?;
    let finding = body.trial.judge(&reply);
    let (trial, passed, lines, hint) = (finding.trial, finding.passed, finding.lines, finding.hint);
    Ok(Json(TrialView { trial, model, passed, lines, hint, reply }))
}

async fn first_model(upstream: &dyn Upstream) -> Result<String, Problem> {
    let (_, bytes) = answer(upstream, Method::GET, "/v1/models", Bytes::new()).await?;
    let list: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let named = list["data"][0]["id"].as_str().map(str::to_owned);
    let none = "the connection names no model: say which one is to be tried out";
    named.ok_or_else(|| Problem::new(Code::Conflict, none).at("model"))
}

/// A whole answer, with its type.
async fn answer(
    upstream: &dyn Upstream,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<(String, Bytes), Problem> {
    let unanswered = |error: UpstreamError| Problem::new(Code::Conflict, error.to_string());
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let call = UpstreamCall { method, path: path.to_owned(), headers, body };
    let mut reply = upstream.send(call).await.map_err(unanswered)?;
    let mut bytes = Vec::new();
    while let Some(part) = reply.body.next().await {
        bytes.extend_from_slice(&part.map_err(unanswered)?);
        if bytes.len() > MOST_REPLY {
            let found = format!("`{path}` must answer with at most {MOST_REPLY} bytes");
            return Err(Problem::new(Code::Conflict, found));
        }
    }
    if !reply.status.is_success() {
        let text: String = String::from_utf8_lossy(&bytes).chars().take(300).collect();
        return Err(Problem::new(
            Code::Conflict,
            format!("`{path}` answered {}: {text}", reply.status),
        ));
    }
    let kind = reply.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    Ok((kind.unwrap_or("application/json").to_owned(), bytes.into()))
}
