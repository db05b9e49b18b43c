//! History that the summary covers leaves the prompt, if that is set.

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_memory::service::Options;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

fn said(at: usize) -> Value {
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    json!({ "role": role, "content": format!("Message number {at}.") })
}

/// The numbers of the messages that the model gets of a chat of so many, and whether it gets the
/// summary. The summary covers 45 messages.
async fn sent(loreloom: &Loreloom, model: &ModelServer, length: usize) -> (Vec<usize>, bool) {
    model.push(CHAT, Reply::text(&format!("Message number {length}.")));
    let mut messages = vec![json!({ "role": "system", "content": "You are Mira." })];
    messages.extend((0..length).map(said));
    let body = json!({
        "model": "m", "messages": messages,
        "loreloom": { "chat": "c", "user": "Player", "char": "Mira" },
    });
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
    request.send().await.unwrap().text().await.unwrap();
    let got = model.received().last().unwrap().json["messages"].clone();
    let texts: Vec<String> = got
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    let number = |text: &String| {
        text.strip_prefix("Message number ")?.trim_end_matches('.').parse::<usize>().ok()
    };
    let has_summary = texts.iter().any(|text| text.contains("They crossed the sea."));
    (texts.iter().filter_map(number).collect(), has_summary)
}

async fn loreloom(model: &ModelServer, settings: &Value) -> Loreloom {
    let options = Options::read(&json!({ "settings": settings }).to_string()).unwrap();
    let setup = Setup { memory: true, options, ..Setup::default() };
    let loreloom = Loreloom::start(model, setup).await;
    let memory = loreloom.app.memory.clone().unwrap();
    let chat = json!({
        "schema_version": 9, "summary": "1. Key events: They crossed the sea.", "summaryEnd": 45,
    });
    memory.exchange.import_chat(&TenantId::local(), &ChatId::from("c"), chat).await.unwrap();
    loreloom
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn covered_messages_leave_in_large_steps_and_come_back() {
    let model = ModelServer::start(Script::new()).unwrap();
    let shrinking = loreloom(&model, &json!({ "shrink_history": true })).await;
    for length in [61, 63, 65] {
        let expected: Vec<usize> = (40..length).collect();
        assert_eq!(sent(&shrinking, &model, length).await, (expected, true), "{length}");
    }
    let off = json!({ "shrink_history": true, "compaction_enabled": false });
    let without = loreloom(&model, &off).await;
    assert_eq!(sent(&without, &model, 61).await, ((0..61).collect(), false), "no summary, no cut");
    let usual = loreloom(&model, &json!({})).await;
    assert_eq!(sent(&usual, &model, 61).await, ((0..61).collect(), true), "it is opt-in");
}
