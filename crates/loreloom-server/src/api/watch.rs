//! Live events over SSE.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event as Frame, KeepAlive, Sse},
    },
};
use futures_util::{Stream, StreamExt as _, stream};
use http::HeaderMap;
use loreloom_core::ids::TenantId;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{
    caller::Caller,
    extract::Query,
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    events::{ApiEvent, Watching},
};

routes! {
    GET "/events" => events,
}

/// Where to go on.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct EventsParams {
    /// The last event seen, where a browser cannot send `Last-Event-ID`.
    after: Option<u64>,
    /// Ends after this many seconds, for clients that poll. By default it never ends.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 600))]
    seconds: Option<u64>,
}

/// The longest time after which events can be asked to end, in seconds.
const LONGEST: u64 = 600;

/// Live events: ids and versions, never whole objects.
///
/// `Last-Event-ID` goes on after that event; one that is no longer kept, or from before a
/// restart, is answered with an event `gap`.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/events", tag = "system",
    params(
        EventsParams,
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event the caller has seen")
    ),
    responses((status = 200, body = ApiEvent, content_type = "text/event-stream"))
))]
async fn events(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<EventsParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = match headers.get("last-event-id") {
        Some(id) => {
            let text = String::from_utf8_lossy(id.as_bytes()).into_owned();
            let wrong = |_| {
                let detail = format!("`last-event-id` must be a number, found `{text}`");
                Problem::new(Code::Unreadable, detail).at("last-event-id").with(text.clone())
            };
            Some(text.parse().map_err(wrong)?)
        }
        None => params.after,
    };
    // The document gives numbers 63 bits, as everything that is made from it does.
    if let Some(after) = after.filter(|after| i64::try_from(*after).is_err()) {
        let named = if headers.contains_key("last-event-id") { "last-event-id" } else { "after" };
        return Err(Problem::value(named, "must be at most 9223372036854775807", after));
    }
    if let Some(seconds) = params.seconds.filter(|seconds| !(1..=LONGEST).contains(seconds)) {
        return Err(Problem::value("seconds", "must be from 1 to 600", seconds));
    }
    let watching = app.events.watch(&caller.tenant, after);
    let hello = Frame::default().comment(format!("at {}", app.events.last()));
    let stopping = app.stopping.clone();
    let frames = stream::iter([Ok(hello)])
        .chain(frames(app, watching, caller.tenant))
        .take_until(over(stopping, params.seconds.map(Duration::from_secs)));
    let sse = Sse::new(frames).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)));
    Ok(sse.into_response())
}

/// Waits until the server stops, or for that long.
async fn over(stopping: CancellationToken, most: Option<Duration>) {
    match most {
        // Whoever asked for an end has it either way.
        Some(most) => drop(tokio::time::timeout(most, stopping.cancelled()).await),
        None => stopping.cancelled().await,
    }
}

fn frames(
    app: App,
    watching: Watching,
    tenant: TenantId,
) -> impl Stream<Item = Result<Frame, Infallible>> + Send {
    stream::unfold((app, watching, tenant), |(app, mut watching, tenant)| async move {
        let event = watching.next(&app.events, &tenant).await?;
        Some((Ok(frame(&event)), (app, watching, tenant)))
    })
}

fn frame(event: &ApiEvent) -> Frame {
    let frame = Frame::default().id(event.id.to_string());
    frame.json_data(event).unwrap_or_else(|_| Frame::default().comment("an event without a form"))
}
