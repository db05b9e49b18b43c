//! Path to handler, nothing else.

use axum::{
    Router,
    routing::{any, get},
};

use crate::{App, api, assets, extension, gate, models, pages, proxy};

/// Paths of model servers: OpenAI's, also without their `/v1`, Ollama's and KoboldCpp's
/// below `/api`, llama.cpp's at the root. `KoboldCpp` has some below our API's own root.
const UPSTREAM: [&str; 20] = [
    "/v1/{*path}",
    "/api/{*path}",
    "/api/v1/generate",
    "/api/v1/model",
    "/api/v1/info/{*path}",
    "/api/v1/config/{*path}",
    "/chat/completions",
    "/completions",
    "/completion",
    "/responses",
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

/// Those of them that ask for text, as most front ends do. All lead to the proxy.
pub(crate) const TEXT: [&str; 5] =
    ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/api/chat", "/api/generate"];

/// Where servers list their models.
const MODELS: [&str; 3] = ["/v1/models", "/models", "/api/tags"];

/// All routes of one tenant.
pub(crate) fn routes(app: App) -> Router {
    let own = Router::new()
        .route("/", get(assets::document))
        .route("/assets/{*path}", get(assets::asset))
        .route("/icon.svg", get(assets::icon))
        .route(extension::ZIP, get(extension::zipped))
        .route("/last-turn", get(pages::last_turn))
        .route("/style.css", get(pages::style))
        .route("/health", get(pages::health))
        .route("/ready", get(pages::ready))
        .route("/api/last-turn", get(pages::last_turn_json))
        .route("/metrics", get(api::prometheus))
        .nest(api::ROOT, api::router(&app));
    let own = assets::PAGES
        .into_iter()
        .fold(own, |routes, path| routes.route(path, get(assets::document)))
        .route_layer(axum::middleware::from_fn(gate::reads_or_writes));
    let routes =
        UPSTREAM.into_iter().fold(own, |routes, path| routes.route(path, any(proxy::forward)));
    let routes =
        MODELS.into_iter().fold(routes, |routes, path| routes.route(path, any(models::list)));
    let routes = routes.route(models::ONE, any(models::one));
    routes.fallback(assets::nowhere).with_state(app)
}
