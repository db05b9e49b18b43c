//! Setting up connections, and taking them out again.
//!
//! Who calls without a key, on the server's own machine, may name any address and any source
//! of a key. Who calls with a key may name what everybody can reach, and keys that were put
//! into variables for that purpose: an administrator of a shared server must not have its
//! files and variables sent to an address of theirs, nor reach into its network.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::ids::ConnectionId;
use loreloom_ports::Change;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::{Admin, Caller},
    connections::{ConnectionsView, view},
    editing::{Editing, Wrote},
    extract::{Json, Path},
    problem::{Code, Problem},
    routing::checked_choice,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    connection_settings::{ConnectionSettings, SettingsError},
    connections::Connection,
    own_connections::{ConnectionReach, OwnConnection},
    routing::Routing,
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(put, remove))
}

/// The most connections of the API's own.
const MOST: usize = 100;

impl From<SettingsError> for Problem {
    fn from(error: SettingsError) -> Self {
        // What was found may be a secret.
        Self::new(Code::WrongValue, error.to_string()).at(error.field)
    }
}

/// Settings that a caller may use.
pub(super) fn checked(
    caller: &Caller,
    name: ConnectionId,
    settings: ConnectionSettings,
) -> Result<OwnConnection, Problem> {
    settings.check_called()?;
    let reach = if caller.is_at_home() {
        ConnectionReach::Anywhere
    } else {
        let forbidden =
            |error: SettingsError| Problem::new(Code::Forbidden, error.to_string()).at(error.field);
        settings.check_stranger(&caller.tenant).map_err(forbidden)?;
        ConnectionReach::Public
    };
    Ok(OwnConnection { name, settings, reach, problem: None })
}

/// A connection that can be opened.
pub(super) async fn opened(app: &App, one: &OwnConnection) -> Result<Connection, Problem> {
    let off = || {
        let detail = "this server has only the connections of its configuration";
        Problem::new(Code::SwitchedOff, detail)
    };
    let opened = app.connections.open_connection(one).await.ok_or_else(off)?;
    opened.map_err(|reason| {
        Problem::new(Code::WrongValue, format!("the connection cannot be opened: {reason}"))
    })
}

fn checked_name(name: &str) -> Result<(), Problem> {
    let is_fine = |one: char| one.is_ascii_alphanumeric() || "_.-".contains(one);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_fine) {
        let rule = "must be 1 to 64 letters, digits, `-`, `_` and `.`";
        return Err(Problem::value("name", rule, name));
    }
    Ok(())
}

/// Connections of the configuration are changed there.
fn not_configured(app: &App, name: &ConnectionId) -> Result<(), Problem> {
    if !app.connections.configured().has_configured(name) {
        return Ok(());
    }
    let detail = format!(
        "connection `{name}` is of the configuration and cannot be changed here: change the file \
         and start the server again, or take another name"
    );
    Err(Problem::new(Code::Conflict, detail).at("name").with(name.to_string()))
}

/// Sets a connection up, or another in its place. It serves requests at once and stays over a
/// restart.
///
/// A key is named by its source, never given. Callers without a key, on the server's own
/// machine, may name any address and source; with a key, which needs the scope `admin`, the
/// address must be one that everybody can reach, and the source a variable whose name begins
/// with `LORELOOM_`; tenants other than `local` name none. Requests that run go on with the connection they began with.
#[utoipa::path(
    put, path = "/connections/{name}", tag = "settings",
    params(
        ("name" = String, Path, description = "Letters, digits, `-`, `_` and `.`"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = ConnectionSettings,
    responses(
        (status = 200, description = "It is another now", body = Wrote<ConnectionsView>),
        (status = 201, description = "It is set up", body = Wrote<ConnectionsView>)
    )
)]
async fn put(
    State(app): State<App>,
    Admin(caller): Admin,
    seen: IfMatch,
    Path(name): Path<String>,
    Json(settings): Json<ConnectionSettings>,
) -> Result<Response, Problem> {
    checked_name(&name)?;
    let name = ConnectionId::from(name);
    not_configured(&app, &name)?;
    let at = app.store.revision(&caller.tenant).await?;
    seen.check(&view(&app, &caller).await?.tag)?;
    let one = checked(&caller, name, settings)?;
    opened(&app, &one).await?;
    let all = OwnConnection::all(app.store.as_ref(), &caller.tenant).await?;
    let is_new = !all.iter().any(|known| known.name == one.name);
    if is_new && all.len() >= MOST {
        let detail = format!("there may be {MOST} connections besides the configuration's");
        return Err(Problem::new(Code::Conflict, detail));
    }
    let routing = Routing::read(app.store.as_ref(), &caller.tenant).await?.routing;
    for (feature, choice) in routing.features.all() {
        if *choice.connection() == one.name {
            let facts = (one.settings.kind, one.settings.model.as_deref());
            checked_choice(feature, choice, facts)?;
        }
    }
    let wrote = changed(&app, &caller, at, one.change()?).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, wrote).into_response())
}

/// Takes a connection out that was set up here. One that routes or features name stays.
#[utoipa::path(
    delete, path = "/connections/{name}", tag = "settings",
    params(
        ("name" = String, Path, description = "The connection's name"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<ConnectionsView>))
)]
async fn remove(
    State(app): State<App>,
    Admin(caller): Admin,
    seen: IfMatch,
    Path(name): Path<String>,
) -> Result<Tagged<Wrote<ConnectionsView>>, Problem> {
    let name = ConnectionId::from(name);
    let at = app.store.revision(&caller.tenant).await?;
    seen.check(&view(&app, &caller).await?.tag)?;
    let own = OwnConnection::all(app.store.as_ref(), &caller.tenant).await?;
    if !own.iter().any(|one| one.name == name) {
        not_configured(&app, &name)?;
        return Err(Problem::missing("connection", name.as_str()));
    }
    let routing = Routing::read(app.store.as_ref(), &caller.tenant).await?.routing;
    let naming = routing.naming(&name);
    // One that the configuration hides is not what routes lead to.
    if !naming.is_empty() && !app.connections.configured().has_configured(&name) {
        let naming = naming.join(", ");
        let detail = format!("connection `{name}` is in use: {naming}. Change `/routes` first");
        return Err(Problem::new(Code::Conflict, detail).with(naming));
    }
    changed(&app, &caller, at, OwnConnection::removal(&name)).await
}

async fn changed(
    app: &App,
    caller: &Caller,
    at: u64,
    change: Change,
) -> Result<Tagged<Wrote<ConnectionsView>>, Problem> {
    let now = app.clock.now();
    let revision = app.store.change(&caller.tenant, &[change], Some(at), now).await?;
    let done = Editing { app, tenant: &caller.tenant }.done(at, revision, ()).await?;
    // Somebody else may be taking it up: it is to serve once this is answered.
    app.connections.take_up().await?;
    let Tagged { tag, body } = view(app, caller).await?;
    Ok(Tagged { tag, body: done.with(body) })
}
