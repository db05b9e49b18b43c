//! Several servers that keep their stories in one database.

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use loreloom_testkit::{
    fleet::{self, FleetTally},
    model_server::{ModelServer, Reply, Script},
    postgres::Cluster,
};
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

/// Tells four unnamed stories to servers in turn. Each has swipes, an edit, requests that several
/// servers get at once, and a server that is killed.
async fn each_story_is_one_chat(cluster: Option<&Cluster>, servers: usize) {
    let program = Path::new(env!("CARGO_BIN_EXE_loreloom"));
    let tally = fleet::run(program, cluster, servers, 4).await.unwrap();
    let acknowledged = 4 * (servers as u64 + 11);
    let kept = FleetTally { stories: 4, killed: 4, acknowledged, ..FleetTally::default() };
    assert_eq!(tally, kept);
}

#[tokio::test]
async fn two_servers_on_one_file_tell_unnamed_stories_as_one() {
    each_story_is_one_chat(None, 2).await;
}

#[tokio::test]
async fn three_servers_on_one_file_tell_unnamed_stories_as_one() {
    each_story_is_one_chat(None, 3).await;
}

#[tokio::test]
async fn two_servers_on_one_postgres_tell_unnamed_stories_as_one() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    each_story_is_one_chat(Some(&cluster), 2).await;
}

#[tokio::test]
async fn three_servers_on_one_postgres_tell_unnamed_stories_as_one() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    each_story_is_one_chat(Some(&cluster), 3).await;
}

/// The library that a server decides turns with.
async fn library(server: &Server) -> Value {
    server.api("GET", "/health", &Value::Null).await.1["library"].clone()
}

async fn a_book_is_live_at_all(place: &[&str]) {
    // Fails only if another test was faster.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let home = TempDir::new().unwrap();
    let home = home.path();
    write(home, "book.json", BOOK);
    let server = || Server::keeping(home, place, &[]);
    let servers = [server(), server(), server()];
    let mut before = Vec::new();
    for server in &servers {
        before.push(library(server).await);
    }
    assert!(before.iter().all(|one| *one == before[0]), "{before:?}");
    printed(home, &[&["books", "add", "book.json"], place].concat());
    let added = Instant::now();
    let mut now = Vec::new();
    for server in &servers {
        let mut found = library(server).await;
        while found == before[0] {
            // Far more than the half second between two looks, for machines with other work.
            assert!(added.elapsed() < Duration::from_secs(20), "the book is not live");
            tokio::time::sleep(Duration::from_millis(10)).await;
            found = library(server).await;
        }
        now.push(found);
    }
    assert!(now.iter().all(|one| *one == now[0]), "{now:?}");
}

#[tokio::test]
async fn a_book_that_is_added_is_live_at_every_server_of_a_file() {
    a_book_is_live_at_all(&["--data", "data"]).await;
}

#[tokio::test]
async fn a_book_that_is_added_is_live_at_every_server_of_a_postgres() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    a_book_is_live_at_all(&["--store", &cluster.url()]).await;
}

/// Three servers share the work of memory. Each piece of it has an effect once.
async fn no_job_is_done_twice(place: &[&str]) {
    let slow = || Reply::text("NONE").after(Duration::from_millis(50));
    let model = ModelServer::start(Script::new().answering(move |_| Some(slow()))).unwrap();
    let home = TempDir::new().unwrap();
    let home = home.path();
    let memory_model = format!("m@{}/v1", model.base_url());
    let server = || Server::keeping(home, place, &["--memory-model", &memory_model]);
    let servers = [server(), server(), server()];
    let mut messages = Vec::new();
    for turn in 0..TURNS {
        let line = format!("Mira rings the bell of tower {turn} and walks on to the next.");
        messages.push(json!({ "role": "user", "content": line }));
        let reply = servers[turn % servers.len()].say(&messages).await;
        messages.push(json!({ "role": "assistant", "content": reply }));
    }
    let jobs = |all: &[&str]| -> Vec<Value> {
        let printed = printed(home, &[&["jobs", "--json"], all, place].concat());
        serde_json::from_str(&printed).unwrap()
    };
    let begun = Instant::now();
    while !jobs(&[]).is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", jobs(&[]));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let jobs = jobs(&["--all"]);
    // A job gives way to a newer one that reads the same messages. It may have begun: a turn that
    // comes meanwhile takes its question back.
    let (done, others): (Vec<&Value>, Vec<&Value>) =
        jobs.iter().partition(|job| job["state"] == "done");
    assert!(others.iter().all(|job| job["state"] == "cancelled"), "{others:?}");
    let reads = |job: &Value| job["body"].get("reads").unwrap_or(&job["body"]).to_string();
    let work = |job: &&Value| format!("{} {}", job["kind"], reads(job));
    let different: BTreeSet<String> = done.iter().map(work).collect();
    assert!(!done.is_empty() && different.len() == done.len(), "{done:?}");
    assert!(!model.received().is_empty());
}

#[tokio::test]
async fn no_job_is_done_twice_by_three_servers_on_one_file() {
    no_job_is_done_twice(&["--data", "data"]).await;
}

#[tokio::test]
async fn no_job_is_done_twice_by_three_servers_on_one_postgres() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    no_job_is_done_twice(&["--store", &cluster.url()]).await;
}
