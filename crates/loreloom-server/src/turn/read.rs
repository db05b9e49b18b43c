//! Read: the bytes of a request become a prompt and the model it goes to.

use super::Turns;
use super::{
    body::{RequestBody, Unreadable},
    echoed_markers,
};
use crate::{connections::ModelRoute, proxy::ProxyRequest};

/// Reads a request and finds the model it goes to.
pub(super) fn read(
    turns: &Turns,
    request: &ProxyRequest,
) -> Result<(RequestBody, ModelRoute), Unreadable> {
    let headers = &request.parts.headers;
    let mut body = RequestBody::read(request.path(), headers, &request.body)?;
    echoed_markers::mark(turns, &mut body.request);
    let model = body.model.as_deref();
    let route = turns.connections.route(&request.connection(model), model);
    Ok((body, route))
}
