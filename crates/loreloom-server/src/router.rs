//! Path to handler, nothing else.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{any, get, post},
};

use crate::{App, guard, pages, proxy};

/// All routes of the server.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/", get(pages::last_turn))
        .route("/style.css", get(pages::style))
        .route("/health", get(pages::health))
        .route("/api/last-turn", get(pages::last_turn_json))
        .route("/v1/chat/completions", post(proxy::chat_completions))
        .route("/v1/{*path}", any(proxy::pass_through))
        .layer(DefaultBodyLimit::max(proxy::MOST_BYTES))
        .layer(axum::middleware::from_fn(guard::only_local))
        .with_state(app)
}
