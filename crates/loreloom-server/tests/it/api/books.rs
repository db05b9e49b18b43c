//! Books: making, importing, changing, exporting, taking out.

use serde_json::{Value, json};

use super::Api;

fn world() -> String {
    json!({"entries": {"0": {
        "uid": 0, "key": ["weir"], "keysecondary": [], "comment": "Weir", "content": "The weir holds.",
        "constant": false, "selective": true, "order": 100, "position": 0, "disable": false,
        "mystery": 7,
    }}})
    .to_string()
}

#[tokio::test]
async fn a_file_becomes_a_book_and_comes_out_as_it_was() {
    let api = Api::start().await;
    let send = |query: &str| api.request("POST", &format!("/books/import?{query}")).body(world());
    let tried = api.send(send("id=weirs&file_name=Weirs.json&dry_run=true")).await.good();
    assert_eq!((&tried["format"], &tried["entries"]), (&json!("sillytavern"), &json!(1)));
    assert_eq!(tried["item"], Value::Null);
    assert_eq!(api.get("/books/weirs").await.status, 404, "a dry run keeps nothing");
    let kept = api.send(send("id=weirs&file_name=Weirs.json")).await;
    assert_eq!(kept.status, 201);
    let kept = kept.good();
    assert_eq!((&kept["undo"], &kept["item"]["name"]), (&json!("desk.1"), &json!("Weirs")));
    let taken = api.send(send("id=weirs")).await.refused(409);
    assert_eq!(taken.1, "there is a book `weirs` already: replace it, or choose another id");
    let file = api.get("/books/weirs/export").await;
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"weirs.json\"");
    assert_eq!(file.text, world(), "to the byte");
    let losses = api.get("/books/weirs/export?format=novelai&losses=true").await.good();
    assert_eq!(losses["format"], "novelai");
    let wrong = api.get("/books/weirs/export?format=x").await.refused(422);
    assert!(wrong.1.ends_with("found `x`"), "{}", wrong.1);
    // An edit changes what it names and nothing else of the file.
    let patch = json!({"content": "The weir broke."});
    api.call("PATCH", "/lore/entries/weirs%2F0", patch).await.good();
    let file: Value = api.get("/books/weirs/export").await.json;
    assert_eq!(file["entries"]["0"]["content"], "The weir broke.");
    assert_eq!(file["entries"]["0"]["mystery"], 7);
}

#[tokio::test]
async fn what_is_no_book_is_refused() {
    let api = Api::start().await;
    for (query, body, status, detail) in [
        (
            "id=a%20b",
            world(),
            422,
            "`id` must be 1 to 120 letters, digits, `-`, `_` and `.`, found `a b`",
        ),
        ("", world(), 422, "the parameter `id` must be given"),
    ] {
        let request = api.request("POST", &format!("/books/import?{query}")).body(body);
        assert_eq!(api.send(request).await.refused(status).1, detail);
    }
    let request = api.request("POST", "/books/import?id=x").body("{\"a\":1}");
    assert_eq!(api.send(request).await.refused(422).0, "wrong_value");
    let large = api.request("POST", "/books/import?id=x").body(vec![b' '; (32 << 20) + 1]);
    assert_eq!(api.send(large).await.refused(413).0, "too_large");
    assert_eq!(api.get("/revisions").await.good()["total"], 0);
}

#[tokio::test]
async fn a_book_is_made_arranged_replaced_and_taken_out() {
    let api = Api::start().await;
    let new = json!({"id": "fens", "name": "The Fens", "bindings": [{"to": "character", "name": "Mira"}]});
    let made = api.call("POST", "/books", new.clone()).await;
    assert_eq!((made.status, made.etag().as_str()), (201, "\"1\""));
    assert_eq!(made.good()["item"]["bindings"], json!([{"to": "character", "name": "Mira"}]));
    assert_eq!(api.call("POST", "/books", new).await.refused(409).0, "conflict");
    let patch =
        json!({"name": "Fens", "bindings": [{"to": "chat", "name": "inn"}], "dialect": "cards"});
    let request = api.request("PATCH", "/books/fens").header("if-match", "\"1\"");
    let changed = api.send(request.json(&patch)).await.good();
    assert_eq!(
        (&changed["item"]["name"], &changed["item"]["dialect"]),
        (&json!("Fens"), &json!("cards"))
    );
    let nameless = json!({"bindings": [{"to": "everywhere"}, {"to": "chat", "name": " "}]});
    let refused = api.call("PATCH", "/books/fens", nameless).await.refused(422).1;
    assert_eq!(refused, "`bindings[1].name` must not be empty, found ` `");
    let request = api.request("PUT", "/books/fens").header("if-match", "\"1\"").body(world());
    assert_eq!(api.send(request).await.refused(412).0, "outdated");
    let replaced = api.send(api.request("PUT", "/books/fens").body(world())).await.good();
    assert_eq!(replaced["item"]["entries"], 1);
    assert_eq!(replaced["item"]["bindings"], json!([{"to": "chat", "name": "inn"}]));
    let removed = api.send(api.request("DELETE", "/books/fens")).await.good();
    assert_eq!(api.get("/books/fens").await.status, 404);
    api.call("POST", "/undo", json!({"undo": removed["undo"]})).await.good();
    assert_eq!(api.get("/books/fens").await.good()["entries"], 1);
    let start = api.send(api.request("DELETE", "/books/world")).await.refused(409);
    assert_eq!(start.1, "book `world` was named at start and cannot be taken out here");
}

#[tokio::test]
async fn the_rules_of_a_book_are_edited_and_taken_back() {
    let api = Api::start().await;
    let file = world().replace("weir", "dragon");
    api.send(api.request("POST", "/books/import?id=lair").body(file)).await.good();
    let rules = || async { api.get("/books/lair").await.good()["rules"].clone() };
    let before = rules().await;
    assert_eq!(before["depth"], "the newest 2 messages");
    let woven = async |chat: &str| {
        let said = json!([{"role": "user", "content": "Two dragons."}]);
        let decided = api.call("POST", "/weave", json!({"chat": chat, "messages": said})).await;
        decided.good()["threads"].as_array().unwrap().len()
    };
    assert_eq!(woven("one").await, 0, "World Info looks for whole words");
    let patch = json!({"dialect": "risu", "scan_depth": 9, "token_budget": 700, "recursive": true});
    let changed = api.call("PATCH", "/books/lair", patch).await.good();
    let after = rules().await;
    assert_eq!(after, changed["item"]["rules"]);
    assert_eq!(after["depth"], "the newest 9 messages");
    assert!(after["matching"].as_str().unwrap().starts_with("parts of words"), "{after}");
    assert!(after["budget"].as_str().unwrap().starts_with("700 tokens"), "{after}");
    assert_eq!(woven("two").await, 1);
    api.call("POST", "/undo", json!({"undo": changed["undo"]})).await.good();
    assert_eq!(rules().await, before);
    assert_eq!(woven("three").await, 0);
    let refused = api.call("PATCH", "/books/lair", json!({"dialect": "nobody"})).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
}

#[tokio::test]
async fn a_batch_is_refused_if_the_books_changed_since_the_version_it_names() {
    let api = Api::start().await.with_book().await;
    for (method, path, mut body) in [
        (
            "PATCH",
            "/lore/entries",
            json!({"select": {"ids": ["reach/0"]}, "patch": {"name": "Dam"}}),
        ),
        (
            "POST",
            "/lore/replace",
            json!({"select": {"ids": ["reach/0"]}, "find": "noon", "with": "dawn"}),
        ),
        ("POST", "/lore/remove", json!({"select": {"ids": ["reach/0"]}})),
    ] {
        body["dry_run"] = json!(true);
        let tried = api.call(method, path, body.clone()).await;
        let seen = tried.etag();
        assert_eq!(
            (&seen, &seen),
            (&api.get("/books").await.etag(), &format!("\"{}\"", tried.good()["revision"]))
        );
        let other = json!({"book": "reach", "entry": {"name": path}});
        let between = api.call("POST", "/lore/entries", other).await.good();
        for dry_run in [true, false] {
            body["dry_run"] = json!(dry_run);
            let late = api.request(method, path).header("if-match", &seen).json(&body);
            let (code, detail) = api.send(late).await.refused(412);
            let now = &between["revision"];
            let told = format!("the resource is at version `\"{now}\"`, not at `{seen}`");
            assert_eq!((code.as_str(), detail), ("outdated", told), "{method} {path}");
        }
        let again =
            api.request(method, path).header("if-match", format!("\"{}\"", between["revision"]));
        let done = api.send(again.json(&body)).await;
        assert_eq!(done.etag(), api.get("/books").await.etag(), "{method} {path}");
        assert_eq!(done.good()["changed"].as_array().unwrap().len(), 1, "{method} {path}");
    }
}

#[tokio::test]
async fn a_version_is_refused_where_there_is_none_to_compare_it_with() {
    let api = Api::start().await.with_book().await;
    let body = json!({"book": "reach"});
    let create = api.request("POST", "/lore/entries").header("if-match", "\"1\"").json(&body);
    let (code, detail) = api.send(create).await.refused(422);
    assert_eq!(
        (code.as_str(), detail.as_str()),
        (
            "wrong_value",
            "`if-match` must be left out of `POST /lore/entries`, which has no version to compare \
             it with, found `\"1\"`"
        )
    );
    assert_eq!(api.get("/lore/entries?f=book:reach").await.good()["total"], 3);
    for (method, path, status) in [("GET", "/lore/entries", 200), ("DELETE", "/lore/match", 405)] {
        let other = api.request(method, path).header("if-match", "\"1\"");
        assert_eq!(api.send(other).await.status, status, "{method} {path}");
    }
}

#[tokio::test]
async fn the_versions_of_an_entry_come_in_pages() {
    let api = Api::start().await.with_book().await;
    for content in ["It floods at dawn.", "It floods at dusk."] {
        let patch = json!({"content": content});
        api.call("PATCH", "/lore/entries/reach%2F0", patch).await.good();
    }
    let revisions = |page: &Value| -> Vec<u64> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|one| one["revision"].as_u64().unwrap()).collect()
    };
    let first = api.get("/lore/entries/reach%2F0/history?limit=2").await.good();
    assert_eq!((revisions(&first), &first["total"]), (vec![3, 2], &json!(3)));
    // What is written between two pages is in neither of them.
    api.call("PATCH", "/lore/entries/reach%2F0", json!({"content": "Dry."})).await.good();
    let next = first["next"].as_str().unwrap();
    let next = format!("/lore/entries/reach%2F0/history?limit=2&cursor={next}");
    let second = api.get(&next).await.good();
    assert_eq!((revisions(&second), &second["next"]), (vec![1], &Value::Null));
}

#[tokio::test]
async fn a_batch_is_tried_made_and_undone_as_one() {
    let api = Api::start().await.with_book().await;
    let batch = |dry_run| {
        json!({
            "select": {"f": "book:reach", "except": ["reach/2"]},
            "patch": {"activation": {"probability": 50.0}}, "shift_order": 10.0, "dry_run": dry_run,
        })
    };
    let tried = api.call("PATCH", "/lore/entries", batch(true)).await.good();
    assert_eq!((&tried["selected"], &tried["undo"]), (&json!(2), &Value::Null));
    assert_eq!(
        tried["changed"][0],
        json!({"id": "reach/0", "book": "reach", "title": "Causeway", "fields": [
            {"field": "activation.probability", "before": null, "after": 50.0},
            {"field": "placement.order", "before": 100.0, "after": 110.0},
        ]})
    );
    assert_eq!(api.get("/revisions").await.good()["total"], 1);
    let made = api.call("PATCH", "/lore/entries", batch(false)).await.good();
    assert_eq!(made["changed"], tried["changed"]);
    let find = json!({"select": {"f": ""}, "find": "CAUSEWAY", "with": "$1dam", "fields": ["content", "keys"]});
    let replaced = api.call("POST", "/lore/replace", find).await.good();
    assert_eq!(replaced["changed"].as_array().unwrap().len(), 1);
    let entry = api.get("/lore/entries/reach%2F0").await.good();
    assert_eq!(
        (&entry["content"], &entry["keys"][0]),
        (&json!("The $1dam floods at noon."), &json!("$1dam"))
    );
    for undo in [&replaced["undo"], &made["undo"]] {
        api.call("POST", "/undo", json!({"undo": undo})).await.good();
    }
    let entry = api.get("/lore/entries/reach%2F0").await.good();
    assert_eq!(
        (&entry["content"], &entry["order"]),
        (&json!("The causeway floods at noon."), &json!(100.0))
    );
    let history = api.get("/lore/entries/reach%2F0/history").await.good();
    let revisions: Vec<u64> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["revision"].as_u64().unwrap())
        .collect();
    assert_eq!(revisions, [5, 4, 3, 2, 1]);
    for (method, path, body, detail) in [
        ("PATCH", "/lore/entries", json!({"select": {}}), "`select` must have either `ids` or `f`"),
        (
            "POST",
            "/lore/replace",
            json!({"select": {"f": ""}, "find": "", "with": ""}),
            "`find` must not be empty, found ``",
        ),
    ] {
        assert_eq!(api.call(method, path, body).await.refused(422).1, detail);
    }
    let named = json!({"select": {"ids": ["world/0"]}, "patch": {}});
    assert_eq!(
        api.call("PATCH", "/lore/entries", named).await.refused(409).1,
        "`world/0` cannot be changed here"
    );
}

#[tokio::test]
async fn many_entries_are_removed_and_brought_back_as_one() {
    let api = Api::start().await.with_book().await;
    let going = |dry_run| json!({"select": {"ids": ["reach/0", "reach/2"]}, "dry_run": dry_run});
    let tried = api.call("POST", "/lore/remove", going(true)).await.good();
    assert_eq!(
        tried["changed"][0],
        json!({"id": "reach/0", "book": "reach", "title": "Causeway", "fields": [], "removed": true})
    );
    assert_eq!(api.get("/books/reach").await.good()["entries"], 3);
    let gone = api.call("POST", "/lore/remove", going(false)).await.good();
    assert_eq!(gone["changed"], tried["changed"]);
    assert_eq!(api.get("/lore/entries/reach%2F2").await.status, 404);
    assert_eq!(api.get("/books/reach").await.good()["entries"], 1);
    api.call("POST", "/undo", json!({"undo": gone["undo"]})).await.good();
    let entry = api.get("/lore/entries/reach%2F0").await.good();
    assert_eq!(entry["content"], "The causeway floods at noon.");
}

#[tokio::test]
async fn keys_are_tried_on_a_text() {
    let api = Api::start().await.with_book().await;
    let body = json!({"text": "The dyke and the causeway; the bell.", "entries": ["reach/0"]});
    let found = api.call("POST", "/lore/match", body).await.good();
    assert_eq!(
        found["items"][0]["keys"],
        json!([
            {"key": "causeway", "places": [{"start": 17, "end": 25}]},
            {"key": "/dykes?/i", "places": [{"start": 4, "end": 8}]},
        ])
    );
    let all =
        api.call("POST", "/lore/match", json!({"text": "A bell by the causeway."})).await.good();
    let titles: Vec<&str> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["The bell", "Causeway"]);
    let draft = json!({"text": "A weir.", "entries": ["reach/0"], "draft": {"activation": {"keys": ["weir"]}}});
    let tried = api.call("POST", "/lore/match", draft).await.good();
    assert_eq!(
        tried["items"][0]["keys"],
        json!([{"key": "weir", "places": [{"start": 2, "end": 6}]}])
    );
    let missing =
        api.call("POST", "/lore/match", json!({"text": "", "entries": ["x"]})).await.refused(404);
    assert_eq!(missing.1, "there is no entry `x`");
}
