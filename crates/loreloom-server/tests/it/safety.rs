//! Who gets in, what they may do, and what they may take.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use loreloom_core::{
    book::{Book, Entry, Key},
    ids::TenantId,
    library::{Binding, Volume},
    units::Timestamp,
};
use loreloom_ports::{Change, DocumentStore as _};
use loreloom_server::{
    Access, Happened, KeyCabinet, KeyDraft, Maker, Origins, Scope, ServerLimits, StoredBooks,
};
use loreloom_store::SqliteStore;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use crate::harness::{Loreloom, Setup, empty_store};

const CHAT: &str = "/v1/chat/completions";

async fn key(store: &SqliteStore, tenant: &str, scopes: &[Scope]) -> String {
    let mut random = [0; 32];
    random[0] = u8::try_from(KeyCabinet { documents: store }.list().await.unwrap().len()).unwrap();
    let cabinet = KeyCabinet { documents: store };
    let draft = KeyDraft::new(tenant, scopes.iter().copied());
    cabinet.add(draft, random, Timestamp(1)).await.unwrap().0
}

fn ask(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

async fn send(
    loreloom: &Loreloom,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> reqwest::Response {
    let client = reqwest::Client::new();
    let mut request = match body {
        Some(body) => client.post(loreloom.url(path)).json(body),
        None => client.get(loreloom.url(path)),
    };
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

fn locked(store: &Arc<SqliteStore>) -> Setup {
    let access = Access { require_key: true, ..Access::default() };
    Setup { access, store: Arc::clone(store), ..Setup::default() }
}

#[tokio::test]
async fn where_a_key_is_needed_nothing_is_told_without_one_and_each_key_has_its_scope() {
    let model = ModelServer::start(Script::new()).unwrap();
    let store = empty_store();
    let proxy = key(&store, "local", &[Scope::Proxy]).await;
    let reader = key(&store, "local", &[Scope::Read]).await;
    let loreloom = Loreloom::start(&model, locked(&store)).await;
    let (proxy, reader) = (proxy.as_str(), reader.as_str());
    let bearer = format!("Bearer {proxy}");
    let question = ask("Hello");
    let post = Some(&question);
    for (path, headers, body, status) in [
        ("/health", &[] as &[(&str, &str)], None, 200),
        ("/ready", &[], None, 200),
        ("/", &[], None, 200),
        ("/c/demo", &[], None, 200),
        // A person gets the page, which says that nothing is there; a program has to give a key.
        ("/nowhere", &[("accept", "text/html")], None, 404),
        ("/nowhere", &[], None, 401),
        ("/api/v1/chats", &[("accept", "text/html")], None, 401),
        ("/v1/models", &[("accept", "text/html")], None, 401),
        ("/api/v1/chats", &[], None, 401),
        ("/api/v1/events", &[], None, 401),
        ("/last-turn", &[], None, 401),
        ("/metrics", &[], None, 401),
        ("/api/v1/chats", &[("x-loreloom-key", reader)], None, 200),
        (CHAT, &[], post, 401),
        (CHAT, &[("authorization", "Bearer sk-1")], post, 401),
        (CHAT, &[("x-loreloom-key", "ll_wrong")], post, 401),
        (CHAT, &[("x-loreloom-key", proxy)], post, 200),
        (CHAT, &[("authorization", &bearer)], post, 200),
        (CHAT, &[("x-api-key", proxy)], post, 200),
        (CHAT, &[("x-loreloom-key", reader)], post, 403),
        ("/v1/models", &[("x-loreloom-key", reader)], None, 403),
        ("/api/last-turn", &[("x-loreloom-key", proxy)], None, 403),
        ("/api/last-turn", &[("x-loreloom-key", reader)], None, 200),
    ] {
        let response = send(&loreloom, path, headers, body).await;
        assert_eq!(response.status().as_u16(), status, "{path} {headers:?}");
    }
    assert_eq!(model.received().len(), 3);
    let lost = send(&loreloom, "/nowhere", &[("accept", "text/html")], None).await;
    assert_eq!(lost.headers()["content-type"], "text/html; charset=utf-8");
    for (path, body) in [("/api/v1/chats", None), (CHAT, post)] {
        let response = send(&loreloom, path, &[("x-loreloom-key", "ll_wrong")], body).await;
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
        let told: Value = response.json().await.unwrap();
        let message = "this key is not known here";
        assert_eq!((&told["code"], &told["detail"]), (&json!("key_unknown"), &json!(message)));
        let error = json!({"message": message, "type": "key_unknown", "code": "key_unknown", "param": null});
        assert_eq!(told["error"], error);
    }
}

#[tokio::test]
async fn only_an_administrators_key_changes_settings_and_tries_connections() {
    let model = ModelServer::start(Script::new()).unwrap();
    let store = empty_store();
    let writer = key(&store, "local", &[Scope::Read, Scope::Write, Scope::Proxy]).await;
    let admin = key(&store, "local", &[Scope::Read, Scope::Write, Scope::Admin]).await;
    let loreloom = Loreloom::start(&model, locked(&store)).await;
    let call = async |method: &str, path: &str, key: &str, body: Value| {
        let method: http::Method = method.parse().unwrap();
        let request = reqwest::Client::new().request(method, loreloom.url(path));
        let response = request.header("x-loreloom-key", key).json(&body).send().await.unwrap();
        let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
        (status, serde_json::from_str::<Value>(&text).unwrap_or_default())
    };
    let setting = json!({"story.user": "Wren"});
    let (status, refused) = call("PATCH", "/api/v1/settings", &writer, setting.clone()).await;
    assert_eq!((status, &refused["code"]), (403, &json!("forbidden")));
    assert_eq!(refused["detail"], "this key does not have the scope `admin`");
    let (status, wrote) = call("PATCH", "/api/v1/settings", &admin, setting).await;
    assert_eq!(status, 200);
    let undo = json!({"undo": wrote["undo"]});
    assert_eq!(call("POST", "/api/v1/undo", &writer, undo.clone()).await.0, 403);
    assert_eq!(call("POST", "/api/v1/undo", &admin, undo).await.0, 200);
    for (key, status) in [(&writer, 403), (&admin, 200)] {
        assert_eq!(call("POST", "/api/v1/connections/test", key, json!({})).await.0, status);
    }
    let trial = json!({"trial": "session", "model": "m"});
    assert_eq!(call("POST", "/api/v1/connections/trial", &writer, trial).await.0, 403);
    let vault =
        [Change { key: "vault/notes".to_owned(), value: Some(json!({"folder": "/private"})) }];
    store.change(&TenantId::local(), &vault, None, Timestamp(1)).await.unwrap();
    let vaults = "/api/v1/revisions?key=vault/";
    for (key, shown) in [(&writer, Value::Null), (&admin, json!({"folder": "/private"}))] {
        let (_, found) = call("GET", vaults, key, Value::Null).await;
        assert_eq!(found["items"][0]["changes"][0]["after"], shown);
    }
    let chat = json!({"id": "hall"});
    assert_eq!(call("POST", "/api/v1/chats", &writer, chat).await.0, 201);
    let (_, wrote) = call("DELETE", "/api/v1/chats/hall", &writer, Value::Null).await;
    let undo = json!({"undo": wrote["undo"]});
    assert_eq!(call("POST", "/api/v1/undo", &writer, undo).await.0, 200, "no setting");
}

#[tokio::test]
async fn our_keys_never_reach_the_model_and_the_models_keys_do() {
    let model = ModelServer::start(Script::new()).unwrap();
    let store = empty_store();
    let ours = key(&store, "local", &[Scope::Proxy]).await;
    for require_key in [true, false] {
        let access = Access { require_key, ..Access::default() };
        let setup = Setup { access, store: Arc::clone(&store), ..Setup::default() };
        let loreloom = Loreloom::start(&model, setup).await;
        let headers = [("x-loreloom-key", ours.as_str()), ("authorization", "Bearer sk-theirs")];
        assert_eq!(send(&loreloom, CHAT, &headers, Some(&ask("a"))).await.status(), 200);
        let bearer = format!("Bearer {ours}");
        let only = [("authorization", bearer.as_str()), ("x-api-key", "sk-theirs")];
        assert_eq!(send(&loreloom, CHAT, &only, Some(&ask("a"))).await.status(), 200);
    }
    for (at, sent) in model.received().iter().enumerate() {
        let (key, other) = if at % 2 == 0 {
            ("authorization", "Bearer sk-theirs")
        } else {
            ("x-api-key", "sk-theirs")
        };
        assert_eq!(sent.header(key), Some(other), "{at}");
        assert!(!format!("{:?}", sent.headers).contains("ll_"), "{:?}", sent.headers);
    }
    let open = Loreloom::before(&model).await;
    let headers = [("authorization", "Bearer sk-theirs")];
    assert_eq!(send(&open, CHAT, &headers, Some(&ask("a"))).await.status(), 200);
    let stranger = [("authorization", "Bearer ll_unknown")];
    assert_eq!(send(&open, CHAT, &stranger, Some(&ask("a"))).await.status(), 401);
}

#[tokio::test]
async fn a_revoked_key_is_refused_by_a_running_server() {
    let model = ModelServer::start(Script::new()).unwrap();
    let store = empty_store();
    let ours = key(&store, "local", &[Scope::Proxy]).await;
    let loreloom = Loreloom::start(&model, locked(&store)).await;
    loreloom.app.open().await.unwrap();
    let headers = [("x-loreloom-key", ours.as_str())];
    assert_eq!(send(&loreloom, CHAT, &headers, Some(&ask("a"))).await.status(), 200);
    let cabinet = KeyCabinet { documents: store.as_ref() };
    let id = cabinet.list().await.unwrap()[0].id().to_owned();
    cabinet.revoke(&id, Timestamp(2)).await.unwrap();
    for _ in 0..100 {
        if send(&loreloom, CHAT, &headers, Some(&ask("a"))).await.status() == 401 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the key was never refused");
}

/// A book of one tenant.
async fn put_book(store: &SqliteStore, tenant: &str, text: &str) {
    let mut book = Book::new("own", "Own");
    let mut entry = Entry::new("own/0");
    entry.activation.keys = vec![Key::parse("gate")];
    text.clone_into(&mut entry.content);
    book.entries.push(entry);
    let tenant = TenantId::from(tenant);
    let case = StoredBooks { documents: store, tenant: &tenant };
    let books = vec![(Volume::world_info(Arc::new(book)), vec![Binding::Everywhere])];
    case.put(books, Maker::Hand, None, Timestamp(1)).await.unwrap();
}

#[tokio::test]
async fn tenants_share_neither_books_nor_stories_nor_turns_nor_notices() {
    let model = ModelServer::start(Script::new()).unwrap();
    let store = empty_store();
    let all = [Scope::Read, Scope::Proxy];
    let (ann, bob) = (key(&store, "ann", &all).await, key(&store, "bob", &all).await);
    put_book(&store, "ann", "Ann's gate is open.").await;
    put_book(&store, "bob", "Bob's gate is shut.").await;
    let loreloom = Loreloom::start(&model, locked(&store)).await;
    let mut notices = loreloom.app.notices.listen();
    // The same words from both: one recogniser would take them for one story.
    for key in [&ann, &bob] {
        let headers = [("x-loreloom-key", key.as_str()), ("x-loreloom-chat", "same")];
        let body = ask("Ring the bell at the gate!");
        send(&loreloom, CHAT, &headers, Some(&body)).await.bytes().await.unwrap();
    }
    let sent: Vec<String> = model.received().iter().map(|one| one.json.to_string()).collect();
    assert!(sent[0].contains("Ann's gate") && !sent[0].contains("Bob's gate"), "{}", sent[0]);
    assert!(sent[1].contains("Bob's gate") && !sent[1].contains("Ann's gate"), "{}", sent[1]);
    let mounted = "The bell of Harrow is cracked.";
    assert!(sent.iter().all(|one| !one.contains(mounted)), "books named at start are our own");
    for (key, theirs, others) in [(&ann, "Ann's", "Bob's"), (&bob, "Bob's", "Ann's")] {
        let headers = [("x-loreloom-key", key.as_str())];
        let last = send(&loreloom, "/api/last-turn", &headers, None).await.text().await.unwrap();
        assert!(last.contains(theirs) && !last.contains(others), "{last}");
    }
    assert!(loreloom.app.last_turn().await.unwrap().is_none(), "nothing is the local tenant's");
    let mut told = BTreeSet::new();
    while let Ok(notice) = notices.try_recv() {
        if matches!(notice.what, Happened::TurnStored { .. }) {
            told.insert(notice.tenant.to_string());
        }
    }
    assert_eq!(told, BTreeSet::from(["ann".to_owned(), "bob".to_owned()]));
}

#[tokio::test]
async fn pages_that_are_named_may_ask_and_read_and_no_others() {
    let model = ModelServer::start(Script::new()).unwrap();
    let origins = Origins { pages: vec!["https://ui.example".to_owned()], ..Origins::default() };
    let access = Access { origins, ..Access::default() };
    let loreloom = Loreloom::start(&model, Setup { access, ..Setup::default() }).await;
    let client = reqwest::Client::new();
    for (origin, status, may_read) in [
        ("https://ui.example", 204, true),
        ("https://evil.example", 403, false),
        ("http://localhost:3000", 200, false),
    ] {
        let preflight = client
            .request(reqwest::Method::OPTIONS, loreloom.url(CHAT))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type");
        let preflight = preflight.send().await.unwrap();
        let allowed = preflight.headers().get("access-control-allow-origin");
        assert_eq!(allowed.is_some(), may_read, "{origin}");
        if status == 204 {
            assert_eq!(preflight.status(), 204, "{origin}");
            assert_eq!(preflight.headers()["access-control-allow-headers"], "content-type");
        }
        let asked = send(&loreloom, CHAT, &[("origin", origin)], Some(&ask("a"))).await;
        assert_eq!(asked.status() == 403, status == 403, "{origin}");
        let readable = asked.headers().get("access-control-allow-origin").is_some();
        assert_eq!(readable, may_read, "{origin}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_or_never_comes_is_refused() {
    let model = ModelServer::start(Script::new()).unwrap();
    let limits =
        ServerLimits { body: 1000, stall: Duration::from_millis(200), ..ServerLimits::default() };
    let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
    let large = send(&loreloom, CHAT, &[], Some(&ask(&"a".repeat(2000)))).await;
    assert_eq!(large.status(), 413);
    // Clients of Ollama read a text.
    let large = send(&loreloom, "/api/chat", &[], Some(&ask(&"a".repeat(2000)))).await;
    let told: Value = large.json().await.unwrap();
    let rule = "the body may have 0 MiB at most (`body_mb` of the server's limits), found 2";
    assert!(told["error"].as_str().unwrap().starts_with(rule), "{told}");
    let mut slow = TcpStream::connect(loreloom.address).await.unwrap();
    let head = format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 90\r\n\r\n{{");
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    let reading = tokio::time::timeout(Duration::from_secs(30), slow.read_exact(&mut answer));
    reading.await.unwrap().unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), "HTTP/1.1 408");
    assert!(model.received().is_empty());
}

/// What a server answers to these bytes, once it is told in full.
async fn answered(loreloom: &Loreloom, bytes: &[u8], whole: &str) -> String {
    let mut stream = TcpStream::connect(loreloom.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.contains(whole) {
        let reading = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut piece));
        let read = reading.await.unwrap().unwrap();
        assert!(read > 0, "the answer ended: {text}");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    text
}

#[tokio::test]
async fn a_call_of_the_api_whose_body_never_comes_is_not_called_too_large() {
    let model = ModelServer::start(Script::new()).unwrap();
    let limits = ServerLimits { stall: Duration::from_millis(200), ..ServerLimits::default() };
    let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
    for named in ["", "idempotency-key: k1\r\n"] {
        let head = format!(
            "POST /api/v1/undo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             {named}content-length: 90\r\n\r\n{{"
        );
        let answer = answered(&loreloom, head.as_bytes(), "\"code\":").await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(
            answer.contains("\"detail\":\"no part of the body arrived for 200ms\""),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn the_api_reads_no_body_that_is_larger_than_a_large_book() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let url = loreloom.url("/api/v1/books/import?id=big");
    for (bytes, status) in [(1 << 20, 422), ((32 << 20) + 1, 413)] {
        let request = reqwest::Client::new().post(&url).body(vec![b' '; bytes]);
        assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{bytes}");
    }
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_head_is_let_go_and_so_are_too_many() {
    let model = ModelServer::start(Script::new()).unwrap();
    let limits = ServerLimits {
        head_time: Duration::from_millis(300),
        connections: 2,
        ..ServerLimits::default()
    };
    let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(loreloom.address).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: loc").await.unwrap();
        slow.push(stream);
    }
    // Connections are accepted in order, so both places are taken.
    let mut third = TcpStream::connect(loreloom.address).await.unwrap();
    let mut answer = Vec::new();
    let _reset = third.read_to_end(&mut answer).await;
    assert!(answer.starts_with(b"HTTP/1.1 503"), "{}", String::from_utf8_lossy(&answer));
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest));
        let _reset = ended.await.expect("a slow client was never let go");
    }
    for _ in 0..100 {
        if let Ok(answer) = reqwest::get(loreloom.url("/health")).await
            && answer.status() == 200
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("their places were never free again");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let model = ModelServer::start(Script::new()).unwrap();
    let limits = ServerLimits { head: 8192, ..ServerLimits::default() };
    let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
    let long = "a".repeat(20_000);
    let answer = send(&loreloom, "/health", &[("x-long", &long)], None).await;
    assert_eq!(answer.status(), 431);
    let many: Vec<(String, &str)> = (0..200).map(|at| (format!("x-{at}"), "1")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, one)| (name.as_str(), *one)).collect();
    assert_eq!(send(&loreloom, "/health", &many, None).await.status(), 431);
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_let_go_and_its_generation_ends() {
    // Large pieces: few of them fill what the sockets hold.
    let piece = "a long piece of the story, again and again ".repeat(100);
    let endless = Reply::chunks(vec![piece.as_str(); 6_000]);
    let model = ModelServer::start(Script::new().on(CHAT, endless)).unwrap();
    let limits = ServerLimits { stall: Duration::from_millis(300), ..ServerLimits::default() };
    let loreloom = Loreloom::start(&model, Setup { limits, ..Setup::default() }).await;
    // The less the kernel takes in its place, the sooner the server has to wait.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut deaf = socket.connect(loreloom.address).await.unwrap();
    let body = json!({"model": "m", "stream": true,
                      "messages": [{"role": "user", "content": "a"}]})
    .to_string();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    deaf.write_all(head.as_bytes()).await.unwrap();
    model.wait_for_disconnects(1).await.unwrap();
    drop(deaf);
}
