//! What a model notes is held against the story and the lore it was told with.

use loreloom_core::{
    book::{Book, Entry, Key},
    ids::{ChatId, TenantId},
};
use loreloom_memory::{model_profile::ModelProfile, service::Options};
use loreloom_testkit::model_server::{ModelServer, Received, Reply, Script};
use serde_json::json;

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const NOTES: &str = "note-taker";

/// Notes one thing that only the lore says, and one that nobody says.
fn noted(request: &Received) -> String {
    if request.last_text().contains("will still matter to") {
        return "[fact:3:permanent] Mira knows that the bell was cast by Ysolde in 1312\n\
                [fact:3:permanent] Mira knows that the bell was sold to Harrow in 1499"
            .to_owned();
    }
    "NONE".to_owned()
}

fn lore() -> Book {
    let mut entry = Entry::new("bells/0");
    entry.activation.keys = vec![Key::parse("bell")];
    entry.content = String::from("The great bell was cast by Ysolde in 1312.");
    let mut book = Book::new("bells", "Bells");
    book.entries = vec![entry];
    book
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_the_lore_says_is_remembered_and_what_nobody_says_is_held() {
    let script = Script::new().answering(|request| {
        let says = if request.model() == NOTES { noted(request) } else { "It rings.".to_owned() };
        Some(Reply::text(&says))
    });
    let model = ModelServer::start(script).unwrap();
    let options = Options::read(r#"{"settings": {"extract_every": 1}}"#).unwrap();
    let notes_model = Some((NOTES, ModelProfile::A));
    let setup = Setup { options, notes_model, lore: Some(lore()), ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let mut messages = vec![json!({ "role": "system", "content": "You are Mira." })];
    for turn in 0..4 {
        let says = format!("I listen to the bell, for the {turn}th time, and wait.");
        messages.push(json!({ "role": "user", "content": says }));
        let body = json!({
            "model": "m", "messages": messages,
            "loreloom": { "chat": "c", "user": "Player", "char": "Mira" },
        });
        let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
        request.send().await.unwrap().text().await.unwrap();
        messages.push(json!({ "role": "assistant", "content": "It rings." }));
        loreloom.settled(&ChatId::from("c"), messages.len() - 1).await;
    }
    let memory = loreloom.app.memory.clone().unwrap();
    let owner = loreloom_ports::Owner::Character("Mira".into());
    let records = memory.views.records(&TenantId::local(), &owner).await.unwrap();
    let noted = |word: &str| {
        let said = |fields: &serde_json::Map<String, serde_json::Value>| {
            fields.get("content").and_then(|text| text.as_str()).unwrap_or_default().contains(word)
        };
        let found = records.iter().find(|(_, fields)| said(fields));
        found.map(|(_, fields)| (fields.get("retired").cloned(), fields.get("ungrounded").cloned()))
    };
    assert_eq!(noted("Ysolde"), Some((None, None)));
    assert_eq!(noted("Harrow"), Some((Some(json!("held")), Some(json!(["1499", "Harrow"])))));
}
