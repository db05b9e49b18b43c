//! A page of another program that uses the server from a browser: keys with pages, the path of a
//! chat as the page has it, requests that it announces, entries that it wraps.

use loreloom_testkit::model_server::Reply;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::{Answer, Api, CHAT};

const PAGE: &str = "http://127.0.0.1:8000";

impl Api {
    async fn call_of_page(&self, origin: &str, key: Option<&str>, path: &str) -> Answer {
        let mut request = self.request("GET", path).header("origin", origin);
        if let Some(key) = key {
            request = request.header("x-loreloom-key", key);
        }
        self.send(request).await
    }

    /// A front end asks the proxy and gets the whole answer.
    pub(super) async fn ask(&self, messages: &Value) {
        self.model.push(CHAT, Reply::text("Who is there?"));
        let body = json!({"model": "m", "messages": messages});
        let request = self.client.post(self.loreloom.url(CHAT)).json(&body);
        request.send().await.unwrap().bytes().await.unwrap();
    }

    async fn pair(&self, pages: Value) -> Answer {
        let body = json!({"name": "SillyTavern", "scopes": ["read", "write"], "pages": pages});
        self.call("POST", "/keys", body).await
    }
}

fn allowed(headers: &HeaderMap) -> Option<&str> {
    headers.get("access-control-allow-origin").map(HeaderValue::to_str)?.ok()
}

#[tokio::test]
async fn a_page_reads_answers_with_its_key_until_that_is_revoked() {
    let api = Api::start().await;
    let before = api.call_of_page(PAGE, None, "/health").await;
    assert_eq!((before.status, allowed(&before.headers)), (200, None));
    let made = api.pair(json!(["http://localhost:8000/some/path"])).await.good();
    assert_eq!(made["item"]["pages"], json!(["http://localhost:8000"]));
    let key = made["key"].as_str().unwrap();
    let with = api.call_of_page(PAGE, Some(key), "/health").await;
    assert_eq!((with.status, allowed(&with.headers)), (200, Some(PAGE)));
    let without = api.call_of_page(PAGE, None, "/chats").await;
    assert_eq!(allowed(&without.headers), Some(PAGE), "the page can read why it is refused");
    assert_eq!(without.refused(401).0, "key_missing");
    let scope = api.call_of_page(PAGE, Some(key), "/keys").await;
    assert_eq!(scope.refused(403).0, "forbidden", "the key is for no settings");
    let other = api.call_of_page("http://127.0.0.1:8001", Some(key), "/health").await;
    assert_eq!(allowed(&other.headers), None);
    let id = made["item"]["id"].as_str().unwrap();
    api.send(api.request("DELETE", &format!("/keys/{id}"))).await.good();
    let revoked = api.call_of_page(PAGE, Some(key), "/health").await;
    assert_eq!((revoked.status, allowed(&revoked.headers)), (401, None));
}

#[tokio::test]
async fn a_page_of_another_network_may_ask_beforehand() {
    let api = Api::start().await;
    api.pair(json!(["https://tales.example"])).await.good();
    let ask = |origin: &str| {
        api.request("OPTIONS", "/weave")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "x-loreloom-key")
            .header("access-control-request-private-network", "true")
    };
    let answer = ask("https://tales.example").send().await.unwrap();
    assert_eq!(answer.status(), 204);
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("access-control-allow-headers"), "x-loreloom-key");
    assert_eq!(header("access-control-allow-private-network"), "true");
    assert_eq!(ask("https://other.example").send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn what_is_no_page_is_refused() {
    let api = Api::start().await;
    for wrong in ["127.0.0.1:8000", "*", "file:///tmp", ""] {
        let (code, detail) = api.pair(json!([wrong])).await.refused(422);
        assert_eq!(code, "wrong_value");
        let rule = "a page is given as `http://HOST:PORT` or `https://HOST`, found";
        assert_eq!(detail, format!("{rule} `{wrong}`"));
    }
}

#[tokio::test]
async fn anybody_may_get_the_extension_and_it_holds_no_key() {
    let api = Api::start().await;
    let url = api.loreloom.url("/extensions/sillytavern.zip");
    let answer = reqwest::get(url).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/zip");
    let bytes = answer.bytes().await.unwrap();
    assert!(bytes.starts_with(b"PK"), "{} bytes", bytes.len());
}

pub(super) fn said(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

impl Api {
    async fn shown(&self, messages: Value) -> Value {
        self.call("PUT", "/chats/inn/path", json!({"title": "Inn", "messages": messages}))
            .await
            .good()
    }

    async fn texts(&self) -> Vec<(String, bool)> {
        let path = self.get("/chats/inn/path").await.good();
        let message = |one: &Value| {
            (one["text"].as_str().unwrap().to_owned(), one["hidden"].as_bool().unwrap())
        };
        path["messages"].as_array().unwrap().iter().map(message).collect()
    }
}

#[tokio::test]
async fn a_front_end_sends_the_messages_it_shows_and_nothing_is_lost() {
    let api = Api::start().await;
    let (knock, who) = (said("user", "I knock."), said("assistant", "Who is there?"));
    let first = api.shown(json!([knock, who])).await;
    assert_eq!(first["item"]["title"], "Inn");
    let again = api.shown(json!([knock, who])).await;
    assert_eq!((&again["node"], &again["undo"]), (&first["node"], &Value::Null));
    let mut hidden = knock.clone();
    hidden["hidden"] = json!(true);
    api.shown(json!([hidden, who])).await;
    assert_eq!(api.texts().await, [("I knock.".into(), true), ("Who is there?".into(), false)]);
    // A swipe: the other reply stays as a branch.
    api.shown(json!([knock, said("assistant", "Go away!")])).await;
    assert_eq!(api.texts().await, [("I knock.".into(), false), ("Go away!".into(), false)]);
    let tree = api.get("/chats/inn/tree").await.good();
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 3, "{tree}");
    // Everything is deleted in the front end, and then brought back.
    api.shown(json!([])).await;
    assert_eq!(api.texts().await, []);
    let back = api.shown(json!([knock, who])).await;
    assert_eq!(back["node"], first["node"]);
}

#[tokio::test]
async fn an_announced_request_belongs_to_its_chat() {
    let api = Api::start().await;
    let announced = json!({"chat": "st-1", "newest": "I knock.", "character": "Mira"});
    let id = api.call("POST", "/generations", announced).await.good()["id"].clone();
    let arrived = format!("/generations/{id}");
    assert_eq!(api.get(&arrived).await.good()["arrived"], false);
    api.ask(&json!([said("user", "I knock.")])).await;
    assert_eq!(api.get(&arrived).await.good()["arrived"], true);
    api.loreloom.story(2).await;
    let path = api.get("/chats/st-1/path").await.good();
    assert_eq!(path["messages"][0]["text"], "I knock.");
    assert_eq!(path["messages"][1]["name"], "Mira");
    assert_eq!(api.get("/generations/999").await.refused(404).0, "not_found");
}

#[tokio::test]
async fn the_proxy_leaves_a_turn_alone_that_the_front_end_placed() {
    let api = Api::start().await;
    let messages = json!([said("user", "I ring the bell.")]);
    let tip = "0".repeat(32);
    let body = json!({"chat": "st-1", "tip": tip, "messages": messages, "dry_run": false});
    let woven = api.call("POST", "/weave", body).await.good();
    api.ask(&messages).await;
    let sent = api.model.last().unwrap().json;
    assert_eq!(sent["messages"], messages, "nothing was woven a second time");
    let stored = api.get("/chats/st-1/turns").await.good();
    assert_eq!(stored["items"].as_array().unwrap().len(), 1, "{stored}");
    let arrived = api.get(&format!("/generations/{}", woven["generation"])).await.good();
    assert_eq!(arrived["arrived"], true);
}

#[tokio::test]
async fn a_quick_turn_is_answered_before_it_is_stored_and_found_by_its_generation() {
    let api = Api::start().await;
    let weave = async |tip: &Value, text: &str, more: Value| {
        let mut body = json!({
            "chat": "st-1",
            "tip": tip,
            "messages": [said("user", text)],
            "dry_run": false,
            "placed": true,
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        api.call("POST", "/weave", body).await.good()
    };
    let (beginning, quick) = (json!("0".repeat(32)), json!({"quick": true}));
    let woven = weave(&beginning, "I ring the bell.", quick.clone()).await;
    for missing in ["turn", "undo", "prompt"] {
        assert_eq!(woven[missing], Value::Null, "{missing}");
    }
    assert_eq!(woven["slots"][0]["text"], "The bell of Harrow is cracked.");
    let id = woven["generation"].clone();
    let found = api.get(&format!("/generations/{id}")).await.good();
    assert_eq!(found, json!({"id": id, "chat": "st-1", "arrived": false, "turn": 1}));
    let reply = json!({"content": "It rings."});
    let wrote = api.call("POST", "/chats/st-1/turns/1/reply", reply).await.good();
    // The next call waits for a turn that is being stored.
    let next = weave(&wrote["node"], "Again!", quick.clone()).await;
    let after = weave(&next["node"], "And again!", json!({})).await;
    assert_eq!((&after["turn"], after["prompt"].is_object()), (&json!(3), true));
    // A dry run has no turn.
    let dry = weave(&after["node"], "I wait.", json!({"quick": true, "dry_run": true})).await;
    assert_eq!(dry["prompt"], Value::Null);
    let found = api.get(&format!("/generations/{}", dry["generation"])).await.good();
    assert_eq!(found["turn"], Value::Null);
    assert_eq!(api.get("/chats/st-1/turns").await.good()["total"], 3);
}

#[tokio::test]
async fn entries_of_a_front_end_are_wrapped_and_wrong_fields_are_named() {
    let api = Api::start().await;
    let entry = json!({
        "fields": {"name": "Bell", "key": "bell", "secondary": ["rope", "oar"]},
        "content": "It is cracked.",
    });
    let body = json!({"format": "xml-standard", "entries": [entry, {"content": ""}]});
    let texts = api.call("POST", "/wrap", body).await.good()["texts"].clone();
    assert_eq!(
        texts,
        json!([
            "<lorebook name=\"Bell\" key=\"bell\" secondary=\"rope,oar\">\nIt is cracked.\n</lorebook>",
            ""
        ])
    );
    let body = json!({"format": "xml", "entries": [{"fields": {"colour": "red"}, "content": "x"}]});
    assert_eq!(api.call("POST", "/wrap", body).await.refused(422).0, "wrong_value");
    let body = json!({"format": "html", "entries": []});
    let (_, detail) = api.call("POST", "/wrap", body).await.refused(422);
    assert!(detail.contains("`xml-minimal`") && detail.contains("`html`"), "{detail}");
}
