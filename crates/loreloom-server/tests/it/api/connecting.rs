//! Connections and routes that are set up while the server runs.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use loreloom_core::{ids::TenantId, tokens::ByteEstimate, units::Timestamp};
use loreloom_llm::{
    connection::{Address, ClientRules, Reach as Network},
    upstream::HttpUpstream,
};
use loreloom_ports::DocumentStore as _;
use loreloom_server::{ConnectionReach, Connections, KeyCabinet, KeyDraft, Opening, Scope};
use loreloom_store::SqliteStore;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use super::{Answer, Api, CHAT, Setup};
use crate::harness::{connection, empty_store};

/// Opens connections as the host does, but for keys: `LORELOOM_LOST` is not there.
fn opening() -> Opening {
    Arc::new(|name, settings, reach| {
        if settings.key.as_ref().is_some_and(|key| key.shown().ends_with("LOST")) {
            return Err("`LORELOOM_LOST` is not set".to_owned());
        }
        let url = settings.url.as_ref().map_or("http://127.0.0.1:9", |url| url.as_str());
        let address = Address::parse(url).map_err(|error| error.to_string())?;
        let shown = address.shown().to_owned();
        let reach = match reach {
            ConnectionReach::Anywhere => Network::Anywhere,
            ConnectionReach::Public => Network::Public,
        };
        let rules = ClientRules { reach, ..ClientRules::default() };
        let upstream =
            HttpUpstream::with(address, None, rules).map_err(|error| error.to_string())?;
        let mut made = connection(name, Arc::new(upstream), Arc::new(ByteEstimate));
        (made.shown, made.kind) = (shown, settings.kind);
        made.model.clone_from(&settings.model);
        made.key = settings.key_shown();
        Ok(made)
    })
}

/// Opening that hangs the `at`th time.
struct Hanging {
    opening: Opening,
    times: Arc<AtomicUsize>,
    hangs: mpsc::Receiver<()>,
    /// It goes on once this is dropped.
    release: mpsc::Sender<()>,
}

fn hanging(at: usize) -> Hanging {
    let (hang, hangs) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (times, released) = (Arc::new(AtomicUsize::new(0)), Mutex::new(released));
    let (open, count) = (opening(), Arc::clone(&times));
    let opening: Opening = Arc::new(move |name, settings, reach| {
        if count.fetch_add(1, Ordering::SeqCst) + 1 == at {
            hang.send(()).unwrap();
            released.lock().unwrap().recv().unwrap_err();
        }
        open(name, settings, reach)
    });
    Hanging { opening, times, hangs, release }
}

/// Sends a request and goes away once it hangs.
async fn given_up(request: reqwest::RequestBuilder, hangs: mpsc::Receiver<()>) {
    let hung = tokio::task::spawn_blocking(move || hangs.recv());
    let gone = tokio::select! {
        _answer = request.send() => false,
        hung = hung => hung.is_ok_and(|hung| hung.is_ok()),
    };
    assert!(gone);
}

/// A server with the connection `home` in its configuration, to which requests go.
async fn server(home: &ModelServer, store: Arc<SqliteStore>) -> Api {
    server_opening(home, store, opening()).await
}

async fn server_opening(home: &ModelServer, store: Arc<SqliteStore>, opening: Opening) -> Api {
    let address = Address::parse(&format!("{}/v1", home.base_url())).unwrap();
    let upstream = Arc::new(HttpUpstream::new(address, None).unwrap());
    let home = connection("home", upstream, Arc::new(ByteEstimate));
    let connections = Connections::only(home).opening(opening);
    let setup = Setup { connections: Some(connections), store, ..Setup::default() };
    Box::pin(Api::with(setup)).await
}

fn model(says: &'static str) -> ModelServer {
    let script = Script::new().answering(move |_| Some(Reply::text(says)));
    ModelServer::start(script).unwrap()
}

fn at(model: &ModelServer) -> Value {
    json!({"url": format!("{}/v1", model.base_url()), "model": "own"})
}

impl Api {
    async fn with_key(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        self.send(self.request(method, path).header("x-loreloom-key", key).json(body)).await
    }

    /// What a model answers to.
    async fn says(&self, model: &str) -> (u16, String) {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello."}]});
        let request = reqwest::Client::new().post(self.loreloom.url(CHAT)).json(&body);
        let answer = self.send(request).await;
        let text = answer.json["choices"][0]["message"]["content"].as_str().unwrap_or(&answer.text);
        (answer.status, text.to_owned())
    }
}

async fn key(store: &SqliteStore, tenant: &str) -> String {
    let cabinet = KeyCabinet { documents: store };
    let mut random = [0; 32];
    random[0] = u8::try_from(cabinet.list().await.unwrap().len()).unwrap();
    let draft = KeyDraft::new(tenant, Scope::ALL);
    cabinet.add(draft, random, Timestamp(1)).await.unwrap().0
}

fn names(list: &Value) -> Vec<(&str, &str)> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|one| (one["name"].as_str().unwrap(), one["source"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_connection_serves_once_it_is_set_up_and_a_route_sends_models_there() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    assert_eq!(api.says("gpt-1").await, (200, "home".to_owned()));
    let made = api.call("PUT", "/connections/mine", at(&own)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(api.says("mine/gpt-1").await, (200, "own".to_owned()));
    assert_eq!(api.says("gpt-1").await, (200, "home".to_owned()));
    let routes = json!({"routes": [{"models": "gpt-*", "connection": "mine"}]});
    let put = api.call("PUT", "/routes", routes).await.good();
    assert_eq!(
        put["item"]["effective"]["routes"],
        json!([{"models": "gpt-*", "connection": "mine", "set": true}])
    );
    assert_eq!(api.says("gpt-1").await, (200, "own".to_owned()));
    assert_eq!(api.says("qwen").await, (200, "home".to_owned()));
    let put = api.call("PUT", "/routes", json!({"features": {"writer": "mine"}})).await.good();
    assert_eq!(put["item"]["effective"]["writer"], "mine");
    assert_eq!(api.says("qwen").await, (200, "own".to_owned()));
    let undo = api.call("POST", "/undo", json!({"undo": put["undo"]})).await;
    assert_eq!(undo.status, 200, "{}", undo.text);
    assert_eq!(api.says("qwen").await, (200, "home".to_owned()));
    assert_eq!(api.says("gpt-1").await, (200, "own".to_owned()));
    let listed = api.get("/connections").await.good();
    assert_eq!(names(&listed), [("home", "configuration"), ("mine", "api")]);
    assert_eq!(
        listed["items"][1]["settings"],
        json!({
            "kind": "openai", "url": format!("{}/v1", own.base_url()), "model": "own"
        })
    );
    // Another server over the same store has it too, and so has this one after a restart.
    let again = server(&home, Arc::clone(&api.loreloom.store)).await;
    again.loreloom.app.open().await.unwrap();
    assert_eq!(again.says("gpt-1").await, (200, "own".to_owned()));
}

#[tokio::test]
async fn a_connection_in_use_stays_and_one_of_the_configuration_too() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    api.call("PUT", "/connections/mine", at(&own)).await.good();
    let routing = json!({
        "routes": [{"models": "gpt-*", "connection": "mine"}],
        "features": {"extractor": {"connection": "mine", "model": "m"}},
    });
    let put = api.call("PUT", "/routes", routing).await.good();
    assert_eq!(put["item"]["effective"]["features"]["extractor"]["model"], "m");
    let (code, detail) = api.send(api.request("DELETE", "/connections/mine")).await.refused(409);
    assert_eq!(code, "conflict");
    assert!(detail.contains("route `gpt-*`, feature `extractor`"), "{detail}");
    api.call("PUT", "/routes", json!({})).await.good();
    let gone = api.send(api.request("DELETE", "/connections/mine")).await.good();
    assert_eq!(names(&gone["item"]), [("home", "configuration")]);
    let missing = api.send(api.request("DELETE", "/connections/mine")).await;
    assert_eq!(missing.refused(404).1, "there is no connection `mine`");
    for method in ["PUT", "DELETE"] {
        let request = api.request(method, "/connections/home").json(&at(&own));
        let (code, detail) = api.send(request).await.refused(409);
        assert!(code == "conflict" && detail.contains("of the configuration"), "{detail}");
    }
    // What a route still names after an undo is there, and goes nowhere else.
    let made = api.call("PUT", "/connections/mine", at(&own)).await.good();
    api.call("PUT", "/routes", json!({"routes": [{"models": "x", "connection": "mine"}]}))
        .await
        .good();
    api.call("POST", "/undo", json!({"undo": made["undo"]})).await.good();
    let (status, text) = api.says("x").await;
    assert_eq!(status, 502, "{text}");
    assert!(text.contains("there is no connection `mine`"), "{text}");
    let named = json!({"routes": [{"models": "y", "connection": "mine"}]});
    let (_, told) = api.call("PUT", "/routes", named).await.refused(422);
    assert_eq!(told, "there is no connection `mine`");
}

#[tokio::test]
async fn what_cannot_be_set_up_changes_nothing() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    for (name, body, detail) in [
        ("mine", json!({}), "`url` must be set for the kind `openai`"),
        ("mine", json!({"url": "ftp://h"}), "`url`: must be an `http` or `https` URL with a host"),
        ("mine", json!({"url": "http://h", "colour": 1}), "there is no field `colour`"),
        (
            "mine",
            json!({"url": "http://h", "key": "env:LORELOOM_LOST"}),
            "the connection cannot be opened: `LORELOOM_LOST` is not set",
        ),
        ("a%20b", at(&own), "`name` must be 1 to 64 letters"),
    ] {
        let answer = api.call("PUT", &format!("/connections/{name}"), body).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text);
        let told = answer.json["detail"].as_str().unwrap();
        assert!(told.starts_with(detail), "{told}");
    }
    for (body, detail) in [
        (json!({"routes": [{"models": "*", "connection": "none"}]}), "there is no connection"),
        (json!({"routes": [{"models": "", "connection": "home"}]}), "`routes[0].models`"),
        (json!({"features": {"writer": "none"}}), "there is no connection"),
        (json!({"features": {"extractor": "home"}}), "`extractor` needs a model"),
        (
            json!({"features": {"writer": {"connection": "home", "model": "m"}}}),
            "`writer` names a connection alone",
        ),
    ] {
        let (_, told) = api.call("PUT", "/routes", body.clone()).await.refused(422);
        assert!(told.starts_with(detail), "{body}: {told}");
    }
    assert_eq!(api.loreloom.store.revision(&TenantId::local()).await.unwrap(), 0);
    let seen = api.get("/connections").await.etag();
    api.call("PUT", "/connections/mine", at(&own)).await.good();
    let late = api.request("PUT", "/connections/mine").header("if-match", &seen).json(&at(&own));
    assert_eq!(api.send(late).await.refused(412).0, "outdated");
    let late = api.request("PUT", "/routes").header("if-match", seen).json(&json!({}));
    assert_eq!(api.send(late).await.refused(412).0, "outdated");
}

#[tokio::test]
async fn a_key_reaches_only_what_everybody_can_and_names_only_variables_meant_for_it() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    let ours = key(&api.loreloom.store, "local").await;
    api.loreloom.app.refresh_keys().await.unwrap();
    let put = |body: Value| api.with_key_put(&ours, body);
    // A number is refused at once, a name when it is looked up.
    let (_, told) = put(at(&own)).await.refused(422);
    assert!(told.contains("must be a public address"), "{told}");
    let named = own.base_url().replace("127.0.0.1", "localhost");
    put(json!({"url": format!("{named}/v1")})).await.good();
    let (status, text) = api.says("theirs/m").await;
    assert_eq!(status, 502, "{text}");
    assert!(own.received().is_empty());
    for source in ["env:HOME", "file:/etc/hostname", "keyring:a/b"] {
        let (code, told) =
            put(json!({"url": "https://example.com/v1", "key": source})).await.refused(403);
        assert_eq!(code, "forbidden");
        assert!(told.contains("`LORELOOM_`") && !told.contains(source), "{told}");
    }
    put(json!({"url": "https://example.com/v1", "key": "env:LORELOOM_A"})).await.good();
    // The server's keys are not other tenants'.
    let theirs = key(&api.loreloom.store, "guild").await;
    api.loreloom.app.refresh_keys().await.unwrap();
    let body = json!({"url": "https://example.com/v1", "key": "env:LORELOOM_A"});
    let (code, told) = api.with_key_put(&theirs, body).await.refused(403);
    assert_eq!(code, "forbidden");
    assert!(told.contains("belong to the tenant `local`"), "{told}");
    api.with_key_put(&theirs, json!({"url": "https://example.com/v1"})).await.good();
    let file = json!({"url": "https://example.com/v1", "tokenizer": {"file": "/etc/hostname"}});
    assert_eq!(put(file).await.refused(403).0, "forbidden");
    // The same through a test of settings.
    let body = json!({"settings": {"url": "https://example.com", "key": "env:HOME"}});
    let answer = api.with_key(&ours, "POST", "/connections/test", &body).await;
    assert_eq!(answer.refused(403).0, "forbidden");
    // Without a key, on this machine, all of it may be named.
    let here = json!({"url": format!("{named}/v1"), "key": "env:HOME"});
    api.call("PUT", "/connections/theirs", here).await.good();
    assert_eq!(api.says("theirs/m").await, (200, "own".to_owned()));
}

impl Api {
    async fn with_key_put(&self, key: &str, body: Value) -> Answer {
        self.with_key(key, "PUT", "/connections/theirs", &body).await
    }
}

#[tokio::test]
async fn what_may_be_a_key_is_neither_repeated_nor_stored() {
    let home = model("home");
    let api = server(&home, empty_store()).await;
    for body in [
        json!({"url": "http://h/v1", "key": "sk-canary"}),
        json!({"url": "http://h/v1", "key": "env:sk-canary"}),
        json!({"url": "http://h/v1", "key": {"value": "sk-canary"}}),
        json!({"url": "http://ann:sk-canary@h/v1"}),
        json!({"url": "http://h/v1?key=sk-canary"}),
        json!({"url": "sk-canary"}),
        json!({"url": "http://h/v1", "api_key": "sk-canary"}),
    ] {
        for settings in [false, true] {
            let answer = if settings {
                api.call("POST", "/connections/test", json!({"settings": body})).await
            } else {
                api.call("PUT", "/connections/mine", body.clone()).await
            };
            assert!((400..500).contains(&answer.status), "{body}: {}", answer.text);
            assert!(!answer.text.contains("canary"), "{body}: {}", answer.text);
        }
    }
    assert_eq!(api.loreloom.store.revision(&TenantId::local()).await.unwrap(), 0);
}

#[tokio::test]
async fn connections_are_the_tenants_own_and_for_administrators() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    let store = Arc::clone(&api.loreloom.store);
    let ann = key(&store, "ann").await;
    let reader = KeyCabinet { documents: store.as_ref() }
        .add(KeyDraft::new(TenantId::local(), [Scope::Read, Scope::Write]), [99; 32], Timestamp(1))
        .await
        .unwrap()
        .0;
    api.loreloom.app.refresh_keys().await.unwrap();
    let here = json!({"url": format!("{}/v1", own.base_url()), "key": "env:SOME_NAME"});
    let made = api.call("PUT", "/connections/mine", here).await.good();
    let listed = api.with_key(&ann, "GET", "/connections", &json!({})).await.good();
    assert_eq!(names(&listed), [("home", "configuration")]);
    assert_eq!(listed["items"][0]["key"], Value::Null, "another tenant's administrator");
    let body = json!({"url": "https://example.com/v1", "model": "m"});
    api.with_key(&ann, "PUT", "/connections/anns", &body).await.good();
    let own_routes = json!({"routes": [{"models": "*", "connection": "anns"}]});
    api.with_key(&ann, "PUT", "/routes", &own_routes).await.good();
    assert_eq!(api.says("gpt-1").await, (200, "home".to_owned()), "another tenant's route");
    let features = json!({"features": {"extractor": "anns"}});
    let answer = api.with_key(&ann, "PUT", "/routes", &features).await;
    assert_eq!(answer.refused(403).0, "forbidden");
    for (method, path, body) in [
        ("PUT", "/connections/mine", &body),
        ("DELETE", "/connections/mine", &json!({})),
        ("PUT", "/routes", &json!({})),
        ("POST", "/undo", &json!({"undo": made["undo"]})),
    ] {
        let answer = api.with_key(&reader, method, path, body).await;
        assert_eq!(answer.refused(403).0, "forbidden", "{method} {path}");
    }
    let seen = api.with_key(&reader, "GET", "/connections", &json!({})).await.text;
    assert!(seen.contains("mine") && !seen.contains("SOME_NAME"), "{seen}");
    assert!(seen.contains("\"settable\":false"), "{seen}");
    let seen = api.with_key(&reader, "GET", "/revisions", &json!({})).await.text;
    assert!(seen.contains("connection/mine") && !seen.contains("SOME_NAME"), "{seen}");
}

#[tokio::test]
async fn one_that_cannot_be_opened_any_more_says_so_and_its_requests_go_nowhere_else() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    let mut settings = at(&own);
    settings["key"] = json!("env:LORELOOM_LOST");
    let change = loreloom_ports::Change {
        key: "connection/lost".to_owned(),
        value: Some(json!({"settings": settings, "reach": "anywhere"})),
    };
    let tenant = TenantId::local();
    api.loreloom.store.change(&tenant, &[change], None, Timestamp(1)).await.unwrap();
    api.loreloom.app.open().await.unwrap();
    let listed = api.get("/connections").await.good();
    assert_eq!(listed["items"][1]["problem"], "`LORELOOM_LOST` is not set");
    api.call("PUT", "/routes", json!({"features": {"writer": "lost"}})).await.good();
    let (status, text) = api.says("m").await;
    assert_eq!(status, 502, "{text}");
    assert!(text.contains("`LORELOOM_LOST` is not set"), "{text}");
    let test = api.call("POST", "/connections/test", json!({"connection": "lost"})).await.good();
    assert_eq!(test["passed"], false);
    assert!(home.received().is_empty());
}

#[tokio::test]
async fn one_that_cannot_be_read_stops_nobody_and_is_replaced() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    let change = loreloom_ports::Change {
        key: "connection/later".to_owned(),
        value: Some(json!({"settings": {"kind": "telepathy"}, "reach": "anywhere"})),
    };
    let tenant = TenantId::local();
    api.loreloom.store.change(&tenant, &[change], None, Timestamp(1)).await.unwrap();
    api.loreloom.app.open().await.unwrap();
    let listed = api.get("/connections").await.good();
    let problem = listed["items"][1]["problem"].as_str().unwrap();
    assert!(problem.contains("its settings cannot be read"), "{problem}");
    assert_eq!(api.says("later/m").await.0, 502);
    assert!(home.received().is_empty());
    api.call("PUT", "/connections/later", at(&own)).await.good();
    assert_eq!(api.says("later/m").await, (200, "own".to_owned()));
}

#[tokio::test]
async fn routes_that_cannot_be_read_stop_nobody_and_are_replaced() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    api.call("PUT", "/connections/mine", at(&own)).await.good();
    let change = loreloom_ports::Change {
        key: "routes".to_owned(),
        value: Some(json!({"routes": [{"models": "*", "connection": "mine", "mood": 1}]})),
    };
    let tenant = TenantId::local();
    api.loreloom.store.change(&tenant, &[change], None, Timestamp(1)).await.unwrap();
    api.loreloom.app.open().await.unwrap();
    let shown = api.get("/routes").await.good();
    let problem = shown["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("the routes that were set cannot be read"), "{problem}");
    assert!(problem.contains("`mood`"), "{problem}");
    assert_eq!(shown["set"], json!({"routes": [], "features": {}}));
    assert_eq!(api.says("gpt-1").await, (200, "home".to_owned()));
    let routes = json!({"routes": [{"models": "*", "connection": "mine"}]});
    let put = api.call("PUT", "/routes", routes).await.good();
    assert_eq!(put["item"]["problems"], json!([]));
    assert_eq!(api.says("gpt-1").await, (200, "own".to_owned()));
}

#[tokio::test]
async fn a_request_that_runs_keeps_its_connection() {
    let (home, own) = (model("home"), model("own"));
    let api = server(&home, empty_store()).await;
    let slow = Reply::chunks(["be", "fore"]).after(Duration::from_millis(300));
    let slow = ModelServer::start(Script::new().on(CHAT, slow)).unwrap();
    api.call("PUT", "/connections/mine", at(&slow)).await.good();
    let asking = api.says("mine/m");
    let changing = async {
        while slow.received().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        api.call("PUT", "/connections/mine", at(&own)).await.good();
        api.says("mine/m").await
    };
    let (before, after) = tokio::join!(asking, changing);
    assert_eq!(before, (200, "before".to_owned()));
    assert_eq!(after, (200, "own".to_owned()));
}

#[tokio::test]
async fn a_change_whose_caller_has_gone_serves_all_the_same() {
    let (home, own) = (model("home"), model("own"));
    // Settings are tried first, then taken up.
    let Hanging { opening, hangs, release, .. } = hanging(2);
    let api = server_opening(&home, empty_store(), opening).await;
    api.loreloom.app.open().await.unwrap();
    given_up(api.request("PUT", "/connections/mine").json(&at(&own)), hangs).await;
    let mut said = api.says("mine/m").await;
    for _ in 0..200 {
        if said.1 == "own" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        said = api.says("mine/m").await;
    }
    assert_eq!(said, (200, "own".to_owned()));
    drop(release);
}

#[tokio::test]
async fn a_named_call_whose_caller_has_gone_is_carried_out_once_and_its_answer_kept() {
    let (home, own) = (model("home"), model("own"));
    let Hanging { opening, times, hangs, release } = hanging(1);
    let api = server_opening(&home, empty_store(), opening).await;
    let call = || {
        let body = json!({"settings": at(&own)});
        api.request("POST", "/connections/test").header("idempotency-key", "k").json(&body)
    };
    given_up(call(), hangs).await;
    assert_eq!(api.send(call()).await.refused(409).1, "the call `k` is being carried out");
    drop(release);
    let mut answer = api.send(call()).await;
    for _ in 0..200 {
        if answer.status != 409 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        answer = api.send(call()).await;
    }
    assert_eq!(answer.good()["passed"], true);
    assert_eq!(times.load(Ordering::SeqCst), 1);
}
