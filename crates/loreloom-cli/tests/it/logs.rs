//! Log lines of `loreloom serve`: request ids, JSON, no colours outside a terminal.

use std::{fs::File, io::Read as _, net::TcpListener, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::loreloom,
    serve::{SERVE, Server},
};

/// The log of a server whose model cannot be reached, after one request with an id.
async fn log_of(home: &Path, more: &[&str]) -> String {
    // Nobody listens at a port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = format!("http://{address}/v1");
    let arguments = [&SERVE, &["--data", "data", "--upstream", &upstream][..], more].concat();
    let mut command = loreloom(home, &arguments);
    let log = home.join("log");
    command.stderr(File::create(&log).unwrap());
    let server = Server::started(command);
    let request = reqwest::Client::new().post(format!("{}/v1/chat/completions", server.url()));
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let reply = request.header("x-request-id", "tale-7").json(&body).send().await.unwrap();
    assert_eq!(reply.status(), 502);
    assert_eq!(reply.headers()["x-request-id"], "tale-7");
    assert_eq!(reply.headers()["x-loreloom-request-id"], "tale-7");
    let health = reqwest::get(format!("{}/health", server.url())).await.unwrap();
    assert_eq!(health.headers()["x-request-id"].len(), 16);
    drop(server);
    let mut text = String::new();
    File::open(log).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn lines_for_people_have_the_id_of_their_request_and_no_colours() {
    let home = TempDir::new().unwrap();
    let log = log_of(home.path(), &[]).await;
    let line = log.lines().find(|line| line.contains("a request got no answer")).unwrap();
    assert!(line.contains("request{id=\"tale-7\"}"), "{line}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
}

#[tokio::test]
async fn lines_for_programs_are_json_objects() {
    let home = TempDir::new().unwrap();
    let log = log_of(home.path(), &["--set", "server.log_format=json"]).await;
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<Value> = lines.collect();
    let line = lines.iter().find(|line| line["message"] == "a request got no answer");
    let line = line.unwrap_or_else(|| panic!("{log}"));
    assert_eq!((&line["level"], &line["request"]["id"]), (&json!("WARN"), &json!("tale-7")));
    let time = line["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
    assert!(line["error"].as_str().unwrap().contains("cannot be reached"), "{line}");
    let start = lines.iter().find(|line| line["message"] == "started").unwrap();
    assert_eq!((&start["level"], &start["books"]), (&json!("INFO"), &json!(0)));
    assert!(log.lines().all(|line| line.starts_with('{')), "{log}");
    // Nothing is written twice.
    assert_eq!(log.matches("a request got no answer").count(), 1, "{log}");
}
