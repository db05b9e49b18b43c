//! A request that carries nothing of ours is decided from what its front end announced.

use loreloom_testkit::model_server::Reply;
use serde_json::{Value, json};

use super::{Api, CHAT, pairing::said};

/// Three entries: one looks into the card, one has the examples, one goes above the note.
fn book() -> Value {
    let entry = |uid: u32, more: Value| {
        let mut entry = json!({"uid": uid, "comment": format!("Entry {uid}"), "order": 100});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    json!({"name": "harbour", "entries": {
        "0": entry(0, json!({
            "key": ["keeper"], "matchCharacterDescription": true, "position": 0,
            "content": "A keeper has keys.",
        })),
        "1": entry(1, json!({
            "key": ["smuggler"], "matchPersonaDescription": true, "position": 0,
            "content": "A smuggler has secrets.",
        })),
        "2": entry(2, json!({"key": ["knock"], "position": 1, "content": "So: {{mesExamples}}"})),
        "3": entry(3, json!({"key": ["knock"], "position": 2, "content": "Above the note."})),
    }})
}

async fn with_book() -> Api {
    let api = Api::start().await;
    let import = api.request("POST", "/books/import?id=harbour&file_name=harbour.json");
    api.send(import.body(book().to_string())).await.good();
    let everywhere = json!({"bindings": [{"to": "everywhere"}]});
    api.call("PATCH", "/books/harbour", everywhere).await.good();
    api
}

impl Api {
    /// What the model gets.
    async fn sent(&self, messages: &Value) -> Vec<String> {
        self.ask(messages).await;
        let sent = self.model.last().unwrap().json;
        let text = |one: &Value| format!("{}: {}", one["role"], one["content"]).replace('"', "");
        sent["messages"].as_array().unwrap().iter().map(text).collect()
    }
}

#[tokio::test]
async fn card_persona_examples_and_note_of_an_announced_request_are_used() {
    let api = with_book().await;
    let announced = json!({
        "chat": "st-1", "newest": "I knock.", "character": "Mira", "user": "Wren",
        "card": {"description": "Mira is a keeper.", "persona": "Wren is a smuggler."},
        "examples": "Mira: Hush.", "placed_note": "Keep it grim.",
    });
    api.call("POST", "/generations", announced).await.good();
    let messages = json!([
        said("system", "Write well."),
        said("assistant", "The door is shut."),
        said("user", "Keep it grim."),
        said("user", "I knock."),
    ]);
    let sent = api.sent(&messages).await;
    assert_eq!(
        sent,
        [
            "system: A smuggler has secrets.\\nA keeper has keys.",
            "system: Write well.",
            "system: So: Mira: Hush.",
            "assistant: The door is shut.",
            "system: Above the note.",
            "user: Keep it grim.",
            "user: I knock.",
        ]
    );
    api.loreloom.story(3).await;
    let path = api.get("/chats/st-1/path").await.good();
    let said = |one: &Value| one["text"].as_str().unwrap().to_owned();
    let texts: Vec<String> = path["messages"].as_array().unwrap().iter().map(said).collect();
    assert_eq!(texts, ["The door is shut.", "I knock.", "Who is there?"], "the note is no message");
}

#[tokio::test]
async fn the_announced_context_and_reply_length_hold_and_the_requests_own_win() {
    let api = Api::start().await;
    let old = format!("It was long ago. {}", "The tide came in over the flats. ".repeat(20));
    let messages =
        json!([said("user", &old), said("assistant", "I remember."), said("user", "I knock.")]);
    let left_out = |own: Value| {
        let (api, messages) = (&api, &messages);
        async move {
            let limits = json!({"context": 120, "max_tokens": 40});
            let mut announced = json!({"chat": "st-1", "newest": "I knock."});
            announced.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
            api.call("POST", "/generations", announced).await.good();
            api.model.push(CHAT, Reply::text("Who is there?"));
            let body = json!({"model": "m", "messages": messages, "loreloom": own});
            let request = api.client.post(api.loreloom.url(CHAT)).json(&body);
            let answer = request.send().await.unwrap();
            let left_out = answer.headers().get("x-loreloom-left-out").cloned();
            answer.bytes().await.unwrap();
            left_out.map(|count| count.to_str().unwrap().to_owned())
        }
    };
    assert_eq!(left_out(json!({})).await.as_deref(), Some("1"));
    assert_eq!(left_out(json!({"context": 8192})).await, None);
    let wrong = json!({"chat": "st-1", "newest": "I knock.", "context": 0});
    let (code, detail) = api.call("POST", "/generations", wrong).await.refused(422);
    assert_eq!(
        (code.as_str(), detail.as_str()),
        ("wrong_value", "`context` must be at least 1, found `0`")
    );
}

#[tokio::test]
async fn a_story_that_began_without_a_name_is_found_by_the_name_it_gets() {
    let api = Api::start().await;
    api.ask(&json!([said("user", "I knock.")])).await;
    api.loreloom.story(2).await;
    let announced = json!({"chat": "st-1", "newest": "It is me."});
    api.call("POST", "/generations", announced).await.good();
    let (knock, who) = (said("user", "I knock."), said("assistant", "Who is there?"));
    api.ask(&json!([knock, who, said("user", "It is me.")])).await;
    api.loreloom.story(4).await;
    let called = |name: &str| format!("/chats?called={name}");
    let found = api.get(&called("st-1")).await.good();
    let id = found["items"][0]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("chat-"), "{id}");
    assert_eq!((&found["total"], &found["items"][0]["messages"]), (&json!(1), &json!(4)));
    assert_eq!(api.get(&called(&id)).await.good()["items"][0]["id"], *id);
    assert_eq!(api.get(&called("st-2")).await.good()["total"], 0);
}
