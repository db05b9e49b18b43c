//! Path to handler, nothing else.

use axum::{
    Router,
    routing::{any, get},
};

use crate::{App, guard, pages, proxy};

/// Paths of model servers: OpenAI's, also without their `/v1`, Ollama's and KoboldCpp's
/// below `/api`, llama.cpp's at the root.
const UPSTREAM: [&str; 17] = [
    "/v1/{*path}",
    "/api/{*path}",
    "/chat/completions",
    "/completions",
    "/completion",
    "/responses",
    "/models",
    "/embeddings",
    "/embedding",
    "/tokenize",
    "/detokenize",
    "/apply-template",
    "/infill",
    "/props",
    "/slots",
    "/rerank",
    "/lora-adapters",
];

/// All routes of the server.
pub fn router(app: App) -> Router {
    let own = Router::new()
        .route("/", get(pages::last_turn))
        .route("/style.css", get(pages::style))
        .route("/health", get(pages::health))
        .route("/api/last-turn", get(pages::last_turn_json));
    let routes =
        UPSTREAM.into_iter().fold(own, |routes, path| routes.route(path, any(proxy::forward)));
    routes.layer(axum::middleware::from_fn(guard::only_local)).with_state(app)
}
