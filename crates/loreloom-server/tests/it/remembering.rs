//! What a trimmed window has left behind comes back when it is called for, with no model;
//! books of the bookcase come and go while the server runs.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry, Key, Position},
    ids::TenantId,
    library::{Binding, Volume},
    units::Timestamp,
};
use loreloom_memory::ports::Desk as _;
use loreloom_server::Bookcase;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

/// Sends the newest messages of a story, as a front end with a small context does.
async fn ask(loreloom: &Loreloom, model: &ModelServer, story: &[Value], window: usize) -> String {
    model.push(CHAT, Reply::text("Good."));
    let mut messages = vec![json!({"role": "system", "content": "You are Mira."})];
    messages.extend(story[story.len().saturating_sub(window)..].iter().cloned());
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).header("x-loreloom-chat", "c");
    let body = json!({"model": "m", "messages": messages});
    let response = request.json(&body).send().await.unwrap();
    assert_eq!(response.headers().get("x-loreloom-warning"), None);
    response.text().await.unwrap();
    model.received().last().unwrap().json["messages"].to_string()
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_long_ago_is_recalled_when_it_is_asked_for() {
    let model = ModelServer::start(Script::new()).unwrap();
    let setup = Setup { memory: true, ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let mut story = vec![said("user", "My grandmother hid the brass key under the third step.")];
    for number in 0..14 {
        ask(&loreloom, &model, &story, 4).await;
        story.push(said("assistant", "Good."));
        story.push(said("user", &format!("We walk on past milestone {number} in the rain.")));
    }
    let quiet = ask(&loreloom, &model, &story, 4).await;
    assert!(!quiet.contains("grandmother"), "nobody asked: {quiet}");
    story.push(said("assistant", "Good."));
    story.push(said("user", "Where did my grandmother hide the brass key?"));
    let asked = ask(&loreloom, &model, &story, 4).await;
    assert!(asked.contains("under the third step"), "{asked}");
    let whole = ask(&loreloom, &model, &story, 99).await;
    assert_eq!(whole.matches("under the third step").count(), 1, "never twice: {whole}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_of_the_bookcase_are_woven_while_the_server_runs() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::start(&model, Setup::default()).await;
    let tenant = TenantId::local();
    let case = Bookcase { desk: loreloom.store.as_ref(), tenant: &tenant };
    let mut book = Book::new("sea", "Sea");
    let mut entry = Entry::new("sea/0");
    entry.activation.keys = vec![Key::parse("gull")];
    entry.content = "Gulls are drowned sailors.".to_owned();
    entry.placement.position = Position::AfterCharacter;
    book.entries.push(entry);
    let story = [said("user", "I see a gull.")];
    assert!(!ask(&loreloom, &model, &story, 9).await.contains("drowned"));
    let bound = vec![Binding::Chat("other".into())];
    let volume = Volume::world_info(Arc::new(book));
    case.put(vec![(volume, bound)], None, Timestamp(1)).await.unwrap();
    loreloom.app.stacks.refresh(loreloom.store.as_ref(), &tenant).await.unwrap();
    assert!(!ask(&loreloom, &model, &story, 9).await.contains("drowned"), "another chat's");
    case.arrange(&"sea".into(), None, Timestamp(2), |shelved| {
        shelved.bindings = vec![Binding::Chat("c".into())];
    })
    .await
    .unwrap();
    loreloom.app.stacks.refresh(loreloom.store.as_ref(), &tenant).await.unwrap();
    assert!(ask(&loreloom, &model, &story, 9).await.contains("drowned"));
    loreloom.store.undo(&tenant, 2, Timestamp(3)).await.unwrap();
    loreloom.app.stacks.refresh(loreloom.store.as_ref(), &tenant).await.unwrap();
    assert!(!ask(&loreloom, &model, &story, 9).await.contains("drowned"));
}
