//! Notebooks over HTTP: what the model notes is cut from the story, kept at its reply, and told
//! it again.

use std::sync::Arc;

use loreloom_core::{
    ids::TenantId,
    notebook::{ModelNotebook, NotebookMode, NotebookRules, NotebookSeat, Notebooks},
    rules::Rules,
    state::{StateDelta, StoryState},
};
use loreloom_llm::connection::{Address, Connection, OpenAiModel};
use loreloom_ports::{StoryStore as _, TurnRecord};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::json;

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

fn rules(mode: NotebookMode) -> Rules {
    let model = ModelNotebook { mode, ..ModelNotebook::default() };
    let notebooks = NotebookRules { author: Some(NotebookSeat::default()), model: Some(model) };
    Rules { notebooks, ..Rules::default() }
}

/// The reply as the front end gets it.
async fn shown(loreloom: &Loreloom, stream: bool) -> String {
    let messages = json!([{"role": "user", "content": "Hello."}]);
    let body = json!({"model": "m", "messages": messages, "stream": stream});
    let sent = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body).send().await.unwrap();
    assert_eq!(sent.status(), 200);
    sent.text().await.unwrap()
}

/// The texts of a stream, each piece by itself.
fn pieces(stream: &str) -> Vec<String> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let documents = data.filter_map(|data| serde_json::from_str::<serde_json::Value>(data).ok());
    let texts = documents
        .filter_map(|one| Some(one["choices"][0]["delta"]["content"].as_str()?.to_owned()));
    texts.filter(|text| !text.is_empty()).collect()
}

/// Says something, and returns what the model was sent.
async fn say(loreloom: &Loreloom, model: &ModelServer, chat: &[(&str, &str)]) -> String {
    let messages: Vec<_> =
        chat.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    let body = json!({"model": "m", "messages": messages});
    let sent = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body).send().await.unwrap();
    assert_eq!(sent.status(), 200);
    sent.text().await.unwrap();
    loreloom.story(chat.len() + 1).await;
    model.received().pop().unwrap().json.to_string()
}

#[tokio::test]
async fn what_the_model_notes_leaves_the_story_and_a_swipe_takes_it_along() {
    let noted = "She nods.\n<loreloom-notes>Mira limps.</loreloom-notes>";
    let script = Script::new().on(CHAT, Reply::text(noted)).on(CHAT, Reply::text("Yes."));
    let model = ModelServer::start(script).unwrap();
    let loreloom = Loreloom::with_rules(&model, rules(NotebookMode::Tag)).await;
    let first = say(&loreloom, &model, &[("user", "Hello.")]).await;
    assert!(first.contains("<loreloom-notes>") && !first.contains("Mira limps."), "{first}");
    let story = loreloom.story(2).await;
    assert_eq!(story[1].message.text, "She nods.");
    // The front end sends the reply as it saw it.
    let second =
        say(&loreloom, &model, &[("user", "Hello."), ("assistant", noted), ("user", "Go on.")])
            .await;
    assert!(second.contains("[Your notes so far]\\nMira limps."), "{second}");
    assert_eq!(loreloom.story(4).await[1].message.text, "She nods.", "the same message");
    // Another version of the first reply noted nothing.
    let chat = [("user", "Hello."), ("assistant", "She frowns."), ("user", "Go on.")];
    let other = say(&loreloom, &model, &chat).await;
    assert!(!other.contains("Mira limps."), "{other}");
}

#[tokio::test]
async fn readers_never_see_the_notes_of_the_model() {
    let noted = ["She", " nods.", "\n<loreloom-", "notes>Mira", " limps.</loreloom-no", "tes>\n"];
    for (stream, mode) in [
        (true, NotebookMode::Tag),
        (false, NotebookMode::Tag),
        (true, NotebookMode::Extract),
        (false, NotebookMode::Extract),
    ] {
        let script = Script::new().on(CHAT, Reply::chunks(noted).split_every(11));
        let model = ModelServer::start(script).unwrap();
        let loreloom = Loreloom::with_rules(&model, rules(mode)).await;
        let shown = shown(&loreloom, stream).await;
        let text = if stream {
            pieces(&shown).concat()
        } else {
            let document: serde_json::Value = serde_json::from_str(&shown).unwrap();
            document["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
        };
        // Only the model's own tags are cut out.
        let expected = if mode == NotebookMode::Tag { "She nods." } else { &noted.concat() };
        assert_eq!(text, expected, "stream {stream}");
        assert_eq!(stream, shown.contains("data: [DONE]"), "{shown}");
        let stored = &loreloom.story(2).await[1].message.text;
        assert_eq!(stored, expected.trim_end(), "stream {stream}");
    }
}

#[tokio::test]
async fn a_turn_counts_once_for_those_who_read_notes_every_so_many() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("Yes."))).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let turns = loreloom.app.lore.turns();
    say(&loreloom, &model, &[("user", "Hello.")]).await;
    assert_eq!(*turns.borrow(), 1);
}

#[tokio::test]
async fn text_before_a_note_is_streamed_as_it_comes() {
    let noted = ["She", " nods", " <b>.", "<loreloom-notes>x</loreloom-notes>", " Then"];
    let model = ModelServer::start(Script::new().on(CHAT, Reply::chunks(noted))).unwrap();
    let loreloom = Loreloom::with_rules(&model, rules(NotebookMode::Tag)).await;
    let shown = shown(&loreloom, true).await;
    assert_eq!(pieces(&shown), ["She", " nods", " <b>.", " Then"]);
}

#[tokio::test]
async fn another_model_may_read_replies_and_the_authors_notebook_goes_in() {
    let model = ModelServer::start(Script::new().on(CHAT, Reply::text("He lies."))).unwrap();
    let notes = Script::new().on(CHAT, Reply::text("The king lied."));
    let notes = notes.on(CHAT, Reply::text("NOTHING_TO_NOTE"));
    let reader = ModelServer::start(notes).unwrap();
    let address = Address::parse(&format!("{}/v1", reader.base_url())).unwrap();
    let noting = OpenAiModel::new(Connection::new(address, "reader")).unwrap();
    let setup = Setup {
        rules: rules(NotebookMode::Extract),
        noting: Some(Arc::new(noting)),
        ..Setup::default()
    };
    let loreloom = Loreloom::start(&model, setup).await;
    say(&loreloom, &model, &[("user", "Hello.")]).await;
    let tenant = TenantId::local();
    let chat = loreloom.store.chats(&tenant).await.unwrap()[0].chat.id.clone();
    let told = loreloom.story(2).await;
    let path = loreloom_core::chat::Path::of(chat, told.into_iter().map(|node| node.message));
    let mut state = StoryState::default();
    for _ in 0..500 {
        state = loreloom.store.state(&tenant, &path).await.unwrap();
        if !state.notebooks.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(state.notebooks.model, "The king lied.");
    let asked = reader.received().pop().unwrap().json;
    let told = &ModelNotebook::default().extraction;
    assert_eq!(asked["messages"][0]["content"].as_str(), Some(told.as_str()), "{asked}");
    let mut after = state.clone();
    after.notebooks = Notebooks { author: "Slow burn.".to_owned(), ..state.notebooks.clone() };
    let edit =
        TurnRecord::edit(&path, StateDelta::between(&state, &after), loreloom.app.clock.now());
    loreloom.store.commit_turn(&tenant, &path, &edit, None).await.unwrap();
    let chat = [("user", "Hello."), ("assistant", "He lies."), ("user", "Go on.")];
    let sent = say(&loreloom, &model, &chat).await;
    assert!(sent.contains("The king lied.") && sent.contains("Slow burn."), "{sent}");
}
