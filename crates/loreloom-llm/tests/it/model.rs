//! Loreloom's own calls: every way an answer can go wrong has its own error.

use std::time::Duration;

use loreloom_core::{chat::Role, prompt::PromptMessage};
use loreloom_llm::{
    connection::{Address, Connection, ConnectionError, Delivery, OllamaModel, OpenAiModel},
    secret::Secret,
};
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, ModelError};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::json;

const OPENAI: &str = "/v1/chat/completions";
const OLLAMA: &str = "/api/chat";

fn request() -> ChatRequest {
    let message =
        PromptMessage { role: Role::User, name: None, content: "Who keeps the gate?".into() };
    ChatRequest { messages: vec![message], ..ChatRequest::default() }
}

fn connection(base: &str, delivery: Delivery) -> Connection {
    let mut connection = Connection::new(Address::parse(base).unwrap(), "scripted");
    connection.delivery = delivery;
    connection
}

async fn ask(path: &str, reply: Reply, delivery: Delivery) -> Result<ChatReply, ModelError> {
    ask_within(path, reply, delivery, Duration::from_secs(20)).await
}

async fn ask_within(
    path: &str,
    reply: Reply,
    delivery: Delivery,
    timeout: Duration,
) -> Result<ChatReply, ModelError> {
    let server = ModelServer::start(Script::new().on(path, reply)).unwrap();
    let base = server.base_url();
    if path == OPENAI {
        let mut connection = connection(&format!("{base}/v1"), delivery);
        connection.timeout = timeout;
        OpenAiModel::new(connection).unwrap().complete(&request()).await
    } else {
        let mut connection = connection(&base, delivery);
        connection.timeout = timeout;
        OllamaModel::new(connection).unwrap().complete(&request()).await
    }
}

#[tokio::test]
async fn whole_and_streamed_replies_are_the_same_text_without_thoughts() {
    for path in [OPENAI, OLLAMA] {
        for delivery in [Delivery::Whole, Delivery::Streamed] {
            let reply = Reply::text("<think>hm, the gate</think>\nMira, née Vane, 日本.");
            let text = ask(path, reply, delivery).await.unwrap().text;
            assert_eq!(text, "Mira, née Vane, 日本.", "{path} {delivery:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_may_be_cut_at_any_byte() {
    for path in [OPENAI, OLLAMA] {
        for size in [1, 2, 3, 7] {
            let reply = Reply::chunks(["Mira, ", "née ", "Vane 日本"]).split_every(size);
            let text = ask(path, reply, Delivery::Streamed).await.unwrap().text;
            assert_eq!(text, "Mira, née Vane 日本", "{path}, {size} bytes a write");
        }
    }
}

#[tokio::test]
async fn a_server_that_ignores_stream_is_understood() {
    let document = json!({"choices": [{"message": {"content": "Mira."}}]});
    let reply = Reply::raw("application/json", [document.to_string().as_bytes()]);
    let text = ask(OPENAI, reply, Delivery::Streamed).await.unwrap().text;
    assert_eq!(text, "Mira.");
}

#[tokio::test]
async fn the_key_and_the_request_arrive() {
    let server = ModelServer::start(Script::new()).unwrap();
    let mut connection = connection(&format!("{}/v1/", server.base_url()), Delivery::Whole);
    connection.key = Some(Secret::new("sk-1"));
    let reply = OpenAiModel::new(connection).unwrap().complete(&request()).await.unwrap();
    assert_eq!(reply.text, "You said: Who keeps the gate?");
    let received = server.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].path, OPENAI);
    assert_eq!(received[0].header("authorization"), Some("Bearer sk-1"));
    assert_eq!(received[0].header("content-type"), Some("application/json"));
    let body = json!({
        "model": "scripted",
        "messages": [{"role": "user", "content": "Who keeps the gate?"}],
        "stream": false,
    });
    assert_eq!(received[0].json, body);
}

#[tokio::test]
async fn a_slow_model_is_given_up_and_told_so() {
    let limit = Duration::from_millis(50);
    let slow = Reply::text("late").after(Duration::from_mins(10));
    let server = ModelServer::start(Script::new().on(OPENAI, slow)).unwrap();
    let mut connection = connection(&format!("{}/v1", server.base_url()), Delivery::Whole);
    connection.timeout = limit;
    let error = OpenAiModel::new(connection).unwrap().complete(&request()).await.unwrap_err();
    assert!(matches!(error, ModelError::TimedOut { seconds: 1, .. }), "{error}");
    server.wait_for_disconnects(1).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up() {
    for path in [OPENAI, OLLAMA] {
        let stalled = Reply::chunks(["a", "b"]).paced(Duration::from_mins(10));
        let limit = Duration::from_millis(50);
        let error = ask_within(path, stalled, Delivery::Streamed, limit).await.unwrap_err();
        assert!(matches!(error, ModelError::TimedOut { .. }), "{path}: {error}");
    }
}

#[tokio::test]
async fn rate_limits_carry_the_wait() {
    for (reply, expected) in [
        (Reply::status(429, "busy").header("retry-after", "7"), Some(Duration::from_secs(7))),
        (Reply::status(429, "busy"), None),
    ] {
        let error = ask(OPENAI, reply, Delivery::Whole).await.unwrap_err();
        let ModelError::RateLimited { retry_after, .. } = error else { panic!("{error}") };
        assert_eq!(retry_after, expected);
    }
}

#[tokio::test]
async fn refusals_carry_status_and_reason() {
    let long = "x".repeat(1000);
    let json = r#"{"error": {"message": "no such model", "type": "invalid"}}"#;
    for (status, body, shown) in [
        (500, "boom\n", "boom".to_owned()),
        (401, json, "no such model".to_owned()),
        (404, r#"{"error":"model 'x' not found"}"#, "model 'x' not found".to_owned()),
        (302, "", String::new()),
        (503, long.as_str(), format!("{}…", "x".repeat(400))),
    ] {
        for path in [OPENAI, OLLAMA] {
            let error = ask(path, Reply::status(status, body), Delivery::Whole).await.unwrap_err();
            let ModelError::Refused { status: found, body, .. } = error else { panic!("{error}") };
            assert_eq!((found, body), (status, shown.clone()), "{path}");
        }
    }
}

#[tokio::test]
async fn a_refusal_that_quotes_the_key_is_shown_without_it() {
    let refusal = Reply::status(401, "key sk-secret is wrong");
    let server = ModelServer::start(Script::new().on(OPENAI, refusal)).unwrap();
    let mut connection = connection(&format!("{}/v1", server.base_url()), Delivery::Whole);
    connection.key = Some(Secret::new("sk-secret"));
    let error = OpenAiModel::new(connection).unwrap().complete(&request()).await.unwrap_err();
    let expected = format!("model at `{}/v1` answered 401: key [key] is wrong", server.base_url());
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn an_error_inside_a_successful_answer_is_a_refusal() {
    let reply = Reply::frames([
        json!({"choices": [{"delta": {"content": "Mi"}, "finish_reason": null}]}),
        json!({"error": {"message": "out of memory"}}),
    ]);
    let error = ask(OPENAI, reply, Delivery::Streamed).await.unwrap_err();
    let ModelError::Refused { status, body, .. } = error else { panic!("{error}") };
    assert_eq!((status, body.as_str()), (200, "out of memory"));
}

#[tokio::test]
async fn nonsense_is_garbled() {
    let html = || Reply::raw("text/html", [b"<html>".as_slice()]);
    for (path, reply, delivery) in [
        (OPENAI, Reply::broken_json(), Delivery::Whole),
        (OPENAI, html(), Delivery::Whole),
        (OPENAI, Reply::json(json!({"object": "list"})), Delivery::Whole),
        (OPENAI, Reply::raw("application/json", []), Delivery::Whole),
        (OPENAI, Reply::raw("text/event-stream", [b"data: {\"cho".as_slice()]), Delivery::Streamed),
        (OPENAI, Reply::raw("text/event-stream", []), Delivery::Streamed),
        (OLLAMA, Reply::broken_json(), Delivery::Whole),
        (OLLAMA, Reply::raw("application/x-ndjson", []), Delivery::Streamed),
        (OLLAMA, html(), Delivery::Streamed),
    ] {
        let shown = format!("{path} {reply:?}");
        let error = ask(path, reply, delivery).await.unwrap_err();
        assert!(matches!(error, ModelError::Garbled { .. }), "{shown}: {error:?}");
    }
}

#[tokio::test]
async fn a_stream_without_an_end_is_not_taken_for_a_reply() {
    let unended = b"data: {\"choices\":[{\"delta\":{\"content\":\"Mi\"}}]}\n\n".as_slice();
    let reply = Reply::raw("text/event-stream", [unended]);
    let error = ask(OPENAI, reply, Delivery::Streamed).await.unwrap_err();
    let ModelError::Garbled { reason, .. } = error else { panic!("{error}") };
    assert_eq!(reason, "the stream ended before the reply did");
}

#[tokio::test]
async fn a_connection_dropped_in_the_middle_is_unreachable() {
    for path in [OPENAI, OLLAMA] {
        let reply = Reply::chunks(["a", "b", "c"]).cut_after(2);
        let error = ask(path, reply, Delivery::Streamed).await.unwrap_err();
        assert!(matches!(error, ModelError::Unreachable { .. }), "{path}: {error:?}");
    }
}

#[tokio::test]
async fn nobody_listening_is_unreachable() {
    let base = ModelServer::start(Script::new()).unwrap().base_url();
    let model = OllamaModel::new(connection(&base, Delivery::Whole)).unwrap();
    let error = model.complete(&request()).await.unwrap_err();
    let ModelError::Unreachable { address, .. } = error else { panic!("{error}") };
    assert_eq!(address, base);
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_without_showing_it() {
    let mut connection = connection("http://127.0.0.1:1/v1", Delivery::Whole);
    connection.key = Some(Secret::new("sk\n1"));
    let error = OpenAiModel::new(connection).unwrap_err();
    assert!(matches!(error, ConnectionError::Key { .. }), "{error}");
    let expected =
        "the key for `http://127.0.0.1:1/v1` must be visible ASCII, found other characters";
    assert_eq!(error.to_string(), expected);
}
