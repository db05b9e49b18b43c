//! Many requests at once, and keys that take for ever: over the binary.

use std::time::Duration;

use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::{
    run::{loreloom, write},
    serve::Server,
};

/// A server with its own deadline, in front of a scripted model.
fn serve(home: &TempDir, keys: &[&str], model: &ModelServer, more: &[&str]) -> Server {
    let entries = keys.iter().enumerate().map(|(at, key)| {
        let entry =
            json!({"uid": at, "key": [key], "content": format!("lore {at}"), "position": 1});
        (at.to_string(), entry)
    });
    let book = json!({"entries": entries.collect::<serde_json::Map<String, Value>>()});
    write(home.path(), "book.json", &book.to_string());
    let url = model.base_url();
    let arguments =
        ["serve", "--port", "0", "--data", "data", "--book", "book.json", "--upstream", &url];
    Server::started(loreloom(home.path(), &[&arguments, more].concat()))
}

/// The header that says why there is no lore, the number of entries, and the streamed reply.
type Answer = (Option<String>, String, String);

async fn ask(client: reqwest::Client, url: String, chat: String, text: String) -> Answer {
    let body = json!({"stream": true, "messages": [{"role": "user", "content": text}]});
    let request = client.post(url).header("x-loreloom-chat", chat).json(&body);
    let response = request.send().await.unwrap();
    let header =
        |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (warning, woven) = (header("x-loreloom-warning"), header("x-loreloom-woven"));
    (warning, woven.unwrap_or_default(), response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_streams_gets_all_its_lore() {
    let rings = || Reply::chunks(["The bell ", "rings."]).after(Duration::from_millis(300));
    let model = ModelServer::start(Script::new().answering(move |_| Some(rings()))).unwrap();
    let home = TempDir::new().unwrap();
    let server = serve(&home, &["bell"], &model, &[]);
    let url = format!("{}/v1/chat/completions", server.url());
    let client = reqwest::Client::new();
    let mut asked = JoinSet::new();
    for at in 0..200 {
        let text = format!("Ring the bell, number {at}!");
        asked.spawn(ask(client.clone(), url.clone(), format!("chat {at}"), text));
    }
    while let Some(answer) = asked.join_next().await {
        let (warning, woven, text) = answer.unwrap();
        assert_eq!((warning, woven.as_str()), (None, "1"));
        assert!(text.contains("rings.") && text.trim_end().ends_with("[DONE]"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_take_for_ever_cost_no_chat_its_lore() {
    let rings = |times: &str| Some(Reply::chunks(["It rings ", times]));
    let script = Script::new().answering(move |request| {
        rings(if request.last_text().contains("again") { "again." } else { "once." })
    });
    let model = ModelServer::start(script).unwrap();
    let home = TempDir::new().unwrap();
    let keys = ["/(?<=(a+)+)b/", r"/(?=(a+))\1b/", "bell"];
    // A build for tests takes longer for its steps.
    let server = serve(&home, &keys, &model, &["--deadline", "20000", "--context", "100000"]);
    let url = format!("{}/v1/chat/completions", server.url());
    let client = reqwest::Client::new();
    let mut asked = JoinSet::new();
    for at in 0..16 {
        // Half of the chats hold the text that the keys are slow for.
        let letters = if at % 2 == 0 { "a".repeat(30_000) } else { String::new() };
        let text = format!("{letters} Ring the bell, number {at}!");
        asked.spawn(ask(client.clone(), url.clone(), format!("chat {at}"), text));
    }
    while let Some(answer) = asked.join_next().await {
        let (warning, woven, _) = answer.unwrap();
        assert_eq!((warning, woven.as_str()), (None, "1"));
    }
    // From then on the key is suspended, and the verdict says so.
    let text = format!("{} Ring the bell again!", "a".repeat(30_000));
    ask(client.clone(), url, "late".to_owned(), text).await;
    let turn = server.stored("It rings again.").await.to_string();
    assert!(turn.contains(r#""cost":"suspended""#), "{turn}");
}
