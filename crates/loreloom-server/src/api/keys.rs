//! Keys of this server: made, listed, revoked.
//!
//! Nobody gives away what they do not have: who calls with a key makes keys of their own
//! tenant, with scopes of their own. What is revoked stays so; there is no undo here.

use std::collections::BTreeSet;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header::CACHE_CONTROL};
use loreloom_core::ids::TenantId;
use serde::{Deserialize, Serialize};

use super::{
    caller::{Admin, Caller},
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    keys::{KeyCabinet, KeyDraft, KeyError, KeyRecord, Scope},
    page_origin::{PageOrigin, PageOriginError},
};

routes! {
    GET "/keys" => list,
    POST "/keys" => make,
    DELETE "/keys/{id}" => revoke,
}

/// The most letters of what a key is for.
const MOST_NAME: usize = 120;
/// The most pages of a key.
const MOST_PAGES: usize = 8;

/// A key, without what lets anybody in.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct KeyView {
    /// What it is called.
    id: String,
    /// What it is for.
    name: String,
    /// Whose data it sees.
    tenant: TenantId,
    /// What it may do.
    scopes: BTreeSet<Scope>,
    /// Since when, in milliseconds since 1970.
    created: i64,
    /// Pages that may use the server with it from a browser.
    pages: Vec<String>,
    /// Whether this call came with it.
    own: bool,
}

impl KeyView {
    fn of(record: KeyRecord, caller: &Caller) -> Self {
        Self {
            id: record.id().to_owned(),
            own: caller.key().is_some_and(|key| key.hash == record.hash),
            name: record.name,
            tenant: record.tenant,
            scopes: record.scopes,
            created: record.created.0,
            pages: record.pages.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The keys.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct KeysView {
    /// The keys; with a key, those of its tenant.
    items: Vec<KeyView>,
    /// What the caller may give a key.
    scopes: Vec<Scope>,
    /// Whose keys the caller may make; none for anybody's.
    tenant: Option<TenantId>,
    /// Whether nobody is let in without a key.
    required: bool,
}

/// A key to make.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewKey {
    /// What it is for.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(max_length = 120))]
    name: String,
    /// What it may do.
    #[cfg_attr(feature = "schema", schema(min_items = 1))]
    scopes: Vec<Scope>,
    /// Whose data it sees; the caller's own without it.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    tenant: Option<TenantId>,
    /// Pages that may use the server with it from a browser, for example `http://127.0.0.1:8000`.
    /// They may read answers (CORS) until the key is revoked.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(max_items = 8))]
    pages: Vec<String>,
}

/// A key that was made.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct MadeKey {
    /// The key. It is shown here and never again: only its hash is kept.
    key: String,
    /// What is known of it.
    item: KeyView,
}

/// A key that is no more.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RevokedKey {
    /// What was known of it.
    item: KeyView,
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        let sentence = error.to_string();
        let (code, field) = match error {
            KeyError::Scope { .. } | KeyError::NoScope => (Code::WrongValue, "scopes"),
            KeyError::Tenant { .. } => (Code::WrongValue, "tenant"),
            KeyError::NoKey { .. } => (Code::NotFound, "id"),
            KeyError::LastAdmin { .. } => (Code::Conflict, "id"),
            KeyError::Store(error) => return error.into(),
        };
        Self::new(code, sentence).at(field)
    }
}

/// The keys of this server. Who calls with a key sees those of its tenant.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/keys", tag = "settings", responses((status = 200, body = KeysView))))]
async fn list(State(app): State<App>, Admin(caller): Admin) -> Result<Json<KeysView>, Problem> {
    let all = KeyCabinet { documents: app.store.as_ref() }.list().await?;
    let seen = all.into_iter().filter(|record| caller.sees(record));
    let scopes = Scope::ALL.into_iter().filter(|scope| caller.has(*scope));
    Ok(Json(KeysView {
        items: seen.map(|record| KeyView::of(record, &caller)).collect(),
        scopes: scopes.collect(),
        tenant: caller.key().map(|key| key.tenant.clone()),
        required: app.access.require_key,
    }))
}

/// Creates a key and shows it once.
///
/// A caller with a key creates keys of its own tenant, with scopes that it has itself. This cannot
/// be undone: revoke the key. A repetition with the same `Idempotency-Key` is refused, because the
/// answer is not kept.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/keys", tag = "settings", request_body = NewKey,
    responses((status = 201, body = MadeKey))
))]
async fn make(
    State(app): State<App>,
    Admin(caller): Admin,
    Json(NewKey { name, scopes, tenant, pages }): Json<NewKey>,
) -> Result<Response, Problem> {
    if name.chars().count() > MOST_NAME || name.chars().any(char::is_control) {
        let rule = "must have at most 120 letters on one line";
        return Err(Problem::value("name", rule, name));
    }
    let tenant = tenant.unwrap_or_else(|| caller.tenant.clone());
    if let Some(scope) = scopes.iter().find(|scope| !caller.has(**scope)) {
        let detail = format!("a key gives scopes that it has, and this one has no `{scope}`");
        return Err(Problem::new(Code::Forbidden, detail).at("scopes").with(scope.as_str()));
    }
    if caller.key().is_some_and(|key| key.tenant != tenant) {
        let detail = format!("a key of tenant `{}` makes keys of that tenant", caller.tenant);
        let found = tenant.to_string();
        return Err(Problem::new(Code::Forbidden, detail).at("tenant").with(found));
    }
    let pages = pages.iter().take(MOST_PAGES + 1).map(|page| page.parse());
    let pages = pages.collect::<Result<Vec<PageOrigin>, _>>();
    let wrong = |error: PageOriginError| Problem::new(Code::WrongValue, error.to_string());
    let pages = pages.map_err(|error| wrong(error).at("pages"))?;
    if pages.len() > MOST_PAGES {
        return Err(Problem::new(Code::WrongValue, "a key has at most 8 pages").at("pages"));
    }
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| Problem::new(Code::Failed, error.to_string()))?;
    let cabinet = KeyCabinet { documents: app.store.as_ref() };
    let draft = KeyDraft { name, tenant, scopes: scopes.into_iter().collect(), pages };
    let made = cabinet.add(draft, random, app.clock.now()).await;
    let (key, record) = made?;
    app.refresh_keys().await?;
    let item = KeyView::of(record, &caller);
    let mut response = (StatusCode::CREATED, Json(MadeKey { key, item })).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Revokes a key: it lets nobody in any more once this is answered. It cannot be undone.
///
/// Where nobody is let in without a key, the last one of a tenant that has the scopes `write`
/// and `admin` stays.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/keys/{id}", tag = "settings",
    params(("id" = String, Path, description = "What the key is called")),
    responses((status = 200, body = RevokedKey))
))]
async fn revoke(
    State(app): State<App>,
    Admin(caller): Admin,
    Path(id): Path<String>,
) -> Result<Json<RevokedKey>, Problem> {
    let cabinet = KeyCabinet { documents: app.store.as_ref() };
    let may = |record: &KeyRecord| caller.sees(record);
    let keeps_last = app.access.require_key;
    let gone = cabinet.revoke_one(&id, may, keeps_last, app.clock.now()).await?;
    app.refresh_keys().await?;
    Ok(Json(RevokedKey { item: KeyView::of(gone, &caller) }))
}
