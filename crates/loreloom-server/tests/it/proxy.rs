//! Requests pass through with lore woven in; replies enter the story.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    book::{Book, Entry},
    chat::Role,
    tokens::TokenCounter,
    units::Tokens,
};
use loreloom_server::Happened;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

fn ask(text: &str, stream: bool) -> Value {
    json!({
        "model": "m", "stream": stream, "logit_bias": {"42": -1.5}, "unknown": [1, {"b": null}],
        "messages": [{"role": "system", "content": "You are Torvald."}, {"role": "user", "content": text}],
    })
}

async fn post(loreloom: &Loreloom, body: &Value) -> reqwest::Response {
    let client = reqwest::Client::new();
    client.post(loreloom.url(CHAT)).json(body).send().await.unwrap()
}

#[tokio::test]
async fn lore_is_woven_in_and_unknown_fields_survive() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("It rings."))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let response = post(&loreloom, &ask("Ring the bell!", false)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["x-loreloom-woven"], "1");
    let reply: Value = response.json().await.unwrap();
    assert_eq!(reply["choices"][0]["message"]["content"], "It rings.");

    let sent = model.received().remove(0).json;
    let mut expected = ask("Ring the bell!", false);
    let lore = json!({"role": "system", "content": "The bell of Harrow is cracked."});
    expected["messages"].as_array_mut().unwrap().insert(1, lore);
    assert_eq!(sent, expected);

    let story = loreloom.story(2).await;
    let told: Vec<_> = story.iter().map(|node| (node.message.role, &*node.message.text)).collect();
    assert_eq!(told, [(Role::User, "Ring the bell!"), (Role::Assistant, "It rings.")]);
}

#[tokio::test]
async fn a_stream_arrives_byte_for_byte_and_enters_the_story() {
    let reply = Reply::chunks(["It ", "rings, ", "грустно."]).split_every(5);
    let model = ModelServer::start(Script::new().on(CHAT, reply.clone()).on(CHAT, reply)).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let direct = reqwest::Client::new()
        .post(format!("{}{CHAT}", model.base_url()))
        .json(&ask("Ring the bell!", true))
        .send()
        .await
        .unwrap();
    let direct = direct.bytes().await.unwrap();
    let woven = post(&loreloom, &ask("Ring the bell!", true)).await;
    assert_eq!(woven.headers()["content-type"], "text/event-stream");
    let woven = woven.bytes().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(without_ids(&text(&woven)), without_ids(&text(&direct)));
    assert!(text(&woven).ends_with("data: [DONE]\n\n"));
    assert_eq!(loreloom.story(2).await[1].message.text, "It rings, грустно.");
}

#[tokio::test]
async fn lore_can_say_how_long_nobody_has_written() {
    let script = Script::new().on(CHAT, Reply::text("It rings.")).on(CHAT, Reply::text("Again."));
    let model = ModelServer::start(script).unwrap();
    let mut book = Book::new("idle", "Idle");
    let mut entry = Entry::new("idle/0");
    entry.activation.constant = true;
    entry.content = "Last heard of: {{idleDuration}}.".to_owned();
    book.entries.push(entry);
    let setup = Setup { lore: Some(book), ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let mut body = ask("Ring the bell!", false);
    body["loreloom"] = json!({"chat": "inn"});
    post(&loreloom, &body).await.bytes().await.unwrap();
    let more = [("assistant", "It rings."), ("user", "Again!")];
    for (role, text) in more {
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": role, "content": text}));
    }
    post(&loreloom, &body).await.bytes().await.unwrap();
    let told: Vec<bool> = ["just now", "a few seconds"]
        .iter()
        .zip(model.received())
        .map(|(idle, sent)| sent.json.to_string().contains(&format!("Last heard of: {idle}.")))
        .collect();
    assert_eq!(told, [true, true]);
}

/// The scripted server makes ids from the request, which lore has changed.
fn without_ids(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let json =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        json.map_or_else(
            || line.to_owned(),
            |mut json| {
                json["id"] = Value::Null;
                json.to_string()
            },
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn errors_of_the_upstream_are_passed_on() {
    for (status, body) in
        [(429, r#"{"error":{"message":"slow down"}}"#), (500, "broken"), (401, "{}")]
    {
        let reply = Reply::status(status, body).header("retry-after", "7");
        let model = ModelServer::start(Script::new().on(CHAT, reply)).unwrap();
        let loreloom = Loreloom::before(&model).await;
        let response = post(&loreloom, &ask("Ring the bell!", true)).await;
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(response.headers()["retry-after"], "7");
        assert_eq!(response.text().await.unwrap(), body);
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_ends_with_an_error_and_is_no_story() {
    let reply = Reply::chunks(["It ", "rings."]).cut_after(1);
    let script = Script::new().on(CHAT, reply).on(CHAT, Reply::chunks(["It rings."]));
    let model = ModelServer::start(script).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let mut notices = loreloom.app.notices.listen();
    let text = post(&loreloom, &ask("Ring the bell!", true)).await.text().await.unwrap();
    assert!(text.contains("\"upstream_cut\""), "{text}");
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    assert_eq!(loreloom.story(1).await.len(), 1);
    let mut seen = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        seen.push(notice.what.clone());
    }
    let failed = seen.iter().filter(|one| matches!(one, Happened::UpstreamFailed { .. })).count();
    let replied = seen.iter().filter(|one| matches!(one, Happened::ReplyStored { .. })).count();
    assert_eq!((failed, replied), (1, 0), "{seen:?}");
    let again = post(&loreloom, &ask("Ring the bell!", true)).await;
    assert_eq!(again.headers()["x-loreloom-type"], "normal", "there is no reply yet");
}

#[tokio::test]
async fn a_chat_cannot_have_any_name() {
    for name in ["x".repeat(201), "a\nb".to_owned()] {
        let model = ModelServer::start(Script::new().on(CHAT, Reply::text("ok"))).unwrap();
        let loreloom = Loreloom::before(&model).await;
        let mut body = ask("Ring the bell!", false);
        body["loreloom"] = json!({ "chat": name });
        let response = post(&loreloom, &body).await;
        let rule = "`loreloom.chat` must have 1 to 200 characters, none of which is a control \
                    character, found";
        let warning = format!("{rule} {} characters", name.len());
        assert_eq!(response.headers()["x-loreloom-warning"], warning);
        let chat = response.headers()["x-loreloom-chat"].to_str().unwrap();
        assert!(chat.starts_with("chat-"), "{chat}");
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_the_generation() {
    let pace = Duration::from_millis(30);
    let reply = Reply::chunks(vec!["word "; 200]).paced(pace);
    let model = ModelServer::start(Script::new().on(CHAT, reply)).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let mut response = post(&loreloom, &ask("Ring the bell!", true)).await;
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    model.wait_for_disconnects(1).await.unwrap();
    assert_eq!(loreloom.story(1).await.len(), 1);
}

#[tokio::test]
async fn what_is_no_chat_request_passes_through_with_a_warning() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("ok"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let response = post(&loreloom, &json!({"model": "m", "prompts": "x"})).await;
    let warning = "the body has neither `messages` nor one `prompt` or `input`";
    assert_eq!(response.headers()["x-loreloom-warning"], warning);
    assert_eq!(model.received()[0].json, json!({"model": "m", "prompts": "x"}));
}

#[tokio::test]
async fn models_and_unknown_paths_are_the_upstreams() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    for path in ["/v1/models", "/v1/nothing"] {
        let ours = reqwest::get(loreloom.url(path)).await.unwrap();
        let theirs = reqwest::get(format!("{}{path}", model.base_url())).await.unwrap();
        assert_eq!(ours.status(), theirs.status(), "{path}");
        assert_eq!(ours.bytes().await.unwrap(), theirs.bytes().await.unwrap(), "{path}");
    }
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_a_bad_gateway() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    drop(model);
    let response = post(&loreloom, &ask("Ring the bell!", false)).await;
    assert_eq!(response.status(), 502);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["error"]["code"], "upstream_unreachable");
}

#[tokio::test]
async fn the_page_shows_the_last_turn_without_any_script() {
    let model =
        ModelServer::start(Script::new().on(CHAT, Reply::text("<script>x</script>"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    post(&loreloom, &ask("Ring the <b>bell</b>!", false)).await.bytes().await.unwrap();
    loreloom.story(2).await;
    let page = reqwest::get(loreloom.url("/last-turn")).await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let page = page.text().await.unwrap();
    assert!(page.contains("The bell of Harrow is cracked.</mark>"), "{page}");
    assert!(page.contains("&lt;script&gt;x&lt;/script&gt;") && !page.contains("<script"), "{page}");
    assert!(page.contains("“bell” in message 1"), "{page}");
    drop(loreloom.app);
}

#[tokio::test]
async fn a_page_is_there_with_a_slash_at_its_end_too() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    for page in ["/settings", "/lore", "/replay"] {
        let there = async |path: &str| {
            let found = reqwest::get(loreloom.url(path)).await.unwrap();
            (found.status(), found.text().await.unwrap())
        };
        assert_eq!(there(&format!("{page}/?a=1")).await, there(page).await, "{page}");
        assert_eq!(there(page).await.0, 200, "{page}");
    }
}

#[tokio::test]
async fn a_reply_with_a_length_is_stored_by_the_time_it_has_arrived() {
    let body = json!({"id": "x", "object": "chat.completion", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It rings."}}
    ]});
    let body = body.to_string();
    let reply = Reply::status(200, &body)
        .header("content-type", "application/json")
        .header("content-length", &body.len().to_string());
    let model = ModelServer::start(Script::new().on(CHAT, reply)).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let response = post(&loreloom, &ask("Ring the bell!", false)).await;
    assert_eq!(response.text().await.unwrap(), body);
    let last = loreloom.app.last_turn().await.unwrap().unwrap();
    assert_eq!(last.reply.as_deref(), Some("It rings."));
}

#[tokio::test]
async fn what_the_model_refused_is_no_story() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::status(400, "{}"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    assert_eq!(post(&loreloom, &ask("Ring the bell!", false)).await.status(), 400);
    assert_eq!(loreloom.app.last_turn().await.unwrap().map(|last| last.turn), None);
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let client = reqwest::Client::new();
    for (header, value, status) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("host", "evil.example", 403),
        ("origin", "http://localhost:8000", 200),
    ] {
        let response =
            client.get(loreloom.url("/health")).header(header, value).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{header}: {value}");
    }
}

#[tokio::test]
async fn markers_inside_markers_do_not_break_a_request() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("ok"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let response = post(&loreloom, &ask("{{outlet::{{outlet::x}} }}", false)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(model.received()[0].json["messages"][1]["content"], "{{outlet:: }}");
}

#[tokio::test]
async fn a_reply_is_asked_for_uncompressed_so_that_the_story_can_read_it() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("ok"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let client = reqwest::Client::new();
    let request = client.post(loreloom.url(CHAT)).header("accept-encoding", "gzip, br");
    request.json(&ask("Ring the bell!", false)).send().await.unwrap().bytes().await.unwrap();
    let received = model.received().remove(0);
    assert_eq!(received.headers.get("accept-encoding"), None);
}

/// A tokenizer with a fault.
struct Faulty;

impl TokenCounter for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn count(&self, _: &str) -> Tokens {
        panic!("a fault in the engine")
    }
}

#[tokio::test]
async fn a_fault_in_the_engine_does_not_end_the_generation() {
    let replies = Script::new().on(CHAT, Reply::text("ok")).on(CHAT, Reply::text("ok"));
    let model = ModelServer::start(replies).unwrap();
    let loreloom = Loreloom::counting(&model, Arc::new(Faulty)).await;
    let mut notices = loreloom.app.notices.listen();
    for turn in 0..2 {
        let response = post(&loreloom, &ask("Ring the bell!", false)).await;
        assert_eq!(response.status(), 200);
        let warning = "the engine failed; this turn is not stored";
        assert_eq!(response.headers()["x-loreloom-warning"], warning);
        assert_eq!(model.received()[turn].json, ask("Ring the bell!", false));
        let reason = "the engine failed".to_owned();
        let failed = Happened::FailedOpen { path: CHAT.to_owned(), reason };
        assert_eq!(notices.try_recv().unwrap().what, failed);
    }
    assert_eq!(loreloom.app.notices.failed_open(), 2);
}
