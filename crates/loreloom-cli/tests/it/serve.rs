//! `loreloom serve`, killed and started again.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{loreloom, refused, write};

/// A deadline that a busy machine does not miss: no test here is about it.
const SERVE: [&str; 5] = ["serve", "--port", "0", "--deadline", "60000"];

pub(crate) struct Server {
    child: Child,
    url: String,
}

impl Server {
    pub(crate) fn start(home: &Path) -> Self {
        Self::with(home, &["--book", "book.json"])
    }

    pub(crate) fn with(home: &Path, lore: &[&str]) -> Self {
        Self::keeping(home, &["--data", "data"], lore)
    }

    /// A server that keeps its stories where `place` says.
    pub(crate) fn keeping(home: &Path, place: &[&str], lore: &[&str]) -> Self {
        Self::started(loreloom(home, &[&SERVE, place, lore].concat()))
    }

    /// A server with a key in the environment, as `MAIN_KEY`.
    pub(crate) fn with_key(home: &Path, lore: &[&str], key: &str) -> Self {
        let arguments = [&SERVE, &["--data", "data"][..], lore].concat();
        let mut command = loreloom(home, &arguments);
        command.env("MAIN_KEY", key);
        Self::started(command)
    }

    fn started(mut command: Command) -> Self {
        // Another test of this process may have been first.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { child, url }
    }

    async fn last_turn(&self) -> Value {
        reqwest::get(format!("{}/api/last-turn", self.url)).await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn say(&self, messages: &[Value]) -> String {
        let body = json!({ "model": "offline", "messages": messages });
        let request = reqwest::Client::new()
            .post(format!("{}/v1/chat/completions", self.url))
            .header("x-loreloom-chat", "story")
            .json(&body);
        let reply: Value = request.send().await.unwrap().json().await.unwrap();
        reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    }

    /// Calls the API: the status and the answer.
    pub(crate) async fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let method: http::Method = method.parse().unwrap();
        let url = format!("{}/api/v1{path}", self.url);
        let response = reqwest::Client::new().request(method, url).json(body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// The last turn, once its reply is `text`.
    pub(crate) async fn stored(&self, text: &str) -> Value {
        for _ in 0..500 {
            let last = self.last_turn().await;
            if last["reply"] == text {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the reply was never stored");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

const BOOK: &str =
    r#"{"entries":{"0":{"uid":0,"key":["bell"],"content":"The bell is cracked.","position":1}}}"#;

#[tokio::test]
async fn a_killed_server_reopens_with_every_finished_turn() {
    // Fails only if another test was faster.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    let mut messages = Vec::new();
    for turn in 1..=3 {
        let server = Server::start(home.path());
        messages.push(json!({ "role": "user", "content": format!("{turn}. The bell!") }));
        let reply = server.say(&messages).await;
        messages.push(json!({ "role": "assistant", "content": reply }));
        let before = server.stored(&reply).await;
        // Dropping kills without warning.
        drop(server);
        let again = Server::start(home.path());
        assert_eq!(again.last_turn().await, before);
        assert_eq!(before["turn"], turn);
        let spans = before["record"]["report"]["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 1, "{before}");
    }
}

#[test]
fn what_cannot_be_served_is_refused() {
    let home = TempDir::new().unwrap();
    let error = refused(home.path(), &["serve", "--book", "none.json", "--data", "d"]);
    assert!(error.starts_with("loreloom: `none.json` cannot be read: "), "{error}");
    let error = refused(home.path(), &["serve", "--upstream", "not a url", "--data", "d"]);
    assert_eq!(error.lines().count(), 1, "{error}");
    let error = refused(home.path(), &["serve", "--tokenizer", "nothing", "--data", "d"]);
    assert!(error.contains("`nothing` is neither a known tokenizer nor a file"), "{error}");
}
