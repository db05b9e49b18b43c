//! Chats: list, path, tree.

use serde_json::{Value, json};

use super::Api;

#[tokio::test]
async fn chats_are_listed_in_pages() {
    let api = Api::start().await;
    for chat in ["one", "two", "three"] {
        api.tell(chat, &[("user", "Hello there.")], "Hm.").await;
    }
    let first = api.get("/chats?limit=2").await.good();
    assert_eq!((&first["total"], first["items"].as_array().unwrap().len()), (&json!(3), 2));
    let next = first["next"].as_str().unwrap();
    let second = api.get(&format!("/chats?limit=2&cursor={next}")).await.good();
    assert_eq!(second["next"], Value::Null);
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|chat| chat["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut all = [ids(&first), ids(&second)].concat();
    all.sort();
    assert_eq!(all, ["one", "three", "two"]);
    assert_eq!(ids(&api.get("/chats?q=TWO").await.good()), ["two"]);
}

#[tokio::test]
async fn a_list_refuses_what_it_does_not_know() {
    let api = Api::start().await;
    for (path, status, code, detail) in [
        ("/chats?limit=0", 422, "wrong_value", "`limit` must be from 1 to 500, found `0`"),
        (
            "/chats?limit=x",
            422,
            "wrong_value",
            "`limit` must be a whole number that is not negative, found `x`",
        ),
        (
            "/chats?cursor=x",
            400,
            "bad_cursor",
            "a cursor is the `next` of the page before, found `x`",
        ),
        ("/chats?colour=red", 400, "unknown_field", "there is no parameter `colour`"),
        ("/chats/x/path?before=0", 422, "wrong_value", "`before` must be at least 1, found `0`"),
        ("/chats/none", 404, "not_found", "there is no chat `none`"),
        ("/chats/none/path", 404, "not_found", "there is no chat `none`"),
        ("/chats/none/tree", 404, "not_found", "there is no chat `none`"),
        ("/chats/none/turns/1", 404, "not_found", "there is no chat `none`"),
    ] {
        let found = api.get(path).await.refused(status);
        assert_eq!(found, (code.to_owned(), detail.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_path_shows_what_was_woven_at_each_message() {
    let api = Api::start().await;
    api.story().await;
    let answer = api.get("/chats/inn/path").await;
    let tag = answer.etag();
    let path = answer.good();
    let texts: Vec<&str> = path["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["I come in.", "Welcome.", "Who rings the bell?", "Nobody does."]);
    assert_eq!(
        (&path["total"], &path["current"], &path["before"]),
        (&json!(4), &json!(true), &Value::Null)
    );
    assert_eq!(path["messages"][0]["turn"]["threads"], json!([]));
    assert_eq!(
        path["messages"][2]["turn"]["threads"],
        json!([{
            "kind": "lorebook", "source": "world/0", "book": "world", "title": "The bell",
            "state": "fired", "tokens": 9, "place": "after_character",
        }])
    );
    assert_eq!(path["messages"][3]["reply_to"], 2);
    let known = api.request("GET", "/chats/inn/path").header("if-none-match", tag);
    let same = api.send(known).await;
    assert_eq!((same.status, same.text.as_str()), (304, ""));
    let older = api.get("/chats/inn/path?limit=1&before=3").await.good();
    assert_eq!(older["messages"][0]["text"], "Welcome.");
    assert_eq!(older["before"], 2);
}

#[tokio::test]
async fn a_tree_holds_every_version() {
    let api = Api::start().await;
    api.story().await;
    let told = [("user", "I come in."), ("assistant", "Welcome."), ("user", "Who rings the bell?")];
    api.tell("inn", &told, "I do.").await;
    let tree = api.get("/chats/inn/tree").await.good();
    let nodes = tree["nodes"].as_array().unwrap();
    let said: Vec<(&str, bool)> = nodes
        .iter()
        .map(|node| (node["excerpt"].as_str().unwrap(), node["current"].as_bool().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ("I come in.", true),
            ("Welcome.", true),
            ("Who rings the bell?", true),
            ("Nobody does.", false),
            ("I do.", true),
        ]
    );
    let path = api.get("/chats/inn/path").await.good();
    assert_eq!(path["messages"][3]["versions"].as_array().unwrap().len(), 2);
    let other = nodes[3]["node"].as_str().unwrap();
    let aside = api.get(&format!("/chats/inn/path?tip={other}")).await.good();
    assert_eq!(aside["messages"][3]["text"], "Nobody does.");
    assert_eq!(aside["current"], false);
    let chat = api.get("/chats/inn").await.good();
    assert_eq!((&chat["messages"], &chat["turns"]), (&json!(4), &json!(3)));
}

#[tokio::test]
async fn a_chat_is_renamed_and_the_name_is_taken_back() {
    let api = Api::start().await;
    api.story().await;
    let first = api.get("/chats/inn").await;
    let (tag, before) = (first.etag(), first.good());
    let renamed = api.call("PATCH", "/chats/inn", json!({"title": "The flood"})).await;
    assert_ne!(renamed.etag(), tag, "a new name is a new version");
    let renamed = renamed.good();
    assert_eq!(renamed["item"]["title"], "The flood");
    assert_eq!(api.get("/chats?q=flood").await.good()["total"], 1);
    assert_eq!(api.get("/chats/inn/export").await.good()["chat"]["title"], "The flood");
    let stale = api.request("PATCH", "/chats/inn").header("if-match", tag.as_str());
    let stale = stale.json(&json!({"title": "Other"}));
    assert_eq!(api.send(stale).await.refused(412).0, "outdated");
    let long = json!({"title": "x".repeat(201)});
    assert_eq!(api.call("PATCH", "/chats/inn", long).await.refused(422).0, "wrong_value");
    let same = api.call("PATCH", "/chats/inn", json!({"title": "The flood"})).await.good();
    assert_eq!(same["undo"], Value::Null);
    api.call("POST", "/undo", json!({"undo": renamed["undo"]})).await.good();
    assert_eq!(api.get("/chats/inn").await.good(), before);
}

#[tokio::test]
async fn a_deleted_chat_is_nowhere_until_it_is_undone_or_told_on() {
    let api = Api::start().await;
    api.story().await;
    let ids = |page: Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().clone();
        items.iter().map(|chat| chat["id"].as_str().unwrap().to_owned()).collect()
    };
    let deleted = api.send(api.request("DELETE", "/chats/inn")).await.good();
    // What is gone is not told again with other lore, whether it is named or all are meant.
    let (_, detail) = api.call("POST", "/replay", json!({"chats": ["inn"]})).await.refused(404);
    assert_eq!(detail, "there is no chat `inn`");
    assert_eq!(api.call("POST", "/replay", json!({})).await.good()["chats"], 0);
    assert_eq!(deleted["item"], json!({"id": "inn"}));
    assert!(ids(api.get("/chats").await.good()).is_empty());
    assert_eq!(ids(api.get("/chats?deleted=true").await.good()), ["inn"]);
    for path in ["/chats/inn", "/chats/inn/path", "/chats/inn/turns/1", "/chats/inn/export"] {
        assert_eq!(api.get(path).await.refused(404).1, "there is no chat `inn`", "{path}");
    }
    let again = api.call("POST", "/undo", json!({"undo": deleted["undo"]})).await.good();
    assert_eq!(ids(api.get("/chats").await.good()), ["inn"]);
    api.call("POST", "/undo", json!({"undo": again["undo"]})).await.good();
    assert!(ids(api.get("/chats").await.good()).is_empty());
    api.tell("inn", &[("user", "I come in."), ("assistant", "Hm."), ("user", "Well?")], "So.")
        .await;
    assert_eq!(ids(api.get("/chats").await.good()), ["inn"]);
    assert_eq!(api.get("/chats/none").await.refused(404).0, "not_found");
    assert_eq!(api.send(api.request("DELETE", "/chats/none")).await.refused(404).0, "not_found");
}

#[tokio::test]
async fn a_hidden_message_stays_in_the_chat_and_out_of_the_prompt() {
    let api = Api::start().await;
    api.story().await;
    let path = api.get("/chats/inn/path").await.good();
    let node = path["messages"][2]["node"].as_str().unwrap().to_owned();
    let told = |woven: &Value| -> Vec<String> {
        let messages = woven["prompt"]["messages"].as_array().unwrap().clone();
        messages.iter().map(|one| one["content"].as_str().unwrap().to_owned()).collect()
    };
    let weave = json!({"chat": "inn"});
    let before = api.call("POST", "/weave", weave.clone()).await.good();
    assert!(told(&before).iter().any(|text| text.contains("Who rings the bell?")), "{before}");
    assert_eq!(before["threads"].as_array().unwrap().len(), 1);
    let url = format!("/chats/inn/messages/{node}/hidden");
    let wrote = api.call("PUT", &url, json!({"hidden": true})).await.good();
    let path = api.get("/chats/inn/path").await.good();
    let hidden: Vec<bool> =
        path["messages"].as_array().unwrap().iter().map(|one| one["hidden"] == true).collect();
    assert_eq!(hidden, [false, false, true, false]);
    let after = api.call("POST", "/weave", weave.clone()).await.good();
    assert!(!told(&after).iter().any(|text| text.contains("Who rings the bell?")), "{after}");
    assert_eq!(after["threads"], json!([]), "the scanner does not see it either");
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    assert_eq!(api.call("POST", "/weave", weave).await.good(), before);
    let none = "/chats/inn/messages/0123456789abcdef0123456789abcdef/hidden";
    assert_eq!(api.call("PUT", none, json!({"hidden": true})).await.refused(404).0, "not_found");
}
