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
        ("/chats?limit=x", 422, "wrong_value", "`limit`: invalid digit found in string"),
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
