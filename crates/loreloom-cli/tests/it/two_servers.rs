//! Two servers that keep their stories in one database.

use loreloom_testkit::postgres::Cluster;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{printed, write},
    serve::Server,
};

const BOOK: &str =
    r#"{"entries":{"0":{"uid":0,"key":["bell"],"content":"The bell is cracked.","position":1}}}"#;

const TURNS: usize = 12;

/// Tells a branch of the one chat that both servers are asked about.
async fn tell(server: &Server, who: &str) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in 0..TURNS {
        let line = format!("{who} rings the bell, {turn} times so far.");
        messages.push(json!({ "role": "user", "content": line }));
        let reply = server.say(&messages).await;
        messages.push(json!({ "role": "assistant", "content": reply }));
    }
    messages
}

async fn two_servers(home: &TempDir, place: &[&str]) {
    // Fails only if another test was faster.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let home = home.path();
    write(home, "book.json", BOOK);
    let server = || Server::keeping(home, place, &["--book", "book.json"]);
    let (first, second) = (server(), server());
    let (mira, torvald) = tokio::join!(tell(&first, "Mira"), tell(&second, "Torvald"));
    drop((first, second));
    let chats = printed(home, &[&["chats", "--json"], place].concat());
    let chats: Value = serde_json::from_str(&chats).unwrap();
    assert_eq!(chats.as_array().unwrap().len(), 1, "{chats}");
    assert_eq!(chats[0]["turns"], 2 * TURNS, "{chats}");
    let tree = printed(home, &[&["tree", "story"], place].concat());
    let last_lines = [mira, torvald].map(|told| told[2 * TURNS - 2]["content"].clone());
    for line in last_lines {
        let line = line.as_str().unwrap();
        assert!(tree.contains(&line[..20]), "{line} is not in:\n{tree}");
    }
    let health = printed(home, &[&["doctor"], place].concat());
    assert!(health.ends_with("nothing is wrong\n"), "{health}");
}

#[tokio::test]
async fn two_servers_on_one_file_lose_no_turn_of_a_chat_that_both_tell() {
    let home = TempDir::new().unwrap();
    two_servers(&home, &["--data", "data"]).await;
}

#[tokio::test]
async fn two_servers_on_one_postgres_lose_no_turn_of_a_chat_that_both_tell() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    let home = TempDir::new().unwrap();
    two_servers(&home, &["--store", &cluster.url()]).await;
}
