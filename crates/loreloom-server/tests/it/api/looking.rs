//! What the page looks at besides: the graph, a turn with other rules, a model's trials.

use loreloom_testkit::model_server::Reply;
use serde_json::{Value, json};

use super::{Api, CHAT, Setup};

fn edges(graph: &Value) -> Vec<(&str, &str, &str, u64)> {
    let all = graph["edges"].as_array().unwrap().iter();
    let mut found: Vec<_> = all
        .map(|edge| {
            (
                edge["from"].as_str().unwrap(),
                edge["to"].as_str().unwrap(),
                edge["layer"].as_str().unwrap(),
                edge["weight"].as_u64().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    found
}

#[tokio::test]
async fn the_graph_ties_texts_to_the_keys_they_hold() {
    let api = Api::start().await.with_book().await;
    api.story().await;
    let graph = api.get("/graph?layers=mention,link,rule").await.good();
    assert_eq!(edges(&graph), [("reach/2", "world/0", "mention", 1)]);
    assert_eq!(graph["edges"][0]["word"], "bell");
    assert_eq!(graph["total"], 4);
    let near = api.get("/graph?focus=world%2F0&depth=1").await.good();
    let ids: Vec<&str> =
        near["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["world/0", "reach/2"]);
    assert_eq!(near["nodes"][0]["fired"], 1);
}

#[tokio::test]
async fn the_graph_says_where_everything_stands_and_what_belongs_together() {
    let api = Api::start().await.with_book().await;
    let spots = async |path: &str| -> Vec<(String, String, i64, i64)> {
        let graph = api.get(path).await.good();
        let text = |node: &Value, field: &str| node[field].as_str().unwrap().to_owned();
        let number = |node: &Value, field: &str| node[field].as_i64().unwrap();
        let nodes = graph["nodes"].as_array().unwrap().iter();
        let shown = nodes.map(|node| {
            (text(node, "id"), text(node, "community"), number(node, "x"), number(node, "y"))
        });
        shown.collect()
    };
    let map = spots("/graph?layers=mention").await;
    let communities: Vec<(&str, &str)> =
        map.iter().map(|(id, community, ..)| (id.as_str(), community.as_str())).collect();
    assert_eq!(
        communities,
        [
            ("world/0", "world/0"),
            ("reach/2", "world/0"),
            ("reach/0", "reach/0"),
            ("reach/1", "reach/1"),
        ]
    );
    let far = |one: usize, other: usize| {
        let ((.., x, y), (.., u, v)) = (&map[one], &map[other]);
        ((x - u).pow(2) + (y - v).pow(2)).isqrt()
    };
    assert!((0..4).all(|one| (0..one).all(|other| far(one, other) > 30)), "{map:?}");
    assert_eq!(spots("/graph?layers=mention").await, map, "the same graph is the same picture");
    let around = spots("/graph?layers=mention&focus=reach%2F2").await;
    assert_eq!((around[0].2, around[0].3), (0, 0), "the focus is the middle");
    assert!(around[1].2.abs() + around[1].3.abs() > 60, "{around:?}");
}

#[tokio::test]
async fn what_fires_together_is_counted_and_what_is_always_there_is_not() {
    let api = Api::start().await.with_book().await;
    api.get("/books").await.good();
    let told = [("user", "The bell by the causeway rings.")];
    api.tell("inn", &told, "It does.").await;
    api.loreloom.story(2).await;
    let graph = api.get("/graph?layers=together&chat=inn").await.good();
    assert_eq!(edges(&graph), [("world/0", "reach/0", "together", 1)]);
    assert_eq!(graph["turns"], 1);
}

#[tokio::test]
async fn entities_are_tied_to_the_entries_about_them_and_the_others_are_gaps() {
    let api = Api::with(Setup { memory: true, ..Setup::default() }).await;
    api.story().await;
    let theirs = json!({"memories": [
        {"id": "m1", "type": "fact", "content": "Mira rang the bell.", "consolidated": true},
    ], "entities": [
        {"id": "e1", "name": "The bell", "type": "object", "memory_ids": ["m1"]},
        {"id": "e2", "name": "Mira", "type": "character", "memory_ids": ["m1"]},
    ]});
    api.call("POST", "/memory/import", json!({"characters": {"Mira": theirs}})).await.good();
    let graph = api.get("/graph?layers=entity&chat=inn&who=Mira").await.good();
    assert_eq!(
        edges(&graph),
        [
            ("entity:the bell", "entity:mira", "entity", 1),
            ("entity:the bell", "world/0", "entity", 1)
        ]
    );
    assert_eq!(graph["gaps"], json!(["Mira"]));
}

#[tokio::test]
async fn a_wrong_question_about_the_graph_names_its_mistake() {
    let api = Api::start().await;
    for (path, status, detail) in [
        ("/graph?depth=9", 422, "`depth` must be from 1 to 4, found `9`"),
        ("/graph?limit=0", 422, "`limit` must be from 1 to 1000, found `0`"),
        (
            "/graph?layers=links",
            422,
            "`layers` must be `link`, `mention`, `rule`, `together` or `entity`, with commas \
             between, found `links`",
        ),
        ("/graph?focus=x", 404, "there is no node `x`"),
        ("/graph?chat=x", 404, "there is no chat `x`"),
    ] {
        assert_eq!(api.get(path).await.refused(status).1, detail, "{path}");
    }
}

#[tokio::test]
async fn a_turn_is_shown_with_other_rules_and_nothing_is_stored() {
    let api = Api::start().await;
    api.story().await;
    let path = "/chats/inn/turns/2/preview";
    let same = api.call("POST", path, json!({})).await.good();
    let sent = api.get("/chats/inn/turns/2/prompt").await.good();
    assert_eq!(same["prompt"]["messages"], sent["messages"]);
    assert_eq!(same["prompt"]["unchanged"]["cause"], "grew");
    let wrapped = api.call("POST", path, json!({"rules": {"wrap": "lb"}})).await.good();
    let text = wrapped["prompt"]["messages"].to_string();
    assert!(text.contains("[LB:"), "{text}");
    let none = json!({"rules": {"world_info": {"budget_percent": 0.0, "budget_cap": 1}}});
    let cut = api.call("POST", path, none).await.good();
    assert_eq!(cut["threads"][0]["state"], "cut");
    let settings = api.get("/settings").await.good();
    let stored =
        settings["rows"].as_array().unwrap().iter().filter(|row| row["source"] == "stored");
    assert_eq!(stored.count(), 0);
    // A turn of other books is decided with those.
    let book = json!({"id": "reach", "name": "The Reach"});
    let made = api.call("POST", "/books", book).await.good();
    let told = [
        ("user", "I come in."),
        ("assistant", "Welcome."),
        ("user", "Who rings the bell?"),
        ("assistant", "Nobody does."),
        ("user", "Is it a bell?"),
    ];
    api.tell("inn", &told, "It was.").await;
    api.loreloom.story(6).await;
    api.call("POST", "/undo", json!({"undo": made["undo"]})).await.good();
    let then = api.call("POST", "/chats/inn/turns/3/preview", json!({})).await.good();
    assert_eq!(then["threads"][0]["state"], "fired");
    let wrong = json!({"rules": {"wrap": "paper"}});
    let (_, detail) = api.call("POST", path, wrong).await.refused(422);
    assert!(detail.contains("paper"), "{detail}");
    for misspelt in ["book", "patch", "rule"] {
        let refused = api.call("POST", path, json!({misspelt: {}})).await.refused(400);
        let detail = format!("there is no field `{misspelt}`");
        assert_eq!(refused, ("unknown_field".to_owned(), detail));
    }
    assert_eq!(api.get("/chats/inn/turns").await.good()["total"], 3);
}

#[tokio::test]
async fn a_turn_is_compared_with_todays_lore_a_change_of_it_and_that_of_a_run() {
    let api = Api::start().await.with_book().await;
    api.get("/lore/entries").await.good();
    api.story().await;
    let path = "/chats/inn/turns/2/preview";
    let same = api.call("POST", path, json!({"books": "now"})).await.good();
    assert_eq!((&same["lore"], &same["lines"]), (&Value::Null, &json!([])));
    let patch = json!({"entries": {"reach/0": {"activation": {"keys": ["bell"]}}}});
    let run = api.call("POST", "/replay", json!({"patch": patch})).await.good();
    let edited = json!({"books": "now", "entries": patch["entries"]});
    let of_run = json!({"run": run["id"]});
    for body in [edited, of_run] {
        let changed = api.call("POST", path, body).await.good();
        assert_eq!(changed["lore"]["appeared"][0]["title"], "Causeway");
        let added: Vec<&Value> = changed["lines"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|line| line["added"].as_array().unwrap())
            .collect();
        assert!(added.contains(&&json!("The causeway floods at noon.")), "{added:?}");
    }
    // What was changed since is seen, and the run stays as it began.
    let gone = json!({"content": "Nobody may ring the bell."});
    api.call("PATCH", "/lore/entries/reach%2F2", gone).await.good();
    let now = api.call("POST", path, json!({"books": "now"})).await.good();
    assert_eq!(now["lore"]["rewritten"][0]["title"], "Old law");
    let then = api.call("POST", path, json!({})).await.good();
    assert_eq!(then["lines"], json!([]));
    let run = api.call("POST", path, json!({"run": run["id"]})).await.good();
    assert_eq!(run["lore"]["rewritten"], json!([]));
    let (_, detail) = api.call("POST", path, json!({"run": 99})).await.refused(404);
    assert_eq!(detail, "there is no run `99`");
    let (_, detail) = api.call("POST", path, json!({"without": ["x"]})).await.refused(404);
    assert_eq!(detail, "there is no entry `x`");
}

#[tokio::test]
async fn a_turn_is_decided_as_another_characters() {
    let api = Api::with(Setup { memory: true, ..Setup::default() }).await;
    // A law that only Mira knows, and a book that follows Lis.
    let book = async |id: &str, bindings: Value, entry: Value| {
        api.call("POST", "/books", json!({"id": id, "name": id, "bindings": bindings}))
            .await
            .good();
        api.call("POST", "/lore/entries", json!({"book": id, "entry": entry})).await.good();
    };
    let filters = json!({"characters": ["Mira"], "tags": [], "exclude": false, "triggers": []});
    let oath = json!({"name": "Oath", "content": "An oath binds the keeper.",
                      "activation": {"constant": true, "filters": filters}});
    book("law", json!([{"to": "everywhere"}]), oath).await;
    let debts = json!({"name": "Debts", "content": "Lis owes the miller.",
                       "activation": {"constant": true}});
    book("debts", json!([{"to": "character", "name": "Lis"}]), debts).await;
    let said = |name: &str, text: &str| json!({"role": "assistant", "name": name, "content": text});
    let messages = [said("Mira", "I keep the tower."), said("Lis", "I keep nothing.")];
    api.call("POST", "/chats", json!({"id": "inn", "messages": messages})).await.good();
    let secret = "The bell is hollow and holds silver.";
    let note = json!({"owner": {"chat": "inn"}, "kind": "detail", "content": secret});
    api.call("POST", "/memory/records", note).await.good();
    let known = json!({"who": "Mira", "subject": "Mira", "kind": "hiding", "target": "Lis",
                       "content": secret});
    api.call("POST", "/chats/inn/knowledge", known).await.good();
    let asked = json!({"chat": "inn", "character": "Mira", "user": "Wren", "dry_run": false,
                       "messages": [{"role": "user", "content": "Who keeps the tower?"}]});
    api.call("POST", "/weave", asked).await.good();
    let turn = api.get("/chats/inn/turns/1").await.good();
    assert_eq!(turn["cast"], json!(["Mira", "Lis"]));
    let as_speaker = async |body: Value| {
        let view = api.call("POST", "/chats/inn/turns/1/preview", body).await.good();
        let text = view["prompt"]["messages"].to_string();
        let has = ["An oath binds", "Lis owes", "holds silver"].map(|words| text.contains(words));
        (has, view)
    };
    let (has, same) = as_speaker(json!({})).await;
    assert_eq!((has, &same["speaker"]), ([true, false, true], &Value::Null));
    let (has, mira) = as_speaker(json!({"speaker": "Mira"})).await;
    assert_eq!(has, [true, false, true]);
    assert_eq!(mira["speaker"], json!({"name": "Mira", "followed": true, "withheld": []}));
    let (has, lis) = as_speaker(json!({"speaker": "Lis"})).await;
    assert_eq!(has, [false, true, false]);
    let titles = |which: &str| lis["lore"][which][0]["title"].clone();
    assert_eq!((titles("vanished"), titles("appeared")), (json!("Oath"), json!("Debts")));
    let withheld = json!([{"tier": "memory", "content": secret}]);
    assert_eq!(lis["speaker"], json!({"name": "Lis", "followed": true, "withheld": withheld}));
    // Whom books of another day followed is not kept: they stay as they were.
    api.call("PATCH", "/lore/entries/law%2F0", json!({"content": "Another oath."})).await.good();
    let (has, then) = as_speaker(json!({"speaker": "Lis"})).await;
    assert_eq!((has, &then["speaker"]["followed"]), ([false, false, false], &json!(false)));
    let path = "/chats/inn/turns/1/preview";
    let nobody = api.call("POST", path, json!({"speaker": " "})).await.refused(422).1;
    assert_eq!(nobody, "`speaker` must not be empty, found ` `");
    assert_eq!(api.get("/chats/inn/turns").await.good()["total"], 1);
}

#[tokio::test]
async fn slots_of_memory_are_moved_and_given_budgets_and_tried_on_a_turn_first() {
    let api = Api::with(Setup { memory: true, ..Setup::default() }).await;
    api.story().await;
    let note =
        json!({"owner": {"chat": "inn"}, "kind": "detail", "content": "Wren fears heights."});
    api.call("POST", "/memory/records", note).await.good();
    let path = "/chats/inn/turns/2/preview";
    let moved = json!({"places": {"session": {"position": "BEFORE"}}});
    let preview = api.call("POST", path, json!({"memory": moved})).await.good();
    let first = preview["prompt"]["messages"][0]["content"].as_str().unwrap();
    assert!(first.contains("Wren fears heights."), "{first}");
    let none = json!({"memory": {"cap": 1}});
    let preview = api.call("POST", path, none).await.good();
    let text = preview["prompt"]["messages"].to_string();
    assert!(!text.contains("heights"), "{text}");
    let slot = |settings: &Value, name: &str| -> Value {
        let slots = settings["slots"].as_array().unwrap().iter();
        slots.clone().find(|one| one["slot"] == name).unwrap().clone()
    };
    let before = api.get("/settings").await.good();
    assert_eq!(
        (&slot(&before, "session")["position"], &slot(&before, "repair")["budget"]),
        (&json!("IN_CHAT"), &Value::Null)
    );
    let set = json!({
        "memory.places": {"session": {"position": "BEFORE"}}, "memory.arcs_inject_budget": 33,
        "memory.inject_cap": 900,
    });
    let wrote = api.call("PATCH", "/settings", set).await.good();
    let now = &wrote["item"];
    assert_eq!(
        (&slot(now, "session")["position"], &slot(now, "arcs")["budget"]),
        (&json!("BEFORE"), &json!(33))
    );
    let cap = now["rows"].as_array().unwrap().iter().find(|row| row["name"] == "memory.inject_cap");
    assert_eq!(cap.unwrap()["value"], 900);
    // One goes back to how the server was started.
    let back = json!({"memory.arcs_inject_budget": null});
    let back = api.call("PATCH", "/settings", back).await.good();
    assert_eq!(slot(&back["item"], "arcs")["budget"], 700);
    api.call("POST", "/undo", json!({"undo": back["undo"]})).await.good();
    // The next turn is told so.
    let told = [
        ("user", "I come in."),
        ("assistant", "Welcome."),
        ("user", "Who rings the bell?"),
        ("assistant", "Nobody does."),
        ("user", "Is it cracked?"),
    ];
    api.tell("inn", &told, "It is.").await;
    api.loreloom.story(6).await;
    let sent = api.get("/chats/inn/turns/3/prompt").await.good();
    assert!(sent["messages"][0]["content"].as_str().unwrap().contains("Wren fears heights."));
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    assert_eq!(slot(&api.get("/settings").await.good(), "arcs")["budget"], 700);
    let detail =
        "in `memory`: `budgets` must name slots that have a budget of their own, found `repair`";
    let odd = json!({"memory": {"budgets": {"repair": 5}}});
    assert_eq!(api.call("POST", path, odd).await.refused(422).1, detail);
    let odd = json!({"memory.places": {"nowhere": {}}});
    api.call("PATCH", "/settings", odd).await.refused(422);
}

#[tokio::test]
async fn a_model_is_tried_out_and_its_answer_judged() {
    let api = Api::start().await;
    api.model.push(CHAT, Reply::text("I would rather not."));
    let body = json!({"model": "m", "trial": "arcs"});
    let tried = api.call("POST", "/connections/trial", body).await.good();
    assert_eq!((&tried["passed"], &tried["lines"]), (&json!(false), &json!([])));
    assert_eq!(tried["reply"], "I would rather not.");
    assert_eq!(api.get("/chats").await.good()["total"], 0);
    let unknown = json!({"connection": "none", "trial": "arcs"});
    api.call("POST", "/connections/trial", unknown).await.refused(404);
}

#[tokio::test]
async fn knowledge_is_noted_by_hand_and_taken_back() {
    let api = Api::with(Setup { memory: true, ..Setup::default() }).await;
    api.story().await;
    let told = json!({"who": "Mira", "subject": "Wren", "kind": "knows", "content": "The bell is cracked."});
    let wrote = api.call("POST", "/chats/inn/knowledge", told.clone()).await.good();
    let known = api.get("/chats/inn/knowledge?who=Mira").await.good();
    assert_eq!(known["people"], json!(["Wren"]));
    assert_eq!(known["items"][0]["kind"], "knows");
    assert_eq!(known["items"][0]["receipts"].as_array().unwrap().len(), 1);
    let other = json!({"who": "Mira", "subject": "Odo", "kind": "unaware", "content": "The bell is cracked."});
    api.call("POST", "/chats/inn/knowledge", other).await.good();
    assert_eq!(
        api.get("/chats/inn/knowledge?who=Mira").await.good()["people"],
        json!(["Odo", "Wren"])
    );
    api.call("POST", "/undo", json!({"undo": wrote["undo"]})).await.good();
    assert_eq!(api.get("/chats/inn/knowledge?who=Mira").await.good()["people"], json!(["Odo"]));
    let nothing = json!({"who": "Mira", "subject": " ", "kind": "knows", "content": "x"});
    let (_, detail) = api.call("POST", "/chats/inn/knowledge", nothing).await.refused(422);
    assert_eq!(detail, "`subject` must not be empty, found ` `");
    api.call("POST", "/chats/none/knowledge", told).await.refused(404);
}
