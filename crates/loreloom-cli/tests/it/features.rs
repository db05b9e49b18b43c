//! Features that are chosen while the real server runs: whoever asks, asks the model of now.

use std::{path::Path, time::Duration};

use loreloom_testkit::model_server::{ModelServer, Received, Reply, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{refused, write},
    serve::{SERVE, Server},
};

/// A model that chooses the note `Bell` whatever it is asked.
const CHOICE: &str = r#"{"selected":[{"title":"Bell","confidence":"high","reason":"named"}]}"#;

fn model(says: &'static str) -> ModelServer {
    let script = Script::new().answering(move |request| {
        let is_chat = request.path.ends_with("/chat/completions");
        is_chat.then(|| Reply::text(says))
    });
    ModelServer::start(script).unwrap()
}

/// A running server with one connection for each of these models.
async fn connected(server: &Server, models: &[(&str, &ModelServer)]) {
    for (name, model) in models {
        let settings = json!({"url": format!("{}/v1", model.base_url()), "model": name});
        let (status, made) = server.api("PUT", &format!("/connections/{name}"), &settings).await;
        assert_eq!(status, 201, "{made}");
    }
}

/// Sets features, and answers what is told of them.
async fn choose(server: &Server, features: Value) -> Value {
    let (status, put) = server.api("PUT", "/routes", &json!({"features": features})).await;
    assert_eq!(status, 200, "{put}");
    put["item"].clone()
}

/// What is told of features once nothing is taken up any more.
async fn settled(server: &Server) -> Value {
    for _ in 0..500 {
        let (_, now) = server.api("GET", "/routes", &json!({})).await;
        if now["pending"] == json!([]) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("a feature is being taken up for ever");
}

async fn tell(server: &Server, text: &str) {
    server.say(&[json!({"role": "user", "content": text})]).await;
}

/// Waits until no job waits or runs.
async fn is_idle(server: &Server) -> bool {
    for _ in 0..500 {
        let (_, jobs) = server.api("GET", "/jobs", &json!({})).await;
        let is_over = |job: &Value| job["state"] == "done" || job["state"] == "failed";
        if jobs["items"].as_array().unwrap().iter().all(is_over) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn another_extractor_does_memorys_work_at_once() {
    let home = TempDir::new().unwrap();
    let (first, second) = (model("nothing"), model("nothing"));
    let server = Server::with(home.path(), &["--char", "Mira"]);
    connected(&server, &[("first", &first), ("second", &second)]).await;
    let (status, told) = server.api("POST", "/memory/model-test", &json!({})).await;
    assert_eq!(status, 409, "{told}");

    let told = choose(&server, json!({"extractor": "first"})).await;
    assert_eq!(told["effective"]["features"], json!({"extractor": "first"}), "{told}");
    tell(&server, "Mira rings the bell.").await;
    let whole = json!({"character": "Mira"});
    let (status, queued) = server.api("POST", "/chats/story/catch-up", &whole).await;
    assert_eq!(status, 200, "{queued}");
    assert!(is_idle(&server).await, "nobody does the work");
    assert!(!first.received().is_empty() && second.received().is_empty());

    choose(&server, json!({"extractor": {"connection": "second", "model": "other"}})).await;
    let before = first.received().len();
    let (status, told) = server.api("POST", "/memory/model-test", &json!({})).await;
    assert_eq!(status, 200, "{told}");
    let received = second.received();
    assert!(!received.is_empty() && received.iter().all(|one| one.model() == "other"));
    assert_eq!(first.received().len(), before, "the first one is asked no more");

    let told = choose(&server, json!({})).await;
    assert_eq!(told["effective"]["features"], json!({}), "{told}");
    assert_eq!(server.api("POST", "/memory/model-test", &json!({})).await.0, 409);
}

#[tokio::test]
async fn a_connection_in_place_of_another_is_asked_at_once() {
    let home = TempDir::new().unwrap();
    let (first, second) = (model("nothing"), model("nothing"));
    let server = Server::with(home.path(), &[]);
    connected(&server, &[("mine", &first)]).await;
    choose(&server, json!({"extractor": "mine"})).await;
    let settings = json!({"url": format!("{}/v1", second.base_url()), "model": "mine"});
    assert_eq!(server.api("PUT", "/connections/mine", &settings).await.0, 200);
    assert_eq!(server.api("POST", "/memory/model-test", &json!({})).await.0, 200);
    assert!(first.received().is_empty() && !second.received().is_empty());
}

fn vault(home: &Path) {
    std::fs::create_dir(home.join("vault")).unwrap();
    for (name, key) in [("Bell", "gong"), ("Tower", "tower")] {
        let note = format!("---\ntags: lorebook\nkeys: {key}\n---\nAll about the {key}.\n");
        write(home, &format!("vault/{name}.md"), &note);
    }
}

#[tokio::test]
async fn another_selector_chooses_notes_at_once() {
    let home = TempDir::new().unwrap();
    let (first, second) = (model(CHOICE), model(CHOICE));
    vault(home.path());
    let config = format!(
        "[connections.first]\nurl = \"{}/v1\"\nmodel = \"first\"\n[connections.teller]\nkind = \
         \"offline\"\n[features]\nwriter = \"teller\"\nselector = \"first\"\n",
        first.base_url()
    );
    write(home.path(), "config.toml", &config);
    let mode = ["--config", "config.toml", "--vault", "vault", "--vault-mode", "two-stage"];
    let server = Server::with(home.path(), &mode);
    connected(&server, &[("second", &second)]).await;
    tell(&server, "The gong in the tower!").await;
    assert_eq!((first.received().len(), second.received().len()), (1, 0));
    let told = choose(&server, json!({"selector": "second"})).await;
    let features = json!({"writer": "teller", "selector": "second"});
    assert_eq!(told["effective"]["features"], features, "{told}");
    tell(&server, "Is it the gong or the tower?").await;
    assert_eq!((first.received().len(), second.received().len()), (1, 1));
    // Without what was set, the configuration's chooses again.
    choose(&server, json!({})).await;
    tell(&server, "The tower, or the gong?").await;
    assert_eq!((first.received().len(), second.received().len()), (2, 1));
    drop(server);

    write(home.path(), "config.toml", &config.replace("selector = \"first\"\n", ""));
    let start = [&SERVE, &["--data", "data"][..], &mode].concat();
    let error = refused(home.path(), &start);
    assert!(error.contains("name the model that selects notes"), "{error}");
}

/// What a model was asked vectors for.
fn embedded(model: &ModelServer) -> String {
    let is_embedding = |one: &&Received| one.path.ends_with("/embeddings");
    model.received().iter().filter(is_embedding).map(|one| one.json["input"].to_string()).collect()
}

#[tokio::test]
async fn another_embedder_makes_the_vectors_of_all_lore_and_then_of_turns() {
    let home = TempDir::new().unwrap();
    let (first, second) = (model(""), model(""));
    let book = json!({"entries": {"0": {
        "uid": 0, "key": [], "content": "The harbour silts up.", "vectorized": true,
    }}});
    write(home.path(), "book.json", &book.to_string());
    let server = Server::start(home.path());
    connected(&server, &[("first", &first), ("second", &second)]).await;
    choose(&server, json!({"embedder": "first"})).await;
    let now = settled(&server).await;
    assert_eq!(now["effective"]["features"], json!({"embedder": "first"}), "{now}");
    assert!(embedded(&first).contains("The harbour silts up."), "{}", embedded(&first));
    tell(&server, "Does the harbour silt up?").await;
    assert!(embedded(&first).contains("Does the harbour"), "{}", embedded(&first));

    choose(&server, json!({"embedder": "second"})).await;
    settled(&server).await;
    assert!(embedded(&second).contains("The harbour silts up."), "{}", embedded(&second));
    let before = first.received().len();
    tell(&server, "And the river?").await;
    assert!(embedded(&second).contains("And the river?"), "{}", embedded(&second));
    assert_eq!(first.received().len(), before, "the first one is asked no more");

    // One that cannot be reached is told, and entries are found with the server's own.
    let nobody = json!({"url": "http://127.0.0.1:9/v1", "model": "m"});
    assert_eq!(server.api("PUT", "/connections/nobody", &nobody).await.0, 201);
    choose(&server, json!({"embedder": "nobody"})).await;
    let now = settled(&server).await;
    let problem = now["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("`embedder` does not work: "), "{problem}");
    assert_eq!(now["effective"]["features"], json!({}), "{now}");
    let before = (first.received().len(), second.received().len());
    tell(&server, "The harbour, then?").await;
    assert_eq!((first.received().len(), second.received().len()), before);
    choose(&server, json!({})).await;
    assert_eq!(settled(&server).await["problems"], json!([]));
}

#[tokio::test]
async fn what_the_command_line_names_wins() {
    let home = TempDir::new().unwrap();
    let (named, other) = (model("nothing"), model("nothing"));
    let url = format!("{}/v1", named.base_url());
    let server = Server::with(home.path(), &["--memory-model", &format!("m@{url}")]);
    connected(&server, &[("other", &other)]).await;
    let told = choose(&server, json!({"extractor": "other"})).await;
    assert_eq!(
        told["problems"],
        json!(["`extractor` does not work: `--memory-model` on the command line wins over it"])
    );
    assert_eq!(server.api("POST", "/memory/model-test", &json!({})).await.0, 200);
    assert!(!named.received().is_empty() && other.received().is_empty());
}

#[test]
fn a_feature_of_the_configuration_that_cannot_be_used_stops_the_start() {
    let home = TempDir::new().unwrap();
    let config = "[connections.far]\nurl = \"http://127.0.0.1:9/v1\"\n\
                  [features]\nembedder = \"far\"\n";
    write(home.path(), "config.toml", config);
    let start = [&SERVE, &["--data", "data", "--config", "config.toml"][..]].concat();
    let error = refused(home.path(), &start);
    assert!(error.contains("the feature `embedder`: "), "{error}");
}
