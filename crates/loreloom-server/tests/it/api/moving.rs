//! Entries that go from one book to another.

use serde_json::{Value, json};

use super::Api;

/// The titles of a book's entries, in order.
async fn titles(api: &Api, book: &str) -> Vec<String> {
    let page = api.get(&format!("/lore/entries?f=book:{book}")).await.good();
    let rows = page["items"].as_array().unwrap().iter();
    rows.map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

async fn put_in(api: &Api, book: &str, file: &Value) {
    let path = format!("/books/import?id={book}&file_name={book}.json");
    api.call("POST", &path, file.clone()).await.good();
}

#[tokio::test]
async fn entries_are_moved_as_one_revision_that_one_undo_takes_back() {
    let api = Api::start().await.with_book().await;
    api.call("POST", "/books", json!({"id": "law", "name": "Law"})).await.good();
    let select = json!({"ids": ["reach/0", "reach/2"]});
    let body = |dry_run: bool| json!({"select": select, "into": "law", "dry_run": dry_run});
    let look = api.call("POST", "/lore/move", body(true)).await.good();
    let moved = json!([
        {"id": "reach/0", "from": "reach", "title": "Causeway", "becomes": "law/0"},
        {"id": "reach/2", "from": "reach", "title": "Old law", "becomes": "law/1"},
    ]);
    assert_eq!(
        (&look["moved"], &look["undo"], &look["selected"]),
        (&moved, &Value::Null, &json!(2))
    );
    assert_eq!(titles(&api, "law").await, [""; 0]);
    let before = api.get("/lore/entries/reach%2F0").await.good();
    let done = api.call("POST", "/lore/move", body(false)).await.good();
    assert_eq!((&done["moved"], &done["losses"]), (&moved, &json!([])));
    assert_eq!(titles(&api, "law").await, ["Causeway", "Old law"]);
    assert_eq!(titles(&api, "reach").await, ["Heron"]);
    let mut after = api.get("/lore/entries/law%2F0").await.good()["entry"].take();
    after["id"] = json!("reach/0");
    assert_eq!(after, before["entry"]);
    assert_eq!(done["undo"], "desk.3");
    api.call("POST", "/undo", json!({"undo": "desk.3"})).await.good();
    assert_eq!(titles(&api, "law").await, [""; 0]);
    assert_eq!(titles(&api, "reach").await, ["Causeway", "Heron", "Old law"]);
}

#[tokio::test]
async fn a_title_that_is_taken_is_told_and_never_written_over() {
    let api = Api::start().await.with_book().await;
    api.call("POST", "/books", json!({"id": "law", "name": "Law"})).await.good();
    let theirs = json!({"book": "law", "entry": {"name": "causeway", "content": "Theirs."}});
    api.call("POST", "/lore/entries", theirs).await.good();
    let clash = json!([{"id": "reach/0", "title": "Causeway", "with": "law/0"}]);
    let select = json!({"ids": ["reach/0", "reach/1"]});
    let skip = json!({"select": select, "into": "law", "skip_clashes": true});
    let skipped = api.call("POST", "/lore/move", skip).await.good();
    assert_eq!((&skipped["clashes"], &skipped["moved"][0]["title"]), (&clash, &json!("Heron")));
    assert_eq!(titles(&api, "law").await, ["causeway", "Heron"]);
    assert_eq!(titles(&api, "reach").await, ["Causeway", "Old law"]);
    let both = json!({"select": {"ids": ["reach/0"]}, "into": "law", "copy": true});
    let both = api.call("POST", "/lore/move", both).await.good();
    assert_eq!(both["clashes"], clash);
    assert_eq!(titles(&api, "law").await, ["causeway", "Heron", "Causeway"]);
    assert_eq!(titles(&api, "reach").await, ["Causeway", "Old law"]);
    for (body, status, detail) in [
        (json!({"select": {"ids": ["reach/0"]}, "into": "none"}), 404, "there is no book `none`"),
        (
            json!({"select": {"ids": ["reach/0"]}, "into": "world", "dry_run": true}),
            409,
            "book `world` was named at start and cannot be changed here",
        ),
        (
            json!({"select": {"ids": ["world/0"]}, "into": "law"}),
            409,
            "`world/0` cannot be changed here",
        ),
    ] {
        let refused = api.call("POST", "/lore/move", body.clone()).await.refused(status);
        assert_eq!(refused.1, detail, "{body}");
    }
}

#[tokio::test]
async fn an_entry_says_the_same_in_a_book_of_any_format_and_back_again() {
    let api = Api::start().await;
    let entry = json!({"uid": 7, "key": ["weir"], "keysecondary": [], "comment": "Weir",
        "content": "The weir is old.", "constant": false, "selective": false, "order": 42,
        "position": 4, "depth": 2, "sticky": 3, "disable": false, "myOwn": {"a": [1]}});
    put_in(&api, "st", &json!({"name": "st", "entries": {"0": entry}})).await;
    let card = json!({"name": "Bell", "entries": [{"keys": ["bell"], "content": "A bell.",
        "extensions": {}, "enabled": true, "insertion_order": 1, "comment": "Bell"}]});
    put_in(&api, "cards", &card).await;
    let novel = json!({"lorebookVersion": 5, "entries": [{"text": "A gong.", "keys": ["gong"],
        "displayName": "Gong", "enabled": true}], "categories": []});
    put_in(&api, "novel", &novel).await;
    let named = async |id: &str| {
        let mut entry = api.get(&format!("/lore/entries/{}", id.replace('/', "%2F"))).await.good()
            ["entry"]
            .take();
        entry["id"].take();
        entry
    };
    let first = api.get("/lore/entries?f=book:st").await.good()["items"][0]["id"].clone();
    let was = named(first.as_str().unwrap()).await;
    assert_eq!(
        (&was["activation"]["timed"]["sticky"], &was["extensions"]["myOwn"]),
        (&json!(3), &json!({"a": [1]}))
    );
    let mut id = first;
    let mut lost = Vec::new();
    for into in ["cards", "st", "novel", "st"] {
        let body = json!({"select": {"ids": [id]}, "into": into});
        let done = api.call("POST", "/lore/move", body).await.good();
        id = done["moved"][0]["becomes"].clone();
        let now = named(id.as_str().unwrap()).await;
        for part in ["name", "comment", "content", "activation", "placement", "recursion", "budget"]
        {
            assert_eq!(now[part], was[part], "{part} in {into}");
        }
        lost.push(!done["losses"].as_array().unwrap().is_empty());
    }
    // A card's book carries what it has no word for; NovelAI's has no place for it, and says so.
    assert_eq!(lost, [false, false, true, false]);
    assert_eq!(named(id.as_str().unwrap()).await["extensions"]["myOwn"], json!({"a": [1]}));
    let file = api.get("/books/st/export?format=sillytavern").await.json;
    let row = file["entries"].as_object().unwrap().values().next().unwrap();
    assert_eq!(
        (&row["sticky"], &row["myOwn"], &row["order"]),
        (&json!(3), &json!({"a": [1]}), &json!(42))
    );
}
