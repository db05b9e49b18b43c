//! Keys, and that no key ever shows up anywhere.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
};

use loreloom_testkit::model_server::{ModelServer, Script};
use serde_json::json;
use tempfile::TempDir;

use crate::run::{loreloom, printed, refused, write};

fn add(home: &Path, more: &[&str]) -> String {
    let mut arguments = vec!["keys", "add", "--data", "data"];
    arguments.extend_from_slice(more);
    printed(home, &arguments).trim().to_owned()
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let home = TempDir::new().unwrap();
    let key = add(home.path(), &["--name", "phone", "--scope", "proxy", "--tenant", "ann"]);
    assert!(key.starts_with("ll_") && key.len() == 67, "{key}");
    let listed = printed(home.path(), &["keys", "list", "--data", "data"]);
    assert!(listed.contains("ann") && listed.contains("proxy") && listed.contains("phone"));
    assert!(!listed.contains(&key[3..20]), "{listed}");
    let id = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let told = printed(home.path(), &["keys", "revoke", id, "--data", "data"]);
    assert_eq!(told, format!("revoked {id} (phone)\n"));
    assert!(refused(home.path(), &["keys", "revoke", id, "--data", "data"]).contains("no key"));
    let told = refused(home.path(), &["keys", "add", "--scope", "all", "--data", "data"]);
    assert!(told.contains("a scope is"), "{told}");
    let told = refused(home.path(), &["keys", "add", "--tenant", "a b", "--data", "data"]);
    assert!(told.contains("a tenant's name"), "{told}");
}

#[test]
fn a_server_that_others_can_reach_does_not_start_without_a_key() {
    let home = TempDir::new().unwrap();
    let serve = ["serve", "--listen", "0.0.0.0:0", "--data", "data"];
    let mut child = loreloom(home.path(), &serve).stderr(Stdio::piped()).spawn().unwrap();
    // One that does start would run for ever.
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            let told = child.wait_with_output().unwrap();
            assert!(!told.status.success());
            let told = String::from_utf8(told.stderr).unwrap();
            assert!(told.contains("loreloom keys add"), "{told}");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the server started without a key");
}

/// A server whose log is kept.
struct Logged {
    child: Child,
    url: String,
}

impl Logged {
    fn start(home: &Path, arguments: &[&str]) -> Self {
        let log = std::fs::File::create(home.join("log")).unwrap();
        let mut command = loreloom(home, arguments);
        let command = command.env("MAIN_KEY", UPSTREAM).env("LORELOOM_LOG", "trace");
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap();
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

const UPSTREAM: &str = "sk-canary-of-the-connection";
const CLIENT: &str = "sk-canary-of-the-front-end";

/// Every file below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            #[expect(clippy::disallowed_methods, reason = "the test's own files")]
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
}

fn holds(bytes: &[u8], key: &str) -> bool {
    bytes.windows(key.len()).any(|window| window == key.as_bytes())
}

/// What pages and the API show to who has this key, and to a stranger.
async fn shown(server: &Logged, client: &reqwest::Client, ours: &str) -> Vec<(String, Vec<u8>)> {
    let mut seen = Vec::new();
    for (path, key, shows) in [
        ("/", ours, "<html"),
        ("/api/last-turn", ours, "story"),
        ("/", "ll_stranger-canary", "key_unknown"),
        ("/metrics", ours, "loreloom_requests_total 3"),
        ("/api/v1/connections", ours, "\"down\""),
        ("/api/v1/chats/story/turns/1/raw", ours, "\"connection\":\"main\""),
    ] {
        let request = client.get(format!("{}{path}", server.url)).header("x-loreloom-key", key);
        let answer = request.send().await.unwrap().bytes().await.unwrap();
        assert!(holds(&answer, shows), "{path}: {}", String::from_utf8_lossy(&answer));
        seen.push((path.to_owned(), answer.to_vec()));
    }
    seen
}

/// What a stream told until it was cut.
async fn told(events: &mut reqwest::Response) -> Vec<u8> {
    let mut told = Vec::new();
    while let Ok(Some(piece)) = events.chunk().await {
        told.extend(piece);
    }
    told
}

#[tokio::test]
async fn no_key_shows_up_in_logs_answers_reports_exports_or_the_store() {
    // Another test of this process may have been first.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let (home, model) = (TempDir::new().unwrap(), ModelServer::start(Script::new()).unwrap());
    let config = format!(
        "[connections.main]\nurl = \"{0}/v1\"\nkey = \"env:MAIN_KEY\"\n\
         [connections.theirs]\nurl = \"{0}/v1\"\nhold_client_key = true\nmodel = \"m\"\n\
         [connections.down]\nurl = \"http://127.0.0.1:1/v1\"\nkey = \"env:MAIN_KEY\"\nretries = 0\n\
         [features]\nwriter = \"main\"\nextractor = \"theirs\"\n",
        model.base_url()
    );
    write(home.path(), "config.toml", &config);
    let ours = add(home.path(), &["--scope", "proxy", "--scope", "read"]);
    let serve = ["serve", "--config", "config.toml", "--listen", "0.0.0.0:0", "--data", "data"];
    let server = Logged::start(home.path(), &serve);
    let client = reqwest::Client::new();
    let events = client.get(format!("{}/api/v1/events", server.url));
    let mut events = events.header("x-loreloom-key", &ours).send().await.unwrap();
    let mut seen = Vec::new();
    for connection in ["main", "theirs", "down", "nowhere"] {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hello"}]});
        let request = client
            .post(format!("{}/v1/chat/completions", server.url))
            .header("x-loreloom-connection", connection)
            .header("x-loreloom-chat", "story")
            .header("x-loreloom-key", &ours)
            .bearer_auth(CLIENT);
        let answer = request.json(&body).send().await.unwrap();
        seen.extend(format!("{:?}", answer.headers()).into_bytes());
        seen.extend(answer.bytes().await.unwrap());
    }
    let mut places = shown(&server, &client, &ours).await;
    // A stream has no end: when the server stops, what it told so far is here.
    drop(server);
    let told = told(&mut events).await;
    for shows in ["\"event\":\"turn\"", "\"event\":\"trouble\""] {
        assert!(holds(&told, shows), "{}", String::from_utf8_lossy(&told));
    }
    places.push(("events".to_owned(), told));
    for command in [
        &["export", "story", "--data", "data"] as &[_],
        &["keys", "list", "--data", "data"],
        &["connections", "list", "--config", "config.toml"],
        &["connections", "test", "--config", "config.toml", "--json"],
    ] {
        let output = loreloom(home.path(), command).env("MAIN_KEY", UPSTREAM).output().unwrap();
        seen.extend(output.stdout);
        seen.extend(output.stderr);
    }
    places.extend(files(home.path()));
    assert!(places.iter().any(|(name, _)| name.contains("stories.sqlite")), "{places:?}");
    let log = places.iter().find(|(name, _)| name.ends_with("log")).unwrap();
    assert!(holds(&log.1, "loreloom"), "the log was not kept");
    places.push(("answers".to_owned(), seen));
    for key in [UPSTREAM, CLIENT, &ours[3..], "stranger-canary"] {
        for (name, bytes) in &places {
            assert!(!holds(bytes, key), "`{key}` is in {name}");
        }
    }
    let keys: Vec<_> =
        model.received().iter().map(|one| one.header("authorization").map(str::to_owned)).collect();
    assert!(keys.contains(&Some(format!("Bearer {UPSTREAM}"))), "{keys:?}");
    assert!(keys.contains(&Some(format!("Bearer {CLIENT}"))), "{keys:?}");
}
