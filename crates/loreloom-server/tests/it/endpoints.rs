//! Every endpoint that a front end may use, what survives on the way, and what does not
//! pass.

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    time::Duration,
};

use loreloom_core::{
    book::{Book, Entry, Key},
    ids::TenantId,
    tokens::TokenCounter,
    units::Tokens,
};
use loreloom_ports::StoryStore as _;
use loreloom_server::Weaving;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinSet};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const LORE: &str = "The bell of Harrow is cracked.";

/// The text that the model was sent, wherever the endpoint has it.
fn prompt(sent: &Value) -> String {
    ["messages", "prompt", "input"].map(|field| sent[field].to_string()).join("\n")
}

/// `@@instruct_scan_depth` is for texts; of a chat nothing is counted in tokens.
#[tokio::test]
async fn decorators_counted_in_tokens_hold_where_the_prompt_is_a_text() {
    let chat = json!({"messages": [{"role": "user", "content": "Ring the bell! Then go away."}]});
    let text = json!({"prompt": "Ring the bell! Then go away."});
    for (path, body, woven) in [(CHAT, chat, ["1", "1"]), ("/v1/completions", text, ["0", "1"])] {
        for (tokens, woven) in ["2", "40"].into_iter().zip(woven) {
            let mut entry = Entry::new("bell");
            entry.activation.keys = vec![Key::parse("bell")];
            entry.content = format!("@@instruct_scan_depth {tokens}\n{LORE}");
            // What only card books know.
            entry.activation.gates.min_messages = Some(0);
            let mut book = Book::new("cards", "Cards");
            book.entries.push(entry);
            let script = Script::new().on(path, Reply::text("It rings."));
            let model = ModelServer::start(script).unwrap();
            let setup = Setup { lore: Some(book), ..Setup::default() };
            let loreloom = Loreloom::start(&model, setup).await;
            let client = reqwest::Client::new();
            let response = client.post(loreloom.url(path)).json(&body).send().await.unwrap();
            assert_eq!(response.headers()["x-loreloom-woven"], woven, "{path}, {tokens}");
        }
    }
}

#[tokio::test]
async fn every_endpoint_gets_lore_and_its_reply_enters_the_story() {
    let chat = json!([{"role": "user", "content": "Ring the bell!"}]);
    let prompt_body = json!({"prompt": "Ring the bell!"});
    for (path, body) in [
        (CHAT, json!({"messages": chat})),
        ("/v1/completions", prompt_body.clone()),
        ("/v1/responses", json!({"input": "Ring the bell!", "instructions": "Be brief."})),
        ("/api/chat", json!({"messages": chat})),
        ("/api/generate", json!({"prompt": "Ring the bell!", "raw": true})),
        ("/completion", prompt_body),
    ] {
        for stream in [false, true] {
            let script = Script::new().on(path, Reply::text("It rings, грустно."));
            let model = ModelServer::start(script).unwrap();
            let loreloom = Loreloom::before(&model).await;
            let mut body = body.clone();
            body["stream"] = json!(stream);
            let client = reqwest::Client::new();
            let response = client.post(loreloom.url(path)).json(&body).send().await.unwrap();
            assert_eq!(response.headers()["x-loreloom-woven"], "1", "{path}");
            response.bytes().await.unwrap();
            let sent = model.received().remove(0);
            assert_eq!(sent.path, path);
            assert!(prompt(&sent.json).contains(LORE), "{path}: {}", sent.json);
            let story = loreloom.story(2).await;
            assert_eq!(story[1].message.text, "It rings, грустно.", "{path}, stream {stream}");
        }
    }
}

#[tokio::test]
async fn kobold_is_woven_too() {
    for (path, reply) in [
        ("/api/v1/generate", Reply::json(json!({"results": [{"text": "It rings."}]}))),
        (
            "/api/extra/generate/stream",
            Reply::raw(
                "text/event-stream",
                [
                    b"event: message\ndata: {\"token\": \"It \"}\n\n".as_slice(),
                    b"event: message\ndata: {\"token\": \"rings.\", \"finish_reason\": \"stop\"}\n\n",
                ],
            ),
        ),
    ] {
        let model = ModelServer::start(Script::new().on(path, reply)).unwrap();
        let loreloom = Loreloom::before(&model).await;
        let body = json!({"prompt": "Ring the bell!", "max_length": 80});
        let client = reqwest::Client::new();
        client.post(loreloom.url(path)).json(&body).send().await.unwrap().bytes().await.unwrap();
        assert!(prompt(&model.received()[0].json).contains(LORE), "{path}");
        assert_eq!(loreloom.story(2).await[1].message.text, "It rings.", "{path}");
    }
}

#[tokio::test]
async fn everything_else_is_the_upstreams_byte_for_byte() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let client = reqwest::Client::new();
    for (method, path, body) in [
        ("GET", "/v1/models?limit=2", ""),
        ("GET", "/api/tags", ""),
        ("POST", "/api/show", r#"{"model": "scripted"}"#),
        ("POST", "/api/embed", r#"{"input":  "a b"}"#),
        ("POST", "/v1/embeddings", r#"{"input":["a"] , "x":1.0}"#),
        ("POST", "/tokenize", r#"{"content":"a b"}"#),
        ("POST", "/api/extra/tokencount", r#"{"prompt":"a b"}"#),
    ] {
        let method: http::Method = method.parse().unwrap();
        let ask = |url: String| client.request(method.clone(), url).body(body).send();
        let ours = ask(loreloom.url(path)).await.unwrap();
        let theirs = ask(format!("{}{path}", model.base_url())).await.unwrap();
        assert_eq!(ours.status(), theirs.status(), "{path}");
        assert!(ours.headers().get("x-loreloom-warning").is_none(), "{path}");
        assert_eq!(ours.bytes().await.unwrap(), theirs.bytes().await.unwrap(), "{path}");
        let received = model.received();
        let [.., ours, theirs] = received.as_slice() else { panic!("two requests") };
        assert_eq!((&ours.body, &ours.query), (&theirs.body, &theirs.query), "{path}");
    }
    assert_eq!(loreloom.store.chats(&TenantId::local()).await.unwrap().len(), 0);
}

/// A body that no JSON writer would write like this.
const ODD: &str = "{ \"messages\":[{\"role\":\"user\",\"content\":\"Ring the b\\u0065ll!\"}],\n \"temperature\":1.50e0,\"seed\":12345678901234567890 , \"stream\":true,\"x\":null }";

#[tokio::test]
async fn with_weaving_off_both_bodies_are_those_of_a_direct_call() {
    let reply = Reply::chunks(["It ", "rings."]).split_every(7);
    let script = (0..4).fold(Script::new(), |script, _| script.on(CHAT, reply.clone()));
    let model = ModelServer::start(script).unwrap();
    let weaving = Weaving { on: false, ..Weaving::default() };
    let off = Loreloom::start(&model, Setup { weaving, ..Setup::default() }).await;
    let on = Loreloom::before(&model).await;
    let client = reqwest::Client::new();
    let direct = client.post(format!("{}{CHAT}", model.base_url())).body(ODD);
    let by_setting = client.post(off.url(CHAT)).body(ODD);
    let own = ODD.replacen('{', "{\"loreloom\":7,", 1);
    let by_header = client.post(on.url(CHAT)).header("x-loreloom-weave", "off");
    let with_field = client.post(off.url(CHAT)).body(own);
    let mut replies = Vec::new();
    for request in [direct, by_setting, by_header.body(ODD), with_field] {
        replies.push(request.send().await.unwrap().bytes().await.unwrap());
    }
    for (at, sent) in model.received().iter().enumerate() {
        assert_eq!(sent.body, ODD, "request {at}");
        assert_eq!(replies[at], replies[0], "reply {at}");
        assert!(sent.headers.keys().all(|name| !name.as_str().starts_with("x-loreloom")));
    }
    assert_eq!(on.store.chats(&TenantId::local()).await.unwrap().len(), 0);
}

#[tokio::test]
async fn lore_changes_the_messages_and_no_other_byte() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("ok"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let client = reqwest::Client::new();
    client.post(loreloom.url(CHAT)).body(ODD).send().await.unwrap().bytes().await.unwrap();
    let lore = format!("{{\"role\":\"system\",\"content\":\"{LORE}\"}},{{\"role\"");
    let expected = ODD.replacen("{\"role\"", &lore, 1);
    assert_eq!(model.received()[0].body, expected);
}

#[tokio::test]
async fn lore_that_the_front_end_has_put_in_is_not_repeated() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("ok"))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let body = json!({"messages": [
        {"role": "system", "content": format!("You are Torvald.\n{LORE}")},
        {"role": "user", "content": "Ring the bell!"},
    ]});
    let client = reqwest::Client::new();
    let response = client.post(loreloom.url(CHAT)).json(&body).send().await.unwrap();
    assert_eq!(response.headers()["x-loreloom-woven"], "0");
    response.bytes().await.unwrap();
    assert_eq!(model.received()[0].json, body);
    loreloom.story(2).await;
    let last = loreloom.app.last_turn().await.unwrap().unwrap();
    let warnings = serde_json::to_value(&last.record.report.warnings).unwrap();
    assert_eq!(warnings[0]["code"], "already_there");
}

#[tokio::test]
async fn headers_that_are_ours_or_a_browsers_do_not_pass() {
    let reply = Reply::text("ok")
        .header("set-cookie", "a=b")
        .header("access-control-allow-origin", "*")
        .header("x-request-id", "r1");
    let model = ModelServer::start(Script::new().on(CHAT, reply)).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let client = reqwest::Client::new();
    let request = client.post(loreloom.url(CHAT)).body(ODD);
    let request = request.header("cookie", "secret=1").header("x-loreloom-chat", "c");
    let response = request.header("authorization", "Bearer k").send().await.unwrap();
    let headers = response.headers().clone();
    response.bytes().await.unwrap();
    assert_eq!(headers["x-request-id"], "r1");
    assert!(!headers.contains_key("set-cookie"));
    assert!(!headers.contains_key("access-control-allow-origin"));
    let sent = model.received().remove(0);
    assert_eq!(sent.header("authorization"), Some("Bearer k"));
    assert_eq!((sent.header("cookie"), sent.header("x-loreloom-chat")), (None, None));
}

#[tokio::test]
async fn a_cut_stream_ends_properly_on_every_wire() {
    for (path, ends, marker) in [
        (CHAT, "data: [DONE]\n\n", "\"upstream_cut\""),
        ("/v1/responses", "data: [DONE]\n\n", "event: error"),
        ("/api/chat", "}\n", "\"error\""),
    ] {
        let whole = Reply::chunks(["It ", "rings."]);
        for size in [5, 40] {
            // Also where the server ends its answer as if that were all.
            let pieces = || whole.clone().split_every(size);
            let cut = [0, 1, 3].map(|writes| pieces().cut_after(writes));
            let ended = [1, 5].map(|writes| pieces().end_after(writes));
            for reply in cut.into_iter().chain(ended) {
                let stopped = format!("{path}: {reply:?}");
                let model = ModelServer::start(Script::new().on(path, reply)).unwrap();
                let loreloom = Loreloom::before(&model).await;
                let text = streamed(&loreloom, path, false).await;
                assert!(text.contains(marker) && text.ends_with(ends), "{stopped}: {text}");
                let data = text.lines().filter(|line| line.starts_with(['d', '{']));
                let data = data.map(|line| line.trim_start_matches("data: "));
                for data in data.filter(|data| *data != "[DONE]") {
                    assert!(serde_json::from_str::<Value>(data).is_ok(), "{stopped}: {text}");
                }
                assert!(loreloom.app.last_turn().await.unwrap().is_none_or(|t| t.reply.is_none()));
            }
        }
    }
}

#[tokio::test]
async fn with_weaving_off_an_answer_that_ends_early_arrives_as_it_is() {
    let reply = Reply::chunks(["It ", "rings."]).split_every(40).end_after(2);
    let model = ModelServer::start(Script::new().on(CHAT, reply)).unwrap();
    let loreloom = Loreloom::before(&model).await;
    assert_eq!(streamed(&loreloom, CHAT, true).await.len(), 80);
}

/// The stream that answers somebody's first word.
async fn streamed(loreloom: &Loreloom, path: &str, off: bool) -> String {
    let said = json!([{"role": "user", "content": "Hi"}]);
    let body = json!({"stream": true, "messages": said, "input": said});
    let request = reqwest::Client::new().post(loreloom.url(path)).json(&body);
    let request = if off { request.header("x-loreloom-weave", "off") } else { request };
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn requests_that_say_nothing_are_no_stories() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    for (path, body) in [
        ("/api/generate", json!({"model": "m", "prompt": "", "keep_alive": 0})),
        ("/api/chat", json!({"model": "m", "messages": [], "keep_alive": 0})),
        (CHAT, json!({"messages": [{"role": "user", "content": null}]})),
    ] {
        let request = reqwest::Client::new().post(loreloom.url(path)).json(&body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers().get("x-loreloom-chat"), None, "{path}");
        answer.bytes().await.unwrap();
        assert_eq!(model.received().last().unwrap().json, body, "{path}");
    }
    assert!(loreloom.store.chats(&TenantId::local()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_background_question_of_no_chat_keeps_no_marker() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let body = json!({"messages": [{"role": "user", "content": "Weather? {{outlet::sky}}Now."}]});
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
    let answer = request.header("x-loreloom-type", "quiet").send().await.unwrap();
    answer.bytes().await.unwrap();
    let sent = model.received().last().unwrap().json.clone();
    assert_eq!(sent["messages"][0]["content"], "Weather? Now.");
}

/// A tokenizer that counts one text only after it is released.
struct Held {
    entered: Notify,
    release: Mutex<Receiver<()>>,
}

impl Held {
    /// The tokenizer, and what releases it when it is dropped.
    fn new() -> (Arc<Self>, Sender<()>) {
        let (release, held) = mpsc::channel();
        (Arc::new(Self { entered: Notify::new(), release: Mutex::new(held) }), release)
    }
}

impl TokenCounter for Held {
    fn name(&self) -> &'static str {
        "held"
    }

    fn count(&self, text: &str) -> Tokens {
        if text.contains("cracked") {
            self.entered.notify_one();
            let _released = self.release.lock().unwrap().recv();
        }
        Tokens(1)
    }
}

#[tokio::test]
async fn a_missed_deadline_passes_the_request_on_and_holds_up_no_other_chat() {
    let model = ModelServer::start(Script::new()).unwrap();
    let weaving = Weaving { deadline: Duration::from_secs(2), ..Weaving::default() };
    let (held, release) = Held::new();
    let counter = Arc::clone(&held) as Arc<dyn TokenCounter>;
    let setup = Setup { counter, weaving, ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let client = reqwest::Client::new();
    let ask = |text: &str| {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        let request = client.post(loreloom.url(CHAT)).json(&body);
        async move { request.send().await.unwrap() }
    };
    let (slow, quick) = tokio::join!(ask("Ring the bell!"), ask("Good morning."));
    let warning = "the engine took longer than 2000 ms; this turn is not stored";
    assert_eq!(slow.headers()["x-loreloom-warning"], warning);
    assert!(quick.headers().get("x-loreloom-warning").is_none());
    assert_eq!(quick.headers()["x-loreloom-woven"], "0");
    let sent = model.received();
    let slow = sent.iter().find(|one| one.last_text() == "Ring the bell!").unwrap();
    assert_eq!(slow.json, json!({"messages": [{"role": "user", "content": "Ring the bell!"}]}));
    drop(release);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_turn_after_quick_ones_passes_the_request_on_too_and_holds_up_no_other_chat() {
    let model = ModelServer::start(Script::new()).unwrap();
    let weaving = Weaving { deadline: Duration::from_secs(2), ..Weaving::default() };
    let (held, release) = Held::new();
    let counter = Arc::clone(&held) as Arc<dyn TokenCounter>;
    let setup = Setup { counter, weaving, ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let client = reqwest::Client::new();
    let ask = |chat: &str, text: &str| {
        let said = json!([{"role": "user", "content": text}]);
        let body = json!({"loreloom": {"chat": chat}, "messages": said});
        let request = client.post(loreloom.url(CHAT)).json(&body);
        async move { request.send().await.unwrap() }
    };
    for chat in ["a", "b"] {
        assert_eq!(ask(chat, "Good morning.").await.headers()["x-loreloom-woven"], "0");
    }
    let mut others = JoinSet::new();
    others.spawn(ask("c", "Ring the bell!"));
    held.entered.notified().await;
    assert_eq!(ask("d", "Good evening.").await.headers()["x-loreloom-woven"], "0");
    let slow = others.join_next().await.unwrap().unwrap();
    let warning = "the engine took longer than 2000 ms; this turn is not stored";
    assert_eq!(slow.headers()["x-loreloom-warning"], warning);
    assert!(slow.headers().get("x-loreloom-woven").is_none());
    drop(release);
}
