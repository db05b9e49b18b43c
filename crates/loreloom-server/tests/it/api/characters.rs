//! Characters, personas and groups: importing, changing, exporting, undoing.

use serde_json::{Value, json};

use super::Api;

fn card() -> Value {
    json!({
        "spec": "chara_card_v3", "spec_version": "3.0", "odd": [1],
        "data": {
            "name": "Orla", "description": "A ferrywoman.", "personality": "dry", "scenario": "",
            "first_mes": "Hm?", "mes_example": "", "creator_notes": "", "system_prompt": "",
            "post_history_instructions": "", "alternate_greetings": ["Ahoy."],
            "group_only_greetings": [], "tags": ["ferry"], "creator": "", "character_version": "",
            "extensions": {"mystery": {"deep": 1}}, "unheard_of": 7,
            "character_book": {"entries": [{"keys": ["ferry"], "content": "It leaks.",
                "extensions": {}, "enabled": true, "insertion_order": 0, "strange": true}]},
        },
    })
}

/// A picture of one grey point.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\x0dIDATx\x01\x01\x02\0\xfd\xff\0\x80\0\x82\0\x81L\x0e\xd7\xff\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
async fn a_card_becomes_a_character_with_its_book_and_comes_out_to_the_byte() {
    let api = Api::start().await;
    let file = card().to_string();
    let send = |query: &str| {
        api.request("POST", &format!("/characters/import?{query}")).body(file.clone())
    };
    let tried = api.send(send("file_name=orla.json&dry_run=true")).await.good();
    assert_eq!((&tried["format"], &tried["entries"]), (&json!("card-v3"), &json!(1)));
    assert_eq!(api.get("/characters").await.good()["total"], 0, "a dry run keeps nothing");
    let kept = api.send(send("file_name=orla.json")).await;
    assert_eq!(kept.status, 201);
    let kept = kept.good();
    assert_eq!((&kept["item"]["id"], &kept["undo"]), (&json!("orla"), &json!("desk.1")));
    let list = api.get("/characters?q=FERRY").await.good();
    assert_eq!(list["items"][0]["greetings"], 2);
    assert_eq!(list["items"][0]["about"], "A ferrywoman.");
    assert_eq!(api.get("/characters?q=nobody").await.good()["total"], 0);
    let book = api.get("/books/orla").await.good();
    assert_eq!(book["bindings"], json!([{"to": "card", "name": "Orla"}]));
    assert_eq!(book["entries"], 1);
    let one = api.get("/characters/orla").await.good();
    assert_eq!(one["card"]["extensions"]["unheard_of"], 7);
    let out = api.get("/characters/orla/export").await;
    assert_eq!(out.headers["content-disposition"], "attachment; filename=\"orla.json\"");
    assert_eq!(out.text, file, "to the byte");
    // The same card again is another character, unless it replaces the first.
    assert_eq!(api.send(send("")).await.good()["item"]["id"], "orla-2");
    assert_eq!(api.get("/books/orla-2").await.good()["entries"], 1);
    let taken = api.send(send("id=orla")).await.refused(409);
    assert_eq!(taken.1, "there is a character `orla` already");
    api.send(send("id=orla&replace=true")).await.good();
    // One undo takes back character and book.
    api.call("POST", "/undo", json!({"undo": "desk.2"})).await.good();
    assert_eq!(api.get("/characters/orla-2").await.status, 404);
    assert_eq!(api.get("/books/orla-2").await.status, 404);
}

#[tokio::test]
async fn an_edit_of_a_character_keeps_the_rest_of_its_card() {
    let api = Api::start().await;
    let request = api.request("POST", "/characters/import").body(card().to_string());
    api.send(request).await.good();
    let patch = json!({"card": {"nickname": "Cap", "description": "A smuggler."}});
    let request = api.request("PATCH", "/characters/orla").header("if-match", "\"1\"");
    let changed = api.send(request.json(&patch)).await.good();
    assert_eq!(changed["item"]["speaks_as"], "Cap");
    let stale = api.request("PATCH", "/characters/orla").header("if-match", "\"1\"");
    assert_eq!(api.send(stale.json(&patch)).await.refused(412).0, "outdated");
    // The book follows the names that the character may speak under.
    let book = api.get("/books/orla").await.good();
    let named = |name: &str| json!({"to": "card", "name": name});
    assert_eq!(book["bindings"], json!([named("Cap"), named("Orla")]));
    api.call("PATCH", "/lore/entries/orla%2F0", json!({"content": "It sank."})).await.good();
    let out: Value = api.get("/characters/orla/export").await.json;
    assert_eq!(out["data"]["description"], "A smuggler.");
    assert_eq!(out["data"]["extensions"]["mystery"]["deep"], 1);
    assert_eq!((&out["data"]["unheard_of"], &out["odd"]), (&json!(7), &json!([1])));
    let entry = &out["data"]["character_book"]["entries"][0];
    assert_eq!((&entry["content"], &entry["strange"]), (&json!("It sank."), &json!(true)));
    for (patch, status, detail) in [
        (json!({"card": {"nam": "x"}}), 400, "there is no field `nam`"),
        (json!({"card": {"name": " "}}), 422, "`name` must not be empty, found ` `"),
        (json!({"card": {"version": "v1"}}), 400, "there is no field `version`"),
    ] {
        assert_eq!(api.call("PATCH", "/characters/orla", patch).await.refused(status).1, detail);
    }
    let wrong = api.get("/characters/orla/export?format=novelai").await.refused(422);
    assert!(wrong.1.starts_with("`format` must be one of `card-v1`"), "{}", wrong.1);
    let losses = api.get("/characters/orla/export?format=byaf&losses=true").await.good();
    let lost = losses["losses"].as_array().unwrap();
    assert!(lost.iter().any(|loss| loss["field"] == "card.nickname"), "{lost:?}");
}

#[tokio::test]
async fn a_character_made_here_gets_a_picture_and_leaves_as_a_card() {
    let api = Api::start().await;
    let new = json!({"card": {"name": "Ben Dow", "first_mes": "Well?"}});
    let made = api.call("POST", "/characters", new).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.good()["item"]["id"], "ben-dow");
    assert_eq!(api.get("/characters/ben-dow/portrait").await.status, 404);
    let put = |body: &[u8]| {
        let request = api.request("PUT", "/characters/ben-dow/portrait");
        request.header("content-type", "application/octet-stream").body(body.to_vec())
    };
    let refused = api.send(put(b"<svg onload=alert(1)>")).await.refused(422);
    assert_eq!(refused.1, "a picture must be PNG, JPEG, WebP or GIF");
    api.send(put(PICTURE)).await.good();
    let shown = api.get("/characters/ben-dow/portrait").await;
    assert_eq!(shown.headers["content-type"], "image/png");
    assert_eq!(shown.headers["x-content-type-options"], "nosniff");
    let out = api.get("/characters/ben-dow/export").await;
    assert_eq!(out.headers["content-disposition"], "attachment; filename=\"ben-dow.png\"");
    api.call("DELETE", "/characters/ben-dow", Value::Null).await.good();
    assert_eq!(api.get("/characters/ben-dow").await.status, 404);
    let missing = api.call("POST", "/characters", json!({"card": {}})).await.refused(422);
    assert_eq!(missing.1, "`card.name` must be given, found `null`");
}

#[tokio::test]
async fn personas_and_groups_are_made_changed_and_removed() {
    let api = Api::start().await;
    let mira = json!({"name": "Mira", "description": "A cook.", "usual": true});
    assert_eq!(api.call("POST", "/personas", mira).await.good()["item"]["id"], "mira");
    let backup = json!({"personas": {"a.png": "Mira", "b.png": "Sam"}, "default_persona": "x",
        "persona_descriptions": {"b.png": {"description": "A spy.", "depth": 3}}});
    let request = api.request("POST", "/personas/import").body(backup.to_string());
    let all = api.send(request).await.good();
    assert_eq!(all["item"]["items"].as_array().unwrap().len(), 2, "the name is known");
    api.call("PATCH", "/personas/sam", json!({"usual": true})).await.good();
    let all = api.get("/personas").await.good();
    let usual: Vec<&Value> =
        all["items"].as_array().unwrap().iter().map(|one| &one["usual"]).collect();
    assert_eq!(usual, [&json!(false), &json!(true)]);
    let empty = api.call("PATCH", "/personas/sam", json!({"name": ""})).await.refused(422);
    assert_eq!(empty.1, "`name` must not be empty, found ``");
    api.call("DELETE", "/personas/sam", Value::Null).await.good();
    for name in ["Orla", "Ben"] {
        api.call("POST", "/characters", json!({"card": {"name": name}})).await.good();
    }
    let crew = json!({"name": "The crew", "members": ["orla", "ben"], "order": "list"});
    assert_eq!(api.call("POST", "/groups", crew).await.good()["item"]["id"], "the-crew");
    let wrong = json!({"members": ["orla", "zoe"]});
    let wrong = api.call("PATCH", "/groups/the-crew", wrong).await.refused(422);
    assert_eq!(wrong.1, "`members` must name characters that are there, found `zoe`");
    let wrong = api.call("PATCH", "/groups/the-crew", json!({"muted": ["zoe"]})).await;
    assert_eq!(wrong.refused(422).1, "`muted` must be members, found `zoe`");
    let changed = api.call("PATCH", "/groups/the-crew", json!({"muted": ["ben"]})).await.good();
    assert_eq!(changed["item"]["order"], "list");
    api.call("DELETE", "/groups/the-crew", Value::Null).await.good();
    assert_eq!(api.get("/groups").await.good()["items"], json!([]));
}

#[tokio::test]
async fn a_chat_leaves_with_its_swipes_and_comes_back() {
    let api = Api::start().await;
    let file = [
        json!({"user_name": "Mira", "character_name": "Orla", "chat_metadata": {}}),
        json!({"name": "Orla", "is_user": false, "mes": "Hm?", "swipes": ["Hm?", "Ahoy."], "swipe_id": 0}),
        json!({"name": "Mira", "is_user": true, "send_date": "January 2", "mes": "Across, please."}),
        json!({"name": "Orla", "is_user": false, "mes": "No.", "swipes": ["Aye.", "No."], "swipe_id": 1}),
    ];
    let file: Vec<String> = file.iter().map(Value::to_string).collect();
    let import =
        |id: &str, body: String| api.request("POST", &format!("/chats/import?id={id}")).body(body);
    api.send(import("quay", file.join("\n"))).await.good();
    let out = api.get("/chats/quay/export?format=sillytavern").await;
    assert_eq!(out.headers["content-disposition"], "attachment; filename=\"quay.jsonl\"");
    let lines: Vec<Value> =
        out.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["user_name"], &lines[0]["character_name"]),
        (&json!("Mira"), &json!("Orla"))
    );
    assert_eq!((&lines[1]["swipes"], &lines[1]["swipe_id"]), (&json!(["Hm?", "Ahoy."]), &json!(0)));
    assert_eq!(lines[2]["send_date"], "January 2");
    assert_eq!((&lines[3]["mes"], &lines[3]["swipes"]), (&json!("No."), &json!(["Aye.", "No."])));
    api.send(import("again", out.text.clone())).await.good();
    let said = |chat: &'static str| {
        let api = &api;
        async move {
            let path = api.get(&format!("/chats/{chat}/path")).await.good();
            let all = path["messages"].as_array().unwrap().clone();
            let one =
                |one: &Value| (one["text"].clone(), one["versions"].as_array().unwrap().len());
            all.iter().map(one).collect::<Vec<_>>()
        }
    };
    assert_eq!(said("again").await, said("quay").await);
    let markdown = api.get("/chats/quay/export?format=markdown").await.text;
    assert_eq!(
        markdown,
        "# Orla: Across, please.\n\n**Orla**\n\nHm?\n\n**Mira**\n\nAcross, please.\n\n**Orla**\n\nNo.\n"
    );
}

#[tokio::test]
async fn a_narrators_line_of_a_file_is_part_of_the_story() {
    let api = Api::start().await.with_book().await;
    let file = [
        json!({"user_name": "Mira", "character_name": "Orla", "chat_metadata": {}}),
        json!({"name": "Orla", "is_user": false, "mes": "Hm?"}),
        json!({"name": "Tide", "is_user": false, "mes": "The causeway is wet.", "extra": {"type": "narrator"}}),
        json!({"name": "Mira", "is_user": true, "mes": "Across, please."}),
    ];
    let file: Vec<String> = file.iter().map(Value::to_string).collect();
    let body = api.request("POST", "/chats/import?id=quay").body(file.join("\n"));
    let read = api.send(body).await.good();
    assert_eq!((&read["messages"], &read["left_out"]), (&json!(3), &json!(0)));
    assert_eq!(read["item"]["title"], "Orla: Across, please.");
    let path = api.get("/chats/quay/path").await.good();
    let line = &path["messages"][1];
    assert_eq!((&line["narrator"], &line["name"]), (&json!(true), &json!("Tide")));
    // The extension's report of the same chat is the same path.
    let shown = json!({"messages": [
        {"role": "assistant", "name": "Orla", "content": "Hm?"},
        {"role": "assistant", "name": "Tide", "content": "The causeway is wet.", "narrator": true},
        {"role": "user", "name": "Mira", "content": "Across, please."},
    ]});
    api.call("PUT", "/chats/quay/path", shown).await.good();
    let again = api.get("/chats/quay/path").await.good();
    assert_eq!(again["messages"][2]["node"], path["messages"][2]["node"]);
    let woven = api.call("POST", "/weave", json!({"chat": "quay"})).await.good();
    let threads = woven["threads"].as_array().unwrap();
    assert!(threads.iter().any(|one| one["title"] == "Causeway"), "it is scanned: {woven}");
    let out = api.get("/chats/quay/export?format=sillytavern").await.text;
    let line: Value = serde_json::from_str(out.lines().nth(2).unwrap()).unwrap();
    assert_eq!((&line["name"], &line["extra"]["type"]), (&json!("Tide"), &json!("narrator")));
}

#[tokio::test]
async fn a_character_takes_only_its_own_book_with_it() {
    let api = Api::start().await;
    for id in ["orla", "ben"] {
        let path = format!("/characters/import?id={id}");
        api.send(api.request("POST", &path).body(card().to_string())).await.good();
    }
    let wrong = api.call("PATCH", "/characters/ben", json!({"book": "none"})).await.refused(422);
    assert_eq!(wrong.1, "`book` must name a book that is kept here, found `none`");
    for (name, book) in [("One", "orla"), ("Two", "fens")] {
        let id = name.to_lowercase();
        let new = json!({"id": id, "card": {"name": name}});
        api.call("POST", "/characters", new).await.good();
        let fens = json!({"id": "fens", "name": "Fens", "bindings": [{"to": "everywhere"}]});
        api.call("POST", "/books", fens).await;
        let patch = json!({"book": book});
        api.call("PATCH", &format!("/characters/{id}"), patch).await.good();
    }
    for (character, book, status) in [
        ("two", "fens", 200),  // a book for everybody
        ("one", "orla", 200),  // another character's
        ("orla", "orla", 404), // its own
        ("ben", "ben", 404),
    ] {
        api.call("DELETE", &format!("/characters/{character}"), Value::Null).await.good();
        let found = api.get(&format!("/books/{book}")).await.status;
        assert_eq!(found, status, "the book `{book}` without `{character}`");
    }
    // One that was removed stays named, and the character can be changed.
    api.call("POST", "/characters", json!({"card": {"name": "Una"}})).await.good();
    api.call("PATCH", "/characters/una", json!({"book": "fens"})).await.good();
    api.call("DELETE", "/books/fens", Value::Null).await.good();
    let patch = json!({"card": {"description": "A diver."}, "book": "fens"});
    api.call("PATCH", "/characters/una", patch).await.good();
}

#[tokio::test]
async fn imported_personas_get_ids_of_their_own_and_new_stories_use_one() {
    let api = Api::start().await;
    for new in [
        json!({"name": "Mira", "usual": true}),
        json!({"name": "Other", "id": "sam-2"}),
        json!({"name": "Third", "id": "sam-3"}),
    ] {
        api.call("POST", "/personas", new).await.good();
    }
    let import = |usual: &str| {
        let backup = json!({"personas": {"m.png": "Mira", "a.png": "Sam!", "b.png": "Sam?"},
            "default_persona": usual});
        api.send(api.request("POST", "/personas/import").body(backup.to_string()))
    };
    let shown = |all: &Value| -> Vec<(String, String, bool)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let items = all["item"]["items"].as_array().unwrap().iter();
        items
            .map(|one| (text(&one["name"]), text(&one["id"]), one["usual"].as_bool().unwrap()))
            .collect()
    };
    let expected = |usual: &str| {
        [
            ("Mira", "mira"),
            ("Other", "sam-2"),
            ("Sam!", "sam"),
            ("Sam?", "sam-4"),
            ("Third", "sam-3"),
        ]
        .map(|(name, id)| (name.to_owned(), id.to_owned(), name == usual))
    };
    assert_eq!(shown(&import("none").await.good()), expected("Mira"), "the file names none");
    let wrote = import("a.png").await.good();
    assert_eq!(shown(&wrote), expected("Sam!"));
    let again = import("a.png").await.good();
    assert_eq!(again["undo"], Value::Null, "nothing is new");
}
