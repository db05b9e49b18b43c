//! Live events.

use std::{sync::Arc, time::Duration};

use loreloom_core::units::Timestamp;
use serde_json::{Value, json};

use super::{Api, Setup};
use crate::harness::{Still, empty_store};

/// Reads events until one fits.
async fn until(response: &mut reqwest::Response, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let (mut text, mut seen) = (String::new(), Vec::new());
    let last = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let chunk = tokio::time::timeout_at(last, response.chunk()).await;
        let Ok(chunk) = chunk else { panic!("none of {seen:?} fits") };
        text.push_str(&String::from_utf8_lossy(&chunk.unwrap().unwrap()));
        while let Some((frame, rest)) =
            text.split_once("\n\n").map(|(a, b)| (a.to_owned(), b.to_owned()))
        {
            text = rest;
            let data = frame.lines().find_map(|line| line.strip_prefix("data: "));
            let Some(data) = data else { continue };
            let event: Value = serde_json::from_str(data).unwrap();
            assert!(frame.contains(&format!("id: {}", event["id"])), "{frame}");
            seen.push(event);
            if fits(seen.last().unwrap()) {
                return seen;
            }
        }
    }
}

#[tokio::test]
async fn events_name_what_changed_and_can_be_resumed() {
    let api = Api::start().await;
    let mut watching = api.request("GET", "/events").send().await.unwrap();
    assert_eq!(watching.headers()["content-type"], "text/event-stream");
    api.tell("inn", &[("user", "Ring the bell!")], "It rings.").await;
    let is_reply = |event: &Value| event["event"] == "chat" && event["version"] == 2;
    let seen = until(&mut watching, is_reply).await;
    assert_eq!(seen[0], json!({"id": 1_000_001, "event": "turn", "chat": "inn", "turn": 1}));
    assert_eq!(seen.len(), 3);
    let again = api.request("GET", "/events").header("last-event-id", "1000001");
    let mut again = again.send().await.unwrap();
    assert_eq!(until(&mut again, is_reply).await, seen[1..]);
    let gap = api.request("GET", "/events").header("last-event-id", "99");
    let mut gap = gap.send().await.unwrap();
    let told = until(&mut gap, |event| event["event"] == "gap").await;
    assert_eq!(told.len(), 1);
    // Whoever asks for an end gets what was missed, and it.
    let ended = api.request("GET", "/events?seconds=1").header("last-event-id", "1000001");
    let ended = api.send(ended).await;
    assert_eq!(ended.text.matches("data: ").count(), 2, "{}", ended.text);
    let wrong = api.get("/events?seconds=0").await.refused(422);
    assert_eq!(wrong.1, "`seconds` must be from 1 to 600, found `0`");
    let wrong = api.get("/events?after=9223372036854775808").await.refused(422);
    let rule = "`after` must be at most 9223372036854775807, found `9223372036854775808`";
    assert_eq!(wrong.1, rule);
    let wrong = api.request("GET", "/events").header("last-event-id", "x");
    let wrong = api.send(wrong).await.refused(400);
    assert_eq!(wrong.1, "`last-event-id` must be a number, found `x`");
}

#[tokio::test]
async fn a_watcher_from_before_a_restart_hears_of_a_gap_however_much_has_happened_since() {
    let store = empty_store();
    let started = async |now| {
        let clock = Arc::new(Still(Timestamp(now)));
        let setup = Setup { store: Arc::clone(&store), clock, ..Setup::default() };
        let api = Api::with(setup).await;
        let watching = api.request("GET", "/events").send().await.unwrap();
        (api, watching)
    };
    let is_reply = |event: &Value| event["event"] == "chat" && event["version"] == 2;
    let (before, mut watching) = Box::pin(started(1_000)).await;
    before.tell("inn", &[("user", "Ring the bell!")], "It rings.").await;
    let seen = until(&mut watching, is_reply).await;
    let last = seen.last().unwrap()["id"].to_string();
    let (after, mut watching) = Box::pin(started(2_000)).await;
    for chat in ["mill", "weir"] {
        after.tell(chat, &[("user", "Hello?")], "Hello.").await;
        until(&mut watching, is_reply).await;
    }
    let again = after.request("GET", "/events").header("last-event-id", &last);
    let told = until(&mut again.send().await.unwrap(), |_| true).await;
    assert_eq!(told, [json!({"id": 2_000_006, "event": "gap"})]);
}
