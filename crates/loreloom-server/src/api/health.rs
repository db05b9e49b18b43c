//! Whether the server is well.

use axum::extract::State;
use loreloom_core::ids::LibraryVersion;
use serde::Serialize;

use super::{caller::Caller, extract::Json, problem::Problem, routes::routes};
use crate::app::App;

routes! {
    GET "/health" => health,
}

/// How the server is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Health {
    /// `ok`.
    status: String,
    /// The server's version.
    version: String,
    /// The compiled books.
    library: LibraryVersion,
    /// Books in use.
    books: usize,
    /// Entries and notes in use.
    entries: usize,
    /// Whether lore is woven into requests.
    weaving: bool,
    /// Whether stories are remembered.
    memory: bool,
    /// The tokenizer that counts.
    tokenizer: String,
    /// The number of the last event.
    last_event: u64,
}

/// Whether the server is well, and what it works with. Reads from the store, so that a store
/// that cannot be read is seen.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/health", tag = "system", responses((status = 200, body = Health))))]
async fn health(State(app): State<App>, caller: Caller) -> Result<Json<Health>, Problem> {
    app.store.revision(&caller.tenant).await?;
    let lore = app.lore.current();
    let library = lore.library();
    Ok(Json(Health {
        status: "ok".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        library: library.version(),
        books: library.books().len(),
        entries: library.len()
            + library.vault().map_or(0, loreloom_core::dialects::vault::Vault::len),
        weaving: app.settings.now().weaving.on,
        memory: app.memory.is_some(),
        tokenizer: app.connections.counter_of(None).name().to_owned(),
        last_event: app.events.last(),
    }))
}
