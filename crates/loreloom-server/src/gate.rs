//! The way in: where a request comes from, whose it is, what it may do.
//!
//! Every tenant has an [`App`] and routes of its own, so that no handler can mix them up: a
//! request is handed to the routes of the tenant that its key belongs to. Without a key, where
//! none is needed, that is the installation's own.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use axum::{
    Router,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{
    Extensions, HeaderMap, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, ORIGIN, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS},
};
use loreloom_core::ids::TenantId;
use tower::ServiceExt as _;
use tracing::Instrument as _;

use crate::{
    api::{Code, Problem},
    app::App,
    assets,
    guard::{Origins, Stranger},
    keys::{KeyRecord, Keys, PREFIX, Scope},
    limits,
    lore_service::LoreServiceError,
    proxy,
    request_id::RequestId,
    router::{TEXT, routes},
};

/// Who may ask.
#[derive(Default)]
pub struct Access {
    /// Where requests may come from.
    pub origins: Origins,
    /// Whether everybody needs a key.
    pub require_key: bool,
    /// The keys.
    pub keys: Keys,
}

/// What a request was let in with, for handlers that ask.
#[derive(Clone, Debug)]
pub(crate) enum Pass {
    /// No key, where none is needed: everything is allowed.
    Open,
    /// A key.
    Key(Arc<KeyRecord>),
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// It has no key.
    NoKey,
    /// Its key is not one of ours, or no longer.
    UnknownKey,
    /// Its key does not allow that.
    Scope(Scope),
}

/// Says to everybody that the server runs, and whether it can do its work.
const HEALTH: [&str; 2] = ["/health", "/ready"];
/// The header for our own keys; the others may be meant for the model's server.
const OWN_KEY: &str = "x-loreloom-key";
const API_KEY: &str = "x-api-key";

/// A tenant's part of the server.
#[derive(Clone)]
struct TenantRoutes {
    app: App,
    routes: Router,
}

impl TenantRoutes {
    fn new(app: App) -> Self {
        Self { routes: routes(app.clone()), app }
    }

    /// Answers a request. One for text comes where its route leads without being looked up among
    /// all of them: somebody waits for its first word.
    async fn answer(self, request: Request) -> Response {
        if TEXT.contains(&request.uri().path()) {
            return proxy::forward(State(self.app), request).await;
        }
        match Box::pin(self.routes.oneshot(request)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// The server's door.
pub(crate) struct Gate {
    app: App,
    own: TenantRoutes,
    others: RwLock<HashMap<TenantId, TenantRoutes>>,
    opening: tokio::sync::Mutex<()>,
}

impl Gate {
    pub(crate) fn new(app: App) -> Self {
        let (own, opening) = (TenantRoutes::new(app.clone()), tokio::sync::Mutex::default());
        Self { app, own, others: RwLock::default(), opening }
    }

    /// Answers a request. No browser may guess what kind of answer it is.
    pub(crate) async fn handle(&self, request: Request) -> Response {
        let id = RequestId::of(request.headers());
        let mut response = self.let_in(request).instrument(id.span()).await;
        id.tell(response.headers_mut());
        let nosniff = HeaderValue::from_static("nosniff");
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, nosniff);
        response
    }

    /// Lets a request in, or answers it here.
    async fn let_in(&self, request: Request) -> Response {
        let (most, found) = (self.app.limits.head, limits::head_bytes(&request));
        if found > most {
            let rule = "bytes at most (`head_kb` of the server's limits)";
            let message = format!("the head may have {most} {rule}, found {found}");
            return Problem::new(Code::HeadTooLarge, message).into_response();
        }
        let Access { origins, keys, .. } = self.app.access.as_ref();
        if let Err(stranger) = origins.admit(&request, keys) {
            return refusal(stranger).into_response();
        }
        if let Some(allowed) = origins.preflight(request.method(), request.headers(), keys) {
            return (StatusCode::NO_CONTENT, allowed).into_response();
        }
        let shared = origins.shared(request.headers(), keys);
        let mut response = self.admitted(request).await;
        if let Some(shared) = shared {
            response.headers_mut().extend(shared);
        }
        response
    }

    async fn admitted(&self, mut request: Request) -> Response {
        let access = &self.app.access;
        let pass = match access.pass(request.headers(), request.uri().path()) {
            Ok(pass) => pass,
            // A browser cannot send a key with an address that is typed in.
            Err(Refused::NoKey) if assets::is_lost(&request) => return assets::lost().await,
            Err(refused) => return refused.response(),
        };
        without_own_keys(request.headers_mut());
        let served = match &pass {
            Pass::Open => self.own.clone(),
            // Boxed: to open a tenant's part takes much more than any request holds.
            Pass::Key(record) => match Box::pin(self.served(&record.tenant)).await {
                Ok(served) => served,
                Err(error) => {
                    tracing::error!(%error, tenant = %record.tenant, "a tenant cannot be served");
                    return Problem::new(Code::Failed, "the store failed").into_response();
                }
            },
        };
        request.extensions_mut().insert(pass);
        let limits = self.app.limits;
        let request = request.map(|body| limits::steady(body, limits));
        served.answer(request).await
    }

    /// The part of a tenant, which is made when it first asks.
    async fn served(&self, tenant: &TenantId) -> Result<TenantRoutes, LoreServiceError> {
        if *tenant == self.app.tenant {
            return Ok(self.own.clone());
        }
        let known = || {
            let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
            others.get(tenant).cloned()
        };
        if let Some(served) = known() {
            return Ok(served);
        }
        let _one_at_a_time = self.opening.lock().await;
        if let Some(served) = known() {
            return Ok(served);
        }
        let app = self.app.for_tenant(tenant.clone())?;
        app.open().await?;
        let served = TenantRoutes::new(app);
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        others.insert(tenant.clone(), served.clone());
        Ok(served)
    }
}

impl Access {
    /// What a request is let in with.
    fn pass(&self, headers: &HeaderMap, path: &str) -> Result<Pass, Refused> {
        match presented(headers) {
            Some(key) => self.keys.find(key).map(Pass::Key).ok_or(Refused::UnknownKey),
            None if self.needs_key(headers) && !is_open(path) => Err(Refused::NoKey),
            None => Ok(Pass::Open),
        }
    }

    /// Whether a request needs a key. A page that is let in by its key always does: without it,
    /// the page could do more than the key allows.
    fn needs_key(&self, headers: &HeaderMap) -> bool {
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        self.require_key || origin.is_some_and(|origin| self.keys.has_page(origin))
    }
}

fn refusal(stranger: Stranger) -> Problem {
    let message = stranger.to_string();
    match stranger {
        Stranger::Foreign { part, found } => {
            Problem::new(Code::Forbidden, message).at(part).with(found)
        }
        Stranger::Repeated { header, found } => {
            Problem::new(Code::Unreadable, message).at(header.as_str()).with(found)
        }
        Stranger::CrossSite => Problem::new(Code::Forbidden, message).at("sec-fetch-site"),
    }
}

/// Whether everybody may see what is there: that the server runs, and the page without data.
fn is_open(path: &str) -> bool {
    HEALTH.contains(&path) || assets::is_page(path)
}

impl Pass {
    /// Whether it allows that.
    pub(crate) fn allows(&self, scope: Scope) -> bool {
        match self {
            Self::Open => true,
            Self::Key(record) => record.scopes.contains(&scope),
        }
    }

    /// An id that separates its owner from others and reveals nothing else.
    pub(crate) fn whose(&self) -> &str {
        match self {
            Self::Open => "",
            Self::Key(record) => &record.hash,
        }
    }

    /// The refusal of a request that may not do that; `None` if it may.
    pub(crate) fn refusal(extensions: &Extensions, scope: Scope) -> Option<Response> {
        let allowed = extensions.get::<Self>().is_some_and(|pass| pass.allows(scope));
        (!allowed).then(|| Refused::Scope(scope).response())
    }
}

/// Lets through who may look, or change something.
pub(crate) async fn reads_or_writes(request: Request, next: Next) -> Response {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let scope = if looks { Scope::Read } else { Scope::Write };
    match Pass::refusal(request.extensions(), scope) {
        // What everybody may see needs no scope either.
        Some(refusal) if !is_open(request.uri().path()) => refusal,
        Some(_) | None => next.run(request).await,
    }
}

/// The key of ours that a request carries.
fn presented(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    text(OWN_KEY)
        .or_else(|| bearer(headers).filter(|key| key.starts_with(PREFIX)))
        .or_else(|| text(API_KEY).filter(|key| key.starts_with(PREFIX)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Our keys go no further: not to a model's server, not into what handlers see.
fn without_own_keys(headers: &mut HeaderMap) {
    headers.remove(OWN_KEY);
    if bearer(headers).is_some_and(|key| key.starts_with(PREFIX)) {
        headers.remove(AUTHORIZATION);
    }
    if headers.get(API_KEY).is_some_and(|key| key.as_bytes().starts_with(PREFIX.as_bytes())) {
        headers.remove(API_KEY);
    }
}

impl Refused {
    fn response(self) -> Response {
        let problem = match self {
            Self::NoKey => Problem::new(
                Code::KeyMissing,
                "send a key of this server as `X-Loreloom-Key` or `Authorization: Bearer`",
            ),
            Self::UnknownKey => Problem::new(Code::KeyUnknown, "this key is not known here"),
            Self::Scope(scope) => {
                Problem::new(Code::KeyScope, format!("this key does not have the scope `{scope}`"))
            }
        };
        let mut response = problem.into_response();
        if response.status() == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer realm=\"loreloom\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, how);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_of_ours_are_taken_and_none_of_them_is_passed_on() {
        for (name, value, key, passed_on) in [
            ("x-loreloom-key", "ll_1", Some("ll_1"), false),
            ("x-loreloom-key", "other", Some("other"), false),
            ("authorization", "Bearer ll_1", Some("ll_1"), false),
            ("authorization", "bearer  ll_1", Some("ll_1"), false),
            ("authorization", "Bearer sk-1", None, true),
            ("authorization", "Basic ll_1", None, true),
            ("x-api-key", "ll_1", Some("ll_1"), false),
            ("x-api-key", "sk-1", None, true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(presented(&headers), key, "{name}: {value}");
            without_own_keys(&mut headers);
            assert_eq!(headers.contains_key(name), passed_on, "{name}: {value}");
        }
    }
}
