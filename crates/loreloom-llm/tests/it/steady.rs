//! Retries, limits, rests and turns, over real sockets.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, Method};
use loreloom_llm::{
    connection::{Address, BreakerRules, RetryRules},
    steady::{Manners, SteadyUpstream},
    upstream::HttpUpstream,
};
use loreloom_ports::{Upstream as _, UpstreamCall, UpstreamError, UpstreamReply};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};

const PATH: &str = "/v1/chat/completions";

const QUICK: RetryRules =
    RetryRules { retries: 2, first: Duration::from_millis(1), longest: Duration::from_secs(2) };

fn steady(base: &str, manners: Manners) -> SteadyUpstream {
    let address = Address::parse(&format!("{base}/v1")).unwrap();
    let inner = HttpUpstream::new(address, None).unwrap();
    SteadyUpstream::new("model", Arc::new(inner), manners)
}

fn call() -> UpstreamCall {
    UpstreamCall {
        method: Method::POST,
        path: PATH.to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::from_static(br#"{"model":"m","messages":[],"stream":true}"#),
    }
}

/// A call that nobody waits for.
fn routine() -> UpstreamCall {
    UpstreamCall { method: Method::GET, body: Bytes::new(), ..call() }
}

async fn text(reply: UpstreamReply) -> Result<String, UpstreamError> {
    let mut body = reply.body;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(String::from_utf8(bytes).unwrap())
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_nothing_else_is() {
    for (statuses, seen, asked) in [
        (vec![429, 503], 200, 3),
        (vec![502, 504, 503], 503, 3),
        (vec![500], 500, 1),
        (vec![400], 400, 1),
    ] {
        let script = statuses
            .iter()
            .fold(Script::new(), |script, status| script.on(PATH, Reply::status(*status, "no")));
        let server = ModelServer::start(script).unwrap();
        let upstream = steady(&server.base_url(), Manners { retry: QUICK, ..Manners::default() });
        let reply = upstream.send(call()).await.unwrap();
        assert_eq!((reply.status.as_u16(), server.received().len()), (seen, asked), "{statuses:?}");
    }
}

#[tokio::test]
async fn a_server_that_asks_for_a_long_wait_is_not_asked_again() {
    let long = Reply::status(429, "later").header("retry-after", "3");
    let server = ModelServer::start(Script::new().on(PATH, long)).unwrap();
    let upstream = steady(&server.base_url(), Manners { retry: QUICK, ..Manners::default() });
    let reply = upstream.send(call()).await.unwrap();
    assert_eq!((reply.status.as_u16(), server.received().len()), (429, 1));
    assert_eq!(reply.headers["retry-after"], "3");
}

#[tokio::test]
async fn nothing_is_asked_again_once_the_first_byte_is_there() {
    let cut = Reply::chunks(["It ", "rings."]).cut_after(1);
    let server = ModelServer::start(Script::new().on(PATH, cut)).unwrap();
    let upstream = steady(&server.base_url(), Manners { retry: QUICK, ..Manners::default() });
    let reply = upstream.send(call()).await.unwrap();
    assert!(matches!(text(reply).await, Err(UpstreamError::Cut { .. })));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let never = Reply::text("late").after(Duration::from_secs(30));
    let server = ModelServer::start(Script::new().on(PATH, never)).unwrap();
    let first_byte = Some(Duration::from_millis(200));
    let upstream = steady(&server.base_url(), Manners { first_byte, ..Manners::default() });
    let error = upstream.send(call()).await.err().unwrap();
    assert_eq!(error.to_string(), "upstream `model` gave no answer within 1 s");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_cut_off() {
    let slow = Reply::chunks(["It ", "rings."]).paced(Duration::from_secs(30));
    let server = ModelServer::start(Script::new().on(PATH, slow)).unwrap();
    let silence = Some(Duration::from_millis(200));
    let upstream = steady(&server.base_url(), Manners { silence, ..Manners::default() });
    let error = text(upstream.send(call()).await.unwrap()).await.unwrap_err();
    let expected = "upstream `model` stopped in the middle of its answer: nothing came for 0.2 s";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_server_that_is_down_is_left_alone_and_tried_again_later() {
    let mut script = Script::new();
    for _ in 0..2 {
        script = script.on(PATH, Reply::status(500, "broken"));
    }
    let server = ModelServer::start(script).unwrap();
    let manners = Manners {
        retry: RetryRules::NEVER,
        breaker: BreakerRules { failures: 2, pause: Duration::from_millis(300) },
        ..Manners::default()
    };
    let upstream = steady(&server.base_url(), manners);
    for _ in 0..2 {
        assert_eq!(upstream.send(call()).await.unwrap().status, 500);
    }
    let error = upstream.send(routine()).await.err().unwrap();
    assert!(matches!(error, UpstreamError::Resting { failures: 2, .. }), "{error}");
    assert_eq!(server.received().len(), 2);
    let answer = loop {
        match upstream.send(routine()).await {
            Err(UpstreamError::Resting { .. }) => tokio::task::yield_now().await,
            answer => break answer.unwrap(),
        }
    };
    assert_eq!(answer.status, 200);
    assert_eq!(upstream.send(call()).await.unwrap().status, 200);
}

#[tokio::test]
async fn two_requests_that_fail_never_make_a_third_fail_untried() {
    let mut script = Script::new();
    // With the retries of the default rules: three tries of the first, two of the second.
    for _ in 0..5 {
        script = script.on(PATH, Reply::status(503, "broken"));
    }
    let server = ModelServer::start(script).unwrap();
    let upstream = steady(&server.base_url(), Manners { retry: QUICK, ..Manners::default() });
    for _ in 0..2 {
        assert_eq!(upstream.send(call()).await.unwrap().status, 503);
    }
    assert_eq!(server.received().len(), 5);
    let refused = upstream.send(routine()).await.err().unwrap();
    assert!(matches!(refused, UpstreamError::Resting { failures: 5, .. }), "{refused}");
    assert_eq!(upstream.send(call()).await.unwrap().status, 200);
    assert_eq!(upstream.send(routine()).await.unwrap().status, 200, "it is well again");
}

#[tokio::test]
async fn a_server_that_is_to_be_left_alone_is_not_asked_again() {
    let mut script = Script::new();
    for _ in 0..9 {
        script = script.on(PATH, Reply::status(503, "broken"));
    }
    let server = ModelServer::start(script).unwrap();
    let retry = RetryRules { retries: 8, ..RetryRules::default() };
    let breaker = BreakerRules { failures: 2, pause: Duration::from_mins(1) };
    let upstream = steady(&server.base_url(), Manners { retry, breaker, ..Manners::default() });
    assert_eq!(upstream.send(call()).await.unwrap().status, 503);
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn only_so_many_are_asked_at_once_until_their_last_byte() {
    let server = ModelServer::start(Script::new()).unwrap();
    let upstream = steady(&server.base_url(), Manners { at_once: Some(1), ..Manners::default() });
    let first = upstream.send(call()).await.unwrap();
    let second = tokio::time::timeout(Duration::from_millis(200), upstream.send(call())).await;
    assert!(second.is_err(), "the first reply has not been read yet");
    text(first).await.unwrap();
    let third = upstream.send(call()).await.unwrap();
    drop(third);
    assert_eq!(upstream.send(call()).await.unwrap().status, 200);
}
