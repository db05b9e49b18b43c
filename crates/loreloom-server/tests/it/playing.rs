//! Stories that are played here: Loreloom builds the prompt, and the turn is stored as any other.

use std::{sync::Arc, time::Duration};

use loreloom_core::{
    tokens::{ByteEstimate, TokenCounter},
    units::Tokens,
};
use loreloom_llm::{connection::Address, upstream::HttpUpstream};
use loreloom_server::Connections;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::{
    api::Api,
    harness::{Setup, connection},
};

async fn orla(api: &Api) {
    let card = json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Orla", "description": "{{char}} rows {{user}} across.", "personality": "dry",
        "scenario": "The quay.", "first_mes": "Hm, {{user}}?", "mes_example": "<START>\n{{char}}: Aye.",
        "creator_notes": "", "system_prompt": "", "post_history_instructions": "Be brief.",
        "alternate_greetings": ["Ahoy."], "tags": [], "creator": "", "character_version": "",
        "extensions": {"depth_prompt": {"prompt": "{{char}} limps.", "depth": 1, "role": "system"}},
        "character_book": {"entries": [{"keys": ["ferry"], "content": "The ferry leaks.",
            "extensions": {"position": 0}, "enabled": true, "insertion_order": 0}]},
    }});
    let request = api.request("POST", "/characters/import").body(card.to_string());
    api.send(request).await.good();
}

async fn path(api: &Api, chat: &str) -> Vec<Value> {
    let path = api.get(&format!("/chats/{chat}/path")).await.good();
    path["messages"].as_array().unwrap().clone()
}

fn texts(path: &[Value]) -> Vec<&str> {
    path.iter().map(|one| one["text"].as_str().unwrap()).collect()
}

/// The path of a chat, once it has these messages: a reply is stored right after its last byte.
async fn told(api: &Api, chat: &str, expected: &[&str]) -> Vec<Value> {
    for _ in 0..1000 {
        let found = path(api, chat).await;
        if texts(&found) == expected {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("expected {expected:?}, found {:?}", texts(&path(api, chat).await));
}

fn answers(api: &Api, replies: &[&str]) {
    for reply in replies {
        api.model.push("/v1/chat/completions", Reply::text(reply));
    }
}

/// What the model got last, as roles and texts.
fn sent(api: &Api) -> Vec<(String, String)> {
    let body = api.model.last().unwrap().json;
    let messages = body["messages"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    messages.iter().map(|one| (text(&one["role"]), text(&one["content"]))).collect()
}

#[tokio::test]
async fn a_story_from_a_card_has_its_prompt_lore_and_swipes() {
    let api = Api::start().await;
    orla(&api).await;
    api.call("POST", "/personas", json!({"name": "Mira", "description": "A cook."})).await.good();
    let new = json!({"setup": {"characters": ["orla"], "persona": "mira", "greeting": 1}});
    let begun = api.call("POST", "/stories", new).await;
    assert_eq!(begun.status, 201);
    assert_eq!(begun.good(), json!({"chat": "orla", "title": "Orla"}));
    let first = path(&api, "orla").await;
    assert_eq!(texts(&first), ["Ahoy."]);
    assert_eq!(first[0]["versions"].as_array().unwrap().len(), 2, "the other greeting");

    answers(&api, &["Orla: It floats.", "It sinks."]);
    let said = json!({"text": "Is the ferry safe?", "model": {"temperature": 0.5}});
    let answer = api.call("POST", "/chats/orla/play", said).await;
    assert!(answer.text.contains("floats"), "{}", answer.text);
    let path = told(&api, "orla", &["Ahoy.", "Is the ferry safe?", "It floats."]).await;
    let expected = [
        (
            "system",
            "You are Orla. Write Orla's next reply in a chat between Orla and Mira. Stay in \
            character, move the story on, and leave the words and choices of Mira to Mira.",
        ),
        ("system", "The ferry leaks."),
        ("system", "A cook."),
        ("system", "Orla rows Mira across."),
        ("system", "dry"),
        ("system", "The quay."),
        ("system", "Example messages:\nOrla: Aye."),
        ("assistant", "Ahoy."),
        ("system", "Orla limps."),
        ("user", "Is the ferry safe?"),
        ("system", "Be brief."),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect();
    assert_eq!(sent(&api), expected);
    assert_eq!(api.model.last().unwrap().json["temperature"], 0.5);
    assert_eq!((&path[1]["name"], &path[2]["name"]), (&json!("Mira"), &json!("Orla")));
    assert_eq!(path[1]["turn"]["threads"].as_array().unwrap().len(), 1);

    // Another version of the reply is a sibling.
    let again = json!({"after": path[1]["node"], "generation": "swipe", "seed": 2});
    api.call("POST", "/chats/orla/play", again).await;
    let path = told(&api, "orla", &["Ahoy.", "Is the ferry safe?", "It sinks."]).await;
    assert_eq!(path[2]["versions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_reply_is_continued_and_a_message_of_the_user_only_proposed() {
    let api = Api::start().await;
    orla(&api).await;
    let new = json!({"id": "quay", "setup": {"characters": ["orla"]}});
    api.call("POST", "/stories", new).await.good();
    answers(&api, &["She waits", "and waits.", "I wait too."]);
    api.call("POST", "/chats/quay/play", json!({"text": "Well?"})).await;
    told(&api, "quay", &["Hm, Mira?", "Well?", "She waits"]).await;
    api.call("POST", "/chats/quay/play", json!({"generation": "continue"})).await;
    let found = told(&api, "quay", &["Hm, Mira?", "Well?", "She waits and waits."]).await;
    let last = sent(&api).pop().unwrap();
    assert!(last.1.starts_with("Continue the last message"), "{last:?}");
    let proposed = api.call("POST", "/chats/quay/play", json!({"generation": "impersonate"})).await;
    assert!(proposed.text.contains("wait"), "{}", proposed.text);
    assert_eq!(path(&api, "quay").await.len(), 3, "nothing is stored");
    let wrong = json!({"generation": "continue", "after": found[1]["node"]});
    let wrong = api.call("POST", "/chats/quay/play", wrong).await.refused(422);
    assert_eq!(wrong.1, "only a reply can be continued, and `after` is none");
}

#[tokio::test]
async fn several_characters_take_turns_and_see_who_speaks() {
    let api = Api::start().await;
    orla(&api).await;
    let ben = json!({"card": {"name": "Ben", "first_mes": "Evening."}});
    api.call("POST", "/characters", ben).await.good();
    let crew = json!({"name": "The crew", "members": ["orla", "ben"], "order": "list"});
    api.call("POST", "/groups", crew).await.good();
    api.call("POST", "/stories", json!({"from_group": "the-crew"})).await.good();
    let setup = api.get("/chats/the-crew/setup").await.good();
    assert_eq!(setup["next"], "orla");
    answers(&api, &["Hm.", "Aye."]);
    api.call("POST", "/chats/the-crew/play", json!({"text": "Who is there?"})).await;
    let first = ["Hm, Mira?", "Evening.", "Who is there?", "Hm."];
    told(&api, "the-crew", &first).await;
    api.call("POST", "/chats/the-crew/play", json!({})).await;
    let found = told(&api, "the-crew", &[&first[..], &["Aye."]].concat()).await;
    let said: Vec<(&str, &str)> = found
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ("Orla", "Hm, Mira?"),
            ("Ben", "Evening."),
            ("Mira", "Who is there?"),
            ("Orla", "Hm."),
            ("Ben", "Aye.")
        ]
    );
    let got = sent(&api);
    assert!(got.contains(&("assistant".to_owned(), "Orla: Hm.".to_owned())), "{got:?}");
    assert_eq!(got.last().unwrap().1, "Now reply only as Ben.");
    let wrong = api.call("POST", "/chats/the-crew/play", json!({"speaker": "zoe"})).await;
    assert_eq!(wrong.refused(422).1, "`speaker` must take part in the story, found `zoe`");
}

#[tokio::test]
async fn a_failed_model_loses_nothing_that_was_said() {
    let api = Api::start().await;
    api.call("POST", "/stories", json!({"id": "fog", "title": "Fog"})).await.good();
    let none = api.call("POST", "/chats/fog/play", json!({})).await.refused(422);
    assert_eq!(none.1, "the story has no message yet: say something first");
    api.model.push("/v1/chat/completions", Reply::status(400, "{}"));
    answers(&api, &["Fog comes in."]);
    let failed = api.call("POST", "/chats/fog/play", json!({"text": "I look out."})).await;
    assert_eq!(failed.status, 400);
    assert_eq!(texts(&path(&api, "fog").await), ["I look out."]);
    api.call("POST", "/chats/fog/play", json!({})).await;
    told(&api, "fog", &["I look out.", "Fog comes in."]).await;
    assert!(sent(&api)[0].1.starts_with("You are the narrator of a story. Mira plays"));
}

#[tokio::test]
async fn a_setup_is_changed_undone_and_follows_from_the_names_of_an_imported_chat() {
    let api = Api::start().await;
    orla(&api).await;
    let file = "{\"user_name\":\"Mira\",\"character_name\":\"Orla\"}\n\
        {\"name\":\"Orla\",\"is_user\":false,\"mes\":\"Hm?\"}\n\
        {\"name\":\"Mira\",\"is_user\":true,\"mes\":\"Well.\"}";
    api.send(api.request("POST", "/chats/import?id=old").body(file)).await.good();
    let setup = api.get("/chats/old/setup").await.good();
    assert_eq!(
        (&setup["setup"]["characters"], &setup["is_set"]),
        (&json!(["orla"]), &json!(false))
    );
    assert_eq!((&setup["user"], &setup["next"]), (&json!("Mira"), &json!("orla")));
    let patch = json!({"note": {"text": "Rain."}, "model": {"temperature": 0.3}, "order": "list"});
    let changed = api.call("PATCH", "/chats/old/setup", patch).await.good();
    assert_eq!(changed["item"]["setup"]["note"]["depth"], 4);
    assert_eq!(changed["item"]["is_set"], true);
    let wrong = json!({"model": {"top_p": 3}});
    let wrong = api.call("PATCH", "/chats/old/setup", wrong).await.refused(422);
    assert_eq!(wrong.1, "`model.top_p` must be from 0 to 1, found `3.0`");
    let wrong = api.call("PATCH", "/chats/old/setup", json!({"characters": ["zoe"]})).await;
    assert_eq!(wrong.refused(404).1, "there is no character `zoe`");
    api.call("POST", "/undo", json!({"undo": changed["undo"]})).await.good();
    assert_eq!(api.get("/chats/old/setup").await.good()["is_set"], false);
}

#[tokio::test]
async fn stories_are_tagged_put_away_and_searched_and_lines_inserted() {
    let api = Api::start().await;
    for (id, text) in [("a", "The ferry leaks."), ("b", "The mill turns.")] {
        let new = json!({"id": id, "messages": [{"role": "user", "content": text}]});
        api.call("POST", "/chats", new).await.good();
    }
    let patch = json!({"tags": [" sea ", "sea"], "archived": true});
    let tagged = api.call("PATCH", "/chats/a", patch).await.good();
    assert_eq!(
        (&tagged["item"]["tags"], &tagged["item"]["archived"]),
        (&json!(["sea"]), &json!(true))
    );
    for (query, ids) in
        [("", vec!["b"]), ("?archived=true", vec!["a"]), ("?tag=sea&archived=true", vec!["a"])]
    {
        let list = api.get(&format!("/chats{query}")).await.good();
        let found: Vec<&str> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        assert_eq!(found, ids, "{query}");
    }
    let hits = api.get("/search?q=FERRY").await.good();
    assert_eq!(
        (&hits["items"][0]["chat"], &hits["items"][0]["excerpt"]),
        (&json!("a"), &json!("The ferry leaks."))
    );
    assert_eq!(api.get("/search?q=x").await.status, 422);
    let line = json!({"insert": true, "after": "0".repeat(32),
        "messages": [{"role": "assistant", "content": "Night.", "narrator": true}]});
    api.call("POST", "/chats/b/messages", line).await.good();
    let told = path(&api, "b").await;
    assert_eq!(texts(&told), ["Night.", "The mill turns."]);
    assert_eq!((&told[0]["narrator"], &told[0]["name"]), (&json!(true), &json!("Narrator")));
}

/// A tokenizer with a bug.
struct Broken;

impl TokenCounter for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn count(&self, text: &str) -> Tokens {
        assert!(!text.contains("cracked"), "a bug");
        Tokens(1)
    }
}

#[tokio::test]
async fn a_turn_that_weaving_failed_for_is_stored_without_lore() {
    let api = Api::with(Setup { counter: Arc::new(Broken), ..Setup::default() }).await;
    orla(&api).await;
    api.call("POST", "/stories", json!({"setup": {"characters": ["orla"]}})).await.good();
    answers(&api, &["Orla: It rings.", "It is late."]);
    let answer = api.call("POST", "/chats/orla/play", json!({"text": "Ring the bell!"})).await;
    assert_eq!(answer.headers["x-loreloom-passed-on"], "failed");
    assert_eq!(answer.headers["x-loreloom-warning"], "the engine failed");
    let path = told(&api, "orla", &["Hm, Mira?", "Ring the bell!", "It rings."]).await;
    assert_eq!(path[2]["name"], "Orla");
    let last = api.loreloom.app.last_turn().await.unwrap().unwrap();
    let warnings = serde_json::to_value(&last.record.report.warnings).unwrap();
    assert_eq!(warnings, json!([{"code": "without_lore", "reason": "the engine failed"}]));
    let prompt = last.record.prompt.last().unwrap();
    assert_eq!(prompt.content.as_str(), "Be brief.");
    api.get("/chats/orla/turns/1").await.good();
    // The story goes on.
    api.call("POST", "/chats/orla/play", json!({"generation": "continue"})).await;
    told(&api, "orla", &["Hm, Mira?", "Ring the bell!", "It rings. It is late."]).await;
}

#[tokio::test]
async fn no_server_is_asked_without_the_name_of_a_model() {
    let script = Script::new().answering(|_| Some(Reply::text("Hello.")));
    let model = ModelServer::start(script).unwrap();
    let address = Address::parse(&format!("{}/v1", model.base_url())).unwrap();
    let upstream = Arc::new(HttpUpstream::new(address, None).unwrap());
    let nameless = connection("nameless", upstream, Arc::new(ByteEstimate));
    let connections = Some(Connections::only(nameless));
    let api = Api::with(Setup { connections, ..Setup::default() }).await;
    let new = json!({"opening": "Rain.", "title": "Rain", "setup": {}});
    let begun = api.call("POST", "/stories", new).await.good();
    let chat = begun["chat"].as_str().unwrap().to_owned();
    let problem = "connection `nameless` names no model: choose one for this story, or set \
                   `model` of the connection";
    let setup = api.get(&format!("/chats/{chat}/setup")).await.good();
    assert_eq!(setup["routed"]["problem"], problem);
    let play = format!("/chats/{chat}/play");
    let refused = api.call("POST", &play, json!({"text": "Hello?"})).await.refused(409);
    assert_eq!(refused.1, problem);
    assert!(model.received().is_empty());
    // Named for this turn alone, it is asked.
    api.call("POST", &play, json!({"text": "Hello?", "model": {"model": "writer-2"}})).await;
    told(&api, &chat, &["Rain.", "Hello?", "Hello."]).await;
    assert_eq!(model.last().unwrap().json["model"], "writer-2");
}

async fn setup_of(api: &Api, chat: &str) -> Value {
    api.get(&format!("/chats/{chat}/setup")).await.good()["setup"].clone()
}

#[tokio::test]
async fn whoever_was_removed_takes_part_no_more_and_the_setup_can_still_be_changed() {
    let api = Api::start().await;
    for name in ["Orla", "Ben", "Zoe"] {
        let card = json!({"card": {"name": name, "first_mes": "Evening."}});
        api.call("POST", "/characters", card).await.good();
    }
    api.call("POST", "/personas", json!({"name": "Mira"})).await.good();
    let members = json!(["orla", "ben", "zoe"]);
    let crew = json!({"name": "The crew", "members": members, "muted": ["ben"]});
    api.call("POST", "/groups", crew).await.good();
    let new = json!({"id": "quay", "from_group": "the-crew", "setup": {"persona": "mira"}});
    api.call("POST", "/stories", new).await.good();
    for gone in ["/characters/ben", "/personas/mira"] {
        api.call("DELETE", gone, Value::Null).await.good();
    }
    let wrong = json!({"characters": ["orla", "ben", "una"]});
    let wrong = api.call("PATCH", "/chats/quay/setup", wrong).await.refused(404);
    assert_eq!(wrong.1, "there is no character `una`");
    api.call("PATCH", "/chats/quay/setup", json!({"order": "list"})).await.good();
    let setup = setup_of(&api, "quay").await;
    assert_eq!((&setup["characters"], &setup["order"]), (&json!(["orla", "zoe"]), &json!("list")));
    assert_eq!((&setup["muted"], &setup["persona"]), (&Value::Null, &Value::Null));
    // Who was removed cannot come back.
    let back = api.call("PATCH", "/chats/quay/setup", json!({"persona": "mira"})).await;
    assert_eq!(back.refused(404).1, "there is no persona `mira`");
    // A group that still names them begins stories, and can be changed.
    api.call("POST", "/stories", json!({"id": "pier", "from_group": "the-crew"})).await.good();
    assert_eq!(setup_of(&api, "pier").await["characters"], json!(["orla", "zoe"]));
    let patch = json!({"members": members});
    let crew = api.call("PATCH", "/groups/the-crew", patch).await.good()["item"].clone();
    assert_eq!((&crew["members"], &crew["muted"]), (&json!(["orla", "zoe"]), &json!([])));
}

#[tokio::test]
async fn a_story_that_is_refused_leaves_nothing_behind() {
    let api = Api::start().await;
    orla(&api).await;
    let setup = json!({"characters": ["orla"]});
    let wrong = json!({"characters": ["orla"], "model": {"top_p": 3}});
    for (new, status) in [
        (json!({"id": "quay", "setup": setup, "books": ["orla", "none"]}), 404),
        (json!({"id": "quay", "setup": wrong}), 422),
    ] {
        api.call("POST", "/stories", new).await.refused(status);
        assert_eq!(api.get("/chats/quay").await.status, 404);
        assert_eq!(api.get("/books/orla").await.good()["bindings"].as_array().unwrap().len(), 1);
    }
    let new = json!({"id": "quay", "setup": setup, "books": ["orla", "orla"]});
    api.call("POST", "/stories", new).await.good();
    let book = api.get("/books/orla").await.good();
    let to = json!({"to": "chat", "name": "quay"});
    let bindings = book["bindings"].as_array().unwrap();
    assert_eq!((bindings.len(), bindings.contains(&to)), (2, true), "{bindings:?}");
}

#[tokio::test]
async fn a_card_that_was_imported_twice_makes_no_group_of_an_old_chat() {
    let api = Api::start().await;
    orla(&api).await;
    orla(&api).await;
    let file = "{\"user_name\":\"Mira\",\"character_name\":\"Orla\"}\n\
        {\"name\":\"Orla\",\"is_user\":false,\"mes\":\"Hm?\"}";
    api.send(api.request("POST", "/chats/import?id=old").body(file)).await.good();
    assert_eq!(setup_of(&api, "old").await["characters"], json!(["orla"]));
}
