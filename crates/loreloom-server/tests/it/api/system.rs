//! Idempotency, metrics, connections, vaults, lint, keys.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Api, Setup};

#[tokio::test]
async fn a_named_post_is_carried_out_once() {
    let api = Api::start().await.with_book().await;
    let post = |key: &str, name: &str| {
        let body = json!({"book": "reach", "entry": {"name": name}});
        api.request("POST", "/lore/entries").header("idempotency-key", key).json(&body)
    };
    let first = api.send(post("k1", "Weir")).await;
    let again = api.send(post("k1", "Weir")).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((first.etag(), first.text), (again.etag(), again.text));
    assert_eq!(api.get("/lore/entries?f=book:reach").await.good()["total"], 4);
    let other = api.send(post("k1", "Sluice")).await.refused(422);
    assert_eq!(
        other.1,
        "`idempotency-key` names another call already: its path, body or key differ, found `k1`"
    );
    api.send(post("k2", "Weir")).await.good();
    assert_eq!(api.get("/lore/entries?f=book:reach").await.good()["total"], 5);
    // A call that was refused may be made again.
    let bad = json!({"book": "none"});
    for _ in 0..2 {
        let request =
            api.request("POST", "/lore/entries").header("idempotency-key", "k3").json(&bad);
        assert_eq!(api.send(request).await.refused(404).0, "not_found");
    }
}

#[tokio::test]
async fn a_named_post_whose_answer_is_too_large_to_keep_is_carried_out_once_all_the_same() {
    let api = Api::start().await.with_book().await;
    let body = json!({"book": "reach", "entry": {"name": "Long", "content": "a".repeat(1 << 20)}});
    let post =
        || api.request("POST", "/lore/entries").header("idempotency-key", "long").json(&body);
    let first = api.send(post()).await;
    assert_eq!(first.status, 201);
    let again = api.send(post()).await.refused(409);
    let told = format!(
        "the call `long` was carried out, and its answer is shown once: it has {} bytes, and at \
         most 1048576 are kept",
        first.text.len()
    );
    assert_eq!(again, ("conflict".to_owned(), told));
    assert_eq!(api.get("/lore/entries?f=book:reach").await.good()["total"], 4);
}

#[tokio::test]
async fn figures_count_what_happened() {
    let api = Api::start().await;
    api.story().await;
    api.get("/chats/none").await.refused(404);
    let text = api.get("/metrics").await.text;
    for line in [
        "loreloom_requests_total 2",
        "loreloom_weavings_total 2",
        "loreloom_fail_open_total 0",
        "loreloom_turns_total 2",
        "loreloom_replies_total 2",
        "loreloom_tokens_total{pool=\"world_info\"} 9",
        "loreloom_api_calls_total{status=\"4xx\"} 1",
        "loreloom_weaving_seconds_count 2",
        "loreloom_upstream_seconds_count{connection=\"model\"} 2",
        "loreloom_upstream_answers_total{connection=\"model\",status=\"2xx\"} 2",
        "loreloom_upstream_errors_total{connection=\"model\",reason=\"unreachable\"} 0",
        "loreloom_store_seconds_count{work=\"turn\"} 2",
        "loreloom_store_errors_total{work=\"turn\"} 0",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
    }
    let turns = api.get("/metrics/turns?chat=inn").await.good();
    assert_eq!(turns["total"], 2);
    let figures = &turns["items"][1];
    assert_eq!(
        (&figures["woven"], &figures["woven_tokens"], &figures["cut"]),
        (&json!(1), &json!(9), &json!(0))
    );
    assert_eq!(turns["items"][0]["unchanged_tokens"], Value::Null);
    assert_eq!(figures["by_source"], json!({"lore": 9, "memory": 0}));
    assert_eq!(figures["cut_entries"], json!([]));
    let times = ["weaving_ms", "answered_ms", "replied_ms"];
    let took = times.map(|name| figures["took"][name].as_f64().unwrap());
    assert!(took[0] > 0.0 && took[1] > 0.0 && took[2] >= took[1], "{took:?}");
    let refused = api.get("/metrics/turns").await.refused(422).1;
    assert_eq!(refused, "the parameter `chat` must be given");
}

#[tokio::test]
async fn connections_are_listed_and_tried() {
    let api = Api::start().await;
    let listed = api.get("/connections").await.good();
    assert_eq!(
        (&listed["items"][0]["name"], &listed["items"][0]["default"]),
        (&json!("model"), &json!(true))
    );
    assert_eq!(listed["items"][0]["tokenizer"], "estimate-3.35");
    let missing =
        api.call("POST", "/connections/test", json!({"connection": "x"})).await.refused(404);
    assert_eq!(missing.1, "there is no connection `x`, only `model`");
    let tried = api.call("POST", "/connections/test", json!({})).await.good();
    assert_eq!(tried["connection"], "model");
    assert!(tried["steps"].is_array());
}

#[tokio::test]
async fn lore_is_looked_over() {
    let api = Api::start().await.with_book().await;
    let odd = json!({"book": "reach", "entry": {"name": "Odd", "content": "x", "activation": {"keys": ["/a(/"]}}});
    api.call("POST", "/lore/entries", odd).await.good();
    let bare = json!({"book": "reach", "entry": {"name": "Bare"}});
    api.call("POST", "/lore/entries", bare).await.good();
    let found = api.get("/lint").await.good();
    let found: Vec<(&str, &str)> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["title"].as_str().unwrap(), one["code"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [("Odd", "not_a_regex"), ("Bare", "no_keys"), ("Bare", "empty_content")]);
    assert_eq!(api.get("/vaults").await.good()["items"], json!([]));
}

#[tokio::test]
async fn the_steps_of_a_test_are_told_as_they_are_done() {
    let api = Api::start().await;
    let request = api.request("POST", "/connections/test").header("accept", "text/event-stream");
    let answer = api.send(request.json(&json!({}))).await;
    assert_eq!(answer.status, 200);
    let events: Vec<&str> =
        answer.text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!((events.len(), events[0], events[9]), (10, "step", "done"));
    let last = answer.text.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let done: Value = serde_json::from_str(&last[6..]).unwrap();
    assert_eq!((&done["passed"], done["steps"].as_array().unwrap().len()), (&json!(true), 9));
}

/// Tries out nothing, and keeps what it was asked to try.
struct Noting(Arc<Mutex<Vec<String>>>);

impl Noting {
    fn prospecting(&self) -> loreloom_server::Prospecting {
        let noted = Arc::clone(&self.0);
        Arc::new(move |prospect| {
            if prospect.url.starts_with("ftp") {
                return Err("its scheme is `ftp`".to_owned());
            }
            let key = prospect.key.unwrap_or_default();
            noted.lock().unwrap().push(format!("{} {} {key}", prospect.url, prospect.ollama));
            Ok(Arc::new(loreloom_llm::diagnose::BuiltIn))
        })
    }
}

#[tokio::test]
async fn a_server_that_is_not_configured_is_tried_out_as_a_stranger() {
    let api = Api::start().await;
    let url = json!({"url": "https://models.example/v1", "key": "sk-canary", "kind": "ollama"});
    let off = api.call("POST", "/connections/test", url.clone()).await.refused(409);
    assert_eq!(off.1, "this server tries out only what is configured");
    let noting = Noting(Arc::default());
    let upstream = Arc::new(loreloom_llm::offline::OfflineUpstream::default());
    let counter = Arc::new(loreloom_core::tokens::ByteEstimate);
    let only = crate::harness::connection("model", upstream, counter);
    let only = loreloom_server::Connections::only(only).prospecting(noting.prospecting());
    let api = Api::with(Setup { connections: Some(only), ..Setup::default() }).await;
    let tried = api.call("POST", "/connections/test", url).await;
    assert!(!tried.text.contains("sk-canary"), "{}", tried.text);
    assert_eq!(tried.good()["connection"], "url");
    assert_eq!(*noting.0.lock().unwrap(), ["https://models.example/v1 true sk-canary"]);
    for (body, detail) in [
        (json!({"url": "ftp://x"}), "its scheme is `ftp`"),
        (
            json!({"url": "https://me:sk-canary@models.example/v1"}),
            "`url` must have no user name, password, query or fragment: give the key as \
             `key`",
        ),
        (
            json!({"url": "http://x", "connection": "model"}),
            "give a `connection` or the `url` of a server, not both",
        ),
        (json!({"key": "k"}), "`key` is for a server that is not configured: give its `url`"),
    ] {
        assert_eq!(api.call("POST", "/connections/test", body).await.refused(422).1, detail);
    }
}
