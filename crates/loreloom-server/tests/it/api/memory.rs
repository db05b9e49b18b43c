//! Memory: what is noted, changed, revealed and undone.

use serde_json::{Value, json};

use super::{Api, Setup};

pub(super) async fn remembering() -> Api {
    Api::with(Setup { memory: true, ..Setup::default() }).await
}

#[tokio::test]
async fn memories_are_noted_changed_merged_and_undone() {
    let api = remembering().await;
    api.story().await;
    let note = |content: &str| json!({"owner": {"chat": "inn"}, "kind": "detail", "content": content, "importance": 2});
    let first = api.call("POST", "/memory/records", note("The bell is cracked.")).await.good();
    let second = api.call("POST", "/memory/records", note("The bell is old.")).await.good();
    let listed = api.get("/chats/inn/memory?tier=session_memory").await.good();
    assert_eq!(listed["total"], 2);
    assert_eq!(listed["items"][0]["fields"]["content"], "The bell is cracked.");
    let id = first["id"].as_str().unwrap();
    let patch = json!({"owner": {"chat": "inn"}, "set": {"content": "The bell is whole."}});
    let edited = api.call("PATCH", &format!("/memory/records/{id}"), patch).await.good();
    api.call("POST", "/undo", json!({"undo": edited["undo"]})).await.good();
    let history = api.get(&format!("/memory/records/{id}?chat=inn")).await.good();
    assert_eq!(history["record"]["fields"]["content"], "The bell is cracked.");
    let kinds: Vec<&str> = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["created", "edited"]);
    let deed = |deed: &str| json!({"owner": {"chat": "inn"}, "deed": deed});
    api.call("POST", &format!("/memory/records/{id}/deeds"), deed("pin")).await.good();
    api.call("POST", &format!("/memory/records/{id}/deeds"), deed("retire")).await.good();
    assert_eq!(api.get("/chats/inn/memory").await.good()["total"], 1);
    api.call("POST", &format!("/memory/records/{id}/deeds"), deed("restore")).await.good();
    let both = json!({"owner": {"chat": "inn"}, "ids": [first["id"], second["id"]], "content": "An old cracked bell."});
    api.call("POST", "/memory/merge", both).await.good();
    let merged = api.get("/chats/inn/memory").await.good();
    assert_eq!(
        (&merged["total"], &merged["items"][0]["fields"]["content"]),
        (&json!(1), &json!("An old cracked bell."))
    );
    assert_eq!(api.get("/chats/inn/memory?all=true").await.good()["total"], 3);
    let found =
        api.call("POST", "/chats/inn/memory/search", json!({"text": "cracked bell"})).await.good();
    assert_eq!(found["passages"][0]["text"], "Who rings the bell?");
    assert!(
        found["memories"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["text"] == "An old cracked bell.")
    );
    let archive = api.get("/memory/export").await.good();
    let other = remembering().await;
    assert_eq!(other.call("POST", "/memory/import", archive.clone()).await.good()["new"], 8);
    assert_eq!(other.call("POST", "/memory/import", archive).await.good()["new"], 0);
    assert_eq!(api.get("/memory/owners").await.good()["items"][0]["owner"], json!({"chat": "inn"}));
}

/// What happened to memories at a message: kind, text, what it replaces, what replaced it.
fn happened(message: &Value) -> Vec<(String, String, Value, Value)> {
    let word = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let told = |one: &Value| {
        (word(one, "kind"), word(one, "text"), one["replaces"].clone(), one["replaced_by"].clone())
    };
    message["memory"].as_array().unwrap().iter().map(told).collect()
}

#[tokio::test]
async fn a_path_tells_what_happened_to_memories_at_each_message() {
    let api = remembering().await;
    let said = |name: &str, text: &str| json!({"role": "assistant", "name": name, "content": text});
    let messages = [
        said("Orla", "The rope was cut."),
        said("Orla", "No, it was untied."),
        said("Orla", "The lamp is out."),
    ];
    api.call("POST", "/chats", json!({"id": "inn", "messages": messages})).await.good();
    let before = api.get("/chats/inn/path").await;
    let tag = before.etag();
    let before = before.good();
    assert_eq!(before["messages"][0]["memory"], json!([]));
    let at = |number: usize| before["messages"][number]["message"].clone();
    let memory = |id: &str, content: &str, number: usize| json!({"id": id, "type": "fact", "content": content, "receipts": [at(number)]});
    let mut cut = memory("m1", "The rope was cut.", 0);
    cut["superseded_by"] = json!("m2");
    let untied = memory("m2", "The rope was untied.", 1);
    let orla = json!({"schema_version": 9, "memories": [cut, untied]});
    api.call("POST", "/memory/import", json!({"characters": {"Orla": orla}})).await.good();
    let lamp = json!({"owner": {"chat": "inn"}, "content": "The lamp burns.", "receipts": [at(0)]});
    let lamp = api.call("POST", "/memory/records", lamp).await.good()["id"].clone();
    let deed = json!({"owner": {"chat": "inn"}, "deed": "retire",
                      "from": {"chat": "inn", "message": at(2)}});
    let deeds = format!("/memory/records/{}/deeds", lamp.as_str().unwrap());
    api.call("POST", &deeds, deed).await.good();
    let after = api.get("/chats/inn/path").await;
    assert_ne!(after.etag(), tag);
    let after = after.good();
    let told = |number: usize| happened(&after["messages"][number]);
    let event = |kind: &str, text: &str, replaces: Value, by: Value| {
        (kind.to_owned(), text.to_owned(), replaces, by)
    };
    assert_eq!(
        told(0),
        [
            event("created", "The lamp burns.", json!([]), Value::Null),
            event("created", "The rope was cut.", json!([]), Value::Null),
        ]
    );
    let (old, new) = ("The rope was cut.", "The rope was untied.");
    assert_eq!(
        told(1),
        [
            event("superseded", old, json!([]), json!(new)),
            event("created", new, json!([old]), Value::Null),
        ]
    );
    assert_eq!(told(2), [event("retired", "The lamp burns.", json!([]), Value::Null)]);
    // On a path that ends before, it was not replaced.
    let tip = before["messages"][0]["node"].as_str().unwrap();
    let early = api.get(&format!("/chats/inn/path?tip={tip}")).await.good();
    assert_eq!(early["messages"][0]["memory"][1]["text"], old);
}

#[tokio::test]
async fn a_secret_is_revealed_from_here_on_and_a_retcon_counts_everywhere() {
    let api = remembering().await;
    api.story().await;
    let owner = json!({"character": "Mira"});
    let hiding = json!({"who": "Mira", "subject": "Mira", "kind": "hiding", "target": "Odo",
                        "content": "Mira broke the bell"});
    let secret = api.call("POST", "/chats/inn/knowledge", hiding).await.good()["id"].clone();
    let deeds = |id: &Value| format!("/memory/records/{}/deeds", id.as_str().unwrap());
    let reveal = json!({"owner": owner, "deed": "reveal", "to": "Odo", "from": {"chat": "inn"}});
    let wrote = api.call("POST", &deeds(&secret), reveal.clone()).await.good();
    let found = |of: &str| format!("/chats/inn/memory?tier=insight&who={of}");
    let known = api.get(&found("Odo")).await.good();
    assert_eq!(known["items"][0]["fields"]["type"], "knows");
    let noted = api.get(&found("Mira")).await.good();
    assert_eq!(noted["total"], 1, "it is no secret any more");
    let noted = &noted["items"][0]["fields"];
    assert_eq!((&noted["type"], &noted["subject"]), (&json!("knows"), &json!("Odo")));
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    assert_eq!(api.get(&found("Odo")).await.good()["total"], 0);
    assert_eq!(api.get(&found("Mira")).await.good()["total"], 1);
    for (field, value) in [("to", Value::Null), ("from", Value::Null), ("content", json!("x"))] {
        let mut wrong = reveal.clone();
        wrong[field] = value;
        let (_, detail) = api.call("POST", &deeds(&secret), wrong).await.refused(422);
        assert!(detail.contains(field), "{detail}");
    }
    let note = json!({"owner": owner, "content": "Mira has a brother."});
    let note = api.call("POST", "/memory/records", note).await.good()["id"].clone();
    let retcon = json!({"owner": owner, "deed": "retcon", "content": "Mira is an only child."});
    api.call("POST", &deeds(&note), retcon).await.good();
    let left = api.get("/chats/inn/memory?tier=memory&who=Mira").await.good();
    assert_eq!(left["total"], 1);
    assert_eq!(left["items"][0]["fields"]["content"], "Mira is an only child.");
}

#[tokio::test]
async fn a_record_is_not_changed_by_who_has_not_seen_it_as_it_is() {
    let api = remembering().await;
    api.story().await;
    let owner = json!({"chat": "inn"});
    let arc = json!({"owner": owner, "tier": "arc", "fields": {"content": "Find the bell"}});
    api.call("PUT", "/memory/records/t1", arc.clone()).await.good();
    for (method, path, body) in [
        ("PUT", "/memory/records/t1", arc),
        ("PATCH", "/memory/records/t1", json!({"owner": owner, "set": {"content": "Ring it"}})),
        ("POST", "/memory/records/t1/deeds", json!({"owner": owner, "deed": "retire"})),
        ("PUT", "/chats/inn/threads/t/pin", json!({"character": "Mira", "pinned": true})),
    ] {
        let seen = api.get("/memory/records/t1?chat=inn").await.etag();
        let between =
            json!({"owner": owner, "set": {"content": format!("before {method} {path}")}});
        api.call("PATCH", "/memory/records/t1", between).await.good();
        let late = api.request(method, path).header("if-match", &seen).json(&body);
        let now = api.get("/memory/records/t1?chat=inn").await.etag();
        let told = format!("the resource is at version `{now}`, not at `{seen}`");
        assert_eq!(api.send(late).await.refused(412), ("outdated".to_owned(), told), "{path}");
        let again = api.request(method, path).header("if-match", &now).json(&body);
        api.send(again).await.good();
    }
    let none = json!({"owner": owner, "tier": "arc", "fields": {"content": "Find Odo"}});
    let none = api.request("PUT", "/memory/records/t2").header("if-match", "*").json(&none);
    let told = "there is no record `t2` that could be at version `*`";
    assert_eq!(api.send(none).await.refused(412), ("outdated".to_owned(), told.to_owned()));
}

#[tokio::test]
async fn a_path_tells_of_scenes_and_threads_too() {
    let api = remembering().await;
    let said = |text: &str| json!({"role": "assistant", "name": "Orla", "content": text});
    let messages = ["The rope was cut.", "Night falls.", "We cross."].map(said);
    api.call("POST", "/chats", json!({"id": "inn", "messages": messages})).await.good();
    let before = api.get("/chats/inn/path").await.good();
    let at = |number: usize| before["messages"][number]["message"].clone();
    let chat = json!({
        "sceneHistory": [{"summary": "The rope is found.", "receipts": [at(0), at(1)]}],
        "storyArcs": [
            {"content": "Who cut the rope?", "receipts": [at(0)]},
            {"content": "The crossing", "receipts": [at(1)]},
        ],
    });
    api.call("POST", "/memory/import?chat=inn", json!({"smartMemory": chat})).await.good();
    let end = |id: &str| {
        let body = json!({"owner": {"chat": "inn"}, "deed": "retire",
                          "from": {"chat": "inn", "message": at(2)}});
        (format!("/memory/records/{}/deeds", id.replace(' ', "%20").replace('?', "%3F")), body)
    };
    let (path, body) = end("The crossing");
    api.call("POST", &path, body).await.good();
    let after = api.get("/chats/inn/path").await.good();
    let told = |number: usize| -> Vec<String> {
        let all = after["messages"][number]["memory"].as_array().unwrap();
        let words = |one: &Value| {
            ["of", "kind", "text"].map(|name| one[name].as_str().unwrap().to_owned()).join(" ")
        };
        all.iter().map(words).collect()
    };
    assert_eq!(told(0), ["thread created Who cut the rope?"]);
    assert_eq!(told(1), ["scene created The rope is found.", "thread created The crossing"]);
    assert_eq!(told(2), ["thread ended The crossing"]);
}

#[tokio::test]
async fn memory_refuses_what_makes_no_sense() {
    let api = remembering().await;
    api.story().await;
    for (method, path, body, status, detail) in [
        (
            "POST",
            "/memory/records",
            json!({"owner": {"chat": "inn"}, "content": " "}),
            422,
            "a memory must say something, found an empty text",
        ),
        (
            "PATCH",
            "/memory/records/x",
            json!({"owner": {"chat": "inn"}, "set": {}}),
            404,
            "chat `inn` has no record `x`",
        ),
        (
            "POST",
            "/memory/merge",
            json!({"owner": {"chat": "inn"}, "ids": ["a"], "content": "b"}),
            422,
            "a merge takes at least two memories, found 1",
        ),
        (
            "POST",
            "/memory/import",
            json!({"a": 1}),
            422,
            "this is no archive of memory, no settings of Smart Memory and no chat it worked on",
        ),
        ("POST", "/chats/none/memory/search", json!({"text": "a"}), 404, "there is no chat `none`"),
        (
            "POST",
            "/chats/inn/catch-up",
            json!({"character": "Mira"}),
            409,
            "no model is set that could read a chat",
        ),
        ("POST", "/undo", json!({"undo": "memory.abc"}), 404, "there is no write `abc`"),
    ] {
        let found = api.call(method, path, body).await.refused(status);
        assert_eq!(found.1, detail, "{path}");
    }
    let off = Api::start().await;
    assert_eq!(off.get("/memory/export").await.refused(409).0, "switched_off");
    let odd = api.get("/memory/records/x").await.refused(422);
    assert_eq!(odd.1, "say whose memory: exactly one of `chat`, `character` and `world`");
}

#[tokio::test]
async fn a_scratch_session_goes_back_to_where_it_began() {
    let api = remembering().await;
    api.story().await;
    let begun = api.send(api.request("POST", "/chats/inn/scratch")).await.good();
    assert_eq!(begun["open"], true);
    let again = api.send(api.request("POST", "/chats/inn/scratch")).await.refused(409);
    assert_eq!(again.1, "chat `inn` has a read-only session already");
    let said = json!({"messages": [{"role": "user", "content": "What if?"}]});
    api.call("POST", "/chats/inn/messages", said).await.good();
    let ended = api.send(api.request("DELETE", "/chats/inn/scratch?keep=false")).await.good();
    assert_eq!(ended["from"], begun["from"]);
    assert_eq!(api.get("/chats/inn").await.good()["messages"], 4);
}

#[tokio::test]
async fn the_story_so_far_is_a_record_with_a_name_and_can_be_edited() {
    let api = remembering().await;
    api.story().await;
    let smart = json!({"smartMemory": {"summary": "Wren came in.", "summaryEnd": 2}});
    api.call("POST", "/memory/import?chat=inn", smart).await.good();
    let listed = api.get("/chats/inn/memory?tier=summary").await.good();
    assert_eq!(listed["items"][0]["id"], "summary");
    let set = json!({"owner": {"chat": "inn"}, "set": {"summary": "Wren came in late."}});
    let wrote = api.call("PATCH", "/memory/records/summary", set).await.good();
    let told = api.get("/memory/records/summary?chat=inn").await.good();
    assert_eq!(told["record"]["fields"]["summary"], "Wren came in late.");
    assert_eq!(told["events"].as_array().unwrap().len(), 2);
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    let wrong = json!({"owner": {"chat": "inn"}, "set": {"summary": 3}});
    let (_, detail) = api.call("PATCH", "/memory/records/summary", wrong).await.refused(422);
    assert!(detail.starts_with("`summary` cannot be changed that way"), "{detail}");
}

#[tokio::test]
async fn a_memory_ends_at_a_message_or_was_never_true() {
    let api = remembering().await;
    api.story().await;
    let tree = api.get("/chats/inn/tree").await.good();
    let node = |number: u64| -> &Value {
        tree["nodes"].as_array().unwrap().iter().find(|node| node["number"] == number).unwrap()
    };
    let (second, last) = (node(2), node(4));
    let note = json!({"owner": {"chat": "inn"}, "content": "The bell rings.", "receipts": [node(1)["message"]]});
    let id = api.call("POST", "/memory/records", note).await.good()["id"].clone();
    let deeds = format!("/memory/records/{}/deeds", id.as_str().unwrap());
    let total = |at: &Value| {
        let path = format!("/chats/inn/memory?at={}", at["node"].as_str().unwrap());
        let api = &api;
        async move { api.get(&path).await.good()["total"].clone() }
    };
    let from = json!({"chat": "inn", "message": last["message"]});
    let ended = json!({"owner": {"chat": "inn"}, "deed": "retire", "from": from});
    let wrote = api.call("POST", &deeds, ended).await.good();
    assert_eq!((total(second).await, total(last).await), (json!(1), json!(0)));
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    assert_eq!(total(last).await, json!(1));
    let never = json!({"owner": {"chat": "inn"}, "deed": "retire"});
    api.call("POST", &deeds, never).await.good();
    assert_eq!((total(second).await, total(last).await), (json!(0), json!(0)));
    for (body, status, detail) in [
        (
            json!({"owner": {"chat": "inn"}, "deed": "pin", "from": from}),
            422,
            "`from` goes with the deed `retire` or `reveal` only",
        ),
        (
            json!({"owner": {"chat": "inn"}, "deed": "retire", "from": {"chat": "no", "message": last["message"]}}),
            404,
            "there is no chat `no`",
        ),
    ] {
        assert_eq!(api.call("POST", &deeds, body).await.refused(status).1, detail);
    }
    // A message of another story is none of this one.
    api.call(
        "POST",
        "/chats",
        json!({"id": "hall", "messages": [{"role": "user", "content": "x"}]}),
    )
    .await
    .good();
    let other = &api.get("/chats/hall/tree").await.good()["nodes"][0]["message"];
    let from = json!({"chat": "inn", "message": other});
    let body = json!({"owner": {"chat": "inn"}, "deed": "retire", "from": from});
    let answer = api.call("POST", &deeds, body).await;
    assert_eq!(answer.json["field"], "from.message");
    let detail = format!("there is no message `{}`", other.as_str().unwrap());
    assert_eq!(answer.refused(404), ("not_found".to_owned(), detail));
}

#[tokio::test]
async fn somebodys_timeline_tells_what_was_and_what_is() {
    let api = remembering().await;
    api.story().await;
    let note =
        |content: &str| json!({"owner": {"chat": "inn"}, "kind": "detail", "content": content});
    let first = api.call("POST", "/memory/records", note("Odo Venn owns the boat.")).await.good();
    api.call("POST", "/memory/records", note("Rain is near.")).await.good();
    let entity = json!({"owner": {"chat": "inn"}, "tier": "session_entity", "fields":
        {"id": "e1", "name": "Odo Venn", "type": "character", "aliases": ["Captain"]}});
    api.call("PUT", "/memory/records/e1", entity).await.good();
    let told = api.get("/chats/inn/timeline?name=captain").await.good();
    assert_eq!((&told["name"], &told["kind"]), (&json!("Odo Venn"), &json!("character")));
    let texts = |told: &Value| -> Vec<(String, bool)> {
        let moments = told["moments"].as_array().unwrap().iter();
        moments
            .map(|one| (one["text"].as_str().unwrap().to_owned(), one["holds"] == true))
            .collect()
    };
    assert_eq!(texts(&told), [("Odo Venn owns the boat.".to_owned(), true)]);
    let id = first["id"].as_str().unwrap();
    let deed = json!({"owner": {"chat": "inn"}, "deed": "retire"});
    api.call("POST", &format!("/memory/records/{id}/deeds"), deed).await.good();
    let told = api.get("/chats/inn/timeline?name=Odo%20Venn").await.good();
    assert_eq!(texts(&told), [("Odo Venn owns the boat.".to_owned(), false)]);
    let merged = json!({"owner": {"chat": "inn"}, "source": "Captain", "target": "The Admiral"});
    let merged = api.call("POST", "/memory/entities/merge", merged).await.good();
    assert_eq!(api.get("/chats/inn/timeline?name=captain").await.good()["name"], "The Admiral");
    api.call("POST", "/undo", json!({"undo": merged["undo"]})).await.good();
    assert_eq!(api.get("/chats/inn/timeline?name=captain").await.good()["name"], "Odo Venn");
    let nobody = api.get("/chats/inn/timeline?name=Lis").await.refused(404);
    assert_eq!(nobody.1, "nothing is remembered of `Lis`");
}

#[tokio::test]
async fn threads_of_a_group_come_in_and_follow_a_character() {
    let api = remembering().await;
    api.story().await;
    let settings = json!({"extension_settings": {"smart_memory": {
        "characters": {}, "group_arcs": {"1700": [{"content": "Find the bell", "ts": 5}]}}}});
    let path = "/memory/import?group=1700&chat=inn";
    assert_eq!(api.call("POST", path, settings.clone()).await.good()["new"], 1);
    assert_eq!(api.call("POST", path, settings.clone()).await.good()["new"], 0);
    let listed = api.get("/chats/inn/memory?tier=arc").await.good();
    assert_eq!(listed["items"][0]["fields"]["content"], "Find the bell");
    let id = listed["items"][0]["id"].as_str().unwrap();
    let pin = json!({"character": "Mira", "pinned": true});
    let path = format!("/chats/inn/threads/{}/pin", id.replace(' ', "%20"));
    let pinned = api.call("PUT", &path, pin).await.good();
    let followed = api.get("/chats/inn/memory?tier=pinned_arc&who=Mira").await.good();
    assert_eq!(followed["total"], 1);
    api.call("POST", "/undo", json!({"undo": pinned["undo"]})).await.good();
    let wrong = api.call("POST", "/memory/import?group=9&chat=inn", settings).await.refused(404);
    assert_eq!(wrong.1, "these settings have no threads of a group `9`");
}

#[tokio::test]
async fn every_list_has_a_version_and_is_not_sent_twice() {
    let api = remembering().await.with_book().await;
    api.story().await;
    for path in [
        "/chats",
        "/chats/inn/memory",
        "/chats/inn/tree",
        "/vaults",
        "/jobs",
        "/lint",
        "/keys",
        "/memory/owners",
        "/books",
        "/lore/entries",
    ] {
        let first = api.get(path).await;
        let again = api.request("GET", path).header("if-none-match", first.etag());
        let again = api.send(again).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        assert_eq!(again.etag(), first.etag(), "{path}");
    }
    let chats = api.get("/chats").await.etag();
    api.tell("mill", &[("user", "Hello?")], "Hello.").await;
    let changed = api.send(api.request("GET", "/chats").header("if-none-match", &chats)).await;
    assert_eq!((changed.status, &changed.json["total"]), (200, &json!(2)));
}
