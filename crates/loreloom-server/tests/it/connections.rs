//! Several model servers behind one address.

use std::sync::{Arc, Mutex};

use loreloom_core::{tokens::ByteEstimate, units::Tokens};
use loreloom_llm::{connection::Address, tokenizers::Tokenizer, upstream::HttpUpstream};
use loreloom_server::{Connection, Connections, ConnectionsError, RouteSetting};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup, connection};

const CHAT: &str = "/v1/chat/completions";

fn to(name: &str, model: &ModelServer) -> Connection {
    let address = Address::parse(&format!("{}/v1", model.base_url())).unwrap();
    let upstream = Arc::new(HttpUpstream::new(address, None).unwrap());
    connection(name, upstream, Arc::new(ByteEstimate))
}

fn route(models: &str, connection: &str) -> RouteSetting {
    RouteSetting { models: models.to_owned(), connection: connection.into() }
}

fn ask(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "Ring the bell!"}]})
}

async fn post(loreloom: &Loreloom, path: &str, body: &Value, named: Option<&str>) -> u16 {
    let mut request = reqwest::Client::new().post(loreloom.url(path)).json(body);
    if let Some(named) = named {
        request = request.header("x-loreloom-connection", named);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    response.bytes().await.unwrap();
    status
}

#[tokio::test]
async fn a_request_goes_where_its_model_is() {
    let (home, cloud) = (ModelServer::start(Script::new()), ModelServer::start(Script::new()));
    let (home, cloud) = (home.unwrap(), cloud.unwrap());
    let routes = vec![route("gpt-4o", "home"), route("gpt-*", "cloud")];
    let all = vec![to("cloud", &cloud), to("home", &home)];
    let connections = Connections::new(all, routes, Some(&"home".into())).unwrap();
    let setup = Setup { connections: Some(connections), ..Setup::default() };
    let loreloom = Loreloom::start(&home, setup).await;
    for (path, body, named, goes_home, status) in [
        (CHAT, ask("gpt-5"), None, false, 200),
        (CHAT, ask("gpt-4o"), None, true, 200),
        (CHAT, ask("llama"), None, true, 200),
        (CHAT, ask("gpt-5"), Some("home"), true, 200),
        ("/v1/embeddings", json!({"model": "gpt-emb", "input": "x"}), None, false, 200),
        ("/api/show", json!({"name": "gpt-x"}), None, false, 200),
    ] {
        let before = (home.received().len(), cloud.received().len());
        assert_eq!(post(&loreloom, path, &body, named).await, status, "{body}");
        let came = (home.received().len() - before.0, cloud.received().len() - before.1);
        assert_eq!(came, if goes_home { (1, 0) } else { (0, 1) }, "{path} {body} {named:?}");
    }
    assert_eq!(post(&loreloom, CHAT, &ask("m"), Some("moon")).await, 400);
}

#[tokio::test]
async fn a_turn_is_counted_as_its_connection_counts_and_its_report_says_so() {
    let model = ModelServer::start(Script::new()).unwrap();
    let mut cloud = to("cloud", &model);
    cloud.context = Some(Tokens(12_345));
    cloud.counting = Arc::new(|model| Arc::new(Tokenizer::for_model(model)));
    let connections = Connections::only(cloud);
    let setup = Setup { connections: Some(connections), ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    for (model, tokenizer) in [("gpt-4", "cl100k_base"), ("gpt-4o", "o200k_base")] {
        post(&loreloom, CHAT, &ask(model), None).await;
        let last = loreloom.app.last_turn().await.unwrap().unwrap().record;
        let facts = &last.report.facts;
        assert_eq!((facts.tokenizer.as_str(), facts.context), (tokenizer, Tokens(12_345)));
        let input = last.input.unwrap();
        assert_eq!(input.connection, Some("cloud".into()));
        assert_eq!(input.model.as_deref(), Some(model));
    }
}

#[tokio::test]
async fn a_front_ends_key_is_held_only_where_that_was_asked_for() {
    let model = ModelServer::start(Script::new()).unwrap();
    let held = Arc::new(Mutex::new(Vec::new()));
    let mut holding = to("holding", &model);
    let keep = Arc::clone(&held);
    holding.holding = Some(Arc::new(move |key: &str| keep.lock().unwrap().push(key.to_owned())));
    let all = vec![to("other", &model), holding];
    let connections = Connections::new(all, Vec::new(), None).unwrap();
    let setup = Setup { connections: Some(connections), ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    for name in ["other", "holding"] {
        let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&ask("m"));
        let request = request.header("x-loreloom-connection", name).bearer_auth(name);
        request.send().await.unwrap().bytes().await.unwrap();
    }
    assert_eq!(*held.lock().unwrap(), ["holding"]);
    let sent = model.received();
    let keys: Vec<_> = sent.iter().map(|one| one.header("authorization")).collect();
    assert_eq!(keys, [Some("Bearer other"), Some("Bearer holding")], "both reach the model");
}

#[test]
fn connections_that_do_not_fit_together_are_refused() {
    let model = ModelServer::start(Script::new()).unwrap();
    let new = |names: &[&str], route_to: &str| {
        let all = names.iter().map(|name| to(name, &model)).collect();
        Connections::new(all, vec![route("*", route_to)], None).err()
    };
    assert_eq!(new(&[], "a"), Some(ConnectionsError::None));
    assert_eq!(new(&["a", "a"], "a"), Some(ConnectionsError::Two { name: "a".into() }));
    let unknown = new(&["a", "b"], "c").unwrap().to_string();
    assert_eq!(unknown, "there is no connection `c`, only `a`, `b`");
    assert_eq!(new(&["a", "b"], "b"), None);
}

fn openai_list(names: &[&str]) -> Reply {
    let data: Vec<Value> =
        names.iter().map(|name| json!({"id": name, "object": "model", "own": 1})).collect();
    Reply::json(json!({"object": "list", "data": data}))
}

async fn names(loreloom: &Loreloom, path: &str) -> (Value, Option<String>) {
    let response = reqwest::Client::new().get(loreloom.url(path)).bearer_auth("sk-1").send().await;
    let response = response.unwrap();
    let warning = response.headers().get("x-loreloom-warning").cloned();
    let list: Value = response.json().await.unwrap();
    (list, warning.map(|text| text.to_str().unwrap().to_owned()))
}

#[tokio::test]
async fn the_models_of_all_connections_are_one_list_and_every_name_leads_to_its_model() {
    let home = Script::new().on("/v1/models", openai_list(&["llama", "qwen"]));
    let tags = json!({"models": [{"name": "llama", "model": "llama", "size": 7}]});
    let cloud = Script::new()
        .on("/v1/models", Reply::status(404, "no"))
        .on("/api/tags", Reply::json(tags))
        .on(CHAT, Reply::text("Up here."));
    let (home, cloud) = (ModelServer::start(home).unwrap(), ModelServer::start(cloud).unwrap());
    let all = vec![to("home", &home), to("cloud", &cloud)];
    let connections = Connections::new(all, vec![route("gpt-*", "cloud")], None).unwrap();
    let setup = Setup { connections: Some(connections), ..Setup::default() };
    let loreloom = Loreloom::start(&home, setup).await;
    let (list, warning) = names(&loreloom, "/v1/models").await;
    assert_eq!(warning, None);
    let expected = json!({"object": "list", "data": [
        {"id": "llama", "object": "model", "own": 1, "owned_by": "home"},
        {"id": "qwen", "object": "model", "own": 1, "owned_by": "home"},
        {"id": "cloud/llama", "object": "model", "created": 0, "owned_by": "cloud"},
    ]});
    assert_eq!(list, expected);
    let sent =
        |server: &ModelServer| server.received()[0].header("authorization").map(str::to_owned);
    assert_eq!((sent(&home), sent(&cloud)), (Some("Bearer sk-1".to_owned()), None));
    let odd = "{\"model\" : \"cloud/llama\", \"temperature\":1.50e0,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";
    let client = reqwest::Client::new();
    for sent in [odd.to_owned(), odd.replace("cloud/", "cloud\\/")] {
        let request = client.post(loreloom.url(CHAT)).header("api-key", "sk-1").body(sent);
        request.send().await.unwrap().bytes().await.unwrap();
        let came = cloud.received().pop().unwrap();
        assert_eq!(
            (came.path.as_str(), std::str::from_utf8(&came.body).unwrap()),
            (CHAT, odd.replace("cloud/", "").as_str())
        );
        assert_eq!(came.header("api-key"), None);
    }
    let last = loreloom.app.last_turn().await.unwrap().unwrap().record.input.unwrap();
    assert_eq!((last.connection, last.model.as_deref()), (Some("cloud".into()), Some("llama")));
}

#[tokio::test]
async fn one_model_is_asked_of_the_connection_that_its_name_leads_to() {
    let script = || Script::new();
    let (home, cloud) =
        (ModelServer::start(script()).unwrap(), ModelServer::start(script()).unwrap());
    let all = vec![to("home", &home), to("cloud", &cloud)];
    let routes = vec![route("gpt-*", "cloud"), route("home/x", "cloud")];
    let connections = Connections::new(all, routes, None).unwrap();
    let setup = Setup { connections: Some(connections), ..Setup::default() };
    let loreloom = Loreloom::start(&home, setup).await;
    for (asked, server, path, key) in [
        ("/v1/models/qwen", &home, "/v1/models/qwen", Some("Bearer sk-1")),
        ("/v1/models/meta/llama", &home, "/v1/models/meta/llama", Some("Bearer sk-1")),
        ("/v1/models/cloud/meta/llama", &cloud, "/v1/models/meta/llama", None),
        ("/v1/models/cloud%2Fllama?all=1", &cloud, "/v1/models/llama", None),
        // As with requests for text: who is chosen by a route is told the key.
        ("/v1/models/gpt-5", &cloud, "/v1/models/gpt-5", Some("Bearer sk-1")),
        ("/v1/models/home/x", &cloud, "/v1/models/home/x", Some("Bearer sk-1")),
    ] {
        let request = reqwest::Client::new().get(loreloom.url(asked)).bearer_auth("sk-1");
        request.header("x-api-key", "sk-1").send().await.unwrap();
        let came = server.received().pop().unwrap();
        assert_eq!((came.path.as_str(), came.header("authorization")), (path, key), "{asked}");
        assert_eq!(came.header("x-api-key").is_some(), key.is_some(), "{asked}");
    }
}

#[tokio::test]
async fn a_connection_without_a_list_is_left_out_and_told_and_ollamas_list_has_all_too() {
    let home = Script::new()
        .on("/api/tags", Reply::status(404, "no"))
        .on("/v1/models", openai_list(&["qwen"]));
    let broken = Script::new()
        .on("/api/tags", Reply::status(500, "no"))
        .on("/v1/models", Reply::json(json!({"what": 1})));
    let (home, broken) = (ModelServer::start(home).unwrap(), ModelServer::start(broken).unwrap());
    let all = vec![to("broken", &broken), to("home", &home)];
    let connections = Connections::new(all, Vec::new(), None).unwrap();
    let setup = Setup { connections: Some(connections), ..Setup::default() };
    let loreloom = Loreloom::start(&home, setup).await;
    let (list, warning) = names(&loreloom, "/api/tags").await;
    assert_eq!(warning.as_deref(), Some("`broken` answered 500 Internal Server Error"));
    let models = list["models"].as_array().unwrap();
    assert_eq!(
        (models.len(), &models[0]["name"], &models[0]["model"]),
        (1, &json!("home/qwen"), &json!("home/qwen"))
    );
    let only = reqwest::Client::new().get(loreloom.url("/v1/models"));
    let only = only.header("x-loreloom-connection", "home").send().await.unwrap();
    assert_eq!(only.status(), 200, "a named connection's own list is passed on");
    let gone = [to("a", &broken), to("b", &broken)];
    drop(broken);
    let none = Connections::new(gone.into(), Vec::new(), None).unwrap();
    let setup = Setup { connections: Some(none), ..Setup::default() };
    let loreloom = Loreloom::start(&home, setup).await;
    let response = reqwest::get(loreloom.url("/v1/models")).await.unwrap();
    assert_eq!(response.status(), 502);
}
