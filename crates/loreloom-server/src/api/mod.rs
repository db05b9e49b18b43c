//! The REST API, below `/api/v1`.
//!
//! One file for each resource. A handler reads the call, asks a service and shows the
//! answer; what a story or a book may do is decided below. The document of the API is made
//! from the handlers (`openapi`, with the feature `schema`) and committed as `docs/openapi.json`,
//! which a program contains (`document`).

mod batch;
mod book_writes;
mod books;
mod caller;
mod caller_cast;
mod character_writes;
mod characters;
mod chat_metadata;
mod chat_path;
mod chat_state;
mod chats;
mod connection_writes;
mod connections;
mod document;
mod editing;
mod entries;
mod entry_history;
mod entry_json;
mod entry_moves;
mod entry_writes;
mod extract;
mod figures;
mod fixes;
mod generations;
mod graph;
mod groups;
mod health;
mod idempotency;
mod jobs;
mod kept_prefix;
mod keys;
mod knowledge;
mod lending;
mod lore_patch;
mod lore_tests;
mod matching;
mod memory;
mod memory_asked;
mod memory_whole;
mod memory_writes;
mod messages;
mod model_trial;
mod notes;
#[cfg(feature = "schema")]
mod openapi;
mod paging;
mod personas;
mod playing;
mod presets;
mod problem;
mod replay;
mod revision_changes;
mod routes;
mod routing;
mod settings;
mod settings_import;
mod stories;
mod story_search;
mod strict;
mod tags;
mod template_preview;
mod threads;
mod turn_figures;
mod turn_preview;
mod turns;
mod undoing;
mod vaults;
mod watch;
mod weaving;
mod wrapping;

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::Uri;

pub(crate) use self::figures::prometheus;
use self::idempotency::Calls;
#[cfg(feature = "schema")]
pub use self::openapi::document;
pub(crate) use self::problem::{Code, Problem};
use self::routes::Routes;
use crate::{app::App, catalog::Firings, lent_model::LentModel, limits};

/// Where the API is.
pub(crate) const ROOT: &str = "/api/v1";

/// The largest body the API reads: a large lorebook.
const MOST_BYTES: usize = 32 << 20;

/// What the API keeps between calls.
#[derive(Default)]
pub(crate) struct ApiState {
    pub(crate) calls: Calls,
    pub(crate) firings: Firings,
    /// Held while a record of memory is compared with what a caller has seen, and changed.
    pub(crate) records: tokio::sync::Mutex<()>,
    /// Held while a key is given to a connection: what keeps it is no part of the store.
    pub(crate) keys: tokio::sync::Mutex<()>,
    /// The model that a front end lends.
    pub(crate) lent: Arc<LentModel>,
}

/// The routes of all resources.
fn all() -> Routes {
    Routes::default()
        .merge(health::routes())
        .merge(watch::routes())
        .merge(chats::routes())
        .merge(chat_metadata::routes())
        .merge(chat_path::routes())
        .merge(chat_state::routes())
        .merge(messages::routes())
        .merge(turns::routes())
        .merge(fixes::routes())
        .merge(characters::routes())
        .merge(character_writes::routes())
        .merge(personas::routes())
        .merge(groups::routes())
        .merge(presets::routes())
        .merge(template_preview::routes())
        .merge(stories::routes())
        .merge(playing::routes())
        .merge(story_search::routes())
        .merge(books::routes())
        .merge(book_writes::routes())
        .merge(entries::routes())
        .merge(entry_writes::routes())
        .merge(entry_history::routes())
        .merge(batch::routes())
        .merge(entry_moves::routes())
        .merge(matching::routes())
        .merge(settings::routes())
        .merge(settings_import::routes())
        .merge(weaving::routes())
        .merge(generations::routes())
        .merge(wrapping::routes())
        .merge(memory::routes())
        .merge(memory_writes::routes())
        .merge(memory_whole::routes())
        .merge(memory_asked::routes())
        .merge(lending::routes())
        .merge(jobs::routes())
        .merge(replay::routes())
        .merge(revision_changes::routes())
        .merge(lore_tests::routes())
        .merge(connections::routes())
        .merge(connection_writes::routes())
        .merge(routing::routes())
        .merge(keys::routes())
        .merge(notes::routes())
        .merge(vaults::routes())
        .merge(graph::routes())
        .merge(turn_preview::routes())
        .merge(knowledge::routes())
        .merge(model_trial::routes())
        .merge(figures::routes())
        .merge(undoing::routes())
        .merge(document::routes())
}

/// All routes of the API.
pub(crate) fn router(app: &App) -> Router<App> {
    let routes = all();
    let unversioned = routes.unversioned();
    let own = routes
        .into_router()
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn_with_state(unversioned, tags::refuse_unused))
        .layer(axum::middleware::from_fn_with_state(app.clone(), chat_metadata::there))
        .layer(axum::middleware::from_fn(tags::not_modified))
        .layer(axum::middleware::from_fn_with_state(app.clone(), idempotency::once))
        .layer(axum::middleware::from_fn_with_state(app.clone(), within_limit))
        .layer(axum::middleware::from_fn_with_state(app.clone(), figures::count))
        .layer(DefaultBodyLimit::max(MOST_BYTES));
    // A route and no fallback: the proxy's own wildcard would come before a fallback.
    own.route("/{*path}", axum::routing::any(nothing))
}

/// Refuses a body that is announced above the limit before any of it is read.
async fn within_limit(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(found) = limits::announced_above(request.headers(), MOST_BYTES) else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    app.tasks.spawn(limits::discard(parts.headers, body));
    extract::too_large().with(found).into_response()
}

async fn nothing(uri: Uri) -> Response {
    Problem::new(Code::NotFound, format!("the API has no `{}`", uri.path())).into_response()
}

async fn wrong_method(method: http::Method, uri: Uri) -> Response {
    let detail = format!("`{}` does not know the method `{method}`", uri.path());
    Problem::new(Code::WrongMethod, detail).with(method.as_str()).into_response()
}
