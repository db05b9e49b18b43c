//! Telling a story through the API alone: messages, weave, replies, exchange.

use loreloom_core::{
    cache_placement::StableSettings,
    notebook::{ModelNotebook, NotebookRules},
    rules::Rules,
};
use loreloom_server::{LorePlacement, Weaving};
use serde_json::{Value, json};

use super::{Api, Setup};

fn texts(path: &Value) -> Vec<&str> {
    path["messages"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_story_is_told_woven_and_answered_without_a_proxy() {
    let api = Api::start().await;
    let new =
        json!({"id": "hall", "messages": [{"role": "assistant", "content": "The hall is dark."}]});
    let made = api.call("POST", "/chats", new.clone()).await;
    assert_eq!(made.status, 201);
    assert_eq!(
        api.call("POST", "/chats", new).await.refused(409).1,
        "there is a chat `hall` already"
    );
    let said =
        json!({"messages": [{"role": "user", "name": "Wren", "content": "I ring the bell."}]});
    let wrote = api.call("POST", "/chats/hall/messages", said).await.good();
    assert_eq!(wrote["item"]["messages"], 2);
    let tried =
        api.call("POST", "/weave", json!({"chat": "hall", "character": "Mira"})).await.good();
    assert_eq!((&tried["turn"], &tried["undo"]), (&Value::Null, &Value::Null));
    assert_eq!(tried["slots"][0]["text"], "The bell of Harrow is cracked.");
    assert_eq!(tried["slots"][0]["place"], "after_character");
    assert_eq!(api.get("/chats/hall/turns").await.good()["total"], 0, "a dry run stores nothing");
    let body = json!({"chat": "hall", "character": "Mira", "dry_run": false});
    let woven = api.call("POST", "/weave", body).await.good();
    assert_eq!((&woven["turn"], &woven["slots"]), (&json!(1), &tried["slots"]));
    let reply = json!({"content": "It answers with a crack."});
    let replied = api.call("POST", "/chats/hall/turns/1/reply", reply).await.good();
    let path = api.get("/chats/hall/path").await.good();
    assert_eq!(texts(&path), ["The hall is dark.", "I ring the bell.", "It answers with a crack."]);
    assert_eq!(
        (&path["messages"][2]["name"], &path["messages"][2]["reply_to"]),
        (&json!("Mira"), &json!(1))
    );
    assert_eq!(api.get("/chats/hall/turns/1").await.good()["reproduced"], true);
    api.call("POST", "/undo", json!({"undo": replied["undo"]})).await.good();
    assert_eq!(api.get("/chats/hall/path").await.good()["total"], 2);
}

#[tokio::test]
async fn a_preview_of_what_is_being_typed_stores_nothing() {
    let api = Api::start().await;
    api.story().await;
    let typed =
        |text: &str| json!({"chat": "inn", "messages": [{"role": "user", "content": text}]});
    let quiet = api.call("POST", "/weave", typed("I wait.")).await.good();
    let loud = api.call("POST", "/weave", typed("The BELL again?")).await.good();
    assert_eq!(quiet["threads"].as_array().unwrap().len(), 0);
    assert_eq!(loud["threads"][0]["title"], "The bell");
    assert_eq!(api.get("/chats/inn").await.good()["messages"], 4);
    let none = api.call("POST", "/weave", json!({"chat": "new"})).await.refused(422);
    assert_eq!(none.1, "a turn needs a story: name a chat that is there, or give `messages`");
}

#[tokio::test]
async fn messages_are_edited_taken_out_and_gone_back_to() {
    let api = Api::start().await;
    api.story().await;
    let path = api.get("/chats/inn/path").await.good();
    let node = |at: usize| path["messages"][at]["node"].as_str().unwrap().to_owned();
    let edited = format!("/chats/inn/messages/{}", node(1));
    let wrote = api.call("PATCH", &edited, json!({"content": "Come in."})).await.good();
    let now = api.get("/chats/inn/path").await.good();
    assert_eq!(texts(&now), ["I come in.", "Come in.", "Who rings the bell?", "Nobody does."]);
    let stale = api.request("PUT", "/chats/inn/tip").header("if-match", "\"1\"");
    assert_eq!(api.send(stale.json(&json!({"node": node(3)}))).await.refused(412).0, "outdated");
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    assert_eq!(texts(&api.get("/chats/inn/path").await.good()), texts(&path));
    api.call("PUT", "/chats/inn/tip", json!({"node": node(1)})).await.good();
    assert_eq!(api.get("/chats/inn/path").await.good()["total"], 2);
    api.call("PUT", "/chats/inn/tip", json!({"node": node(3)})).await.good();
    let taken = api.send(api.request("DELETE", &format!("/chats/inn/messages/{}", node(3)))).await;
    taken.good();
    assert_eq!(api.get("/chats/inn/path").await.good()["total"], 3);
    let missing = json!({"node": "0123456789abcdef0123456789abcdef"});
    assert_eq!(api.call("PUT", "/chats/inn/tip", missing).await.refused(404).0, "not_found");
}

#[tokio::test]
async fn a_chat_goes_out_and_in() {
    let api = Api::start().await;
    api.story().await;
    let archive = api.get("/chats/inn/export").await.good();
    let send = |api: &Api, id: &str, body: String| {
        api.request("POST", &format!("/chats/import?id={id}")).body(body)
    };
    let there = api.send(send(&api, "x", archive.to_string())).await.refused(409);
    assert_eq!(there.1, "chat `inn` exists already");
    let other = Api::start().await;
    let taken = other.send(send(&other, "x", archive.to_string())).await;
    assert_eq!(taken.status, 201);
    assert_eq!(taken.good()["item"]["id"], "inn");
    assert_eq!(other.get("/chats/inn/turns").await.good()["total"], 2);
    let messages =
        json!([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]);
    let plain = other.send(send(&other, "plain", messages.to_string())).await.good();
    assert_eq!((&plain["messages"], &plain["item"]["id"]), (&json!(2), &json!("plain")));
    assert_eq!(other.send(send(&other, "odd", "?".to_owned())).await.refused(422).0, "wrong_value");
}

#[tokio::test]
async fn a_woven_prompt_is_placed_as_the_server_places_them() {
    let stable = LorePlacement::Stable(StableSettings::default());
    for (placement, keeps) in [(LorePlacement::FrontEnd, false), (stable, true)] {
        let weaving = Weaving {
            placement: placement.clone(),
            deadline: std::time::Duration::from_mins(1),
            ..Weaving::default()
        };
        let api = Api::with(Setup { weaving, ..Setup::default() }).await;
        let mut prompts = Vec::new();
        for (turn, text) in ["I come in.", "Who rings the bell?", "And then?"].iter().enumerate() {
            let said = json!([{"role": "user", "content": text}]);
            let body = json!({"chat": "hall", "messages": said, "dry_run": false});
            let woven = api.call("POST", "/weave", body).await.good();
            prompts.push(woven["prompt"]["messages"].clone());
            let path = format!("/chats/hall/turns/{}/reply", turn + 1);
            api.call("POST", &path, json!({"content": format!("Reply {turn}.")})).await.good();
            let told = api.get(&format!("/chats/hall/turns/{}", turn + 1)).await.good();
            assert_eq!(told["reproduced"], true, "{placement:?} {turn}");
        }
        assert!(prompts[1].to_string().contains("The bell of Harrow"), "{prompts:?}");
        assert_eq!(prompts[1][0] == prompts[0][0], keeps, "{placement:?}: {prompts:?}");
    }
}

#[tokio::test]
async fn what_the_model_notes_in_a_told_reply_goes_into_its_notebook() {
    let model = Some(ModelNotebook::default());
    let notebooks = NotebookRules { model, ..NotebookRules::default() };
    let rules = Rules { notebooks, ..Rules::default() };
    let api = Api::with(Setup { rules, ..Setup::default() }).await;
    let weave = |said: Value| json!({"chat": "hall", "messages": said, "dry_run": false});
    let said = json!([{"role": "user", "content": "I come in."}]);
    api.call("POST", "/weave", weave(said)).await.good();
    // Notes alone are no reply, and nothing is kept of what is refused.
    for content in ["<loreloom-notes>Odo sings.</loreloom-notes>\n", ""] {
        let answer =
            api.call("POST", "/chats/hall/turns/1/reply", json!({"content": content})).await;
        assert_eq!(answer.json["field"], "content");
        let detail = format!("`content` must say something besides notes, found `{content}`");
        assert_eq!(answer.refused(422), ("wrong_value".to_owned(), detail));
        assert_eq!(texts(&api.get("/chats/hall/path").await.good()), ["I come in."]);
    }
    let content = "She nods.\n<loreloom-notes>Mira limps.</loreloom-notes>";
    let reply = json!({"content": content});
    let wrote = api.call("POST", "/chats/hall/turns/1/reply", reply).await.good();
    assert_eq!(texts(&api.get("/chats/hall/path").await.good()), ["I come in.", "She nods."]);
    let said = json!([{"role": "user", "content": "And then?"}]);
    let woven = api.call("POST", "/weave", weave(said)).await.good();
    let prompt = woven["prompt"].to_string();
    assert!(prompt.contains("[Your notes so far]\\nMira limps."), "{prompt}");
    assert!(wrote["undo"].is_string(), "{wrote}");
}
