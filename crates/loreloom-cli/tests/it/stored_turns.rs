//! Turns stored in the committed shape are decided again byte for byte, on both databases.
//!
//! `tests/fixtures/stored_turns` has one exported chat for each story below. If the shape of stored
//! turns changes on purpose, write the files again and look at the difference:
//!
//! ```sh
//! LORELOOM_BLESS=1 cargo nextest run --workspace -E 'test(stored_turns::the_fixture)'
//! ```

use std::path::{Path, PathBuf};

use loreloom_testkit::postgres::Cluster;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{printed, write},
    serve::Server,
};

const BLESS: &str = "LORELOOM_BLESS";

const WORLD_INFO: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"The bell is cracked.","position":1,"sticky":4},
  "1":{"uid":1,"key":["tower"],"comment":"The tower","content":"The tower leans.","position":4,"depth":1},
  "2":{"uid":2,"key":["priest"],"comment":"The priest","content":"{{user}} knows: he is deaf.","position":0},
  "3":{"uid":3,"key":["go"],"comment":"A chance","content":"It rains.","position":1,"useProbability":true,"probability":50},
  "4":{"uid":4,"constant":true,"comment":"Always","content":"This is Harrow.","position":0,"order":1}
}}"#;

const CARD_BOOK: &str = r#"{"spec":"lorebook_v3","data":{"name":"Harrow","extensions":{},"entries":[
  {"keys":["bell"],"content":"@@keep_activate_after_match\nThe bell is cracked.","enabled":true,"insertion_order":1,"extensions":{},"use_regex":false},
  {"keys":["tower"],"content":"@@depth 2\nThe tower leans.","enabled":true,"insertion_order":2,"extensions":{},"use_regex":false},
  {"keys":[],"constant":true,"content":"This is Harrow.","enabled":true,"insertion_order":3,"extensions":{},"use_regex":false}
]}}"#;

const BELL: &str =
    "---\ntags:\n  - lorebook\nkeys:\n  - bell\nsummary: A bell.\n---\nThe bell is cracked.\n";
const TOWER: &str = "---\ntags:\n  - lorebook\nkeys:\n  - tower\nera: old\nsummary: A tower.\n---\nThe tower leans.\n";

/// A story and how it is served.
struct StoredStory {
    name: &'static str,
    arguments: &'static [&'static str],
}

const STORIES: [StoredStory; 4] = [
    StoredStory { name: "world_info", arguments: &["--book", "world_info.json"] },
    StoredStory { name: "card_book", arguments: &["--book", "card_book.json"] },
    StoredStory {
        name: "stable_placement",
        arguments: &["--book", "world_info.json", "--placement", "stable"],
    },
    StoredStory {
        name: "vault",
        arguments: &["--vault", "vault", "--set", "notebooks.author.on=true"],
    },
];

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stored_turns");
    folder.join(format!("{name}.json"))
}

fn said(role: &str, name: &str, text: &str) -> Value {
    json!({ "role": role, "name": name, "content": text })
}

/// Asks for a reply in a chat of the story's name, and waits until it is stored.
async fn say(server: &Server, story: &StoredStory, messages: &[Value]) -> String {
    let request = reqwest::Client::new()
        .post(format!("{}/v1/chat/completions", server.url()))
        .header("x-loreloom-chat", story.name)
        .json(&json!({ "model": "offline", "messages": messages }));
    let reply: Value = request.send().await.unwrap().json().await.unwrap();
    let reply = reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    server.stored(&reply).await;
    reply
}

/// Tells a story: a swipe, a renamed persona, and changes by hand. Returns its archive.
async fn tell(story: &StoredStory) -> String {
    let home = TempDir::new().unwrap();
    let home = home.path();
    write(home, "world_info.json", WORLD_INFO);
    write(home, "card_book.json", CARD_BOOK);
    std::fs::create_dir(home.join("vault")).unwrap();
    write(home, "vault/Bell.md", BELL);
    write(home, "vault/Tower.md", TOWER);
    let system = json!({ "role": "system", "content": "You are Torvald." });
    let mut messages = vec![system, said("user", "Mira", "I hear a bell.")];
    {
        let server = Server::with(home, story.arguments);
        say(&server, story, &messages).await;
    }
    printed(home, &["notebook", "write", story.name, "--text", "Slow burn.", "--data", "data"]);
    printed(home, &["scene", story.name, "--scene", "era=old", "--data", "data"]);
    let server = Server::with(home, story.arguments);
    let swiped = say(&server, story, &messages).await;
    messages[1] = said("user", "Ana", "I hear a bell.");
    messages.push(json!({ "role": "assistant", "content": swiped }));
    messages.push(said("user", "Ana", "Let us go to the tower, and to the priest."));
    say(&server, story, &messages).await;
    drop(server);
    printed(home, &["export", story.name, "--data", "data"])
}

/// An archive without what differs between stores: the version counts writes, and branches may be
/// numbered in another order.
fn comparable(archive: &str) -> Value {
    let mut archive: Value = serde_json::from_str(archive).unwrap();
    archive["chat"]["version"] = Value::Null;
    let nodes = archive["nodes"].as_array_mut().unwrap();
    nodes.sort_by_key(|node| node["prefix"].as_str().unwrap().to_owned());
    archive
}

#[expect(clippy::disallowed_methods, reason = "the test reads its own fixture")]
fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// Loads every archive into the store at `place`, and decides its turns again.
fn decide_again(place: &[&str]) {
    let home = TempDir::new().unwrap();
    let loreloom = |arguments: &[&str]| printed(home.path(), &[arguments, place].concat());
    for story in STORIES {
        let (name, file) = (story.name, fixture(story.name));
        loreloom(&["import", file.to_str().unwrap()]);
        let expected = comparable(&read(&file));
        assert_eq!(comparable(&loreloom(&["export", name])), expected, "{name}");
        let turns = expected["turns"].as_array().unwrap();
        let mut decided = 0;
        for (number, archived) in (1..).zip(turns) {
            // Changes by hand have no input, and are not decided.
            if archived["turn"]["input"].is_null() {
                continue;
            }
            let turn = number.to_string();
            let why = loreloom(&["why", "--chat", name, "--turn", &turn, "--json"]);
            let why: Value = serde_json::from_str(&why).unwrap();
            assert_eq!(why["reproduced"], true, "{name}, turn {turn}: {}", why["notes"]);
            assert_eq!(why["messages"], archived["turn"]["prompt"], "{name}, turn {turn}");
            assert_eq!(why["report"], archived["turn"]["report"], "{name}, turn {turn}");
            decided += 1;
        }
        assert_eq!(decided, 3, "{name}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a person asks for it")]
fn is_blessing() -> bool {
    std::env::var(BLESS).is_ok()
}

#[tokio::test]
async fn the_fixture_is_written_on_request() {
    if !is_blessing() {
        return;
    }
    for story in STORIES {
        let archive: Value = serde_json::from_str(&tell(&story).await).unwrap();
        let text = serde_json::to_string_pretty(&archive).unwrap() + "\n";
        let file = fixture(story.name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        write(file.parent().unwrap(), &format!("{}.json", story.name), &text);
    }
}

#[test]
fn turns_stored_in_sqlite_are_decided_again_to_the_byte() {
    decide_again(&["--data", "data"]);
}

#[test]
fn turns_stored_in_postgres_are_decided_again_to_the_byte() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    decide_again(&["--store", &cluster.url()]);
}
