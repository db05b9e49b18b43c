//! Which request goes where, and which connection does what.

use std::sync::Arc;

use axum::extract::State;
use loreloom_core::ids::{ConnectionId, TenantId};
use serde::Serialize;

use super::{
    caller::{Admin, Caller},
    editing::{Editing, Wrote},
    extract::Json,
    problem::{Code, Problem},
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    connection_settings::ConnectionKind,
    connections::{Connection, Connections},
    features::{Feature, FeatureChoice, Features},
    own_connections::OwnConnection,
    routing::{KeptRouting, Routing},
};

routes! {
    GET "/routes" => show,
    PUT "/routes" versioned => put,
}

/// The most routes of the API's own.
const MOST: usize = 200;

/// A route as it works.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RouteView {
    /// The models' names.
    models: String,
    /// The connection that requests for them go to.
    connection: ConnectionId,
    /// Whether it was set here; the others are of the configuration.
    set: bool,
}

/// Routes and features as they work now.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct EffectiveRoutes {
    /// The routes in their order: the first that fits wins.
    routes: Vec<RouteView>,
    /// Where requests go that no route names.
    writer: ConnectionId,
    /// The features that ask a model.
    features: Features,
}

/// Which request goes where, and which connection does what.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RoutesView {
    /// What was set here; where it says nothing, the configuration does.
    set: Routing,
    /// What works now.
    effective: EffectiveRoutes,
    /// The features that are being switched: an embedder embeds all lore first.
    pending: Vec<&'static str>,
    /// Why what was set here does not work.
    problems: Vec<String>,
}

async fn view(app: &App, caller: &Caller) -> Result<Tagged<RoutesView>, Problem> {
    app.sync.take_up().await?;
    let revision = app.store.revision(&caller.tenant).await?;
    let KeptRouting { routing: set, problem } =
        Routing::read(app.store.as_ref(), &caller.tenant).await?;
    let (connections, now) = (app.connections.now(), app.features.now(&set.features));
    let routes = connections.all_routes().map(|(models, connection, set)| RouteView {
        models: models.to_owned(),
        connection: connection.clone(),
        set,
    });
    let body = RoutesView {
        effective: EffectiveRoutes {
            routes: routes.collect(),
            writer: connections.default().name.clone(),
            features: now.working,
        },
        pending: now.pending,
        problems: problem.into_iter().chain(now.problems).collect(),
        set,
    };
    Ok(Tagged::by_content(revision, body))
}

/// Which request goes where, and which connection does what.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/routes", tag = "settings", responses((status = 200, body = RoutesView))))]
async fn show(State(app): State<App>, caller: Caller) -> Result<Tagged<RoutesView>, Problem> {
    view(&app, &caller).await
}

/// Whether a connection can do what a feature needs.
pub(super) fn checked_choice(
    feature: Feature,
    choice: &FeatureChoice,
    (kind, model): (ConnectionKind, Option<&str>),
) -> Result<(), Problem> {
    let at = format!("features.{feature}");
    let wrong = |detail: String| Err(Problem::new(Code::WrongValue, detail).at(&at));
    let name = choice.connection();
    match (feature, kind) {
        (Feature::Writer, _) if choice.model().is_some() => {
            wrong("`writer` names a connection alone: requests name their model".to_owned())
        }
        (Feature::Embedder, ConnectionKind::Offline) => {
            wrong(format!("`{name}` is the built-in storyteller, which makes no vectors"))
        }
        (Feature::Writer, _) | (_, ConnectionKind::Offline) => Ok(()),
        (_, ConnectionKind::Openai | ConnectionKind::Ollama) => {
            match choice.model().or(model).filter(|model| !model.is_empty()) {
                Some(_) => Ok(()),
                None => wrong(format!(
                    "`{feature}` needs a model: name one, or set `model` of connection `{name}`"
                )),
            }
        }
    }
}

/// A connection of that name that was set up, whether it can be used or not. What only routes
/// name is none.
fn known(
    connections: &Connections,
    own: &[OwnConnection],
    name: &ConnectionId,
    at: String,
) -> Result<Arc<Connection>, Problem> {
    let is_there =
        connections.has_configured(name) || own.iter().any(|connection| connection.name == *name);
    let found = connections.named(name).ok().filter(|_| is_there);
    found.cloned().ok_or_else(|| {
        let detail = format!("there is no connection `{name}`");
        Problem::new(Code::WrongValue, detail).at(at).with(name.to_string())
    })
}

fn checked(app: &App, own: &[OwnConnection], routing: &Routing) -> Result<(), Problem> {
    if routing.routes.len() > MOST {
        let rule = format!("must have at most {MOST} routes");
        return Err(Problem::value("routes", &rule, routing.routes.len()));
    }
    let connections = app.connections.now();
    for (number, route) in routing.routes.iter().enumerate() {
        let at = |field: &str| format!("routes[{number}].{field}");
        if !(1..=200).contains(&route.models.chars().count()) {
            let rule = "must have 1 to 200 letters";
            return Err(Problem::value(&at("models"), rule, route.models.as_str()));
        }
        known(&connections, own, &route.connection, at("connection"))?;
    }
    for (feature, choice) in routing.features.all() {
        let at = format!("features.{feature}");
        if feature != Feature::Writer && app.tenant != TenantId::local() {
            let detail = format!("`{feature}` is the installation's, and of no other tenant");
            return Err(Problem::new(Code::Forbidden, detail).at(at));
        }
        let connection = known(&connections, own, choice.connection(), at)?;
        checked_choice(feature, choice, (connection.kind, connection.model.as_deref()))?;
    }
    Ok(())
}

/// Sets routes and features in place of those that were set before. All of them work at once,
/// but for the embedder, which is asked for all lore first (`pending`).
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/routes", tag = "settings",
    params(("if-match" = Option<String>, Header, description = "The version the caller has seen")),
    request_body = Routing,
    responses((status = 200, body = Wrote<RoutesView>))
))]
async fn put(
    State(app): State<App>,
    Admin(caller): Admin,
    seen: IfMatch,
    Json(routing): Json<Routing>,
) -> Result<Tagged<Wrote<RoutesView>>, Problem> {
    app.sync.take_up().await?;
    app.connections.take_up().await?;
    let at = app.store.revision(&caller.tenant).await?;
    seen.check(&view(&app, &caller).await?.tag)?;
    let own = OwnConnection::all(app.store.as_ref(), &caller.tenant).await?;
    checked(&app, &own, &routing)?;
    let (change, now) = (routing.change()?, app.clock.now());
    let revision = app.store.change(&caller.tenant, &[change], Some(at), now).await?;
    let editing = Editing { app: &app, tenant: &caller.tenant };
    let done = editing.done(at, revision, ()).await?;
    app.connections.take_up().await?;
    let Tagged { tag, body } = view(&app, &caller).await?;
    Ok(Tagged { tag, body: done.with(body) })
}
