//! Requests of the responses API that bring only their new words.

use std::sync::Arc;

use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const PATH: &str = "/v1/responses";

/// A response as its server tells it, whole or as events.
fn response(id: &str, text: &str, is_stream: bool) -> Reply {
    let whole = json!({
        "id": id, "object": "response", "error": null, "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
    });
    if !is_stream {
        return Reply::json(whole);
    }
    Reply::frames([
        json!({"type": "response.created", "response": {"id": id, "object": "response"}}),
        json!({"type": "response.output_text.delta", "item_id": "msg", "delta": text}),
        json!({"type": "response.completed", "response": whole}),
    ])
}

/// Asks, and returns the chat that the request was taken for.
async fn ask(loreloom: &Loreloom, body: &Value) -> String {
    let client = reqwest::Client::new();
    let answer = client.post(loreloom.url(PATH)).json(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let chat = answer.headers()["x-loreloom-chat"].to_str().unwrap().to_owned();
    answer.bytes().await.unwrap();
    chat
}

async fn told(loreloom: &Loreloom, length: usize) -> Vec<String> {
    loreloom.story(length).await.into_iter().map(|node| node.message.text.into()).collect()
}

#[tokio::test]
async fn a_request_that_follows_a_response_goes_on_with_its_story() {
    for is_stream in [false, true] {
        let script = Script::new()
            .on(PATH, response("resp_1", "Welcome.", is_stream))
            .on(PATH, response("resp_2", "It is cracked.", is_stream));
        let model = ModelServer::start(script).unwrap();
        let loreloom = Loreloom::before(&model).await;
        let first = json!({"model": "m", "input": "I come in.", "stream": is_stream});
        let chat = ask(&loreloom, &first).await;
        assert_eq!(told(&loreloom, 2).await, ["I come in.", "Welcome."]);
        let second = json!({
            "model": "m", "input": [{"role": "user", "content": "Ring the bell!"}],
            "previous_response_id": "resp_1", "stream": is_stream,
        });
        assert_eq!(ask(&loreloom, &second).await, chat);
        let all = ["I come in.", "Welcome.", "Ring the bell!", "It is cracked."];
        assert_eq!(told(&loreloom, 4).await, all);
        // The model's server gets its id, and the lore that the new words ask for.
        let sent = &model.received()[1].json;
        assert_eq!(sent["previous_response_id"], "resp_1");
        assert!(sent["input"].to_string().contains("The bell of Harrow is cracked."), "{sent}");
        assert!(!sent["input"].to_string().contains("Welcome."), "{sent}");
    }
}

#[tokio::test]
async fn a_response_that_never_passed_leads_nowhere() {
    let script = Script::new()
        .on(PATH, response("resp_1", "Welcome.", false))
        .on(PATH, response("resp_2", "Aye.", false));
    let model = ModelServer::start(script).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let chat = ask(&loreloom, &json!({"model": "m", "input": "I come in."})).await;
    let other = json!({"model": "m", "input": "We sail.", "previous_response_id": "resp_9"});
    assert_ne!(ask(&loreloom, &other).await, chat);
}

#[tokio::test]
async fn a_response_of_another_server_leads_to_its_story() {
    let script = (1..=4).fold(Script::new(), |script, number| {
        script.on(PATH, response(&format!("resp_{number}"), &format!("Reply {number}."), true))
    });
    let model = ModelServer::start(script).unwrap();
    let first = Loreloom::before(&model).await;
    let store = &first.store;
    let another = async || {
        let setup = Setup { store: Arc::clone(store), ..Setup::default() };
        Loreloom::start(&model, setup).await
    };
    let second = another().await;
    let follow = |text: &str, id: &str| json!({"model": "m", "input": text, "stream": true, "previous_response_id": id});
    let body = json!({"model": "m", "input": "I come in.", "stream": true});
    let chat = ask(&first, &body).await;
    assert_eq!(ask(&second, &follow("I sit.", "resp_1")).await, chat);
    assert_eq!(ask(&first, &follow("I eat.", "resp_2")).await, chat);
    let all = ["I come in.", "Reply 1.", "I sit.", "Reply 2.", "I eat.", "Reply 3."];
    assert_eq!(told(&first, 6).await, all);
    // After a restart, and from further back.
    let third = another().await;
    assert_eq!(ask(&third, &follow("I leave.", "resp_1")).await, chat);
    assert_eq!(told(&third, 4).await, ["I come in.", "Reply 1.", "I leave.", "Reply 4."]);
}
