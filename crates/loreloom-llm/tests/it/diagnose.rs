//! A connection is tried out, and the first step that fails says what to mend.

use std::sync::Arc;

use loreloom_llm::{
    connection::{Address, ClientRules, Reach},
    diagnose::{Speech, TestedConnection},
    secret::Secret,
    tokenizers::Tokenizer,
};
use loreloom_ports::{Diagnosis as _, Finding, Step, StepOutcome};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};

fn candidate(url: &str, speech: Speech) -> TestedConnection {
    TestedConnection {
        address: Address::parse(url).unwrap(),
        speech,
        key: None,
        model: Some("scripted".to_owned()),
        counter: Arc::new(Tokenizer::for_model("scripted")),
        context: Some(4096),
        client: ClientRules::default(),
    }
}

async fn findings(candidate: &TestedConnection) -> Vec<Finding> {
    let mut all = Vec::new();
    candidate.diagnose(&mut |finding| all.push(finding)).await;
    let steps: Vec<Step> = all.iter().map(|finding| finding.step).collect();
    assert_eq!(steps, Step::ALL, "every step is reported once, in order");
    all
}

fn first_bad(findings: &[Finding]) -> Option<(Step, StepOutcome)> {
    let bad = |one: &&Finding| matches!(one.outcome, StepOutcome::Failed | StepOutcome::Doubtful);
    let found = findings.iter().find(bad)?;
    assert!(found.fix.is_some(), "{found:?}");
    Some((found.step, found.outcome))
}

#[tokio::test]
async fn a_sound_connection_passes_every_step() {
    let tokens = Script::new().on("/tokenize", Reply::status(404, "no"));
    let server = ModelServer::start(tokens).unwrap();
    let openai = candidate(&format!("{}/v1", server.base_url()), Speech::OpenAi);
    let found = findings(&openai).await;
    assert_eq!(first_bad(&found), None, "{found:#?}");
    let server = ModelServer::start(Script::new().on("/tokenize", Reply::status(404, "no")));
    let ollama = candidate(&server.as_ref().unwrap().base_url(), Speech::Ollama);
    let found = findings(&ollama).await;
    assert_eq!(first_bad(&found), None, "{found:#?}");
    assert_eq!(ollama.context_size("scripted").await, Some(8192));
}

#[tokio::test]
async fn each_fault_is_found_at_its_step() {
    let models = "/v1/models";
    let chat = "/v1/chat/completions";
    for (script, step, outcome) in [
        (Script::new().on(models, Reply::status(401, "{}")), Step::Key, StepOutcome::Failed),
        (Script::new().on(models, Reply::status(500, "{}")), Step::Path, StepOutcome::Failed),
        (Script::new().on(models, Reply::status(200, "<html>")), Step::Path, StepOutcome::Failed),
        (
            Script::new().on(models, Reply::status(308, "").header("location", "https://x/v1")),
            Step::Path,
            StepOutcome::Failed,
        ),
        (
            Script::new().on(models, Reply::json(serde_json::json!({"data": [{"id": "other"}]}))),
            Step::Models,
            StepOutcome::Doubtful,
        ),
        (Script::new().on(chat, Reply::status(402, "{}")), Step::Stream, StepOutcome::Failed),
        (
            Script::new().on(chat, Reply::chunks(["a", "b"]).cut_after(1)),
            Step::Stream,
            StepOutcome::Failed,
        ),
        (
            Script::new().on("/tokenize", Reply::json(serde_json::json!({"tokens": [1, 2, 3]}))),
            Step::Tokenizer,
            StepOutcome::Doubtful,
        ),
    ] {
        let server = ModelServer::start(script).unwrap();
        let found =
            findings(&candidate(&format!("{}/v1", server.base_url()), Speech::OpenAi)).await;
        assert_eq!(first_bad(&found), Some((step, outcome)), "{found:#?}");
    }
}

#[tokio::test]
async fn a_wrong_address_is_told_apart_from_a_server_that_is_down() {
    let server = ModelServer::start(Script::new()).unwrap();
    let base = server.base_url();
    let found = findings(&candidate(&base, Speech::OpenAi)).await;
    assert_eq!(first_bad(&found), Some((Step::Path, StepOutcome::Failed)), "{found:#?}");
    let fix = found.iter().find_map(|one| one.fix.clone()).unwrap();
    assert_eq!(fix, format!("set `url` to `{base}/v1`"));
    drop(server);
    let found = findings(&candidate(&base, Speech::OpenAi)).await;
    assert_eq!(first_bad(&found), Some((Step::Port, StepOutcome::Failed)), "{found:#?}");
    let found = findings(&candidate("http://no-such-host.invalid/v1", Speech::OpenAi)).await;
    assert_eq!(first_bad(&found), Some((Step::Name, StepOutcome::Failed)), "{found:#?}");
}

#[tokio::test]
async fn who_may_reach_only_public_servers_learns_no_name_of_the_own_network() {
    let diagnosed = async |host: &str| {
        let mut inside = candidate(&format!("http://{host}:9/v1"), Speech::OpenAi);
        inside.client.reach = Reach::Public;
        let found = findings(&inside).await;
        assert_eq!(first_bad(&found), Some((Step::Name, StepOutcome::Failed)), "{found:#?}");
        format!("{found:?}").replace(host, "HOST")
    };
    let known = diagnosed("localhost").await;
    assert!(!known.contains("127.0.0.1") && !known.contains("::1"), "{known}");
    assert_eq!(known, diagnosed("no-such-host.invalid").await);
}

#[tokio::test]
async fn an_address_inside_that_is_not_configured_is_not_tried_and_a_key_is_never_shown() {
    let server = ModelServer::start(Script::new()).unwrap();
    let mut inside = candidate(&format!("{}/v1", server.base_url()), Speech::OpenAi);
    inside.client.reach = Reach::Public;
    let found = findings(&inside).await;
    assert_eq!(first_bad(&found), Some((Step::Name, StepOutcome::Failed)), "{found:#?}");
    assert!(server.received().is_empty());
    let echo = Reply::status(307, "").header("location", "https://x/?key=sk-canary");
    let server = ModelServer::start(Script::new().on("/v1/models", echo)).unwrap();
    let mut keyed = candidate(&format!("{}/v1", server.base_url()), Speech::OpenAi);
    keyed.key = Some(Secret::new("sk-canary"));
    let found = findings(&keyed).await;
    assert!(!format!("{found:?}").contains("sk-canary"), "{found:#?}");
    assert_eq!(server.received()[0].header("authorization"), Some("Bearer sk-canary"));
}
