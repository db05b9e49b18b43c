//! `characters` and `chats export`.

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::{
    run::{loreloom, printed, refused, write},
    serve::{SERVE, Server},
};

fn card() -> Value {
    json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Orla", "description": "A ferrywoman.", "personality": "", "scenario": "",
        "first_mes": "Hm?", "mes_example": "", "creator_notes": "", "system_prompt": "",
        "post_history_instructions": "", "alternate_greetings": ["Ahoy."], "tags": ["ferry"],
        "creator": "", "character_version": "", "extensions": {"mystery": 7},
        "character_book": {"entries": [{"keys": ["ferry"], "content": "It leaks.",
            "extensions": {}, "enabled": true, "insertion_order": 0}]},
    }})
}

#[test]
fn characters_are_added_listed_shown_exported_and_removed() {
    let home = TempDir::new().unwrap();
    write(home.path(), "orla.json", &card().to_string());
    let at = |arguments: &[&str]| printed(home.path(), &[&["characters"], arguments].concat());
    let added = at(&["add", "orla.json"]);
    assert_eq!(
        added,
        "orla: Orla, 1 entries of lore\nchange 1; `loreloom books undo 1` takes it back\n"
    );
    let list = at(&["list"]);
    assert!(list.lines().nth(1).unwrap().starts_with("orla               2  orla"), "{list}");
    let shown = at(&["show", "orla"]);
    assert!(shown.contains("A ferrywoman.") && shown.contains("Ahoy."), "{shown}");
    let shown: Value = serde_json::from_str(&at(&["show", "orla", "--json"])).unwrap();
    assert_eq!(shown["card"]["extensions"]["extensions"]["mystery"], 7);
    assert_eq!(at(&["export", "orla"]), card().to_string(), "to the byte");
    at(&["export", "orla", "orla.png", "--format", "card-v2-png"]);
    at(&["add", "orla.png"]);
    let again: Value = serde_json::from_str(&at(&["show", "orla-2", "--json"])).unwrap();
    assert_eq!(again["card"]["description"], "A ferrywoman.");
    let taken = ["characters", "add", "orla.json", "--id", "orla"];
    let taken = refused(home.path(), &taken);
    assert!(taken.contains("`--replace` replaces it"), "{taken}");
    assert!(printed(home.path(), &["books", "list"]).contains("card:Orla"));
    at(&["remove", "orla"]);
    let gone = refused(home.path(), &["characters", "show", "orla"]);
    assert!(gone.contains("there is no character `orla`"), "{gone}");
}

#[test]
fn a_chat_is_exported_for_sillytavern_and_as_markdown() {
    let home = TempDir::new().unwrap();
    let chat = "{\"user_name\":\"Mira\",\"character_name\":\"Orla\"}\n\
        {\"name\":\"Orla\",\"is_user\":false,\"mes\":\"Hm?\"}\n\
        {\"name\":\"Mira\",\"is_user\":true,\"mes\":\"Across.\"}\n";
    write(home.path(), "quay.jsonl", chat);
    printed(home.path(), &["import", "quay.jsonl"]);
    let lines = printed(home.path(), &["chats", "export", "quay"]);
    let said: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&said[0]["user_name"], &said[2]["mes"]), (&json!("Mira"), &json!("Across.")));
    let markdown = printed(home.path(), &["chats", "export", "quay", "--format", "markdown"]);
    assert_eq!(markdown, "# Orla: Across.\n\n**Orla**\n\nHm?\n\n**Mira**\n\nAcross.\n");
}

#[tokio::test]
async fn an_exported_archive_has_the_title_and_what_is_hidden() {
    let home = TempDir::new().unwrap();
    let server = Server::started(loreloom(home.path(), &SERVE));
    let messages =
        json!([{"role": "assistant", "content": "Hm?"}, {"role": "user", "content": "Hush."}]);
    let new = json!({"id": "quay", "messages": messages});
    assert_eq!(server.api("POST", "/chats", &new).await.0, 201);
    let title = json!({"title": "At the quay"});
    assert_eq!(server.api("PATCH", "/chats/quay", &title).await.0, 200);
    let (path, _) = shown(&server, "/chats/quay/path").await;
    let node = path["messages"][1]["node"].as_str().unwrap();
    let url = format!("/chats/quay/messages/{node}/hidden");
    assert_eq!(server.api("PUT", &url, &json!({"hidden": true})).await.0, 200);
    drop(server);
    let archive = printed(home.path(), &["chats", "export", "quay", "--format", "loreloom"]);
    let archive: Value = serde_json::from_str(&archive).unwrap();
    assert_eq!(archive["chat"]["title"], "At the quay");
    let nodes = archive["nodes"].as_array().unwrap();
    let hidden: Vec<bool> = nodes.iter().map(|one| one["message"]["hidden"] == true).collect();
    assert_eq!(hidden, [false, true]);
}

/// What the API shows, and its version.
async fn shown(server: &Server, path: &str) -> (Value, String) {
    let answer = reqwest::get(format!("{}/api/v1{path}", server.url())).await.unwrap();
    let tag = answer.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned());
    (answer.json().await.unwrap(), tag.unwrap_or_default())
}

/// How many of these requests, sent at once, were answered with this status.
async fn answered(status: u16, requests: Vec<reqwest::RequestBuilder>) -> usize {
    let mut sending = JoinSet::new();
    for request in requests {
        sending.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    sending.join_all().await.into_iter().filter(|found| *found == status).count()
}

#[tokio::test]
async fn of_changes_at_once_one_counts() {
    let home = TempDir::new().unwrap();
    let server = Server::started(loreloom(home.path(), &SERVE));
    server.api("POST", "/stories", &json!({"id": "quay"})).await;
    let (client, api) = (reqwest::Client::new(), format!("{}/api/v1", server.url()));
    let mut made = 0;
    for round in 0..5 {
        let new = |_| client.post(format!("{api}/personas")).json(&json!({"name": "Mira"}));
        made += answered(201, (0..16).map(new).collect()).await;
        let (personas, _) = shown(&server, "/personas").await;
        let personas = personas["items"].as_array().unwrap();
        assert_eq!(personas.len(), made, "each has an id of its own");
        let mira = personas.iter().find(|one| one["id"] == "mira").unwrap();
        let (_, setup) = shown(&server, "/chats/quay/setup").await;
        for (path, field, seen) in [
            // Its version is one of all documents.
            ("/chats/quay/setup", "scenario", setup),
            ("/personas/mira", "title", format!("\"{}\"", mira["revision"])),
        ] {
            let change = |number| {
                let patch = json!({ (field): format!("{round} {number}") });
                client.patch(format!("{api}{path}")).header("if-match", &seen).json(&patch)
            };
            let taken = answered(200, (0..16).map(change).collect()).await;
            assert_eq!(taken, 1, "{path}");
        }
    }
}
