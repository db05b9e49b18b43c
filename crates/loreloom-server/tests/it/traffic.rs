//! Recorded traffic of real front ends through the whole server: each request over HTTP,
//! each reply from an upstream, and afterwards the store is asked what was told.

use std::{
    fs,
    path::{Path, PathBuf},
};

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_ports::StoryStore as _;
use loreloom_testkit::{
    conformance::Exceptions,
    model_server::{ModelServer, Reply, Script},
    suites::TrafficJudge,
};
use serde_json::{Value, json};

use crate::harness::Loreloom;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/traffic")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The recorded requests of one scenario, in order.
fn requests(scenario: &Path) -> Vec<(String, Value)> {
    let name = scenario.file_name().unwrap().to_str().unwrap().to_owned();
    let numbered = |file: &PathBuf| {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit())
    };
    let files = sorted(scenario).into_iter().filter(numbered);
    files
        .map(|file| {
            let case = format!("{name}/{}", file.file_stem().unwrap().to_str().unwrap());
            #[expect(clippy::disallowed_methods, reason = "a test reads its recorded cases")]
            let text = fs::read(&file).unwrap();
            (case, serde_json::from_slice(&text).unwrap())
        })
        .collect()
}

/// The upstream's answer as it was recorded.
fn reply(recorded: &Value) -> Reply {
    let replies = recorded.pointer("/ground_truth/reply").and_then(Value::as_array);
    let texts: Vec<&str> = replies.into_iter().flatten().filter_map(Value::as_str).collect();
    let stream = recorded["body"]["stream"] == true;
    let chat = recorded["endpoint"] == "POST /v1/chat/completions";
    match texts[..] {
        [] if recorded["ground_truth"].get("reply").is_some() => {
            Reply::status(500, r#"{"error":{"message":"recorded failure"}}"#)
        }
        [] => Reply::text("Recorded elsewhere."),
        [only] => Reply::text(only),
        _ if chat && stream => Reply::frames((0_u32..).zip(&texts).flat_map(|(index, text)| {
            let choice = |delta: Value, finish: Value| {
                json!({"choices": [{"index": index, "delta": delta, "finish_reason": finish}]})
            };
            [choice(json!({"content": text}), json!(null)), choice(json!({}), json!("stop"))]
        })),
        _ => {
            let choice = |(index, text): (u32, &&str)| {
                json!({"index": index, "message": {"content": text}, "finish_reason": "stop"})
            };
            Reply::json(json!({"choices": (0_u32..).zip(&texts).map(choice).collect::<Vec<_>>()}))
        }
    }
}

/// Sends one recorded request through the server; what was recognised, as the judge reads it.
async fn play(
    client: &reqwest::Client,
    loreloom: &Loreloom,
    model: &ModelServer,
    recorded: &Value,
) -> Value {
    let endpoint = recorded["endpoint"].as_str().unwrap();
    let (method, path) = endpoint.split_once(' ').unwrap();
    model.push(path.split('?').next().unwrap(), reply(recorded));
    let method: http::Method = method.parse().unwrap();
    let mut request = client.request(method.clone(), loreloom.url(path));
    for (name, value) in recorded["headers"].as_object().unwrap() {
        let passes = ["user-agent", "x-loreloom-chat", "x-loreloom-type", "content-type"];
        if passes.contains(&name.to_ascii_lowercase().as_str()) {
            request = request.header(name, value.as_str().unwrap());
        }
    }
    if !recorded["body"].is_null() {
        request = request.body(recorded["body"].to_string());
    }
    let response = request.send().await.unwrap();
    let header =
        |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (chat, kind) = (header("x-loreloom-chat"), header("x-loreloom-type"));
    let warning = header("x-loreloom-warning");
    let own_field = recorded["body"].get("loreloom").is_some();
    assert!(warning.is_none() || own_field, "{endpoint}: {warning:?}");
    let woven = header("x-loreloom-woven").is_some();
    let status = response.status();
    response.bytes().await.unwrap();
    let passed = !loreloom_recognise::wire::asks(method.as_str(), path);
    let kind = match kind.as_deref() {
        _ if passed => "pass",
        Some("quiet") | None => "background",
        Some(_) => "story",
    };
    assert!(woven || kind != "story");
    // A request that the model refused leaves no turn behind to compare.
    let path = match (&chat, kind == "story" && status.is_success()) {
        (Some(chat), true) => Some(last_path(loreloom, chat).await),
        _ => None,
    };
    json!({ "kind": kind, "tree": chat, "path": path })
}

/// The texts of the path that the chat's last turn was decided on.
async fn last_path(loreloom: &Loreloom, chat: &str) -> Vec<String> {
    let (tenant, chat) = (TenantId::local(), ChatId::from(chat));
    let turn = loreloom.store.turns(&tenant, &chat).await.unwrap().pop().unwrap();
    let path = loreloom.store.path(&tenant, &chat, turn.at).await.unwrap();
    path.into_iter().map(|node| node.message.text.into()).collect()
}

/// The truth without reasoning: the server keeps none.
fn without_reasoning(mut recorded: Value) -> Value {
    let bare = |text: &mut Value| {
        if let Some((_, rest)) = text.as_str().and_then(|text| text.split_once("</think>")) {
            *text = Value::from(rest.trim_start());
        }
    };
    for list in ["path", "reply"] {
        let texts = recorded["ground_truth"][list].as_array_mut();
        texts.into_iter().flatten().for_each(bare);
    }
    recorded
}

#[tokio::test]
async fn recorded_stories_are_told_apart_by_the_whole_server() {
    let folder = corpus();
    if !folder.is_dir() {
        println!("skipped: `conformance/traffic` is not here");
        return;
    }
    let scenarios = sorted(&folder).into_iter().filter(|path| path.is_dir());
    let exceptions = Exceptions::read(&folder.join("EXCEPTIONS.md")).unwrap();
    let mut client = None;
    let mut wrong = Vec::new();
    let mut judged = 0;
    for scenario in scenarios {
        let model = ModelServer::start(Script::new()).unwrap();
        let loreloom = Loreloom::before(&model).await;
        // The server sets up what a client needs.
        let client = client.get_or_insert_with(reqwest::Client::new);
        let mut judge = TrafficJudge::default();
        for (case, recorded) in requests(&scenario) {
            let actual = play(client, &loreloom, &model, &recorded).await;
            judged += 1;
            let difference = judge.difference(&without_reasoning(recorded), &actual);
            if let Some(difference) = difference.filter(|_| exceptions.reason(&case).is_none()) {
                wrong.push(format!("{case}: {difference}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "of {judged}");
    assert!(judged > 400, "{judged}");
}
