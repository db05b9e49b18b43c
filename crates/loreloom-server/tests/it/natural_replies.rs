//! Models answer in their own way: in lists, with a sentence before and after, or not at all.

use loreloom_core::ids::{ChatId, TenantId};
use loreloom_memory::{model_profile::ModelProfile, service::Options};
use loreloom_ports::{Job, JobQueue as _, JobState};
use loreloom_testkit::model_server::{ModelServer, Received, Reply, Script};
use serde_json::json;

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const NOTES: &str = "note-taker";

/// Plays two turns with a model that takes notes like this, and returns what memory knows of Mira,
/// the finished jobs, and how often the model was asked for long-term notes.
async fn played(notes: fn(&Received) -> String) -> (Vec<String>, Vec<Job>, usize) {
    let script = Script::new().answering(move |request| {
        let says =
            if request.model() == NOTES { notes(request) } else { "Mira keeps bees.".to_owned() };
        Some(Reply::text(&says))
    });
    let model = ModelServer::start(script).unwrap();
    let options = Options::read(r#"{"settings": {"extract_every": 1}}"#).unwrap();
    let notes_model = Some((NOTES, ModelProfile::A));
    let loreloom =
        Loreloom::start(&model, Setup { options, notes_model, ..Setup::default() }).await;
    let mut messages = vec![json!({ "role": "system", "content": "You are Mira." })];
    for turn in 0..2 {
        let says = format!("What do you do, Mira? Visit {turn}.");
        messages.push(json!({ "role": "user", "content": says }));
        let body = json!({
            "model": "m", "messages": messages,
            "loreloom": { "chat": "c", "user": "Player", "char": "Mira" },
        });
        let request = reqwest::Client::new().post(loreloom.url(CHAT)).json(&body);
        request.send().await.unwrap().text().await.unwrap();
        messages.push(json!({ "role": "assistant", "content": "Mira keeps bees." }));
        loreloom.settled(&ChatId::from("c"), messages.len() - 1).await;
    }
    let owner = loreloom_ports::Owner::Character("Mira".into());
    let memory = loreloom.app.memory.clone().unwrap();
    let records = memory.views.records(&TenantId::local(), &owner).await.unwrap();
    let contents = records.iter().filter_map(|(_, fields)| fields.get("content")?.as_str());
    let contents = contents.map(str::to_owned).collect();
    let jobs = loreloom.store.jobs(&TenantId::local(), None, true).await.unwrap();
    let asked = model.received().iter().filter(|request| asks_for_long_term(request)).count();
    (contents, jobs, asked)
}

fn asks_for_long_term(request: &Received) -> bool {
    request.last_text().contains("will still matter to")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_in_a_list_are_stored() {
    let notes = |request: &Received| {
        if asks_for_long_term(request) {
            "Here is what I would note:\n\n- **[fact:3:permanent]** Mira keeps bees.\n\n\
             Let me know if you need more!"
        } else {
            "NONE"
        }
        .to_owned()
    };
    let (contents, jobs, _) = Box::pin(played(notes)).await;
    assert_eq!(contents, ["Mira keeps bees."]);
    assert!(jobs.iter().all(|job| job.state == JobState::Done), "{jobs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_asked_again_once_and_then_a_failed_job_with_its_words() {
    const REFUSAL: &str = "I'm sorry, but I can't help with that.";
    let notes =
        |request: &Received| if asks_for_long_term(request) { REFUSAL } else { "NONE" }.to_owned();
    let (contents, jobs, asked) = Box::pin(played(notes)).await;
    assert_eq!(contents, [""; 0]);
    let failed: Vec<&Job> = jobs.iter().filter(|job| job.state == JobState::Failed).collect();
    assert_eq!(asked, 2 * failed.len(), "{jobs:?}");
    assert!(!failed.is_empty());
    for job in failed {
        let error = job.error.as_deref().unwrap_or_default();
        assert!(error.contains("LongTerm") && error.contains(REFUSAL), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_answer_in_the_right_form_counts() {
    let notes = |request: &Received| {
        let is_second = request.last_text().contains("You answered:");
        match (asks_for_long_term(request), is_second) {
            (true, false) => "Mira likes bees, I think that is all.",
            (true, true) => "[fact:3:permanent] Mira keeps bees.",
            (false, _) => "NONE",
        }
        .to_owned()
    };
    let (contents, jobs, _) = Box::pin(played(notes)).await;
    assert_eq!(contents, ["Mira keeps bees."]);
    assert!(jobs.iter().all(|job| job.state == JobState::Done), "{jobs:?}");
}
