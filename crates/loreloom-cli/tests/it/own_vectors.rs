//! Stories in a language that the table in the binary does not know, searched with vectors of a
//! person's own: of a server, or of a table.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use loreloom_testkit::model_server::{ModelServer, Received, Reply, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    run::{refused, write},
    serve::Server,
};

/// The message that is to be found.
const HIDDEN: &str = "Isoäiti kätki pronssiavaimen kolmannen portaan alle.";
/// Asks for it without any word of it.
const QUESTION: &str = "Minne mummo piilotti lukon aukaisijan?";
/// The words of both mean the same.
const PAIRS: [(&str, &str); 3] =
    [("isoäiti", "mummo"), ("kätki", "piilotti"), ("pronssiavaimen", "aukaisijan")];
const DULL: [&str; 6] = [
    "Kävelemme sateessa eteenpäin.",
    "Lokit kirkuvat sataman yllä.",
    "Leipä on tänään tuoretta.",
    "Sumu nousee mereltä.",
    "Tuli räiskyy takassa.",
    "Vene keinuu laiturissa.",
];

/// A direction for each pair of words, and one for every other text.
fn meaning(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let has = |(one, other): &(&str, &str)| text.contains(one) || text.contains(other);
    let mut vector: Vec<f32> = PAIRS.iter().map(|pair| f32::from(u8::from(has(pair)))).collect();
    vector.push(if vector.iter().all(|part| *part < 0.5) { 1.0 } else { 0.1 });
    vector
}

fn inputs(request: &Received) -> Vec<String> {
    serde_json::from_value(request.json["input"].clone()).unwrap()
}

/// A server of such vectors, which fails while `down` is set.
fn embedding_server(down: &Arc<AtomicBool>) -> ModelServer {
    let down = Arc::clone(down);
    let script = Script::new().answering(move |request| {
        if !request.path.ends_with("/embeddings") {
            return None;
        }
        if down.load(Ordering::SeqCst) {
            return Some(Reply::status(503, "no model is loaded"));
        }
        let vectors = inputs(request)
            .into_iter()
            .enumerate()
            .map(|(index, text)| json!({"index": index, "embedding": meaning(&text)}));
        Some(Reply::json(json!({"data": vectors.collect::<Vec<_>>()})))
    });
    ModelServer::start(script).unwrap()
}

/// Plays the story without a window, so that all of it is stored.
async fn told(server: &Server) -> Vec<Value> {
    let mut story = vec![json!({"role": "user", "content": HIDDEN})];
    for at in 0..20 {
        let reply = server.say(&story).await;
        story.push(json!({"role": "assistant", "content": reply}));
        let text = format!("{} {at}.", DULL[at % DULL.len()]);
        story.push(json!({"role": "user", "content": text}));
    }
    story
}

/// Asks with a small window, and answers the recalled passages.
async fn recalled(server: &Server, story: &mut Vec<Value>, question: &str) -> Vec<Value> {
    let reply = server.say(story).await;
    story.push(json!({"role": "assistant", "content": reply}));
    story.push(json!({"role": "user", "content": question}));
    let reply = server.say(&story[story.len() - 4..]).await;
    story.push(json!({"role": "assistant", "content": reply}));
    let stored = server.stored(&reply).await;
    let number = stored["turn"].as_u64().unwrap();
    story.push(json!({"role": "user", "content": DULL[0]}));
    let (status, turn) =
        server.api("GET", &format!("/chats/story/turns/{number}"), &json!({})).await;
    assert_eq!(status, 200, "{turn}");
    turn["recalled"].as_array().cloned().unwrap_or_default()
}

fn found(recalled: &[Value]) -> Option<&Value> {
    recalled.iter().find(|one| one["text"] == HIDDEN)
}

fn channel(one: &Value) -> Vec<&str> {
    let channels = one["channels"].as_array().unwrap();
    channels.iter().map(|one| one["channel"].as_str().unwrap()).collect()
}

async fn embedder_is(server: &Server, features: Value) {
    let (status, put) = server.api("PUT", "/routes", &json!({"features": features})).await;
    assert_eq!(status, 200, "{put}");
    for _ in 0..500 {
        let (_, now) = server.api("GET", "/routes", &json!({})).await;
        if now["pending"] == json!([]) {
            assert_eq!(now["problems"], json!([]), "{now}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the embedder is being taken up for ever");
}

async fn connected(server: &Server, model: &ModelServer) {
    let settings = json!({"url": format!("{}/v1", model.base_url()), "model": "own"});
    let (status, made) = server.api("PUT", "/connections/own", &settings).await;
    assert_eq!(status, 201, "{made}");
}

#[tokio::test]
async fn a_story_is_searched_with_the_vectors_of_a_server() {
    let home = TempDir::new().unwrap();
    let down = Arc::new(AtomicBool::new(false));
    let model = embedding_server(&down);
    let server = Server::with(home.path(), &["--char", "Mira"]);
    connected(&server, &model).await;
    let mut story = told(&server).await;
    let by_words = recalled(&server, &mut story, QUESTION).await;
    assert_eq!(found(&by_words), None, "no word is shared, and the table knows no Finnish");
    embedder_is(&server, json!({"embedder": "own"})).await;
    let mut hits = Vec::new();
    // The first turn has the story embedded in the background.
    for _ in 0..50 {
        hits = recalled(&server, &mut story, QUESTION).await;
        if found(&hits).is_some() {
            break;
        }
    }
    let hit = found(&hits).unwrap_or_else(|| panic!("{hits:?}"));
    assert_eq!(channel(hit)[0], "meaning", "{hit}");
    let asked: Vec<Vec<String>> = model.received().iter().map(inputs).collect();
    assert!(asked.iter().all(|texts| texts.len() <= 32), "{asked:?}");
    let often = asked.iter().flatten().filter(|text| *text == HIDDEN).count();
    assert_eq!(often, 1, "no text is embedded twice");
    // What was answered is stored: after a restart nothing of it is asked for again.
    drop(server);
    let before = model.received().len();
    let server = Server::with(home.path(), &["--char", "Mira"]);
    embedder_is(&server, json!({"embedder": "own"})).await;
    for _ in 0..50 {
        hits = recalled(&server, &mut story, QUESTION).await;
        if found(&hits).is_some() {
            break;
        }
    }
    assert!(found(&hits).is_some(), "{hits:?}");
    let again = model.received();
    assert!(!again[before..].iter().flat_map(inputs).any(|text| text == HIDDEN));
}

#[tokio::test]
async fn an_embedding_server_that_is_down_at_start_is_used_once_it_answers() {
    let home = TempDir::new().unwrap();
    let down = Arc::new(AtomicBool::new(true));
    let model = embedding_server(&down);
    let config = format!(
        "[connections.own]\nurl = \"{}/v1\"\nmodel = \"own\"\n[features]\nembedder = \"own\"\n",
        model.base_url()
    );
    write(home.path(), "config.toml", &config);
    let server = Server::with(home.path(), &["--config", "config.toml"]);
    let (_, now) = server.api("GET", "/routes", &json!({})).await;
    let problem = now["problems"][0].as_str().unwrap_or_default();
    assert!(problem.contains("503") && problem.contains("tries again"), "{now}");
    assert_eq!(now["effective"]["features"]["embedder"], Value::Null, "{now}");
    down.store(false, Ordering::SeqCst);
    for _ in 0..3000 {
        let (_, now) = server.api("GET", "/routes", &json!({})).await;
        if now["problems"] == json!([]) {
            assert_eq!(now["effective"]["features"]["embedder"], json!("own"), "{now}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the embedding server is not asked again");
}

#[tokio::test]
async fn a_turn_goes_on_by_words_while_the_server_is_down() {
    let home = TempDir::new().unwrap();
    let down = Arc::new(AtomicBool::new(false));
    let model = embedding_server(&down);
    let server = Server::with(home.path(), &["--char", "Mira"]);
    connected(&server, &model).await;
    embedder_is(&server, json!({"embedder": "own"})).await;
    down.store(true, Ordering::SeqCst);
    let mut story = told(&server).await;
    let hits = recalled(&server, &mut story, "Missä pronssiavaimen portaan isoäiti kätki?").await;
    let hit = found(&hits).unwrap_or_else(|| panic!("{hits:?}"));
    assert!(!channel(hit).contains(&"meaning"), "{hit}");
    let failed = model.received().iter().filter(|one| inputs(one).len() > 1).count();
    assert_eq!(failed, 1, "a server that fails is left alone for a while");
}

/// A table of floats with a row for each of these pieces.
#[expect(clippy::disallowed_methods, reason = "the test writes its own file")]
fn write_table(home: &Path, pieces: &[(&str, Vec<f32>)]) {
    let width = pieces[0].1.len();
    let numbers: Vec<u8> =
        pieces.iter().flat_map(|(_, row)| row.iter().flat_map(|one| one.to_le_bytes())).collect();
    let header = json!({"embeddings": {
        "dtype": "F32", "shape": [pieces.len(), width], "data_offsets": [0, numbers.len()],
    }})
    .to_string();
    let length = (header.len() as u64).to_le_bytes();
    let file = [&length[..], header.as_bytes(), &numbers].concat();
    std::fs::write(home.join("table.safetensors"), file).unwrap();
    let vocabulary: Vec<&str> = pieces.iter().map(|(piece, _)| *piece).collect();
    write(home, "vocab.txt", &vocabulary.join("\n"));
}

#[tokio::test]
async fn a_story_is_searched_with_a_table_of_ones_own() {
    let home = TempDir::new().unwrap();
    let row = |at: usize| (0..4).map(|one| f32::from(u8::from(one == at))).collect::<Vec<f32>>();
    let mut pieces = vec![("[UNK]", row(3))];
    // The words as the vocabulary has them: without accents.
    for (at, pair) in
        [["isoaiti", "mummo"], ["katki", "piilotti"], ["pronssiavaimen", "aukaisijan"]]
            .into_iter()
            .enumerate()
    {
        pieces.extend(pair.map(|word| (word, row(at))));
    }
    write_table(home.path(), &pieces);
    let set = ["--char", "Mira", "--set", "features.embedding_table=table.safetensors"];
    let server = Server::with(home.path(), &set);
    let mut story = told(&server).await;
    let hits = recalled(&server, &mut story, QUESTION).await;
    let hit = found(&hits).unwrap_or_else(|| panic!("{hits:?}"));
    assert!(channel(hit).contains(&"meaning"), "{hit}");
    drop(server);
    write(home.path(), "vocab.txt", "[UNK]\nmummo");
    let serve = ["serve", "--data", "d", "--set", "features.embedding_table=table.safetensors"];
    let error = refused(home.path(), &serve);
    assert!(
        error.contains("must have 7 pieces, one for each row, found 2")
            && error.contains("`features.embedding_table` is `table.safetensors`"),
        "{error}"
    );
}
