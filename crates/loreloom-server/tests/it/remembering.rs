//! What a trimmed window has left behind comes back when it is called for, with no model;
//! books of the bookcase come and go while the server runs.

use std::sync::Arc;

use loreloom_core::{
    book::{Book, Entry, Key, Position},
    ids::TenantId,
    library::{Binding, Volume},
    units::Timestamp,
};
use loreloom_memory::service::{NewMemory, Options};
use loreloom_ports::{DocumentStore as _, Owner};
use loreloom_ports::{RecordKey, RecordKind};
use loreloom_server::{Maker, StoredBooks};
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
    let turn = reqwest::get(loreloom.url("/api/v1/chats/c/turns/16")).await.unwrap();
    let turn: Value = turn.json().await.unwrap();
    let recalled = &turn["recalled"][0];
    assert_eq!(recalled["number"], 1, "{turn}");
    assert_eq!(recalled["text"], "My grandmother hid the brass key under the third step.");
    assert_eq!(recalled["shared"], json!(["grandmother", "hide", "brass", "key"]));
    let channels: Vec<&Value> =
        recalled["channels"].as_array().unwrap().iter().map(|one| &one["channel"]).collect();
    assert_eq!(channels, ["words", "meaning", "names"], "{recalled}");
    assert_eq!(turn["reproduced"], true, "{turn}");
    let whole = ask(&loreloom, &model, &story, 99).await;
    assert_eq!(whole.matches("under the third step").count(), 1, "never twice: {whole}");
}

/// The prompt of a turn of Mira's, as `role: text`, with two memories and these settings.
async fn prompt(settings: &str, system: &str) -> Vec<String> {
    let model = ModelServer::start(Script::new()).unwrap();
    let options = Options::read(settings).unwrap();
    let setup = Setup { memory: true, options, ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let (tenant, memory) = (TenantId::local(), loreloom.app.memory.clone().unwrap());
    let (mira, chat) = (Owner::Character("Mira".into()), Owner::Chat("c".into()));
    let new = |content: &str| NewMemory { content: content.to_owned(), ..NewMemory::default() };
    memory.edits.add(&tenant, &mira, new("Mira keeps bees")).await.unwrap();
    let thread = [("content".to_owned(), json!("Find the bell"))].into_iter().collect();
    let key = RecordKey::new(RecordKind::Arc, "Find the bell");
    memory.edits.put(&tenant, &chat, key, thread).await.unwrap();
    model.push(CHAT, Reply::text("Good."));
    let messages = [said("system", system), said("user", "One."), said("assistant", "Two.")];
    let mut messages = messages.to_vec();
    messages.push(said("user", "Three."));
    let body = json!({
        "model": "m", "messages": messages,
        "loreloom": { "chat": "c", "user": "Player", "char": "Mira" },
    });
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
    request.send().await.unwrap().text().await.unwrap();
    let sent = model.received().last().unwrap().json["messages"].clone();
    let line = |message: &Value| {
        format!(
            "{}: {}",
            message["role"].as_str().unwrap(),
            message["content"].as_str().unwrap().replace('\n', "/")
        )
    };
    sent.as_array().unwrap().iter().map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_stand_where_settings_and_macros_want_them() {
    const BEES: &str = "Remembered from the story:/- Mira keeps bees";
    const BELL: &str = "Open threads:/- Find the bell";
    let (one, two, three) = ("user: One.", "assistant: Two.", "user: Three.");
    let bell = format!("system: {BELL}");
    let (card, bees) = ("system: Card.", format!("system: {BEES}"));
    let usual = prompt("{}", "Card.").await;
    assert_eq!(usual, [card, &bees, one, &bell, two, three], "where they usually stand");
    let moved = r#"{"settings": {"places": {
        "arcs": {"position": "BEFORE"},
        "long_term": {"position": "IN_CHAT", "depth": 1, "role": "user"}}}}"#;
    let moved = prompt(moved, "Card.").await;
    let nearer = format!("user: {BEES}");
    assert_eq!(moved, [&bell, card, one, two, &nearer, three], "where they were moved to");
    let marked = prompt("{}", "Bees: {{smartmemory-longterm}} {{smartmemory-scenes}}!").await;
    let filled = format!("system: Bees: {BEES} !");
    assert_eq!(marked, [filled.as_str(), one, &bell, two, three], "a macro takes its slot");
    let forced = r#"{"settings": {"macros_enabled": true}}"#;
    let forced = prompt(forced, "Bees: {{smartmemory-longterm}}!").await;
    let filled = format!("system: Bees: {BEES}!");
    assert_eq!(forced, [filled.as_str(), one, two, three], "and nothing stands elsewhere");
    let unified = r#"{"settings": {"unified_injection": true}}"#;
    let block = format!("{BEES}//{BELL}");
    let whole = prompt(unified, "Card.").await;
    assert_eq!(whole, [card, &format!("system: {block}"), one, two, three], "one block");
    let whole = prompt(unified, "{{smartmemory-unified}} Card. {{smartmemory-arcs}}").await;
    assert_eq!(whole, [&format!("system: {block} Card. "), one, two, three], "its macro");
    let capped = prompt(r#"{"settings": {"inject_cap": 20}}"#, "Card.").await;
    assert_eq!(capped, [card, &bees, one, two, three], "what lasts goes first");
    let off = prompt(r#"{"policies": {"Mira": "off"}}"#, "Card.").await;
    assert_eq!(off, ["system: Card.", one, two, three], "a policy");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_of_the_bookcase_are_woven_while_the_server_runs() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::start(&model, Setup::default()).await;
    let tenant = TenantId::local();
    let case = StoredBooks { documents: loreloom.store.as_ref(), tenant: &tenant };
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
    case.put(vec![(volume, bound)], Maker::Hand, None, Timestamp(1)).await.unwrap();
    loreloom.app.lore.refresh(loreloom.store.as_ref(), &tenant).await.unwrap();
    assert!(!ask(&loreloom, &model, &story, 9).await.contains("drowned"), "another chat's");
    case.arrange(&"sea".into(), None, Timestamp(2), |shelved| {
        shelved.bindings = vec![Binding::Chat("c".into())];
    })
    .await
    .unwrap();
    loreloom.app.lore.refresh(loreloom.store.as_ref(), &tenant).await.unwrap();
    assert!(ask(&loreloom, &model, &story, 9).await.contains("drowned"));
    loreloom.store.undo(&tenant, 2, Timestamp(3)).await.unwrap();
    loreloom.app.lore.refresh(loreloom.store.as_ref(), &tenant).await.unwrap();
    assert!(!ask(&loreloom, &model, &story, 9).await.contains("drowned"));
}
