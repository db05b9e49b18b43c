//! Several model servers behind one address.

use std::sync::{Arc, Mutex};

use loreloom_core::{tokens::ByteEstimate, units::Tokens};
use loreloom_llm::{connection::Address, tokenizers::Tokenizer, upstream::HttpUpstream};
use loreloom_server::{Connection, Connections, ConnectionsError, Route};
use loreloom_testkit::model_server::{ModelServer, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup, connection};

const CHAT: &str = "/v1/chat/completions";

fn to(name: &str, model: &ModelServer) -> Connection {
    let address = Address::parse(&format!("{}/v1", model.base_url())).unwrap();
    let upstream = Arc::new(HttpUpstream::new(address, None).unwrap());
    connection(name, upstream, Arc::new(ByteEstimate))
}

fn route(models: &str, connection: &str) -> Route {
    Route { models: models.to_owned(), connection: connection.into() }
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
        let given = last.given.unwrap();
        assert_eq!(given.connection, Some("cloud".into()));
        assert_eq!(given.model.as_deref(), Some(model));
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
