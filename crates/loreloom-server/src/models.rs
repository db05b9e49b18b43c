//! The list of models of all connections together.
//!
//! With one connection the list is its own, byte for byte. With several, every model is
//! listed under a name that leads to it: its own, if requests for that name go to its
//! connection, else `CONNECTION/MODEL`. Lists in OpenAI's and in Ollama's form are made of
//! servers of both kinds.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt as _, future::join_all};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header::AUTHORIZATION};
use loreloom_ports::UpstreamCall;
use serde_json::{Value, json};

use crate::{
    app::App,
    connections::{Connection, Connections},
    gate::Pass,
    keys::Scope,
    proxy,
};

/// A server that takes longer is left out of the list.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest list that is read.
const LONGEST: usize = 8 << 20;
/// The header by which a front end names a connection.
const CONNECTION: &str = "x-loreloom-connection";
const WARNING: HeaderName = HeaderName::from_static("x-loreloom-warning");

/// In whose form a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListFormat {
    OpenAi,
    Ollama,
}

impl ListFormat {
    fn of_path(path: &str) -> Self {
        if path.ends_with("/tags") { Self::Ollama } else { Self::OpenAi }
    }

    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/models",
            Self::Ollama => "/api/tags",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::OpenAi => Self::Ollama,
            Self::Ollama => Self::OpenAi,
        }
    }

    /// The models of a list, with their names; `None` if the value is not a list.
    fn read(self, list: &Value) -> Option<Vec<(String, Value)>> {
        let (field, name) = match self {
            Self::OpenAi => ("data", "id"),
            Self::Ollama => ("models", "name"),
        };
        let models = list[field].as_array()?.iter();
        Some(models.filter_map(|one| Some((one[name].as_str()?.to_owned(), one.clone()))).collect())
    }

    /// A model under another name. A model in another form is converted, as far as its fields are
    /// known.
    fn named(self, model: Value, of: Self, name: &str, connection: &Connection) -> Value {
        let mut model = match self {
            _ if of == self => model,
            Self::OpenAi => json!({"object": "model", "created": 0}),
            Self::Ollama => json!({
                "modified_at": "1970-01-01T00:00:00Z", "size": 0, "digest": "",
                "details": {"format": "", "family": "", "families": [], "parameter_size": "",
                            "quantization_level": ""},
            }),
        };
        match self {
            Self::OpenAi => {
                model["id"] = json!(name);
                if model["owned_by"].is_null() {
                    model["owned_by"] = json!(connection.name);
                }
            }
            Self::Ollama => {
                model["name"] = json!(name);
                model["model"] = json!(name);
            }
        }
        model
    }

    fn list(self, models: &[Value]) -> Value {
        match self {
            Self::OpenAi => json!({"object": "list", "data": models}),
            Self::Ollama => json!({"models": models}),
        }
    }
}

/// The list of models: of all connections where there are several, else as it is.
pub(crate) async fn list(State(app): State<App>, request: Request) -> Response {
    let connections = app.connections.now();
    let is_union = request.method() == Method::GET
        && connections.is_choice()
        && !request.headers().contains_key(CONNECTION);
    if !is_union {
        return proxy::forward(State(app), request).await;
    }
    if let Some(refusal) = Pass::refusal(request.extensions(), Scope::Proxy) {
        return refusal;
    }
    app.figures.metrics.passed_on();
    let form = ListFormat::of_path(request.uri().path());
    let asking = connections.all().iter().map(|one| {
        let key = request.headers().get(AUTHORIZATION);
        // A front end's key is for the server that its requests go to, and nobody else's.
        let key = key.filter(|_| Arc::ptr_eq(one, connections.default()));
        ask(one, form, key.cloned())
    });
    let found = join_all(asking).await;
    union(&connections, form, found)
}

/// Where one model is described.
pub(crate) const ONE: &str = "/v1/models/{*model}";

/// One model. `CONNECTION/MODEL`, as in the list, asks that connection.
pub(crate) async fn one(
    State(app): State<App>,
    Path(name): Path<String>,
    mut request: Request,
) -> Response {
    let connections = app.connections.now();
    let addressed = connections.addressed(&name);
    if let Some((connection, _)) = addressed.filter(|_| !request.headers().contains_key(CONNECTION))
        && let Some(uri) = behind(request.uri(), connection.name.as_str())
        && let Ok(named) = HeaderValue::try_from(connection.name.as_str())
    {
        if !connections.gets_front_end_keys(connection) {
            proxy::without_keys(request.headers_mut());
        }
        *request.uri_mut() = uri;
        request.headers_mut().insert(CONNECTION, named);
    }
    proxy::forward(State(app), request).await
}

/// The same address without the connection's name before the model's.
fn behind(uri: &Uri, connection: &str) -> Option<Uri> {
    let whole = uri.path_and_query()?.as_str().strip_prefix("/v1/models/")?;
    let rest = whole.strip_prefix(connection)?;
    let model = ["/", "%2F", "%2f"].into_iter().find_map(|slash| rest.strip_prefix(slash))?;
    format!("/v1/models/{model}").parse().ok()
}

/// The models of a connection, and their form.
type ModelList = Result<(ListFormat, Vec<(String, Value)>), String>;

async fn ask(connection: &Connection, form: ListFormat, key: Option<HeaderValue>) -> ModelList {
    let asking = async {
        match ask_as(connection, form, key.clone()).await {
            Ok(models) => Ok((form, models)),
            // Perhaps it knows only the other list.
            Err(reason) => match ask_as(connection, form.other(), key).await {
                Ok(models) => Ok((form.other(), models)),
                Err(_) => Err(reason),
            },
        }
    };
    let late = |_| Err(format!("gave no list within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(late)
}

async fn ask_as(
    connection: &Connection,
    form: ListFormat,
    key: Option<HeaderValue>,
) -> Result<Vec<(String, Value)>, String> {
    let headers: HeaderMap = key.map(|key| (AUTHORIZATION, key)).into_iter().collect();
    let path = form.path().to_owned();
    let call = UpstreamCall { method: Method::GET, path, headers, body: Bytes::new() };
    let reply = connection.upstream.send(call).await.map_err(|error| error.to_string())?;
    if !reply.status.is_success() {
        return Err(format!("answered {}", reply.status));
    }
    let (mut body, mut stream) = (Vec::new(), reply.body);
    while let Some(bytes) = stream.next().await {
        body.extend_from_slice(&bytes.map_err(|error| error.to_string())?);
        if body.len() > LONGEST {
            return Err(format!("its list has more than {LONGEST} bytes"));
        }
    }
    let list: Value = serde_json::from_slice(&body).map_err(|_| "gave no JSON".to_owned())?;
    form.read(&list).ok_or_else(|| "gave no list of models".to_owned())
}

/// The lists of all connections as one, in the order of the connections.
fn union(connections: &Connections, form: ListFormat, found: Vec<ModelList>) -> Response {
    let (mut models, mut missing) = (Vec::new(), Vec::new());
    for (connection, found) in connections.all().iter().zip(found) {
        match found {
            Ok((of, list)) => models.extend(list.into_iter().map(|(name, model)| {
                let called = connections.called(connection, &name);
                form.named(model, of, &called, connection)
            })),
            Err(reason) => missing.push(format!("`{}` {reason}", connection.name)),
        }
    }
    if missing.len() == connections.all().len() {
        let message = format!("no connection gave a list of models: {}", missing.join("; "));
        return proxy::problem(StatusCode::BAD_GATEWAY, "upstream", &message);
    }
    let mut response = axum::Json(form.list(&models)).into_response();
    let warning: String = missing.join("; ").chars().filter(|one| !one.is_control()).collect();
    if !missing.is_empty()
        && let Ok(warning) = HeaderValue::try_from(warning)
    {
        response.headers_mut().insert(WARNING, warning);
    }
    response
}
