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
use serde::Deserialize;

use super::{
    caller::{Admin, Caller},
    connections::{ConnectionsView, view},
    editing::{Editing, Wrote},
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
    routing::checked_choice,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    connection_settings::{ConnectionSettings, KeySource, SettingsError},
    connections::Connection,
    own_connections::{ConnectionReach, OwnConnection},
    routing::Routing,
};

routes! {
    PUT "/connections/{name}" versioned => put,
    DELETE "/connections/{name}" versioned => remove,
    PUT "/connections/{name}/key" => put_key,
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
#[cfg_attr(feature = "schema", utoipa::path(
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
))]
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
    let before = all.into_iter().find(|known| known.name == one.name);
    forget_key(&app, &caller, before).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, wrote).into_response())
}

/// Takes a connection out that was set up here, and deletes the key that it was given. One that
/// routes or features name stays.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/connections/{name}", tag = "settings",
    params(
        ("name" = String, Path, description = "The connection's name"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<ConnectionsView>))
))]
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
    let Some(one) = own.into_iter().find(|one| one.name == name) else {
        not_configured(&app, &name)?;
        return Err(Problem::missing("connection", name.as_str()));
    };
    let routing = Routing::read(app.store.as_ref(), &caller.tenant).await?.routing;
    let naming = routing.naming(&name);
    // One that the configuration hides is not what routes lead to.
    if !naming.is_empty() && !app.connections.configured().has_configured(&name) {
        let naming = naming.join(", ");
        let detail = format!("connection `{name}` is in use: {naming}. Change `/routes` first");
        return Err(Problem::new(Code::Conflict, detail).with(naming));
    }
    let wrote = changed(&app, &caller, at, OwnConnection::removal(&name)).await?;
    forget_key(&app, &caller, Some(one)).await?;
    Ok(wrote)
}

/// Deletes the key that a connection was given, unless another connection names it.
async fn forget_key(
    app: &App,
    caller: &Caller,
    before: Option<OwnConnection>,
) -> Result<(), Problem> {
    let source = before.and_then(|one| one.settings.key);
    let keeper = app.connections.configured().keeper().cloned();
    let (Some(source), Some(keeper)) = (source, keeper) else { return Ok(()) };
    let all = OwnConnection::all(app.store.as_ref(), &caller.tenant).await?;
    if all.iter().any(|one| one.settings.key.as_ref() == Some(&source)) {
        return Ok(());
    }
    let forgetting = tokio::task::spawn_blocking(move || keeper.forget(&source));
    let forgot = forgetting.await.unwrap_or_else(|_died| Err("deleting it failed".to_owned()));
    if let Err(reason) = forgot {
        tracing::warn!(%reason, "a key that is not used any more cannot be deleted");
    }
    Ok(())
}

/// A key for a connection.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewConnectionKey {
    /// The key. It is never shown again.
    #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 4096, write_only))]
    key: String,
}

/// Gives a connection that was set up here a key. The server keeps it in the desktop's keyring
/// where there is one, else in a file that only its owner can read, and shows it to nobody. The key
/// that it had before is deleted. Only callers on the server's own machine may.
#[cfg_attr(feature = "schema", utoipa::path(
    put, path = "/connections/{name}/key", tag = "settings",
    params(("name" = String, Path, description = "The connection's name")),
    request_body = NewConnectionKey,
    responses((status = 200, body = Wrote<ConnectionsView>))
))]
async fn put_key(
    State(app): State<App>,
    Admin(caller): Admin,
    Path(name): Path<String>,
    Json(NewConnectionKey { key }): Json<NewConnectionKey>,
) -> Result<Tagged<Wrote<ConnectionsView>>, Problem> {
    let name = ConnectionId::from(name);
    not_configured(&app, &name)?;
    if !caller.is_at_home() {
        let detail = "keys are given on the server's own machine only";
        return Err(Problem::new(Code::Forbidden, detail));
    }
    let key = key.trim();
    let is_fine = !key.is_empty() && key.len() <= 4096 && key.chars().all(|one| !one.is_control());
    if !is_fine {
        // What was found may be a secret.
        let detail = "`key` must have 1 to 4096 characters on one line";
        return Err(Problem::new(Code::WrongValue, detail).at("key"));
    }
    let _alone = app.api.keys.lock().await;
    let at = app.store.revision(&caller.tenant).await?;
    let own = OwnConnection::all(app.store.as_ref(), &caller.tenant).await?;
    let found = own.into_iter().find(|one| one.name == name);
    let before = found.ok_or_else(|| Problem::missing("connection", name.as_str()))?;
    let mut one = before.clone();
    // Another key has another source: a connection whose settings are the same stays open. No
    // connection has `@` in its name.
    one.settings.key = Some(kept(&app, format!("{name}@{at}"), key.to_owned()).await?);
    let wrote = async {
        opened(&app, &one).await?;
        changed(&app, &caller, at, one.change()?).await
    };
    let wrote = wrote.await;
    // One that could not be set stays nowhere.
    forget_key(&app, &caller, Some(if wrote.is_ok() { before } else { one.clone() })).await?;
    wrote
}

/// Keeps a key. Returns its source.
async fn kept(app: &App, name: String, key: String) -> Result<KeySource, Problem> {
    let off = || Problem::new(Code::SwitchedOff, "this server keeps no keys");
    let keeper = app.connections.configured().keeper().cloned().ok_or_else(off)?;
    // The keyring may ask the user first.
    let keeping = tokio::task::spawn_blocking(move || keeper.keep(&name, &key));
    let kept = keeping.await.unwrap_or_else(|_died| Err("keeping it failed".to_owned()));
    kept.map_err(|reason| Problem::new(Code::Failed, format!("the key cannot be kept: {reason}")))
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
