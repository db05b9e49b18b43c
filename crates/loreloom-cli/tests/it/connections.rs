//! `loreloom connections` and what `serve` takes from a configuration file.

use loreloom_testkit::model_server::{ModelServer, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{loreloom, printed, refused, run, write},
    serve::Server,
};

const BOOK: &str = r#"{"entries": {"0": {
    "uid": 0, "key": ["bell"], "content": "The bell of Harrow is cracked.", "position": 1
}}}"#;

fn config(home: &TempDir, model: &ModelServer, more: &str) {
    let text = format!(
        "[connections.main]\nkind = \"openai\"\nurl = \"{}/v1\"\nkey = \"env:MAIN_KEY\"\n\
         model = \"scripted\"\ncontext = 4096\n{more}",
        model.base_url()
    );
    write(home.path(), "config.toml", &text);
}

#[tokio::test]
async fn a_configured_server_weaves_its_books_and_sends_its_own_key() {
    let (home, model) = (TempDir::new().unwrap(), ModelServer::start(Script::new()).unwrap());
    write(home.path(), "book.json", BOOK);
    config(&home, &model, "[story]\nuser = \"Mira\"\n[[books]]\nfile = \"book.json\"\n");
    let server = Server::with_key(home.path(), &["--config", "config.toml"], "sk-canary");
    let messages = [json!({"role": "user", "content": "Ring the bell!"})];
    assert_eq!(server.say(&messages).await, "You said: Ring the bell!");
    let sent = model.received().remove(0);
    assert_eq!(sent.header("authorization"), Some("Bearer sk-canary"));
    assert_eq!(sent.json["messages"][0]["content"], "The bell of Harrow is cracked.");
    let last = server.stored("You said: Ring the bell!").await;
    assert_eq!(last["record"]["input"]["connection"], "main");
    assert_eq!(last["record"]["input"]["user"], "Mira");
    assert_eq!(last["record"]["report"]["facts"]["context"], 4096);
    assert!(!last.to_string().contains("sk-canary"));
}

#[test]
fn connections_are_listed_and_tried_out() {
    let (home, model) = (TempDir::new().unwrap(), ModelServer::start(Script::new()).unwrap());
    config(&home, &model, "");
    let listed = printed(home.path(), &["connections", "list", "--config", "config.toml"]);
    assert!(listed.contains("main: openai at http://127.0.0.1:"), "{listed}");
    assert!(listed.contains("key: env:MAIN_KEY"), "{listed}");
    let test = ["connections", "test", "main", "--config", "config.toml", "--json"];
    let output = loreloom(home.path(), &test).env("MAIN_KEY", "sk-canary").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line: Value = serde_json::from_str(&text).unwrap();
    let findings = line["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 9, "{text}");
    assert_eq!(findings[6]["outcome"], "passed", "{text}");
    assert!(!text.contains("sk-canary"));
    let url = format!("{}/v1", model.base_url());
    let asked = ["connections", "test", "--url", &url, "--key-env", "OTHER_KEY"];
    let output = loreloom(home.path(), &asked).env("OTHER_KEY", "sk-canary").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("url ({url})\n  name      ok")), "{text}");
    assert!(text.contains("key       ok") && !text.contains("sk-canary"), "{text}");
    drop(model);
    let output = loreloom(home.path(), &test[..4]).env("MAIN_KEY", "k").output().unwrap();
    assert!(!output.status.success());
    let output = loreloom(home.path(), &["connections", "test", "--config", "config.toml"])
        .env("MAIN_KEY", "k")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("port      FAILED"), "{text}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("not usable: `main`"));
}

#[tokio::test]
async fn a_caller_cannot_make_the_server_ask_inside_its_own_network() {
    let (home, model) = (TempDir::new().unwrap(), ModelServer::start(Script::new()).unwrap());
    let server = Server::with(home.path(), &[]);
    let port = model.base_url().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"] {
        let body = json!({"url": format!("http://{host}:{port}/v1"), "key": "sk-canary"});
        let (status, told) = server.api("POST", "/connections/test", &body).await;
        assert_eq!((status, &told["passed"]), (200, &json!(false)), "{host}: {told}");
        assert!(told.to_string().contains("private network"), "{host}: {told}");
        assert!(!told.to_string().contains("sk-canary"), "{told}");
    }
    assert!(model.received().is_empty());
}

#[test]
fn mistakes_in_a_configuration_are_told_with_their_line() {
    let home = TempDir::new().unwrap();
    write(home.path(), "config.toml", "[server]\nprot = 1\n");
    let told = refused(home.path(), &["serve", "--config", "config.toml"]);
    assert!(told.contains("line 2") && told.contains("`server.prot`"), "{told}");
    let told = refused(home.path(), &["serve", "--config", "none.toml"]);
    assert!(told.contains("none.toml"), "{told}");
    write(
        home.path(),
        "config.toml",
        "[connections.a]\nurl = \"http://127.0.0.1:1/v1\"\nkey = \"env:NOT_SET_ANYWHERE\"\n",
    );
    let told = refused(home.path(), &["serve", "--config", "config.toml"]);
    assert!(told.contains("connection `a`") && told.contains("NOT_SET_ANYWHERE"), "{told}");
    assert!(run(home.path(), &["connections", "list"]).status.success());
}
