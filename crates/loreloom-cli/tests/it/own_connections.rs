//! Connections, routes and keys that are set up through the API of the real server.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_ports::Change;
use loreloom_store::StoreAddress;
use loreloom_testkit::{
    model_server::{ModelServer, Reply, Script},
    postgres::Cluster,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{loreloom, printed},
    serve::{SERVE, Server},
};

const SECRET: &str = "sk-canary-of-the-connection";

fn model(says: &'static str) -> ModelServer {
    let script = Script::new().answering(move |request| {
        let is_chat = request.path.ends_with("/chat/completions");
        is_chat.then(|| Reply::text(says))
    });
    ModelServer::start(script).unwrap()
}

/// The server's command, with a key in a variable.
fn command(home: &Path, more: &[&str]) -> Command {
    let mut command = loreloom(home, &[&SERVE, &["--data", "data"][..], more].concat());
    command.env("LORELOOM_CLOUD", SECRET);
    command
}

/// What is answered to a model's name.
async fn says(server: &Server, model: &str) -> (u16, Value) {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello."}]});
    let url = format!("{}/v1/chat/completions", server.url());
    let answer = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    let status = answer.status().as_u16();
    let answer: Value = answer.json().await.unwrap();
    let text = &answer["choices"][0]["message"]["content"];
    (status, if text.is_null() { answer } else { text.clone() })
}

#[tokio::test]
async fn a_connection_that_is_set_up_serves_stays_over_a_restart_and_goes() {
    let (home, cloud) = (TempDir::new().unwrap(), model("from the cloud"));
    let server = Server::started(command(home.path(), &[]));
    let settings = json!({
        "url": format!("{}/v1", cloud.base_url()), "key": "env:LORELOOM_CLOUD",
        "model": "scripted", "context": 4096,
    });
    let (status, tried) =
        server.api("POST", "/connections/test", &json!({"settings": settings})).await;
    assert_eq!(status, 200, "{tried}");
    assert_eq!(tried["steps"][0]["outcome"], "passed", "{tried}");
    let (status, made) = server.api("PUT", "/connections/cloud", &settings).await;
    assert_eq!(status, 201, "{made}");
    let item = &made["item"]["items"][1];
    assert_eq!(item["key"], "env:LORELOOM_CLOUD");
    assert_eq!(
        (&item["source"], &item["kind"], &item["model"], &item["context"]),
        (&json!("api"), &json!("openai"), &json!("scripted"), &json!(4096)),
    );
    assert_eq!(says(&server, "cloud/x").await, (200, json!("from the cloud")));
    let sent = cloud.received().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {SECRET}")));
    assert_eq!(sent.json["model"], "x");
    let routes = json!({
        "routes": [{"models": "gpt-*", "connection": "cloud"}],
        "features": {"extractor": "cloud"},
    });
    let (status, put) = server.api("PUT", "/routes", &routes).await;
    let now = &put["item"]["effective"]["features"];
    assert_eq!((status, now), (200, &json!({"extractor": "cloud"})), "{put}");
    assert_eq!(says(&server, "gpt-1").await.1, "from the cloud");
    drop(server);

    let listed = printed(home.path(), &["connections", "list", "--data", "data"]);
    let line = format!("cloud: openai at {}/v1, set up through the API\n", cloud.base_url());
    assert!(listed.contains(&line), "{listed}");
    assert!(listed.contains("models: gpt-*\n  does: extractor"), "{listed}");

    let server = Server::started(command(home.path(), &[]));
    assert_eq!(says(&server, "gpt-1").await.1, "from the cloud");
    let (_, now) = server.api("GET", "/routes", &json!({})).await;
    assert_eq!(now["pending"], json!([]), "{now}");
    assert_eq!(now["effective"]["features"]["extractor"], "cloud");
    let (status, refused) = server.api("DELETE", "/connections/cloud", &json!({})).await;
    assert_eq!(status, 409, "{refused}");
    let told = refused["detail"].as_str().unwrap();
    assert!(told.contains("route `gpt-*`, feature `extractor`"), "{told}");
    let (status, put) = server.api("PUT", "/routes", &json!({})).await;
    let now = &put["item"]["effective"]["features"];
    assert_eq!((status, now), (200, &json!({})), "{put}");
    let (status, gone) = server.api("DELETE", "/connections/cloud", &json!({})).await;
    assert_eq!(status, 200, "{gone}");
    assert_ne!(says(&server, "gpt-1").await.1, "from the cloud");
    drop(server);
    for file in std::fs::read_dir(home.path().join("data")).unwrap() {
        #[expect(clippy::disallowed_methods, reason = "the test's own files")]
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let holds = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!holds, "the store holds a key");
    }
}

#[tokio::test]
async fn a_start_without_the_key_goes_on_and_says_what_is_missing() {
    let (home, cloud) = (TempDir::new().unwrap(), model("from the cloud"));
    let server = Server::started(command(home.path(), &[]));
    let settings = json!({
        "url": format!("{}/v1", cloud.base_url()), "key": "env:LORELOOM_CLOUD", "model": "m",
    });
    server.api("PUT", "/connections/cloud", &settings).await;
    let routes = json!({"features": {"writer": "cloud", "extractor": "cloud"}});
    let (status, put) = server.api("PUT", "/routes", &routes).await;
    assert_eq!(status, 200, "{put}");
    drop(server);
    let mut without = command(home.path(), &[]);
    without.env_remove("LORELOOM_CLOUD");
    let server = Server::started(without);
    let (_, listed) = server.api("GET", "/connections", &json!({})).await;
    assert_eq!(listed["items"][1]["problem"], "`LORELOOM_CLOUD` is not set", "{listed}");
    let (_, now) = server.api("GET", "/routes", &json!({})).await;
    let problem = now["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("`extractor` does not work: "), "{problem}");
    assert!(problem.contains("`LORELOOM_CLOUD` is not set"), "{problem}");
    assert_eq!(now["effective"]["features"], json!({"writer": "cloud"}));
    let (status, told) = says(&server, "m").await;
    assert_eq!(status, 502, "{told}");
    assert!(told.to_string().contains("LORELOOM_CLOUD"), "{told}");
}

#[tokio::test]
async fn a_key_can_neither_reach_inside_nor_take_variables_and_files_out() {
    let (home, inside) = (TempDir::new().unwrap(), model("inside"));
    let key = printed(
        home.path(),
        &[
            "keys", "add", "--data", "data", "--scope", "admin", "--scope", "read", "--scope",
            "write", "--scope", "proxy",
        ],
    );
    let server = Server::started(command(home.path(), &[]));
    let call = |method: &str, path: &str, body: Value| {
        let method: http::Method = method.parse().unwrap();
        let url = format!("{}{path}", server.url());
        let request = reqwest::Client::new().request(method, url).json(&body);
        let request = request.header("x-loreloom-key", key.trim());
        async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        }
    };
    let port = inside.base_url().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "[::1]", "2130706433", "169.254.169.254", "10.0.0.1"] {
        let body = json!({"url": format!("http://{host}:{port}/v1")});
        let (status, told) = call("PUT", "/api/v1/connections/mine", body).await;
        assert_eq!(status, 422, "{host}: {told}");
        assert!(told.contains("must be a public address"), "{host}: {told}");
    }
    // A name is judged when it is connected to, by every part of the server.
    let body = json!({"url": format!("http://localhost:{port}/v1"), "model": "m"});
    let (status, told) = call("PUT", "/api/v1/connections/mine", body).await;
    assert_eq!(status, 201, "{told}");
    let ask = json!({"model": "mine/m", "messages": [{"role": "user", "content": "Hello."}]});
    assert_eq!(call("POST", "/v1/chat/completions", ask).await.0, 502);
    let trial = json!({"connection": "mine", "model": "m", "trial": "ledger"});
    assert_eq!(call("POST", "/api/v1/connections/trial", trial).await.0, 409);
    let (_, told) = call("POST", "/api/v1/connections/test", json!({"connection": "mine"})).await;
    assert!(told.contains("\"passed\":false"), "{told}");
    let features = json!({"features": {"extractor": "mine", "embedder": "mine"}});
    assert_eq!(call("PUT", "/api/v1/routes", features).await.0, 200);
    for source in ["env:HOME", "env:PATH", "file:data/stories.sqlite", "keyring:a/b"] {
        let body = json!({"url": "https://example.com/v1", "key": source});
        let (status, told) = call("PUT", "/api/v1/connections/other", body).await;
        assert_eq!(status, 403, "{source}: {told}");
        assert!(told.contains("LORELOOM_"), "{told}");
    }
    let body = json!({"url": "https://example.com/v1", "key": "env:LORELOOM_CLOUD"});
    let (status, told) = call("PUT", "/api/v1/connections/other", body).await;
    assert!(status == 201 && !told.contains(SECRET), "{told}");
    drop(server);
    // The features are held to the same, also when the next start opens them.
    let server = Server::started(command(home.path(), &[]));
    let (_, now) = server.api("GET", "/routes", &json!({})).await;
    assert!(now["problems"].to_string().contains("`embedder` does not work"), "{now}");
    server.api("POST", "/chats", &json!({"id": "tale"})).await;
    assert!(inside.received().is_empty(), "{:?}", inside.received());
}

#[tokio::test]
async fn keys_are_made_and_revoked_through_the_api() {
    let home = TempDir::new().unwrap();
    let server = Server::started(command(home.path(), &[]));
    let body = json!({"name": "phone", "scopes": ["read"]});
    let (status, made) = server.api("POST", "/keys", &body).await;
    assert_eq!(status, 201, "{made}");
    let key = made["key"].as_str().unwrap().to_owned();
    let look = || async {
        let url = format!("{}/api/v1/chats", server.url());
        let request = reqwest::Client::new().get(url).header("x-loreloom-key", &key);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(look().await, 200);
    let id = made["item"]["id"].as_str().unwrap();
    let listed = printed(home.path(), &["keys", "list", "--data", "data"]);
    assert!(listed.contains(id) && listed.contains("phone"), "{listed}");
    let (status, gone) = server.api("DELETE", &format!("/keys/{id}"), &json!({})).await;
    assert_eq!(status, 200, "{gone}");
    assert_eq!(look().await, 401);
}

#[tokio::test]
async fn a_start_with_routes_that_cannot_be_read_goes_on_and_says_so() {
    let (home, cloud) = (TempDir::new().unwrap(), model("from the cloud"));
    let server = Server::started(command(home.path(), &[]));
    let settings = json!({"url": format!("{}/v1", cloud.base_url())});
    server.api("PUT", "/connections/cloud", &settings).await;
    let (status, put) =
        server.api("PUT", "/routes", &json!({"features": {"writer": "cloud"}})).await;
    assert_eq!(status, 200, "{put}");
    drop(server);
    let store = StoreAddress::File(home.path().join("data/stories.sqlite")).open().await.unwrap();
    let later =
        Change { key: "routes".to_owned(), value: Some(json!({"features": {"seer": "x"}})) };
    store.change(&TenantId::local(), &[later], None, Timestamp(1)).await.unwrap();
    drop(store);
    let server = Server::started(command(home.path(), &[]));
    let (_, now) = server.api("GET", "/routes", &json!({})).await;
    let problem = now["problems"][0].as_str().unwrap();
    assert!(problem.contains("cannot be read") && problem.contains("`seer`"), "{problem}");
    assert_ne!(says(&server, "m").await.1, "from the cloud");
    let listed = printed(home.path(), &["connections", "list", "--data", "data"]);
    assert!(listed.contains("cloud: openai"), "{listed}");
}

/// Two servers over one store: what one sets up, the other takes up, and the next start has.
async fn shared(home: &Path, place: &[&str]) {
    let cloud = model("from the cloud");
    let (one, other) = (Server::keeping(home, place, &[]), Server::keeping(home, place, &[]));
    let settings = json!({"url": format!("{}/v1", cloud.base_url())});
    let (status, made) = one.api("PUT", "/connections/cloud", &settings).await;
    assert_eq!(status, 201, "{made}");
    let routes = json!({"features": {"writer": "cloud"}});
    assert_eq!(one.api("PUT", "/routes", &routes).await.0, 200);
    let mut answer = json!(null);
    for _ in 0..200 {
        answer = says(&other, "m").await.1;
        if answer == "from the cloud" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(answer, "from the cloud");
    drop((one, other));
    let again = Server::keeping(home, place, &[]);
    assert_eq!(says(&again, "m").await.1, "from the cloud");
    let (status, _) = again.api("POST", "/undo", &json!({"undo": made["undo"]})).await;
    assert_eq!(status, 200);
    assert_eq!(says(&again, "m").await.0, 502, "the writer is named and no longer there");
}

#[tokio::test]
async fn servers_on_one_file_share_connections() {
    let home = TempDir::new().unwrap();
    shared(home.path(), &["--data", "data"]).await;
}

#[tokio::test]
async fn servers_on_one_postgres_share_connections() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    let home = TempDir::new().unwrap();
    shared(home.path(), &["--store", &cluster.url()]).await;
}

#[tokio::test]
async fn a_key_that_is_given_is_used_and_only_its_owner_can_read_it() {
    let (home, cloud) = (TempDir::new().unwrap(), model("from the cloud"));
    let server = Server::started(command(home.path(), &[]));
    let settings = json!({"url": format!("{}/v1", cloud.base_url())});
    server.api("PUT", "/connections/cloud", &settings).await;
    let pasted = "sk-pasted-on-the-page";
    let (status, made) = server
        .api("PUT", "/connections/cloud/key", &json!({ "key": format!(" {pasted}\n") }))
        .await;
    assert_eq!(status, 200, "{made}");
    assert!(!made.to_string().contains(pasted), "a key is never shown");
    assert_eq!(says(&server, "cloud/x").await, (200, json!("from the cloud")));
    let sent = cloud.received().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {pasted}")));
    let keys = || -> Vec<PathBuf> {
        let all = std::fs::read_dir(home.path().join("data/keys")).unwrap();
        all.map(|one| one.unwrap().path()).collect()
    };
    let [file] = <[PathBuf; 1]>::try_from(keys()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, pasted);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
    let (status, wrong) =
        server.api("PUT", "/connections/cloud/key", &json!({"key": "a\nb"})).await;
    assert_eq!(
        (status, &wrong["detail"]),
        (422, &json!("`key` must have 1 to 4096 characters on one line"))
    );
    let (status, _) = server.api("PUT", "/connections/none/key", &json!({"key": "x"})).await;
    assert_eq!(status, 404);
    // One that corrects it is used at once, and the first is gone.
    let corrected = json!({"key": "sk-corrected"});
    assert_eq!(server.api("PUT", "/connections/cloud/key", &corrected).await.0, 200);
    assert_eq!(says(&server, "cloud/x").await, (200, json!("from the cloud")));
    let sent = cloud.received().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-corrected"));
    assert!(!file.exists() && keys().len() == 1, "{:?}", keys());
    drop(server);
    // It is there after a restart.
    let server = Server::started(command(home.path(), &[]));
    assert_eq!(says(&server, "cloud/x").await, (200, json!("from the cloud")));
    let sent = cloud.received().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-corrected"));
    // A file that somebody named is theirs.
    crate::run::write(home.path(), "own-key", "sk-own");
    let own = home.path().join("own-key");
    let shared = keys().remove(0).display().to_string();
    for (name, key) in [("own", own.display().to_string()), ("too", shared)] {
        let mut settings = settings.clone();
        settings["key"] = json!(format!("file:{key}"));
        assert_eq!(server.api("PUT", &format!("/connections/{name}"), &settings).await.0, 201);
    }
    for (name, left) in [("own", 1), ("cloud", 1), ("too", 0)] {
        let path = format!("/connections/{name}");
        assert_eq!(server.api("DELETE", &path, &json!({})).await.0, 200);
        assert_eq!(keys().len(), left, "after `{name}`");
    }
    assert!(own.exists());
}

/// Does what `secret-tool` does, with a file in place of the desktop's keyring.
#[cfg(unix)]
const SECRET_TOOL: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
case $1 in
  store) printf '%s\n' "$*" >stored; cat >kept ;;
  clear) rm kept; printf '%s\n' "$*" >cleared ;;
  lookup) [ "$2 $3 $4" = "service loreloom username" ] && cat kept ;;
esac
"#;

#[cfg(unix)]
#[tokio::test]
async fn a_key_goes_into_the_keyring_where_there_is_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, cloud) = (TempDir::new().unwrap(), model("from the cloud"));
    let tools = home.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    crate::run::write(&tools, "secret-tool", SECRET_TOOL);
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(tools.join("secret-tool"), runs).unwrap();
    let started = || {
        let mut command = command(home.path(), &[]);
        command.env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
        Server::started(command)
    };
    let server = started();
    let settings = json!({"url": format!("{}/v1", cloud.base_url())});
    server.api("PUT", "/connections/cloud", &settings).await;
    let pasted = json!({"key": "sk-pasted-on-the-page"});
    let (status, made) = server.api("PUT", "/connections/cloud/key", &pasted).await;
    assert_eq!(status, 200, "{made}");
    let own = made["item"]["items"].as_array().unwrap().iter().find(|one| one["name"] == "cloud");
    let source = own.unwrap()["settings"]["key"].as_str().unwrap().to_owned();
    assert!(source.starts_with("keyring:loreloom/"), "{source}");
    assert!(source.contains("/data/keys/cloud@"), "{source}");
    assert!(!home.path().join("data/keys").exists(), "it is kept once");
    #[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
    let arguments = std::fs::read_to_string(tools.join("stored")).unwrap();
    assert!(!arguments.contains("sk-pasted"), "no argument names the key: {arguments}");
    drop(server);
    let server = started();
    assert_eq!(says(&server, "cloud/x").await, (200, json!("from the cloud")));
    let sent = cloud.received().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-pasted-on-the-page"));
    assert_eq!(server.api("DELETE", "/connections/cloud", &json!({})).await.0, 200);
    #[expect(clippy::disallowed_methods, reason = "a test looks at what was written")]
    let cleared = std::fs::read_to_string(tools.join("cleared")).unwrap();
    let user = source.strip_prefix("keyring:loreloom/").unwrap();
    assert_eq!(cleared.trim_end(), format!("clear service loreloom username {user}"));
}
