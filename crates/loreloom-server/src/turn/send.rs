//! Send: the request goes to the model's server.

use bytes::Bytes;
use http::{
    HeaderMap,
    header::{ACCEPT_ENCODING, AUTHORIZATION},
};
use loreloom_core::{
    ids::TenantId,
    report::{Report, Served, Warning, words},
};
use loreloom_ports::{UpstreamError, UpstreamReply};

use super::{Turns, place::PreparedRequest};
use crate::{
    connections::Connection,
    proxy::{ProxyRequest, headers, upstream_call},
};

/// Sends a request with another body.
pub(super) async fn send(
    turns: &Turns,
    request: ProxyRequest,
    body: Bytes,
    connection: &Connection,
) -> Result<UpstreamReply, UpstreamError> {
    let mut parts = request.parts;
    // The reply is read on its way, so it must not be compressed.
    parts.headers.remove(ACCEPT_ENCODING);
    hold_key(turns, connection, &parts.headers);
    let upstreams = &turns.figures.metrics.upstreams;
    let sending = connection.upstream.send(upstream_call(parts, body));
    upstreams.measure(&connection.name, sending).await
}

/// Hands the key of the front end to a connection that has none of its own. Background work
/// is done for the installation's own tenant only, so keys of other tenants stay theirs.
fn hold_key(turns: &Turns, connection: &Connection, headers: &HeaderMap) {
    let Some(holding) = connection.holding.as_ref().filter(|_| turns.tenant == TenantId::local())
    else {
        return;
    };
    let key = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(key) = key.and_then(|value| value.strip_prefix("Bearer ")) {
        holding(key);
    }
}

/// What went wrong in a turn that its front end should know at once: the rest is in the report.
fn urgent_warnings(report: &Report) -> Vec<String> {
    let failed =
        report.selection.as_ref().filter(|one| matches!(one.served, Served::Failed { .. }));
    let urgent = report.warnings.iter().filter(|one| {
        matches!(
            one,
            Warning::OldNotes { .. } | Warning::NobodySpeaks { .. } | Warning::Neutralised { .. }
        )
    });
    failed.map(words::selection).into_iter().chain(urgent.map(words::warning)).collect()
}

/// What the front end learns about its request.
pub(super) fn headers_about(turns: &Turns, prepared: &PreparedRequest) -> HeaderMap {
    let mut found = HeaderMap::new();
    if let Some(warning) = turns.waiting.warning(&turns.tenant) {
        headers::warn(&mut found, &warning);
    }
    if let Some(placed) = &prepared.turn {
        let turn = &placed.turn;
        found.insert(headers::WOVEN, placed.plan.texts().into());
        headers::tell(&mut found, headers::CHAT, turn.story.path.chat().as_str());
        headers::tell(&mut found, headers::TYPE, turn.input.generation.as_str());
        for warning in urgent_warnings(&turn.decision.report) {
            headers::warn(&mut found, &warning);
        }
        if let Some(room) = &turn.decision.report.room {
            if !room.left_out.is_empty() {
                found.insert(headers::LEFT_OUT, room.left_out.len().into());
            }
            if let Some(warning) = room.too_long() {
                headers::warn(&mut found, &warning);
            }
        }
    }
    if let Some(complaint) = &prepared.complaint {
        headers::warn(&mut found, complaint);
    }
    found
}

/// Adds what is known about a turn to the headers of its response. The response's own warning
/// comes last.
pub(super) fn add_headers(response: &mut HeaderMap, about_turn: HeaderMap) {
    let own = response.remove(headers::WARNING);
    response.extend(about_turn);
    if let Some(own) = own.as_ref().and_then(|own| own.to_str().ok()) {
        headers::warn(response, own);
    }
}
