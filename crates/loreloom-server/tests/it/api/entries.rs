//! Entries: the table, one entry, writing with undo.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use serde_json::{Value, json};

use super::{Api, Setup};
use crate::harness::SetByHand;

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn books_and_entries_are_listed() {
    let api = Api::start().await.with_book().await;
    let books = api.get("/books").await.good();
    assert_eq!(books["revision"], 1);
    let books: Vec<(&str, &str, u64)> = books["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|book| {
            (
                book["id"].as_str().unwrap(),
                book["source"].as_str().unwrap(),
                book["entries"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(books, [("world", "start", 1), ("reach", "bookcase", 3)]);
    assert_eq!(api.get("/books/none").await.refused(404).1, "there is no book `none`");
    let reach = api.get("/books/reach").await;
    assert_eq!(reach.etag(), "\"1\"");
    assert_eq!(reach.good()["bindings"], json!([{"to": "everywhere"}]));
    api.story().await;
    for (query, expected) in [
        ("", &["world/0", "reach/0", "reach/1", "reach/2"][..]),
        ("?f=book:reach%20-is:disabled", &["reach/0", "reach/2"]),
        ("?f=key:CAUSE", &["reach/0"]),
        ("?f=is:never-fired", &["reach/0", "reach/1"]),
        ("?f=is:constant", &["reach/2"]),
        ("?f=%22sea%20wall%22", &["reach/1"]),
        ("?f=tokens%3E9", &["reach/2"]),
        ("?sort=title", &["reach/0", "reach/1", "reach/2", "world/0"]),
        ("?sort=-fired&limit=1", &["reach/2"]),
    ] {
        let found = api.get(&format!("/lore/entries{query}")).await.good();
        assert_eq!(ids(&found), expected, "{query}");
    }
    let wrong = api.get("/lore/entries?f=colour:red").await.refused(422);
    assert!(wrong.1.ends_with("found `colour:red`"), "{}", wrong.1);
}

#[tokio::test]
async fn a_whole_id_of_a_book_means_that_book_alone() {
    let api = Api::start().await.with_book().await;
    api.call("POST", "/books", json!({"id": "reach-old", "name": "Before the flood"})).await.good();
    api.call("POST", "/lore/entries", json!({"book": "reach-old"})).await.good();
    for (filter, expected) in [("reach", 3), ("REACH-old", 1), ("reac", 4), ("none", 0)] {
        let found = api.get(&format!("/lore/entries?f=book:{filter}")).await.good();
        assert_eq!(found["total"], expected, "{filter}");
    }
    let off = json!({"select": {"f": "book:reach"}, "patch": {"activation": {"enabled": false}}, "dry_run": true});
    assert_eq!(api.call("PATCH", "/lore/entries", off).await.good()["selected"], 3);
}

#[tokio::test]
async fn a_filter_finds_what_the_linter_found() {
    let api = Api::start().await.with_book().await;
    let make = async |name: &str, keys: Value, content: &str| {
        let entry = json!({"name": name, "activation": {"keys": keys}, "content": content});
        let new = json!({"book": "reach", "entry": entry});
        api.call("POST", "/lore/entries", new).await.good();
    };
    make("Weir", json!([]), "The weir is old.").await;
    make("Empty", json!(["ferry"]), "").await;
    make("Ford", json!(["ford"]), "The ford is deep.").await;
    make("Ford again", json!(["ford"]), "The ford is deep.").await;
    for (query, expected) in [
        ("lint:any", &["reach/3", "reach/4", "reach/5", "reach/6"][..]),
        ("lint:no_keys", &["reach/3"]),
        ("lint:empty_content", &["reach/4"]),
        ("lint:same_entry", &["reach/5", "reach/6"]),
        ("lint:not_a_regex", &[]),
        ("lint:any%20-lint:same_entry", &["reach/3", "reach/4"]),
        ("-lint:any", &["world/0", "reach/0", "reach/1", "reach/2"]),
    ] {
        let found = api.get(&format!("/lore/entries?f={query}")).await.good();
        assert_eq!(ids(&found), expected, "{query}");
    }
    // A batch selects by the same words.
    let select = json!({"select": {"f": "lint:no_keys"}, "dry_run": true});
    let going = api.call("POST", "/lore/remove", select).await.good();
    assert_eq!(going["changed"][0]["id"], "reach/3");
    let wrong = api.get("/lore/entries?f=lint:nokeys").await.refused(422);
    let rule = "`f` must be `lint:any`, or `lint:` with the `code` of a finding as `GET /lint` names \
                it, found `lint:nokeys`";
    assert_eq!(wrong.1, rule);
}

#[tokio::test]
async fn a_filter_finds_what_changed_since() {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let clock = Arc::new(SetByHand(AtomicI64::new(10 * DAY)));
    let setup = Setup { clock: Arc::clone(&clock) as _, ..Setup::default() };
    // The book was put there at the first millisecond.
    let api = Api::with(setup).await.with_book().await;
    let changed = async |term: &str| -> Vec<String> {
        let found = api.get(&format!("/lore/entries?f=changed:{term}")).await.good();
        ids(&found).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(changed("7d").await, [""; 0]);
    // All of a new book is new; of the book named at start nothing is known.
    assert_eq!(changed("2w").await, ["reach/0", "reach/1", "reach/2"]);
    let say = async |text: &str| {
        let body = json!({"content": text});
        api.call("PATCH", "/lore/entries/reach%2F1", body).await.good()["undo"].clone()
    };
    let tag = api.get("/lore/entries?f=changed:7d").await.etag();
    let undo = say("Herons nest in the reeds.").await;
    assert_eq!(changed("1h").await, ["reach/1"]);
    clock.0.store(17 * DAY, Ordering::Relaxed);
    assert_eq!(changed("7d").await, ["reach/1"]);
    clock.0.store(17 * DAY + 1, Ordering::Relaxed);
    assert_eq!(changed("7d").await, [""; 0]);
    assert_ne!(api.get("/lore/entries?f=changed:7d").await.etag(), tag);
    // What was put back as it was is no change.
    clock.0.store(10 * DAY, Ordering::Relaxed);
    api.call("POST", "/undo", json!({"undo": undo})).await.good();
    assert_eq!(changed("1h").await, [""; 0]);
}

#[tokio::test]
async fn an_entry_is_changed_undone_and_done_again() {
    let api = Api::start().await.with_book().await;
    let before = api.get("/lore/entries/reach%2F0").await;
    let tag = before.etag();
    let before = before.good();
    assert_eq!(before["entry"]["activation"]["keys"], json!(["causeway", "/dykes?/i"]));
    let patch = json!({"content": "The causeway is gone.", "activation": {"keys": ["dam"]}});
    let request = api.request("PATCH", "/lore/entries/reach%2F0").header("if-match", &tag);
    let changed = api.send(request.json(&patch)).await;
    let new_tag = changed.etag();
    let changed = changed.good();
    assert_eq!((&changed["undo"], &changed["revision"]), (&json!("desk.2"), &json!(2)));
    assert_eq!(changed["item"]["content"], "The causeway is gone.");
    assert_ne!(tag, new_tag);
    // Whoever has seen the old one must look again.
    let request = api.request("PATCH", "/lore/entries/reach%2F0").header("if-match", &tag);
    let stale = api.send(request.json(&json!({"content": "x"}))).await.refused(412);
    assert_eq!(stale.0, "outdated");
    assert!(stale.1.contains(&new_tag), "{}", stale.1);
    let undone = api.call("POST", "/undo", json!({"undo": "desk.2"})).await.good();
    assert_eq!(undone["undo"], "desk.3");
    assert_eq!(api.get("/lore/entries/reach%2F0").await.good()["content"], before["content"]);
    api.call("POST", "/undo", json!({"undo": "desk.3"})).await.good();
    let again = api.get("/lore/entries/reach%2F0").await;
    assert_eq!(again.etag(), new_tag);
    let nothing = api.call("PATCH", "/lore/entries/reach%2F0", json!({})).await.good();
    assert_eq!(nothing["undo"], Value::Null);
    let log = api.get("/revisions?limit=2").await.good();
    assert_eq!((&log["total"], &log["items"][0]["undoes"]), (&json!(4), &json!(3)));
    let gone = api.call("POST", "/undo", json!({"undo": "desk.99"})).await.refused(404);
    assert_eq!(gone.1, "there is no revision 99");
    let odd = api.call("POST", "/undo", json!({"undo": "x"})).await.refused(422);
    assert_eq!(odd.1, "`undo` must be the `undo` of a write, found `x`");
}

#[tokio::test]
async fn keys_are_counted_over_the_stored_chats() {
    let api = Api::start().await.with_book().await;
    api.story().await;
    // Another branch of the same story: what both have counts once.
    let told = [("user", "I come in."), ("assistant", "Welcome."), ("user", "The Bell is near.")];
    api.tell("inn", &told, "It is.").await;
    api.tell("wood", &[("user", "No bells here, only a dyke.")], "I come along.").await;
    let count = async |body: Value| api.call("POST", "/lore/frequency", body).await;
    let draft = json!({"activation": {"keys": ["bell", "come", "Wren"], "secondary": {"keys": ["/dykes?/i"]}}});
    let mut found = Value::Null;
    // Replies are stored a moment after they were told.
    for _ in 0..500 {
        found = count(json!({"entry": "reach/0", "draft": draft})).await.good();
        if found["messages"] == 8 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let keys = json!([
        {"key": "bell", "messages": 2, "chats": 1},
        {"key": "come", "messages": 2, "chats": 2},
        {"key": "Wren", "messages": 0, "chats": 0},
        {"key": "/dykes?/i", "messages": 1, "chats": 1},
    ]);
    assert_eq!(found, json!({"keys": keys, "messages": 8, "chats": 2, "complete": true}));
    // By the entry's own mode.
    let whole = json!({"activation": {"keys": ["bell"], "whole_words": false}});
    let found = count(json!({"entry": "reach/0", "draft": whole})).await.good();
    assert_eq!(found["keys"], json!([{"key": "bell", "messages": 3, "chats": 2}]));
    api.send(api.request("DELETE", "/chats/wood")).await.good();
    let saved = count(json!({"entry": "reach/0"})).await.good();
    assert_eq!((&saved["keys"][1]["messages"], &saved["chats"]), (&json!(0), &json!(1)));
    let none = count(json!({"entry": "none"})).await.refused(404);
    assert_eq!(none.1, "there is no entry `none`");
}

#[tokio::test]
async fn an_entry_is_made_and_taken_out() {
    let api = Api::start().await.with_book().await;
    let new = json!({"book": "reach", "entry": {"name": "Weir", "activation": {"keys": ["weir"]}}});
    let made = api.call("POST", "/lore/entries", new).await;
    assert_eq!(made.status, 201);
    let made = made.good();
    assert_eq!((&made["item"]["id"], &made["item"]["title"]), (&json!("reach/3"), &json!("Weir")));
    let removed = api.send(api.request("DELETE", "/lore/entries/reach%2F3")).await.good();
    assert_eq!(removed["item"]["id"], "reach/3");
    assert_eq!(api.get("/lore/entries/reach%2F3").await.status, 404);
    api.call("POST", "/undo", json!({"undo": removed["undo"]})).await.good();
    assert_eq!(api.get("/lore/entries/reach%2F3").await.status, 200);
}

#[tokio::test]
async fn a_write_that_makes_no_sense_changes_nothing() {
    let api = Api::start().await.with_book().await;
    for (method, path, body, status, detail) in [
        (
            "PATCH",
            "/lore/entries/reach%2F0",
            json!({"colour": 1}),
            400,
            "there is no field `colour`",
        ),
        (
            "PATCH",
            "/lore/entries/reach%2F0",
            json!({"content": 1}),
            422,
            "`content`: invalid type: integer `1`, expected a string",
        ),
        (
            "PATCH",
            "/lore/entries/world%2F0",
            json!({"content": "x"}),
            409,
            "book `world` was named at start and cannot be changed here",
        ),
        ("PATCH", "/lore/entries/none", json!({}), 404, "there is no entry `none`"),
        ("POST", "/lore/entries", json!({"book": "none"}), 404, "there is no book `none`"),
        ("POST", "/lore/entries", json!({"bok": "none"}), 422, "`book` must be set"),
    ] {
        let found = api.call(method, path, body.clone()).await.refused(status);
        assert_eq!(found.1, detail, "{method} {path} {body}");
    }
    let list = api.call("POST", "/lore/entries", json!(["reach"])).await.refused(422);
    assert_eq!(list.1, "the body must be an object, found a list");
    let text = api.request("PATCH", "/lore/entries/reach%2F0").body("content");
    assert_eq!(api.send(text).await.refused(415).0, "wrong_type");
    assert_eq!(api.get("/revisions").await.good()["total"], 1);
}
