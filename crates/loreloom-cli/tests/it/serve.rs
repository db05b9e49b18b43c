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
pub(crate) const SERVE: [&str; 5] = ["serve", "--port", "0", "--deadline", "60000"];

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

    pub(crate) fn started(mut command: Command) -> Self {
        // Another test of this process may have been first.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { child, url }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
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

#[tokio::test]
async fn whoever_starts_a_server_is_told_what_it_does_and_why_a_model_does_not_answer() {
    let home = TempDir::new().unwrap();
    write(home.path(), "book.json", BOOK);
    std::fs::create_dir(home.path().join("vault")).unwrap();
    write(home.path(), "vault/Bell.md", "---\ntags: [lorebook]\nkeys: [bell]\n---\nCracked.\n");
    std::fs::create_dir(home.path().join("plain")).unwrap();
    for at in 0..3 {
        write(home.path(), &format!("plain/Note{at}.md"), "Said by people. #place\n");
    }
    // A port that nobody listens on any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = format!("http://ann:s3cret@{gone}/v1");
    let folders = ["--vault", "own=vault", "--vault", "plain=plain"];
    let lore = [&["--book", "book.json", "--upstream", upstream.as_str()][..], &folders].concat();
    let arguments = [&SERVE[..], &["--data", "data"], &lore].concat();
    let mut command = loreloom(home.path(), &arguments);
    let log = std::fs::File::create(home.path().join("log")).unwrap();
    command.stderr(log);
    let server = Server::started(command);
    welcomed(home.path()).await;
    let port = server.url.rsplit(':').next().unwrap();
    let busy = refused(home.path(), &["serve", "--port", port, "--data", "other"]);
    let expected = format!("127.0.0.1:{port} is in use already: `--port` names another port\n");
    assert!(busy.ends_with(&expected), "{busy}");
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "A bell!" }] });
    let url = format!("{}/v1/chat/completions", server.url);
    let answer = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 502);
    let url = server.url.clone();
    drop(server);
    let log = logged(home.path());
    for line in [
        format!("front ends: set their API address to {url}/v1\n"),
        "stories:    data/stories.sqlite\n".to_owned(),
        "lore:       1 book, 2 vaults with 4 notes, 1 of them lore\n".to_owned(),
        "plain` is used as lore: `vault.notes` is `tagged`; `--vault-notes all` uses all 3 notes, \
         and `--vault-notes '#place'` those with one tag"
            .to_owned(),
    ] {
        assert!(log.contains(&line), "{log}");
    }
    assert!(log.contains("requests:   go to http://") && log.contains(&gone.to_string()), "{log}");
    assert!(log.contains("WARN") && log.contains("cannot be reached"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
    let mut command = loreloom(home.path(), &[&SERVE[..], &["--data", "data"]].concat());
    command.stderr(std::fs::File::create(home.path().join("log")).unwrap());
    let _server = Server::started(command);
    let log = welcomed(home.path()).await;
    let told =
        "requests:   go to the offline storyteller; `--upstream URL` names a model's server\n";
    assert!(log.contains(told) && log.ends_with("lore:       0 books, 0 vaults\n"), "{log}");
}

#[expect(clippy::disallowed_methods, reason = "a test reads what the server wrote")]
fn logged(home: &Path) -> String {
    std::fs::read_to_string(home.join("log")).unwrap()
}

/// What a server wrote to `log`, once it has told everything about itself.
async fn welcomed(home: &Path) -> String {
    for _ in 0..500 {
        let log = logged(home);
        if log.contains("\nlore: ") && log.ends_with('\n') {
            return log;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server told nothing about itself");
}
