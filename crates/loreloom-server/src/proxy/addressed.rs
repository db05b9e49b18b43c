//! Requests that name their connection together with the model, as the list of all models
//! does where a name alone would lead elsewhere: `CONNECTION/MODEL`.

use std::sync::Arc;

use bytes::Bytes;

use super::body::with_model;
use crate::connections::{Connection, Connections};

/// The connection that a body names, and the body as that connection's server knows it: only
/// the model's name differs.
pub(super) fn addressed(
    connections: &Connections,
    body: &Bytes,
) -> Option<(Bytes, Arc<Connection>)> {
    if !connections.is_choice() || !mentions_one(connections, body) {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let mut found = None;
    let changed = with_model(text, |model| {
        let (connection, model) = connections.addressed(model)?;
        found = Some(Arc::clone(connection));
        Some(model.to_owned())
    })?;
    Some((Bytes::from(changed), found?))
}

/// Whether a look into the body is worth it.
fn mentions_one(connections: &Connections, body: &[u8]) -> bool {
    connections.all().iter().any(|one| {
        let name = one.name.as_str().as_bytes();
        let stands = |window: &[u8]| window.starts_with(b"\"") && window[1..].starts_with(name);
        body.windows(name.len() + 1).any(stands)
    })
}
