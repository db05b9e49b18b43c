//! What a front end states besides messages holds on its path.

use std::sync::Arc;

use loreloom_core::dialects::vault::Note;
use loreloom_testkit::model_server::{ModelServer, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";

/// Sends a story; what the model was sent, and the warning that came back.
async fn send(
    loreloom: &Loreloom,
    model: &ModelServer,
    said: &[(&str, &str)],
    own: Option<Value>,
) -> (Vec<String>, Option<String>) {
    let messages: Vec<Value> =
        said.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    let mut body = json!({"model": "m", "messages": messages});
    if let Some(own) = own {
        body["loreloom"] = own;
    }
    let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
    let response = request.header("x-loreloom-chat", "story").send().await.unwrap();
    let warning = response.headers().get("x-loreloom-warning");
    let warning = warning.map(|value| value.to_str().unwrap().to_owned());
    response.bytes().await.unwrap();
    let sent = model.received().pop().unwrap().json;
    assert_eq!(sent.get("loreloom"), None);
    let sent = sent["messages"].as_array().unwrap().iter();
    (sent.map(|one| one["content"].as_str().unwrap().to_owned()).collect(), warning)
}

#[tokio::test]
async fn a_note_is_told_once_and_stands_until_it_is_taken_away_on_that_path_only() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let first = [("user", "Hello."), ("assistant", "You said: Hello.")];
    let second = [&first[..], &[("user", "Go on."), ("assistant", "You said: Go on.")]].concat();
    let third = [&second[..], &[("user", "And then?")]].concat();
    let (sent, _) = send(&loreloom, &model, &first[..1], None).await;
    assert_eq!(sent, ["Hello."]);
    let note = json!({"note": {"text": "[Slowly.]", "depth": 1}});
    let (sent, warning) = send(&loreloom, &model, &second[..3], Some(note)).await;
    assert_eq!(warning, None);
    assert_eq!(sent, ["Hello.", "You said: Hello.", "[Slowly.]", "Go on."]);
    let (sent, _) = send(&loreloom, &model, &third, None).await;
    assert_eq!(sent[4], "[Slowly.]", "{sent:?}");
    let last = loreloom.app.last_turn().await.unwrap().unwrap().record;
    assert_eq!(last.delta.context, None, "it is written down where it was told");
    // Another branch, from before the note.
    let other = [&first[..], &[("user", "Stop.")]].concat();
    let (sent, _) = send(&loreloom, &model, &other, None).await;
    assert_eq!(sent, ["Hello.", "You said: Hello.", "Stop."]);
    let gone = json!({"note": {"text": ""}});
    let (sent, _) = send(&loreloom, &model, &third, Some(gone)).await;
    assert_eq!(sent.len(), 5, "{sent:?}");
}

#[tokio::test]
async fn pins_blocks_scene_and_greeting_reach_the_turn_and_what_is_wrong_is_told() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let mut note = Note::new("", "Tower.md", "Tower");
    note.content = String::from("The tower leans.");
    loreloom.app.lore.set_notes(vec![Arc::new(note)]).await.unwrap();
    let own = json!({"pins": ["Tower"], "scene": {"era": "old"}, "greeting": 2, "blocks": 3});
    let (sent, warning) = send(&loreloom, &model, &[("user", "Hello.")], Some(own)).await;
    assert!(sent.iter().any(|one| one.contains("The tower leans.")), "{sent:?}");
    let warning = warning.unwrap();
    assert!(warning.starts_with("`loreloom.blocks`:"), "{warning}");
    let input = loreloom.app.last_turn().await.unwrap().unwrap().record.input.unwrap();
    let scene = input.vault_context.unwrap();
    assert_eq!((input.greeting, &scene.context["era"]), (Some(2), &json!("old")));
    let next = [("user", "Hello."), ("assistant", "You said: Hello."), ("user", "More.")];
    let own = json!({"pins": [], "blocks": ["Tower"]});
    let (sent, _) = send(&loreloom, &model, &next, Some(own)).await;
    assert!(!sent.iter().any(|one| one.contains("The tower leans.")), "{sent:?}");
    let input = loreloom.app.last_turn().await.unwrap().unwrap().record.input.unwrap();
    let scene = input.vault_context.unwrap();
    assert_eq!((scene.blocks.len(), input.greeting), (1, Some(2)));
    assert_eq!(scene.context["era"], "old", "what is left out stays as it was");
}

#[tokio::test]
async fn the_group_a_request_names_holds_until_another_is_named() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let said = [("user", "Hello."), ("assistant", "You said: Hello."), ("user", "More.")];
    let harbour = json!({"group": "Harbour folk"});
    for (own, said, group) in [
        (Some(harbour), &said[..1], Some("Harbour folk")),
        (None, &said[..], Some("Harbour folk")),
        (Some(json!({"group": ""})), &said[..], None),
    ] {
        let (_, warning) = send(&loreloom, &model, said, own.clone()).await;
        assert_eq!(warning, None, "{own:?}");
        let input = loreloom.app.last_turn().await.unwrap().unwrap().record.input.unwrap();
        assert_eq!(input.group.as_deref(), group, "{own:?}");
    }
}

#[tokio::test]
async fn settings_tell_what_requests_do_not() {
    let model = ModelServer::start(Script::new()).unwrap();
    let note = |text: &str| serde_json::from_value(json!({"note": {"text": text}})).unwrap();
    let contexts = [("*".to_owned(), note("[All.]")), ("story".to_owned(), note("[This.]"))].into();
    let loreloom = Loreloom::start(&model, Setup { contexts, ..Setup::default() }).await;
    let (sent, _) = send(&loreloom, &model, &[("user", "Hello.")], None).await;
    assert_eq!(sent, ["[This.]", "Hello."]);
    let own = json!({"note": {"text": "[Mine.]"}});
    let (sent, _) = send(&loreloom, &model, &[("user", "Hello.")], Some(own)).await;
    assert_eq!(sent, ["[Mine.]", "Hello."]);
}
