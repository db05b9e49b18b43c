//! A long story through the whole server: what was planted is there when it is needed, what
//! is no longer so is gone, and nobody hears what is kept from them.

mod narrator;
mod plot;

use loreloom_core::ids::ChatId;
use loreloom_memory::model_profile::ModelProfile;
use loreloom_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use self::{
    narrator::{NOTES_MODEL, exchange, script},
    plot::{EXCHANGES, QUESTIONS, SECRETS},
};
use crate::harness::{Loreloom, Setup};

const PATH: &str = "/v1/chat/completions";
/// Messages that the front end sends.
const WINDOW: usize = 12;

/// A front end with a small context.
struct Teller<'server> {
    loreloom: &'server Loreloom,
    model: &'server ModelServer,
    chat: &'static str,
    story: Vec<Value>,
}

impl Teller<'_> {
    /// Tells an exchange and waits until memory has done its work. Returns what Loreloom put
    /// into the prompt, and the prompt.
    async fn tell(&mut self, speaker: &str, says: &str) -> (String, String) {
        self.story.push(json!({ "role": "user", "name": "Ines", "content": says }));
        let mut messages =
            vec![json!({ "role": "system", "content": format!("You are {speaker}.") })];
        messages.extend(self.story[self.story.len().saturating_sub(WINDOW)..].iter().cloned());
        let loreloom = json!({ "chat": self.chat, "user": "Ines", "char": speaker });
        let body = json!({ "model": "m", "messages": messages, "loreloom": loreloom });
        let client = reqwest::Client::new();
        let response = client.post(self.loreloom.url(PATH)).json(&body).send().await.unwrap();
        assert_eq!(response.headers().get("x-loreloom-warning"), None);
        let answer: Value = response.json().await.unwrap();
        let reply = answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        self.story.push(json!({ "role": "assistant", "name": speaker, "content": reply }));
        self.settle().await;
        let all = self.model.received();
        let sent = all.iter().rev().find(|request| request.model() != NOTES_MODEL).unwrap();
        let prompt: Vec<String> = sent.json["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
            .collect();
        let prompt = prompt.join("\n");
        let mut added = prompt.clone();
        for message in &messages {
            added = added.replacen(message["content"].as_str().unwrap(), "", 1);
        }
        (added, prompt)
    }

    /// Waits until the reply is stored and no job is left.
    async fn settle(&self) {
        self.loreloom.settled(&ChatId::from(self.chat), self.story.len()).await;
    }
}

/// What this character must not be told at this point.
fn kept_from(speaker: &str, at: usize) -> Vec<&'static str> {
    let kept = SECRETS.iter().filter(|(whom, _, until)| *whom == speaker && at < *until);
    kept.flat_map(|(_, words, _)| words.iter().copied()).collect()
}

async fn the_story(profile: ModelProfile) {
    let model = ModelServer::start(script()).unwrap();
    let setup = Setup { notes_model: Some((NOTES_MODEL, profile)), ..Setup::default() };
    let loreloom = Loreloom::start(&model, setup).await;
    let mut first = Teller { loreloom: &loreloom, model: &model, chat: "first", story: Vec::new() };
    let mut wrong: Vec<String> = Vec::new();
    for at in 0..EXCHANGES {
        let (speaker, says) = exchange(at);
        let (added, prompt) = first.tell(speaker, &says).await;
        for word in kept_from(speaker, at).into_iter().filter(|word| added.contains(word)) {
            wrong.push(format!("{at}: {speaker} is told `{word}`:\n{added}\n"));
        }
        for asked in QUESTIONS.iter().filter(|asked| asked.at == at) {
            for word in asked.needed.iter().filter(|word| !prompt.contains(**word)) {
                wrong.push(format!("{at}: {speaker} is not told `{word}`:\n{added}\n"));
            }
            for word in asked.kept_out.iter().filter(|word| added.contains(**word)) {
                wrong.push(format!("{at}: {speaker} is told `{word}`:\n{added}\n"));
            }
        }
    }
    let mut second =
        Teller { loreloom: &loreloom, model: &model, chat: "second", story: Vec::new() };
    for (says, needed, kept_out) in [
        ("We meet again, Mara. Where was Nell born?", "Carrow", "tide charts"),
        ("When does the ferry to Skell leave?", "now leaves at dusk", "at dawn"),
        ("And the rope, shall we tar it?", "smell of tar", "quarrelling"),
        ("Did you hear of the garrison and the tide charts?", "", "sold"),
    ] {
        let (added, _) = second.tell("Mara", says).await;
        if !added.contains(needed) {
            wrong.push(format!("second: `{says}` needs `{needed}`:\n{added}\n"));
        }
        if added.contains(kept_out) {
            wrong.push(format!("second: `{says}` must not bring `{kept_out}`:\n{added}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_messages_with_a_weak_model() {
    the_story(ModelProfile::A).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_messages_with_a_strong_model() {
    the_story(ModelProfile::B).await;
}
