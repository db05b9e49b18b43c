//! Requests that name their connection together with the model, as the list of all models
//! does where a name alone would lead elsewhere: `CONNECTION/MODEL`.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    connections::{Connection, Connections},
    turn::with_model,
};

/// The connection that a body names, and the body as that connection's server knows it: only
/// the model's name differs.
pub(super) fn addressed(
    connections: &Connections,
    body: &Bytes,
) -> Option<(Bytes, Arc<Connection>)> {
    if !connections.is_choice() {
        return None;
    }
    let text = std::str::from_utf8(body).ok().filter(|text| mentions_one(connections, text))?;
    let mut found = None;
    let changed = with_model(text, |model| {
        let (connection, model) = connections.addressed(model)?;
        found = Some(Arc::clone(connection));
        Some(model.to_owned())
    })?;
    Some((Bytes::from(changed), found?))
}

/// Whether a look into the body is worth it: some text in it begins with a connection's name
/// and a slash, which may be written with a backslash. One pass, however many there are.
fn mentions_one(connections: &Connections, text: &str) -> bool {
    let names = || connections.all().iter().map(|one| one.name.as_str().as_bytes());
    let longest = names().map(<[u8]>::len).max().unwrap_or_default();
    text.match_indices('"').any(|(at, _)| {
        let rest = &text.as_bytes()[at + 1..];
        let near = &rest[..rest.len().min(longest + 1)];
        let end = near.iter().position(|byte| matches!(byte, b'/' | b'\\' | b'"'));
        end.is_some_and(|end| near[end] != b'"' && names().any(|name| *name == near[..end]))
    })
}
