//! Wrappers on their way to the model, and those that come back in replies.

use loreloom_core::rules::Rules;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::Loreloom;

const CHAT: &str = "/v1/chat/completions";

const WRAPPED: &str =
    "<lorebook name=\"The bell\" key=\"bell\">\nThe bell of Harrow is cracked.\n</lorebook>";

async fn post(loreloom: &Loreloom, messages: &[Value]) -> String {
    let body = json!({ "model": "m", "messages": messages });
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).header("x-loreloom-chat", "c");
    let reply = request.json(&body).send().await.unwrap();
    reply.json::<Value>().await.unwrap()["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn an_echoed_wrapper_reaches_the_front_end_but_not_the_story() {
    let echo = format!("{WRAPPED}\n\n<lorebook name=\"Reply\">\nIt rings.\n</lorebook>");
    let script = Script::new().on(CHAT, Reply::text(&echo)).on(CHAT, Reply::text("And again."));
    let model = ModelServer::start(script).unwrap();
    let rules = Rules { wrap: "xml-minimal".parse().unwrap(), ..Rules::default() };
    let loreloom = Loreloom::with_rules(&model, rules).await;

    let mut messages = vec![json!({"role": "user", "content": "Ring the bell!"})];
    assert_eq!(post(&loreloom, &messages).await, echo);
    let sent = &model.received()[0].json["messages"];
    assert!(sent.as_array().unwrap().iter().any(|one| one["content"] == WRAPPED), "{sent}");
    let story = loreloom.story(2).await;
    assert_eq!(story[1].message.text, "It rings.");

    // The front end sends the reply back as it saw it, and the story goes on from the same
    // message.
    messages.push(json!({"role": "assistant", "content": echo}));
    messages.push(json!({"role": "user", "content": "Once more."}));
    post(&loreloom, &messages).await;
    let longer = loreloom.story(4).await;
    assert_eq!(longer[1].prefix, story[1].prefix);
    assert_eq!(longer[3].message.text, "And again.");
}

#[tokio::test]
async fn without_wrapping_replies_are_stored_as_they_are() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text(WRAPPED))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    post(&loreloom, &[json!({"role": "user", "content": "Ring the bell!"})]).await;
    assert_eq!(loreloom.story(2).await[1].message.text, WRAPPED);
}
